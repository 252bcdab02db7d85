"""Whatever a model writes, what is said has no signs in it that nobody can say."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_app.dialogue.clauses import ClauseSplitter
from firmware_app.dialogue.speakable import Speakable, speakable

UNSPEAKABLE = re.compile(
    r"[*_#`\\|<>\[\]]|https?://|www\.|[\U0001f000-\U0001faff\u2600-\u27bf\ufe0f]"
)


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("**Paris** is *the* __capital__.", "Paris is the capital."),
        ("# Eggs\nBoil them\n", "Eggs. Boil them."),
        ("- apples\n- pears\n", "apples, pears,"),
        ("- [ ] buy milk\n", "buy milk,"),
        ("1. Crack it\n2. Fry it\n", "1, Crack it, 2, Fry it,"),
        ("> To be or not to be.\n", "To be or not to be."),
        ("Before\n---\nafter.", "Before. after."),
        ("See [the site](https://example.org/a_(b)) now.", "See the site now."),
        ("![a cat](cat.png)", "a cat"),
        ("Go to https://www.example.org/a?b=c#d.", "Go to a link to example.org."),
        ("Go to <http://example.org>, please", "Go to a link to example.org, please"),
        ("It was so [1] and so [^2].", "It was so and so."),
        ("Well done! \U0001f600\U0001f44d\U0001f3fd\u2764\ufe0f Bye.", "Well done! Bye."),
        ("Use this:\n```python\nprint(1)\n```\nThen stop.", "Use this: Code left out. Then stop."),
        ("Type `ls` there.", "Type ls there."),
        ("| Name | Age |\n|---|:-:|\n| Ann | 5 |\n", "Name, Age. Ann, 5."),
        ("Salt &amp; pepper", "Salt and pepper"),
        ("<b>Bold</b> and<br/>new", "Bold and new"),
        ("$E = mc^2$", "E equals mc squared"),
        (r"\(\frac{a}{b}\) of \sqrt{2}", "a over b of the square root of 2"),
        ("2 * 3 = 6", "2 times 3 equals 6"),
        ("5 < 6 and 7 \u2265 6", "5 is less than 6 and 7 is at least 6"),
        ("It costs $5, not $6.", "It costs $5, not $6."),
        ("#GoodMorning and #1 in C#", "Good Morning and number 1 in C sharp"),
        ("snake_case_name", "snake case name"),
        ("It is 20 \u00b0C.", "It is 20 \u00b0C."),
        ("\U0001f600", ""),
        ("---", ""),
        ("", ""),
        ("Plain speech stays, as it is: 3.5 metres; isn't it?", None),
    ],
)
def test_markup_becomes_speech(written: str, said: str | None) -> None:
    assert speakable(written) == (written if said is None else said)


def test_code_and_tables_are_known_across_clauses() -> None:
    text = (
        "Here it is:\n```sh\nrm -rf, and so on; never do this, at all, ever\n```\n"
        "| Town | Country |\n|---|---|\n| Paris, the city | France |\n"
    )
    splitter, speaker = ClauseSplitter(), Speakable()
    clauses = [clause for character in text for clause in splitter.feed(character)]
    said = [speaker.clause(clause) for clause in clauses + splitter.finish()]
    assert [s for s in said if s] == [
        "Here it is:",
        "Code left out.",
        "Town, Country.",
        "Paris, the city, France.",
    ]


def test_a_dash_in_the_middle_of_a_line_is_no_list() -> None:
    speaker = Speakable()
    assert speaker.clause("It is red") == "It is red"
    assert speaker.clause(" - or so they say.") == "- or so they say."


def test_another_language_gets_no_english_words() -> None:
    assert speakable("Siehe https://example.org und\n```\nx\n```\n", "de") == (
        "Siehe example.org und."
    )


@given(
    st.text(
        alphabet=st.one_of(
            st.sampled_from("*_#`\\|<>[]()!~^$&=:/. \n-ahtpsw1"), st.characters(codec="utf-8")
        )
    ),
    st.sampled_from(["en", "de"]),
)
def test_nothing_unspeakable_is_left(text: str, language: str) -> None:
    assert not UNSPEAKABLE.search(speakable(text, language))


@given(st.lists(st.text(alphabet="ab *`|\n-#[]()~http://w.", max_size=12)))
def test_nothing_unspeakable_is_left_of_any_run_of_clauses(clauses: list[str]) -> None:
    speaker = Speakable()
    assert not any(UNSPEAKABLE.search(speaker.clause(clause)) for clause in clauses)
