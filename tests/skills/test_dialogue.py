"""Skills in a dialogue: what they answer, when, and what is kept of it."""

import asyncio
from dataclasses import replace

import pytest

from firmware_app.dialogue.answering import Answering, Question
from firmware_app.dialogue.keeping import Keeper
from firmware_app.dialogue.open_talk import OpenTalk
from firmware_app.dialogue.ringing import Ringing
from firmware_app.engines import EngineNames
from firmware_app.events import (
    Event,
    Events,
    ReplyEnded,
    RingingChanged,
    State,
    Status,
    ToolUsed,
)
from firmware_app.frames import Samples
from firmware_app.settings import Settings
from firmware_app.skills.building import World, build
from firmware_app.traces import Trace
from tests.conftest import until
from tests.dialogue.conftest import Keep, MakeRoom, keep, room
from tests.dialogue.scripted import ScriptedModel
from tests.skills.conftest import DrivenClock

__all__ = ["keep", "room"]  # fixtures


async def test_the_time_is_told_without_the_model_and_kept_with_its_tool(
    room: MakeRoom, keep: Keep, clock: DrivenClock
) -> None:
    model = ScriptedModel()
    skills = build(World(time=clock.local()))
    async with (
        keep() as kept,
        room(("What time is it?",), model=model, keeper=kept.keeper, skills=skills) as r,
    ):
        await r.ask()
        ended = await r.until(ReplyEnded)
        assert ended == ReplyEnded(Status.COMPLETE, "It is 5:00 PM.")
        assert r.all(ToolUsed) == [ToolUsed("time", "It is 5:00 PM.")]
        assert model.asked == []
        entries = await kept.entries()
        assert [(entry.kind, entry.text) for entry in entries] == [
            ("user", "What time is it?"),
            ("tool", "It is 5:00 PM."),
            ("assistant", "It is 5:00 PM."),
        ]


async def test_only_what_changes_nothing_is_begun_before_the_question_is_committed(
    clock: DrivenClock,
) -> None:
    skills = build(World(time=clock.local()))
    now = Settings()
    answering = Answering(
        now, ScriptedModel(), None, EngineNames(), Keeper(now), Events(), skills, lambda _: None
    )
    trace = Trace(0.0)
    assert answering.prepare("Set a timer for ten minutes.", 1.0, trace) is None
    prepared = answering.prepare("What time is it?", 1.0, trace)
    assert prepared
    await answering.answer(Question("What time is it?", 1.0, "voice"), prepared, trace)
    assert prepared.text == "It is 5:00 PM."
    await answering.close()


async def test_what_changes_something_waits_for_the_end_of_the_sentence(
    room: MakeRoom, clock: DrivenClock
) -> None:
    skills = build(World(time=clock.local()))
    heard = (
        "Set a timer for ten minutes",
        "Set a timer for ten minutes and thirty seconds.",
    )
    async with room(heard, skills=skills) as r:
        await r.call()
        await r.say()
        await r.silence(340)
        await r.say()
        await r.silence()
        await r.until(ReplyEnded)
        assert [alert.seconds for alert in skills.timers.schedule.alerts()] == [630]


async def test_a_question_of_echos_own_keeps_the_window_open_for_the_answer(
    room: MakeRoom, clock: DrivenClock
) -> None:
    skills = build(World(time=clock.local()))
    heard = ("Set a timer.", "Five minutes.")
    async with room(heard, skills=skills, follow_up=False) as r:
        await r.ask()
        await r.until(ReplyEnded)
        await r.until_it_listens()
        await r.say()
        await r.silence()
        ended = await r.until(ReplyEnded, 2)
        assert ended.text.startswith("5 minutes, starting now.")


async def test_typed_requests_reach_the_skills_too(room: MakeRoom, clock: DrivenClock) -> None:
    async with room(skills=build(World(time=clock.local()))) as r:
        assert await r.typed("What is 7 times 8?") == "56."
        assert await r.typed("And who are you?") == "Yes."


async def test_our_talk_about_the_garden_is_found_confirmed_and_gone_on_with(
    room: MakeRoom, keep: Keep
) -> None:
    settings = replace(Settings(), voice=replace(Settings().voice, history="all"))
    model = ScriptedModel(["Plant tomatoes in May.", "Water them daily.", "Every morning."])
    async with keep(settings) as kept:
        skills = build(World(talk=OpenTalk(kept.keeper, Events())))
        async with room(model=model, keeper=kept.keeper, skills=skills, settings=settings) as r:
            await r.typed("What can I plant in the garden?")
            garden = kept.keeper.conversation.uuid
            kept.keeper.begin_another()
            await r.typed("Who are you?")
            await kept.written()
            assert "What can I plant in the garden" in await r.typed(
                "What did I ask you about the garden?"
            )
            offered = await r.typed("Continue our talk about the garden.")
            assert "Shall I continue it?" in offered
            assert "What can I plant in the garden" in offered
            assert (await r.typed("Yes.")).startswith("Continuing")
            assert kept.keeper.conversation.uuid == garden
            await r.typed("And when shall I water?")
            assert "Plant tomatoes in May." in str(model.asked[-1])


async def test_history_is_out_of_reach_where_the_setting_says_so(
    room: MakeRoom, keep: Keep
) -> None:
    settings = replace(Settings(), voice=replace(Settings().voice, history="off"))
    async with keep(settings) as kept:
        skills = build(World(talk=OpenTalk(kept.keeper, Events())))
        async with room(keeper=kept.keeper, skills=skills, settings=settings) as r:
            await r.typed("What can I plant in the garden?")
            assert "may not look" in await r.typed("What did I ask you about the garden?")


async def test_slowly_is_slower_once_and_then_as_before(room: MakeRoom, clock: DrivenClock) -> None:
    heard = ("What time is it?", "Say that again slowly.")
    async with room(heard, skills=build(World(time=clock.local()))) as r:
        await r.ask()
        await r.until(ReplyEnded)
        await r.until_rest()
        first = r.sink.samples.size
        await r.ask()
        await r.until_rest()
        assert r.sink.samples.size > first
        assert r.engines.voice.speed == 1.0


class Bell:
    """Counts how often it rings."""

    def __init__(self) -> None:
        self.said: list[str] = []

    async def announce(self, text: str, sound: Samples | None) -> None:
        self.said.append(text)
        await asyncio.sleep(0)


async def test_a_timer_rings_until_it_is_stopped_or_long_enough(clock: DrivenClock) -> None:
    timers = build(World(time=clock.local())).timers
    bell, events, seen = Bell(), Events(), []
    listener = events.listen()

    async def watch() -> None:
        async for event in listener:
            seen.extend([event])

    ringing = Ringing(timers, events, bell.announce, limit=0.2, pause=0.01)
    tasks = [asyncio.create_task(ringing.run()), asyncio.create_task(watch())]
    timers.schedule.count_down("timer", 60, "pasta")
    clock.go_on(60)
    timers.schedule.on_change()
    await until(lambda: len(bell.said) >= 3)
    assert ringing.stop()
    assert not ringing.stop()
    rings: list[Event] = [
        RingingChanged(True, "The pasta timer"),
        RingingChanged(False, "The pasta timer"),
    ]
    await until(lambda: seen == rings)
    assert set(bell.said) == {"The pasta timer is over."}

    timers.schedule.count_down("timer", 1, "eggs")  # nobody stops this one
    clock.go_on(1)
    timers.schedule.on_change()
    await until(lambda: len(seen) == 4)
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


@pytest.mark.parametrize("how", ["press", "stop", "call"])
async def test_press_stop_and_wake_word_end_what_rings(room: MakeRoom, how: str) -> None:
    async with room() as r:
        stopped: list[str] = []

        def stop_ringing() -> bool:
            stopped.append(how)
            return len(stopped) == 1

        r.dialogue.stop_ringing = stop_ringing
        if how == "press":
            r.dialogue.press()
            await asyncio.sleep(0.02)
            assert not r.all(ReplyEnded)
            assert r.rests_in(State.IDLE)
        elif how == "stop":
            r.dialogue.stop()
        else:
            await r.call()
            await until(lambda: bool(stopped))
        assert stopped
