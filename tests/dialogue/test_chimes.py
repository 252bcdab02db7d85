"""The wake chime: for who waits, not for who goes on; and never taken for speech."""

import numpy as np
import pytest

from firmware_app.audio.chimes import Name, chime
from firmware_app.audio.dsp import gain
from firmware_app.dialogue.chiming import WAIT, WakeChime
from firmware_app.dialogue.ear import Heard
from firmware_app.errors import EngineError
from firmware_app.events import Notice, QuestionAsked, ReplyEnded, TurnDropped
from firmware_app.frames import BLOCK, Frame, Samples
from firmware_app.settings import Settings
from firmware_app.traces import Outcome
from tests.dialogue.conftest import MakeRoom, Room
from tests.dialogue.scripted import ScriptedRecogniser, ScriptedVerifier

BEGINNING = 1600  # samples of a sound by which it is known


def chimed(room: Room, name: Name = "wake") -> bool:
    """Whether the loudspeaker played this chime, and that before anything else."""
    expected = (chime(name) * gain(Settings().voice.volume))[10:BEGINNING]
    played = np.trim_zeros(room.sink.samples, "f")
    if len(played) < BEGINNING:
        return False
    return (
        max(
            float(np.corrcoef(played[shift:][: len(expected)], expected)[0, 1])
            for shift in range(10)  # the chime's own first samples round to silence
        )
        > 0.99
    )


async def test_who_waits_after_the_wake_word_hears_a_chime(room: MakeRoom) -> None:
    async with room(chimes=True) as r:
        await r.call()
        await r.silence(5500)
        assert await r.until(TurnDropped) == TurnDropped(Outcome.NOTHING_SAID)
        await r.until_true(lambda: chimed(r))
        assert not r.all(QuestionAsked)


async def test_who_goes_on_at_once_hears_none(room: MakeRoom) -> None:
    async with room(chimes=True) as r:
        await r.ask()
        await r.until(ReplyEnded)
        assert r.sink.samples.any()
        assert not chimed(r)


async def test_who_begins_just_in_time_hears_none(room: MakeRoom) -> None:
    async with room(chimes=True) as r:
        await r.call()
        await r.silence(240)
        await r.say()
        await r.silence()
        await r.until(ReplyEnded)
        assert not chimed(r)


async def test_a_press_is_answered_by_the_chime_too(room: MakeRoom) -> None:
    async with room(chimes=True) as r:
        r.dialogue.press()
        await r.silence(5500)
        await r.until(TurnDropped)
        await r.until_true(lambda: chimed(r))


async def test_a_wake_up_that_the_second_look_refuses_makes_no_sound(room: MakeRoom) -> None:
    verifier = ScriptedVerifier(accepts=False)
    async with room(chimes=True, certain=False, verifier=verifier) as r:
        await r.call()
        await r.silence(2000)
        await r.until(TurnDropped)
        assert not r.sink.samples.any()


async def test_no_chime_where_the_owner_wants_none(room: MakeRoom) -> None:
    async with room(chimes=False) as r:
        await r.call()
        await r.silence(5500)
        await r.until(TurnDropped)
        assert not r.sink.samples.any()


async def test_a_follow_up_window_opens_without_a_chime(room: MakeRoom) -> None:
    async with room(chimes=True, follow_up=True) as r:
        await r.ask()
        await r.until(ReplyEnded)
        before = np.count_nonzero(r.sink.samples)
        await r.silence(15_000)
        await r.until_rest()
        assert np.count_nonzero(r.sink.samples) == before


SILENT: Samples = np.zeros(BLOCK, np.int16)


def when_due(spoken: set[int], ended: int = 10 * BLOCK) -> list[int]:
    """The frames, counted from the wake-up's end, at which it chimes; spoken: those with speech."""
    wake_chime = WakeChime(ended)
    return [
        number
        for number in range(-5, 60)
        if wake_chime.due(
            Heard(Frame(SILENT, ended + number * BLOCK, 0.0), float(number in spoken), 1)
        )
    ]


def test_it_chimes_once_300_ms_after_the_wake_up() -> None:
    assert when_due(set()) == [WAIT // BLOCK - 1]


def test_the_tail_of_the_wake_phrase_itself_is_no_going_on() -> None:
    assert when_due({-2, -1, 0, 1, 2, 3}) == [14]
    assert when_due({0, 1, 2, 3, 4, 5, 6, 7}) == []
    assert when_due({13}) == []
    assert when_due({20}) == [14]


async def test_a_question_that_cannot_even_be_heard_is_answered_by_the_error_chime(
    room: MakeRoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(recogniser: ScriptedRecogniser) -> None:
        raise EngineError("recogniser-failed", "The recogniser broke.", "Mend it.")

    monkeypatch.setattr(ScriptedRecogniser, "start", broken)
    async with room(chimes=True) as r:
        await r.call()
        assert (await r.until(Notice)).code == "recogniser-failed"
        await r.until_rest()
        await r.until_true(lambda: chimed(r, "error"))
