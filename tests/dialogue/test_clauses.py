"""The reply is cut where a speaker would breathe, and nothing of it is lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_app.dialogue.clauses import HARD_LIMIT, ClauseSplitter


def clauses_of(text: str, language: str = "en", step: int = 3) -> list[str]:
    """The clauses of a text that arrives a few characters at a time."""
    splitter = ClauseSplitter(language)
    found = []
    for start in range(0, len(text), step):
        found += splitter.feed(text[start : start + step])
    return found + splitter.finish()


def test_the_first_clause_comes_at_its_comma_before_the_next_word_arrives() -> None:
    splitter = ClauseSplitter()
    assert splitter.feed("The capital of France is Paris") == []
    assert splitter.feed(",") == ["The capital of France is Paris,"]


def test_a_comma_after_one_word_is_too_early() -> None:
    assert clauses_of("Well, that is Paris, I think.")[0] == "Well, that is Paris,"


def test_a_short_sentence_may_open_the_reply() -> None:
    assert clauses_of("Yes. It is raining today.") == ["Yes.", " It is raining today."]


def test_the_first_clause_may_end_before_a_conjunction() -> None:
    assert clauses_of("You boil the water first and then you add the salt")[0] == (
        "You boil the water first "
    )


def test_later_clauses_are_longer() -> None:
    rest = clauses_of("Yes. Paris, as you know, lies on the wide river Seine, in the north.")[1:]
    assert rest == [" Paris, as you know, lies on the wide river Seine,", " in the north."]


@pytest.mark.parametrize(
    "text",
    [
        "It is 3.5 metres long.",
        "The train leaves at 10:30 today.",
        "There are 1,000,000 of them.",
        "Ask Dr. Smith about it.",
        "Some fruits, e.g. apples.",
        "It was J. R. R. Tolkien.",
        "Look at example.org/a.b?c=d:e for it.",
        "It is at 5 p.m. today.",
        "See No. 5 on it.",
        "Read `a, b, c, d` slowly.",
        "Press [this, that, the other](https://example.org/a, b) now.",
        "1. Crack the egg.",
    ],
)
def test_nothing_is_cut_inside_what_belongs_together(text: str) -> None:
    assert clauses_of(text) == [text]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("They said no. Then they left.", "They said no."),
        ("Come at 5 p.m. Then we eat.", "Come at 5 p.m."),
        ('He said "Go!" Then he went.', 'He said "Go!"'),
        ("That was in 1945. Then came peace.", "That was in 1945."),
        ("Really?! I did not know that.", "Really?!"),
        ("Three of them \u2014 all red \u2014 are here.", "Three of them \u2014"),
    ],
)
def test_sentences_end_where_they_end(text: str, first: str) -> None:
    assert clauses_of(text)[0] == first


def test_lines_are_clauses_and_code_is_cut_at_lines_only() -> None:
    text = "Use this:\n```\nprint(1, 2, 3). Then stop, and so on\n```\nDone."
    assert clauses_of(text) == [
        "Use this:\n",
        "```\n",
        "print(1, 2, 3). Then stop, and so on\n",
        "```\n",
        "Done.",
    ]


def test_a_sentence_without_end_is_cut_and_not_after_an_article() -> None:
    text = "word " * (HARD_LIMIT - 2) + "of the " + "thing " * 10
    first = clauses_of(text)[0]
    assert first == "word " * (HARD_LIMIT - 2)


def test_scripts_without_spaces_are_cut_at_their_own_marks() -> None:
    text = "東京は日本の首都です。とても大きな都市です。"
    assert clauses_of(text, "ja") == ["東京は日本の首都です。", "とても大きな都市です。"]
    assert len(clauses_of("東" * 300, "ja")) > 3


def test_the_splitter_can_be_used_again_after_finish() -> None:
    splitter = ClauseSplitter()
    splitter.feed("Open ```code, here")
    splitter.finish()
    assert splitter.feed("One two three, four") == ["One two three,"]


@given(
    st.lists(
        st.text(alphabet="ab ,.;:!?\n\"'()[]`-\u2014\u2026\u6771\u30021ANd", max_size=8),
        max_size=60,
    )
)
def test_the_clauses_joined_are_the_text(pieces: list[str]) -> None:
    splitter = ClauseSplitter()
    clauses = [clause for piece in pieces for clause in splitter.feed(piece)]
    assert "".join(clauses + splitter.finish()) == "".join(pieces)


@given(st.lists(st.sampled_from(["word", "and", "the", "longer,", "end."]), min_size=1))
def test_no_clause_has_more_words_than_the_limit(words: list[str]) -> None:
    for clause in clauses_of(" ".join(words)):
        assert len(clause.split()) <= HARD_LIMIT + 1
