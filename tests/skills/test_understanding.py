"""What is taken for certain of a sentence, what is asked about, and what is left to the model."""

import datetime

import pytest

from firmware_app.skills.building import World, build, load
from firmware_app.skills.registry import Skills
from firmware_app.skills.understanding import Understanding, said_once
from tests.skills.conftest import DrivenClock, Speaker


@pytest.mark.parametrize(
    "around",
    [
        "Could you please be so kind and {}?",
        "Would it be possible to {}, please?",
        "I'd like you to {} for me.",
        "Sorry, can you {} right now?",
        "{}, if you can.",
        "{}, would you?",
    ],
)
@pytest.mark.parametrize(
    ("said", "tool"),
    [
        ("set a timer for twelve minutes", "set_timer"),
        ("turn the volume down", "change_volume"),
        ("cancel the pasta timer", "cancel"),
        ("continue our talk about the garden", "continue_talk"),
    ],
)
def test_polite_words_around_it_change_nothing(around: str, said: str, tool: str) -> None:
    skills = build(World(time=DrivenClock().local()))
    plain, polite = skills.understand(said), skills.understand(around.format(said))
    assert plain
    assert plain.call
    assert plain.call.tool == tool
    assert polite == plain


async def test_after_something_else_a_change_is_asked_about(skills: Skills, say: Speaker) -> None:
    asked = await say("I'm boiling eggs, set a timer for seven minutes.")
    assert asked == "Did you say a timer for 7 minutes?"
    assert await say("Yes.") == "7 minutes, starting now."
    assert await say("The film was long, what time is it?") == ""


@pytest.mark.parametrize(
    ("heard", "confidence", "asked"),
    [
        # What is left of "for an hour and 15 minutes", of "three quarters", and of "8:20".
        ("Set a timer for well how for 15 minutes.", 0.75, "Did you say a timer for 15 minutes?"),
        ("Set a timer for free quarters of an hour.", 0.75, "Did you say a timer for 1 hour?"),
        ("Wake me up at 20.", 0.65, "Did you say an alarm for 8:00 PM?"),
        ("Set an alarm for 8.50.", 0.65, "Did you say an alarm for 8:50 or an alarm for 8:15?"),
        (
            "Remind me to call Montamaro at 7.",  # mom, tomorrow
            0.7,
            "Did you say a reminder, 7:00: call montamaro?",
        ),
        ("Set an alarm for 7.30.", 0.65, "The alarm is set for today at 7:30 PM."),
        ("Cancel all timers.", 0.3, "Did you say cancel all of them?"),
    ],
)
async def test_what_may_be_misheard_is_asked_about(
    say: Speaker, heard: str, confidence: float, asked: str
) -> None:
    assert await say(heard, confidence) == asked


async def test_what_is_missing_is_asked_for_however_unsure_the_recogniser_is(say: Speaker) -> None:
    assert await say("Set a timer.", 0.3) == "For how long?"
    assert await say("Remind me on Friday to pay the rent.") == "At what time?"
    assert await say("At ten in the morning.") == (
        "I will remind you Friday at 10:00 AM: pay the rent."
    )


async def test_what_a_timer_is_for_is_enough_where_such_a_timer_runs(say: Speaker) -> None:
    assert await say("How long has the pasta got left?") == ""
    await say("Set a pasta timer for nine minutes.")
    assert await say("How long has the pasta got left?") == "9 minutes left on the pasta timer."
    assert await say("How much is left of the rainforest?") == ""


@pytest.mark.parametrize(
    ("heard", "once"),
    [
        ("Tell me the date Tell me the date", "Tell me the date"),
        ("What times is it? What times is it? What", "What times is it?"),
        ("No, no, no.", "No, no, no."),
        ("Set a timer for ten minutes.", "Set a timer for ten minutes."),
        ("", ""),
    ],
)
def test_what_a_recogniser_repeats_was_said_once(heard: str, once: str) -> None:
    assert said_once(heard) == once


def test_a_sentence_is_worked_out_once_a_day() -> None:
    understanding = Understanding(load("en"), changes=frozenset(), slight=frozenset())
    today = datetime.date(2026, 11, 30)
    text = "What day is tomorrow?"
    first = understanding.meaning(text, today, 0.9)
    assert first is understanding.meaning(text, today, 0.9)
    tomorrow = understanding.meaning(text, today + datetime.timedelta(days=1), 0.9)
    assert first
    assert tomorrow
    assert (first.arguments, tomorrow.arguments) == (
        {"date": "2026-12-01"},
        {"date": "2026-12-02"},
    )
