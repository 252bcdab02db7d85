"""What was said before: what is found of it, how far back, and what is gone on with."""

from dataclasses import replace

import pytest

from firmware_app.dialogue.open_talk import OpenTalk
from firmware_app.engines import EngineNames
from firmware_app.events import Events, Status
from firmware_app.history.records import NewConversation, NewEntry, title_of
from firmware_app.settings import Settings
from firmware_app.skills import Call
from firmware_app.skills.building import World, build
from firmware_app.skills.local_time import LocalTime
from firmware_app.skills.reach import within_reach
from firmware_app.skills.registry import Skills
from tests.dialogue.conftest import Keep, Kept, keep
from tests.skills.conftest import MONDAY, DrivenClock, Speaker

__all__ = ["keep"]  # a fixture

DAY = 86_400.0
ALL = replace(Settings(), voice=replace(Settings().voice, history="all"))
TODAY = replace(Settings(), voice=replace(Settings().voice, history="today"))


def skills_of(kept: Kept, time: LocalTime | None = None) -> Skills:
    return build(World(talk=OpenTalk(kept.keeper, Events()), time=time or LocalTime()))


async def talk(kept: Kept, *said: str, kind: str = "voice") -> str:
    """A conversation of questions and answers in turn; its uuid."""
    new = NewConversation(kind, "home", title_of(said[0]))  # type: ignore[arg-type]
    await kept.store.start(new)
    for number, text in enumerate(said, 1):
        who = "user" if number % 2 else "assistant"
        await kept.store.write(NewEntry(new.uuid, number, who, (text,)))  # type: ignore[arg-type]
    await kept.store.end(new.uuid)
    return new.uuid


async def test_what_was_asked_is_told_with_the_answer(keep: Keep) -> None:
    async with keep(ALL) as kept:
        await talk(kept, "What grows in the garden?", "Tomatoes do.")
        say = Speaker(skills_of(kept))
        assert await say("What did I ask you about the garden?") == (
            "Today, you asked: What grows in the garden? I said: Tomatoes do."
        )
        assert await say("What did I ask you about the moon?") == (
            "I found nothing about the moon."
        )
        assert await say("What did I ask you yesterday about the garden?") == (
            "I found nothing about the garden, yesterday."
        )
        assert await say("What did I ask you yesterday?") == "I found nothing yesterday."


async def test_a_day_of_the_week_is_the_last_one(clock: DrivenClock) -> None:
    skills = build(World(time=clock.local()))  # it is Monday, 30 November
    for said, date in (
        ("What did I ask you on Friday?", "2026-11-27"),
        ("What did I ask you last Monday?", "2026-11-23"),
        ("What did we talk about on December 24th?", "2025-12-24"),
        ("What did I ask you today?", "2026-11-30"),
    ):
        understood = skills.understand(said)
        assert understood
        assert understood.call == Call("search_history", {"date": date})


async def test_the_threads_of_panes_are_neither_found_nor_gone_on_with(keep: Keep) -> None:
    async with keep(ALL) as kept:
        await talk(kept, "How is the build of the garden page?", "Green.", kind="pane")
        say = Speaker(skills_of(kept))
        assert await say("What did I ask you about the garden?") == (
            "I found nothing about the garden."
        )
        assert await say("Continue our last conversation.") == (
            "There is no earlier conversation that I could continue."
        )


async def test_what_was_not_saved_is_not_found(keep: Keep) -> None:
    async with keep(ALL) as kept:
        kept.keeper.leave_unsaved()
        asked = kept.keeper.ask("What grows in the garden?", "voice", EngineNames(), 1.0)
        kept.keeper.answer(asked, "Tomatoes.", Status.COMPLETE, "voice", EngineNames())
        await kept.written()
        say = Speaker(skills_of(kept))
        assert await say("What did I ask you about the garden?") == (
            "I found nothing about the garden."
        )


async def test_with_today_alone_yesterday_is_out_of_reach(keep: Keep) -> None:
    async with keep(TODAY) as kept:
        await talk(kept, "What grows in the garden?", "Tomatoes do.")
        say = Speaker(skills_of(kept))
        assert "Tomatoes do." in await say("What did I ask you about the garden?")
        assert await say("What did I ask you yesterday about the garden?") == (
            "I may only look at today's conversations by voice. "
            "The setting voice.history can allow more."
        )


@pytest.mark.parametrize(
    ("reach", "age", "trusted", "within"),
    [
        ("all", 400 * DAY, True, True),
        ("all", None, False, True),
        ("off", 0.0, True, False),
        ("today", 0.0, True, True),
        ("today", DAY, True, False),
        ("today", None, True, False),
        ("today", 0.0, False, False),
    ],
)
def test_how_far_back_the_voice_reaches(
    clock: DrivenClock, reach: str, age: float | None, trusted: bool, within: bool
) -> None:
    clock.trusted = trusted
    created = None if age is None else MONDAY.timestamp() - age
    assert within_reach(reach, created, clock.local()) is within  # type: ignore[arg-type]


async def test_of_several_talks_the_latest_is_offered_and_a_no_leaves_it(keep: Keep) -> None:
    async with keep(ALL) as kept:
        first = await talk(kept, "When do I water the garden?", "In the morning.")
        await talk(kept, "Which trees suit a small garden?", "A cherry.")
        carried_on = await kept.store.carry_on("home", first)
        number = carried_on.conversation.next_entry
        await kept.store.write(NewEntry(first, number, "user", ("And the garden in autumn?",)))
        await kept.store.end(first)
        before = kept.keeper.conversation.uuid
        say = Speaker(skills_of(kept))
        assert await say("Continue our talk about the garden.") == (
            "I found When do I water the garden?, today. Shall I continue it?"
        )
        assert await say("No.") == "All right."
        assert kept.keeper.conversation.uuid == before
        await say("Continue our last conversation.")
        assert (await say("Yes.")).startswith("Continuing When do I water the garden")
        assert kept.keeper.conversation.uuid == first


async def test_where_no_talk_fits_nothing_is_continued(keep: Keep) -> None:
    async with keep(ALL) as kept:
        say = Speaker(skills_of(kept))
        assert await say("Continue our talk about the garden.") == (
            "I found nothing about the garden."
        )
        assert await say("Yes.") == ""


async def test_entries_that_are_not_there_are_said_to_be_none(keep: Keep) -> None:
    async with keep(ALL) as kept:
        result = await skills_of(kept).use(Call("conversation_history", {"first": 7}))
        assert result.text == "I found nothing."
