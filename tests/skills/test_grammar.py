"""Sentence templates, as the files of a language have them."""

from collections.abc import Iterator

import pytest

from firmware_app.skills.grammar import Ending, Found, Hearing, Match, Net, Utterance

RULES = {"please": "[(could|can) you] [please]", "again": "<please> again"}
HEARING = Hearing(frozenset(), frozenset(), {}, str.isdigit)


def digits(heard: Utterance, at: int) -> Iterator[Found]:
    if heard.words[at].isdigit():
        yield Found(int(heard.words[at]), at + 1)


def heard(text: str, *templates: str) -> list[Match]:
    """What the words mean to these templates, taken at their word."""
    net = Net(RULES)
    for template in templates:
        net.add(template, Ending(template))
    ways = Utterance(text.split(), HEARING, {"number": digits}).whole(net.finish())
    return [way for way in ways if way.cost == 0]


@pytest.mark.parametrize(
    ("template", "said", "not_said"),
    [
        ("stop it", ["stop it"], ["stop", "stop it it"]),
        ("(stop|end) it", ["stop it", "end it"], ["it", "stop end it"]),
        ("stop|end it", ["stop", "end it"], ["stop it"]),
        ("stop [it]", ["stop", "stop it"], ["it"]),
        ("[all|both] off", ["all off", "both off", "off"], ["all both off"]),
        ("(turn [it]|switch) off", ["turn off", "turn it off", "switch off"], ["switch it off"]),
        ("<please> stop", ["stop", "please stop", "can you please stop"], ["can please stop"]),
        ("(lights;off)", ["lights off", "off lights"], ["lights", "off", "lights lights"]),
        ("say <again> <please>", ["say again", "say please again could you"], ["say please"]),
    ],
)
def test_brackets_bars_and_rules(template: str, said: list[str], not_said: list[str]) -> None:
    assert [text for text in [*said, *not_said] if heard(text, template)] == said


def test_a_slot_is_read_under_its_own_name_or_the_one_given() -> None:
    assert heard("wait 5", "wait {number}")[0].values == {"number": 5}
    assert heard("wait 5", "wait {number:seconds}")[0].values == {"seconds": 5}


def test_of_two_templates_that_mean_the_same_words_each_is_found() -> None:
    found = heard("turn it off", "turn (it|that) off", "[turn] it off")
    assert [match.meaning for match in found] == ["turn (it|that) off", "[turn] it off"]


NONE = "(a|b,a|b),[a,a],(a],[a),<nobody> a,<a,a>,{a,a}"


@pytest.mark.parametrize("template", NONE.split(","))
def test_what_is_no_template_is_told(template: str) -> None:
    with pytest.raises(ValueError, match="no template") as error:
        Net(RULES).add(template, Ending("nothing"))
    assert template in str(error.value)
