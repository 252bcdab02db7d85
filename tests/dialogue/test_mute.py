"""Mute, and what the button does."""

import asyncio

import numpy as np
import pytest

from firmware_app.errors import EchoError, UsageError
from firmware_app.events import (
    Mode,
    MuteChanged,
    ReplyClause,
    ReplyEnded,
    Saved,
    State,
    StateChanged,
    Status,
)
from tests.conftest import PATIENCE
from tests.dialogue.scripted import ScriptedModel
from tests.dialogue.talking import LONG, MakeTalk, talking

__all__ = ["talking"]


async def test_mute_closes_the_microphone_and_unmute_opens_it(talking: MakeTalk) -> None:
    async with talking() as t:
        await t.talk.set_muted(True)
        await t.room.until_true(lambda: t.talk.situation.microphone_closed)
        situation = t.talk.situation
        assert (situation.state, situation.muted) == (State.MUTED, True)
        await t.talk.set_muted(False)
        await t.room.until_true(lambda: t.room.rests_in(State.IDLE))
        assert t.microphone.orders == [False, True]


async def test_a_turn_that_listens_is_cancelled(talking: MakeTalk) -> None:
    async with talking() as t:
        await t.room.call()
        await t.room.until_it_listens()
        await t.talk.set_muted(True)
        await t.room.until_rest()
        assert t.room.rests_in(State.MUTED)
        assert not t.room.model.asked


async def test_a_reply_may_finish(talking: MakeTalk) -> None:
    async with talking(model=ScriptedModel([LONG]), follow_up=True) as t:
        await t.room.ask()
        await t.room.until(ReplyClause)
        await t.talk.set_muted(True)
        assert t.room.rests_in(State.SPEAKING)
        assert (await t.room.until(ReplyEnded)).status is Status.COMPLETE
        await t.room.until_rest()
        states = [event.state for event in t.room.all(StateChanged)]
        assert states[-2:] == [State.SPEAKING, State.MUTED]  # no window for a follow-up


async def test_messages_are_answered_aloud_while_muted(talking: MakeTalk) -> None:
    async with talking() as t:
        await t.talk.set_muted(True)
        await t.answered("One?")
        assert t.room.sink.heard > 0
        assert t.room.rests_in(State.MUTED)


async def test_what_the_button_muted_only_the_button_unmutes(talking: MakeTalk) -> None:
    async with talking() as t:
        t.talk.toggle_mute()
        for _ in range(2):
            with pytest.raises(UsageError, match="button") as refusal:
                await t.talk.set_muted(False)
            assert refusal.value.code == "muted-by-button"
            await t.talk.set_muted(True)  # it stays the button's
        await t.talk.set_mode(Mode.TEXT)
        await t.talk.set_mode(Mode.VOICE)
        assert not t.microphone.wanted
        t.talk.toggle_mute()
        assert t.microphone.wanted
        assert not t.talk.situation.muted


async def test_what_the_page_muted_the_button_unmutes(talking: MakeTalk) -> None:
    async with talking() as t:
        await t.talk.set_muted(True)
        t.talk.toggle_mute()
        assert t.microphone.wanted


@pytest.mark.parametrize("by", ["page", "button"])
async def test_to_unmute_ends_text_mode(talking: MakeTalk, by: str) -> None:
    async with talking() as t:
        await t.talk.set_mode(Mode.TEXT)
        if by == "page":
            await t.talk.set_muted(False)
        else:
            t.talk.toggle_mute()
        assert t.talk.situation.mode is Mode.VOICE
        assert t.microphone.wanted


async def test_to_choose_voice_opens_what_the_page_had_muted(talking: MakeTalk) -> None:
    async with talking() as t:
        await t.talk.set_mode(Mode.TEXT)
        await t.talk.set_muted(True)
        await t.talk.set_mode(Mode.VOICE)
        assert t.microphone.wanted


async def test_mute_survives_a_restart_with_who_did_it(talking: MakeTalk) -> None:
    async with talking() as t:
        t.talk.toggle_mute()
    async with talking() as t:
        assert (t.microphone.wanted, t.microphone.orders) == (False, [False])
        assert t.room.rests_in(State.MUTED)
        with pytest.raises(EchoError, match="button"):
            await t.talk.set_muted(False)


async def test_it_holds_also_while_echo_cannot_be_awake(talking: MakeTalk) -> None:
    async with talking() as t:
        t.talk.detach()
        await t.talk.set_muted(True)
        assert not t.talk.listens
        assert t.talk.situation.muted
        t.talk.attach(t.room.dialogue)
        assert t.room.rests_in(State.MUTED)


async def test_a_microphone_that_is_lost_while_muted_is_told_of_afterwards(
    talking: MakeTalk,
) -> None:
    async with talking() as t:
        await t.talk.set_muted(True)
        await t.room.until_true(lambda: t.talk.situation.microphone_closed)
        t.microphone.prompt = False
        await t.talk.set_muted(False)
        t.talk.on_microphone(ready=False, text="It was unplugged.", closed=False)
        assert t.room.rests_in(State.ERROR)
        assert t.talk.situation.detail == "It was unplugged."


# The button.


async def test_a_press_listens_and_another_stops_what_is_said(talking: MakeTalk) -> None:
    async with talking(model=ScriptedModel([LONG])) as t:
        t.talk.press()
        await t.room.until_it_listens()
        await t.room.say()
        await t.room.silence()
        await t.room.until(ReplyClause)
        t.talk.press()
        assert (await t.room.until(ReplyEnded)).status is Status.INTERRUPTED
        await t.room.until_rest()
        assert t.room.rests_in(State.IDLE)


async def test_a_press_while_muted_opens_nothing_and_shows_the_mute(talking: MakeTalk) -> None:
    async with talking() as t:
        t.talk.toggle_mute()
        await t.room.until(MuteChanged, 2)  # it is wanted, and it is done
        t.talk.press()
        await t.room.until(MuteChanged, 3)
        assert t.room.all(MuteChanged)[2:] == [MuteChanged(muted=True, closed=True)]
        assert t.room.rests_in(State.MUTED)
        assert not t.room.dialogue.busy


async def test_a_press_while_muted_still_stops_what_is_said(talking: MakeTalk) -> None:
    async with talking(model=ScriptedModel([LONG])) as t:
        t.talk.toggle_mute()
        await t.send("Count.")
        await t.room.until(ReplyClause)
        t.talk.press()
        assert (await t.room.until(ReplyEnded)).status is Status.INTERRUPTED


async def test_held_the_button_undoes_its_press_and_mutes(talking: MakeTalk) -> None:
    async with talking() as t:
        t.talk.press()
        t.talk.cancel_listening()  # at once, or
        await t.room.until_rest()
        t.talk.press()
        await t.room.until_it_listens()
        t.talk.cancel_listening()  # after two seconds
        await t.room.until_rest()
        t.talk.toggle_mute()
        await t.room.until_true(lambda: t.room.rests_in(State.MUTED))


async def test_pressed_twice_it_listens_and_saves_nothing(talking: MakeTalk) -> None:
    async with talking() as t:
        t.talk.press()
        await asyncio.sleep(0.05)
        t.talk.dont_save()
        await t.room.until_it_listens()
        assert t.talk.situation.saved is Saved.NOT_SAVED
        await t.room.say()
        await t.room.silence()
        await t.room.until(ReplyEnded)
        await t.kept.written()
        assert await t.kept.conversations() == []


async def test_forty_presses_in_three_seconds_end_in_a_sane_state(talking: MakeTalk) -> None:
    async with talking(model=ScriptedModel([LONG, "Yes."])) as t:
        await t.send("Count.")
        await t.room.until(ReplyClause)
        for n in range(40):
            t.talk.press()
            if n % 7 == 3:
                t.talk.dont_save()
            if n % 9 == 5:
                t.talk.toggle_mute()
            await asyncio.sleep(0.075)
        if not t.talk.listens:
            t.talk.toggle_mute()
        await asyncio.sleep(0.01)
        t.talk.cancel_listening()
        await t.room.until_rest()
        assert t.room.rests_in(State.IDLE)
        await t.room.ask()
        await t.room.until(ReplyEnded, 2)
        assert t.room.answers[-1] == "Yes."


# What Echo says of its own.


async def test_an_announcement_waits_for_the_reply_and_is_never_an_entry(
    talking: MakeTalk,
) -> None:
    async with talking(model=ScriptedModel([LONG])) as t:
        await t.send("Count.")
        await t.room.until(ReplyClause)
        chime = np.full(1600, 9000, np.int16)
        await t.talk.announce("Your tea is ready.", chime)
        assert t.room.all(ReplyEnded)[0].status is Status.COMPLETE
        assert t.shown() == [(1, "Count."), (2, LONG)]
        _, counts = np.unique(t.room.sink.samples[-16_000:], return_counts=True)
        assert max(counts) > 1000  # the even sound of the chime


async def test_whoever_speaks_cuts_an_announcement_short(talking: MakeTalk) -> None:
    async with talking() as t:
        announced = asyncio.create_task(t.talk.announce(LONG * 5))
        await t.room.until_true(lambda: t.room.rests_in(State.SPEAKING))
        await t.room.ask()
        async with asyncio.timeout(PATIENCE):
            await announced
        await t.room.until(ReplyEnded)
        assert t.room.answers == ["Yes."]


async def test_without_a_voice_there_is_no_announcement(talking: MakeTalk) -> None:
    async with talking() as t:
        t.talk.detach()
        with pytest.raises(EchoError) as refusal:
            await t.talk.announce("Hello.")
        assert refusal.value.code == "not-awake"
