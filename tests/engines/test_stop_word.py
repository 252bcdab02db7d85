"""The word that stops Echo, by Whisper: it is told from its neighbours."""

import numpy as np
import pytest

from firmware_app.engines.stop_word import WhisperStopWord, stop_word_for
from firmware_app.engines.whisper import WhisperRecogniser
from firmware_app.errors import EngineError
from firmware_app.frames import SAMPLE_RATE, Samples
from tests.dialogue.scripted import ScriptedRecogniser
from tests.frames_of import spoken


def alone(text: str) -> Samples:
    """The text with a fifth of a second of quiet around it."""
    return np.pad(spoken(text, "en-us"), SAMPLE_RATE // 5)


@pytest.fixture(scope="module")
def stop_word(whisper: WhisperRecogniser) -> WhisperStopWord:
    found = stop_word_for(whisper)
    assert found
    return found


@pytest.mark.parametrize("text", ["Stop!", "Stop.", "Stop it!", "Stop, that is enough."])
async def test_it_is_heard(stop_word: WhisperStopWord, text: str) -> None:
    assert await stop_word.begins(alone(text))


@pytest.mark.parametrize("text", ["Yes.", "No.", "Shop.", "What?", "Step.", "The door is open."])
async def test_other_words_are_not_taken_for_it(stop_word: WhisperStopWord, text: str) -> None:
    assert not await stop_word.begins(alone(text))


async def test_nor_are_silence_and_noise(stop_word: WhisperStopWord) -> None:
    noise = np.random.default_rng(0).normal(0, 500, SAMPLE_RATE).astype(np.int16)
    assert not await stop_word.begins(np.zeros(SAMPLE_RATE, np.int16))
    assert not await stop_word.begins(noise)


def test_with_a_recogniser_that_was_not_measured_only_the_wake_word_stops() -> None:
    assert stop_word_for(ScriptedRecogniser([])) is None


async def test_a_model_that_fails_is_named(whisper: WhisperRecogniser) -> None:
    class FakeBrokenModel(WhisperStopWord):
        def score(self, samples: Samples) -> float:
            raise RuntimeError("out of memory")

    broken = FakeBrokenModel(whisper, accept=-4.0)
    with pytest.raises(EngineError, match="out of memory"):
        await broken.begins(np.zeros(SAMPLE_RATE, np.int16))
