"""Text mode: the microphone is closed, nothing is spoken, and the talk goes on in writing."""

import asyncio

import pytest

from firmware_app.events import (
    EntryAdded,
    Mode,
    ModeChanged,
    MuteChanged,
    QuestionAsked,
    ReplyClause,
    ReplyEnded,
    State,
    StateChanged,
    Status,
    TurnDropped,
    WakeWordHeard,
)
from tests.dialogue.scripted import ScriptedModel
from tests.dialogue.talking import MakeTalk, Talking, talking

__all__ = ["talking"]

CLAUSES = [
    "One two three four five.",
    "Six seven eight nine ten.",
    "Eleven twelve thirteen fourteen fifteen.",
]
LONG = " ".join(CLAUSES)
either_way = pytest.mark.parametrize("saving", [True, False], ids=["saved", "unsaved"])


def voiced(t: Talking) -> float:
    """Seconds of sound that the voice was asked for."""
    return t.room.engines.voice.usage.audio_seconds


@either_way
async def test_replies_are_shown_and_no_voice_is_called(talking: MakeTalk, saving: bool) -> None:
    async with talking(model=ScriptedModel([LONG]), saving=saving) as t:
        await t.talk.set_mode(Mode.TEXT)
        await t.answered("Count.")
        assert voiced(t) == 0.0
        assert t.room.sink.heard == 0
        assert [event.text for event in t.room.all(ReplyClause)] == CLAUSES
        assert t.shown() == [(1, "Count."), (2, LONG)]
        assert State.SPEAKING not in [event.state for event in t.room.all(StateChanged)]
        assert t.room.rests_in(State.MUTED)
        assert t.microphone.orders == [False]
        if saving:
            answer = (await t.kept.entries())[-1]
            assert answer.metadata["engines"] == {"model": "scripted model"}


async def test_the_light_shows_mute_only_once_the_device_reports_it(talking: MakeTalk) -> None:
    async with talking(prompt=False) as t:
        assert t.room.rests_in(State.IDLE)
        await t.talk.set_mode(Mode.TEXT)
        assert t.room.rests_in(State.IDLE)
        assert t.talk.situation.detail == "The microphone is not closed yet."
        assert not t.talk.situation.microphone_closed
        t.microphone.report()
        assert t.room.rests_in(State.MUTED)
        assert "text mode" in t.talk.situation.detail
        await t.talk.set_mode(Mode.VOICE)
        assert t.room.rests_in(State.MUTED)  # it is closed still
        t.microphone.report()
        assert t.room.rests_in(State.IDLE)
        await t.room.until(MuteChanged, 4)
        assert [event.closed for event in t.room.all(MuteChanged)] == [False, True, True, False]
        assert [event.mode for event in t.room.all(ModeChanged)] == [Mode.TEXT, Mode.VOICE]


async def test_a_reply_that_sounds_goes_on_as_text_to_its_end(talking: MakeTalk) -> None:
    async with talking(model=ScriptedModel([LONG], 0.05)) as t:
        await t.room.ask()
        await t.room.until(ReplyClause)
        before, heard = voiced(t), t.room.sink.heard
        await t.talk.set_mode(Mode.TEXT)
        assert not t.room.rests_in(State.SPEAKING)
        ended = await t.room.until(ReplyEnded)
        assert (ended.status, ended.text) == (Status.COMPLETE, LONG)
        assert [event.text for event in t.room.all(ReplyClause)] == CLAUSES
        assert voiced(t) == before  # what was asked of the voice before is all there is
        assert t.room.sink.heard - heard < 16_000 // 10
        assert len(t.room.model.asked) == 1
        await t.room.until_rest()
        assert t.room.rests_in(State.MUTED)
        assert await t.kept.texts() == [(1, "What time is it?"), (2, LONG)]


async def test_stopped_after_that_what_was_shown_counts(talking: MakeTalk) -> None:
    async with talking(model=ScriptedModel([LONG], 0.1)) as t:
        await t.send("Count.")
        await t.room.until(ReplyClause)
        await t.talk.set_mode(Mode.TEXT)
        await t.room.until(ReplyClause, 2)
        t.talk.stop()
        ended = await t.room.until(ReplyEnded)
        assert ended.status is Status.INTERRUPTED
        assert ended.text == " ".join(CLAUSES[:2])


async def test_a_reply_begun_as_text_is_not_spoken_when_voice_is_chosen(talking: MakeTalk) -> None:
    async with talking(model=ScriptedModel([LONG, "Yes."], 0.05)) as t:
        await t.talk.set_mode(Mode.TEXT)
        await t.send("Count.")
        await t.room.until(ReplyClause)
        await t.talk.set_mode(Mode.VOICE)
        await t.room.until(ReplyEnded)
        assert voiced(t) == 0.0
        await t.answered("And now?")
        assert voiced(t) > 0.0
        assert t.room.model.questions == ["Count.", "And now?"]


async def test_switching_to_and_fro_resends_and_undoes_nothing(talking: MakeTalk) -> None:
    async with talking(model=ScriptedModel([LONG, "Yes."])) as t:
        await t.send("Count.")
        await t.room.until(ReplyClause)
        await t.send("Two?")
        for mode in (Mode.TEXT, Mode.VOICE) * 5:
            await t.talk.set_mode(mode)
        await t.room.until(ReplyEnded, 2)
        assert t.shown() == [(1, "Count."), (2, "Two?"), (3, LONG), (4, "Yes.")]
        assert t.room.model.questions == ["Count.", "Two?"]
        assert [event.number for event in t.room.all(EntryAdded)] == [1, 2, 3, 4]


async def test_in_voice_mode_a_message_is_answered_aloud(talking: MakeTalk) -> None:
    async with talking() as t:
        await t.answered("Are you there?")
        assert voiced(t) > 0.0
        assert t.room.sink.heard > 0


async def test_a_window_for_a_follow_up_closes(talking: MakeTalk) -> None:
    async with talking(follow_up=True) as t:
        await t.room.ask()
        await t.room.until(ReplyEnded)
        await t.room.until_it_listens()
        await t.talk.set_mode(Mode.TEXT)
        await t.room.until_rest()
        assert t.room.rests_in(State.MUTED)
        assert not t.room.all(TurnDropped)


async def test_sending_never_opens_the_microphone(talking: MakeTalk) -> None:
    async with talking() as t:
        await t.talk.set_mode(Mode.TEXT)
        await t.answered("One?")
        await t.room.call()  # the ear may hold what came in before
        await asyncio.sleep(0.3)
        assert not t.room.all(WakeWordHeard)
        assert t.room.rests_in(State.MUTED)
        assert t.microphone.orders == [False]
        assert len(t.room.all(QuestionAsked)) == 1


async def test_it_survives_a_restart_and_the_microphone_is_never_opened(
    talking: MakeTalk,
) -> None:
    async with talking() as t:
        await t.talk.set_mode(Mode.TEXT)
    async with talking() as t:
        assert t.talk.situation.mode is Mode.TEXT
        assert (t.microphone.wanted, t.microphone.orders) == (False, [False])
        await t.answered("One?")
        assert voiced(t) == 0.0
        await t.talk.set_mode(Mode.VOICE)
    async with talking() as t:
        assert t.talk.situation.mode is Mode.VOICE
        assert t.microphone.orders == []


async def test_by_typing_begins_in_text_mode_and_by_voice_opens_the_microphone(
    talking: MakeTalk,
) -> None:
    async with talking() as t:
        await t.talk.begin("home", new=True, mode=Mode.TEXT)
        assert not t.microphone.wanted
        await t.talk.begin("home", mode=Mode.VOICE)
        assert t.microphone.wanted


async def test_an_announcement_is_no_reply_and_is_spoken(talking: MakeTalk) -> None:
    async with talking() as t:
        await t.talk.set_mode(Mode.TEXT)
        await t.talk.announce("The code is one two three.")
        assert voiced(t) > 0.0
        assert not t.room.all(ReplyClause)
        assert t.shown() == []
