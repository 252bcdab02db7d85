"""Engines tried on one short sentence: the voice says it, the recogniser hears it."""

import asyncio
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from firmware_app.audio.dsp import blocks
from firmware_app.dialogue.likeness import likeness
from firmware_app.dialogue.phrases import phrases
from firmware_app.engines import LanguageModel, Message, Recogniser, Voice
from firmware_app.engines.loading import load_voice
from firmware_app.frames import BLOCK, Frame, Samples
from firmware_app.settings import Settings

PAUSE = np.zeros(15 * BLOCK, np.int16)  # recognisers expect silence around speech

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Heard:
    """How much of the sentence the recogniser understood, without the words.

    likeness: 0 to 1, by letters.
    """

    likeness: float
    words: int
    seconds: float


async def speak(voice: Voice, language: str) -> Samples:
    """The sentence as the voice says it, 16 kHz; empty where it says nothing."""
    said = [samples async for samples in voice.say(phrases(language).trial)]
    return np.concatenate([np.zeros(0, np.int16), *said])


async def hear(recogniser: Recogniser, sound: Samples, language: str) -> Heard:
    began = time.monotonic()
    recognition = recogniser.start()
    for number, block in enumerate(blocks(np.concatenate((PAUSE, sound, PAUSE)))):
        recognition.feed(Frame(block, number * BLOCK, time.monotonic()))
    text = (await recognition.finish()).text
    return Heard(
        likeness(text, phrases(language).trial),
        len(text.split()),
        time.monotonic() - began,
    )


async def think(model: LanguageModel) -> int:
    """Characters of the answer to one short question."""
    await model.ready()
    question = [Message("user", "Say hello.")]
    answer = [piece async for piece in model.reply(question) if isinstance(piece, str)]
    return len("".join(answer).strip())


class Trial:
    """The sentence spoken by the voice that the settings name, made once for all checks."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._sound: Samples | None = None

    def sound(self) -> Samples:
        """Blocks while the voice is loaded. Raises EngineError as load_voice does."""
        with self._lock:
            if self._sound is None:
                voice = load_voice(self._settings)
                try:
                    self._sound = asyncio.run(speak(voice, self._settings.language))
                finally:
                    voice.close()
            return self._sound


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """What it gives, and the seconds it took."""
    began = time.monotonic()
    return work(), time.monotonic() - began
