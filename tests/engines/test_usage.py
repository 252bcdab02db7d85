"""What recognisers and voices have consumed is on their meters, each sound once."""

import asyncio
from pathlib import Path

import numpy as np
import pytest

from firmware_app.engines import Recogniser, Voice
from firmware_app.engines.espeak import Espeak
from firmware_app.engines.piper import Piper
from firmware_app.engines.vosk import VoskRecogniser
from firmware_app.engines.whisper import WhisperRecogniser
from firmware_app.frames import SAMPLE_RATE, Samples
from tests.conftest import PATIENCE
from tests.frames_of import RECORDINGS, frames_of, read, spoken


async def heard_twice(recogniser: Recogniser, sound: Samples) -> None:
    """As in a dialogue: looked at when the speaker pauses, and again when all is said."""
    recognition = recogniser.start()
    for frame in frames_of(sound[: SAMPLE_RATE * 2]):
        recognition.feed(frame)
    await recognition.peek()
    for frame in frames_of(sound[SAMPLE_RATE * 2 :]):
        recognition.feed(frame)
    await recognition.finish()


async def test_whisper_counts_a_second_of_sound_once_however_often_it_looks(models: Path) -> None:
    whisper = WhisperRecogniser(models / "whisper-tiny-en")
    sound = read(RECORDINGS / "bench" / "capital.flac")
    await heard_twice(whisper, sound)
    assert whisper.usage.audio_seconds == pytest.approx(len(sound) / SAMPLE_RATE, abs=0.05)
    assert whisper.usage.compute_seconds > 0.05
    before = whisper.usage.audio_seconds
    recognition = whisper.start()
    for frame in frames_of(sound):
        recognition.feed(frame)
    recognition.cancel()  # never looked at, so never worked on
    assert whisper.usage.audio_seconds == before
    whisper.close()


@pytest.mark.journey
async def test_vosk_counts_what_it_decodes(korean_model: Path) -> None:
    vosk = VoskRecogniser(korean_model)
    sound = np.concatenate((spoken("안녕하세요 감사합니다", "ko"), np.zeros(SAMPLE_RATE, np.int16)))
    await heard_twice(vosk, sound)
    assert vosk.usage.audio_seconds == pytest.approx(len(sound) / SAMPLE_RATE, abs=0.05)
    assert vosk.usage.compute_seconds > 0
    vosk.close()


async def test_piper_counts_what_it_makes(models: Path) -> None:
    piper = Piper(models / "piper-en-us-joe")
    await a_sentence_is_counted(piper)
    piper.close()


async def test_espeak_counts_what_it_makes() -> None:
    await a_sentence_is_counted(Espeak())


async def a_sentence_is_counted(voice: Voice) -> None:
    assert voice.usage.audio_seconds == 0  # the warm-up is nobody's
    async with asyncio.timeout(PATIENCE):
        made = sum([len(piece) async for piece in voice.say("The capital of France is Paris.")])
    assert voice.usage.audio_seconds == pytest.approx(made / SAMPLE_RATE)
    assert voice.usage.compute_seconds > 0
    assert not voice.usage.incomplete
