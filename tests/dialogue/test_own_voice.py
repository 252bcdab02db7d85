"""A word that the loudspeaker said itself does not wake Echo."""

import asyncio
from collections.abc import AsyncIterator

import numpy as np
import pytest

from firmware_app.dialogue.ear import Ear, WakeUp
from firmware_app.frames import BLOCK, Frame, Samples
from tests.dialogue.scripted import WAKE_MARK, LevelActivity, ScriptedWakeWord

QUIET = np.zeros(BLOCK, np.int16)


def marked(mark: int) -> Samples:
    samples = QUIET.copy()
    samples[0] = mark
    return samples


@pytest.fixture
async def ear() -> AsyncIterator[Ear]:
    ear = Ear(ScriptedWakeWord(), LevelActivity())
    yield ear
    await ear.close()


async def woken_by(ear: Ear, mark: int, far: list[Samples | None]) -> list[str]:
    """The words heard when the last frame has the mark, and the loudspeaker played this."""
    for number, played in enumerate(far):
        samples = marked(mark) if number == len(far) - 1 else QUIET
        await ear.hear(Frame(samples, number * BLOCK, 0.0, played))
    await asyncio.to_thread(lambda: None)
    await ear.close()
    found = []
    while not ear.heard.empty():
        heard = ear.heard.get_nowait()
        found += [heard.detection.word] if isinstance(heard, WakeUp) else []
    return found


async def test_a_word_in_the_loudspeakers_own_sound_is_not_taken_for_a_call(ear: Ear) -> None:
    assert await woken_by(ear, WAKE_MARK, [marked(WAKE_MARK), QUIET, QUIET]) == []


async def test_a_call_over_other_words_of_the_loudspeaker_is_heard(ear: Ear) -> None:
    assert await woken_by(ear, WAKE_MARK, [QUIET, QUIET, QUIET]) == ["echo"]


async def test_a_call_while_nothing_is_played_is_heard(ear: Ear) -> None:
    assert await woken_by(ear, WAKE_MARK, [None, None, None]) == ["echo"]


async def test_what_was_said_long_before_does_not_count(ear: Ear) -> None:
    far: list[Samples | None] = [marked(WAKE_MARK), *[QUIET] * 120]
    assert await woken_by(ear, WAKE_MARK, far) == ["echo"]
