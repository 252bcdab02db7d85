"""The word "stop", said over a reply or a ring: what it ends, and what it leaves alone."""

import asyncio

import numpy as np
import pytest

from firmware_app.dialogue.bursts import Bursts
from firmware_app.errors import EngineError
from firmware_app.events import ReplyClause, ReplyEnded, State, StateChanged, Status, WakeWordHeard
from firmware_app.frames import BLOCK, Frame, Samples
from tests.conftest import PATIENCE
from tests.dialogue.conftest import MakeRoom
from tests.dialogue.scripted import ScriptedModel, ScriptedStopWord, tone

LONG = "One two three four five, six seven eight nine ten, eleven twelve thirteen fourteen fifteen."


async def test_it_ends_a_reply_and_begins_no_turn(room: MakeRoom) -> None:
    async with room(model=ScriptedModel([LONG]), stop_word=ScriptedStopWord()) as r:
        await r.ask()
        await r.until(ReplyClause)
        await r.say_stop()
        assert (await r.until(ReplyEnded)).status is Status.INTERRUPTED
        await r.until_rest()
        assert len(r.model.asked) == 1
        assert len(r.all(WakeWordHeard)) == 1


async def test_other_words_over_a_reply_change_nothing(room: MakeRoom) -> None:
    stop_word = ScriptedStopWord()
    async with room(model=ScriptedModel([LONG]), stop_word=stop_word) as r:
        await r.ask()
        await r.until(ReplyClause)
        await r.say(400)
        await r.silence(300)
        assert (await r.until(ReplyEnded)).status is Status.COMPLETE
        assert stop_word.asked == 1


async def test_a_reply_that_says_stop_does_not_stop_itself(room: MakeRoom) -> None:
    says = ScriptedModel(["The bus stops here, and goes on to the sea."])
    async with room(model=says, stop_word=ScriptedStopWord()) as r:
        await r.ask()
        await r.until(ReplyClause)
        await r.say_stop()
        assert (await r.until(ReplyEnded)).status is Status.COMPLETE


async def test_an_announcement_that_says_stop_does_not_stop_itself(room: MakeRoom) -> None:
    stop_word = ScriptedStopWord()
    async with room(stop_word=stop_word) as r:
        says = asyncio.create_task(r.dialogue.announce("The bus stops here, and goes on."))
        while not r.rests_in(State.SPEAKING):
            await asyncio.sleep(0.002)
        await r.say_stop()
        await says
        assert stop_word.asked == 0


async def test_it_ends_what_rings_also_between_two_rings(room: MakeRoom) -> None:
    async with room(stop_word=ScriptedStopWord()) as r:
        stopped = asyncio.Event()

        def stop_ringing() -> bool:
            stopped.set()
            return True

        r.dialogue.stop_ringing = stop_ringing
        await r.dialogue.announce("The timer is over.")
        await r.until_rest()
        await r.silence(100)
        await r.say_stop()
        async with asyncio.timeout(PATIENCE):
            await stopped.wait()


async def test_it_means_nothing_while_echo_rests(room: MakeRoom) -> None:
    stop_word = ScriptedStopWord()
    async with room(stop_word=stop_word) as r:
        await r.silence(100)
        await r.say_stop()
        await r.silence(200)
        assert r.rests_in(State.IDLE)
        assert not r.all(StateChanged)[1:]
        assert stop_word.asked == 0


async def test_nor_some_seconds_after_a_reply(room: MakeRoom) -> None:
    stop_word = ScriptedStopWord()
    async with room(stop_word=stop_word) as r:
        await r.ask()
        await r.until(ReplyEnded)
        await r.until_rest()
        await r.silence(3200)
        await r.say_stop()
        assert stop_word.asked == 0


async def test_where_judging_fails_the_reply_goes_on(room: MakeRoom) -> None:
    stop_word = ScriptedStopWord()
    stop_word.error = EngineError("recogniser-failed", "It failed.", "Restart Echo.")
    async with room(model=ScriptedModel([LONG]), stop_word=stop_word) as r:
        await r.ask()
        await r.until(ReplyClause)
        await r.say_stop()
        assert (await r.until(ReplyEnded)).status is Status.COMPLETE
        assert stop_word.asked == 1


def found(sound: Samples, far: Samples, *, cancelled: bool = True) -> list[float]:
    """Seconds that each burst in the sound lasts, with what is kept around it."""
    bursts, lengths = Bursts(), []
    for start in range(0, len(sound) - BLOCK + 1, BLOCK):
        played = far[start : start + BLOCK] if cancelled else None
        burst = bursts.feed(Frame(sound[start : start + BLOCK], start, 0.0, played))
        lengths += [len(burst) * BLOCK / 16_000] if burst else []
    return lengths


def silence_for(sound: Samples) -> Samples:
    return np.zeros(len(sound), np.int16)


def between(sound: Samples) -> Samples:
    """The sound after five seconds of quiet, and half a second of it behind."""
    noise = np.random.default_rng(0).normal(0, 10, len(sound) + 88_000)
    noise[80_000 : 80_000 + len(sound)] += sound
    return noise.astype(np.int16)


def test_a_burst_comes_with_the_sound_around_it() -> None:
    sound = between(tone(400, 0.2))
    assert found(sound, silence_for(sound)) == [pytest.approx(0.24 + 0.4 + 0.2, abs=0.03)]


@pytest.mark.parametrize("milliseconds", [40, 2000])
def test_clicks_and_long_speech_are_none(milliseconds: int) -> None:
    sound = between(tone(milliseconds, 0.2))
    assert found(sound, silence_for(sound)) == []


def test_where_no_echo_is_taken_out_there_are_none() -> None:
    sound = between(tone(400, 0.2))
    assert found(sound, silence_for(sound), cancelled=False) == []


def test_what_is_left_of_an_echo_is_none_but_a_voice_over_it_is() -> None:
    syllables = np.tile(np.concatenate([tone(300, 0.2), np.zeros(4000, np.int16)]), 20)
    left = (syllables / 40).astype(np.int16)  # 32 dB below
    assert found(left, syllables) == []
    voice = left.copy()
    voice[120_000:124_800] += tone(300, 0.05)
    assert len(found(voice, syllables)) == 1
