"""Changing one engine for another: the new one is loaded and tried before the old one goes."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from firmware_app.doctor.trial import hear, speak
from firmware_app.engines import Engines, LanguageModel, Message, Recogniser, Voice
from firmware_app.engines.loading import (
    load_model,
    load_recogniser,
    load_stop_word,
    load_verifier,
    load_voice,
)
from firmware_app.errors import EngineError
from firmware_app.frames import SAMPLE_RATE
from firmware_app.settings import Settings

Part: TypeAlias = Literal["recogniser", "voice", "model"]  # the settings' section that chooses it
OnState: TypeAlias = Callable[[str, str], None]

SHORTEST = 0.3 * SAMPLE_RATE  # samples that the sentence of the trial has at the very least
QUIETEST = 300  # peak of int16 samples, -40 dBFS
UNDERSTOOD = 0.3  # likeness to the sentence, of which even a poor voice leaves more
READY_SECONDS = 180.0  # for a language model to load from a slow card


@dataclass(frozen=True, slots=True)
class Candidate:
    """One engine that was loaded and tried; did says what it did."""

    did: str
    recogniser: Recogniser | None = None
    voice: Voice | None = None
    model: LanguageModel | None = None

    @property
    def name(self) -> str:
        engine = self.recogniser or self.voice or self.model
        return engine.name if engine else ""

    def among(self, engines: Engines, settings: Settings) -> Engines:
        """The engines with this one in the place of its kind."""
        if self.recogniser:
            verifier = load_verifier(settings, self.recogniser)
            stop_word = load_stop_word(settings, self.recogniser)
            return replace(
                engines, recogniser=self.recogniser, verifier=verifier, stop_word=stop_word
            )
        return replace(
            engines, voice=self.voice or engines.voice, model=self.model or engines.model
        )

    def replaced(self, engines: Engines) -> "Candidate":
        """What this one takes the place of."""
        return Candidate(
            "",
            engines.recogniser if self.recogniser else None,
            engines.voice if self.voice else None,
            engines.model if self.model else None,
        )

    async def close(self) -> None:
        if self.recogniser:
            self.recogniser.close()
        if self.voice:
            self.voice.close()
        if self.model:
            await self.model.close()


async def load_and_try(
    part: Part,
    settings: Settings,
    voice: Voice | None = None,
    on_state: OnState = lambda state, detail: None,
) -> Candidate:
    """Load the engine that these settings choose, and let it say or hear one short thing.

    voice: the one at hand, for a recogniser to listen to; without it one is loaded and closed.
    Raises EngineError with the reason where it cannot be loaded, or does not work.
    """
    match part:
        case "recogniser":
            return await _recogniser(settings, voice)
        case "voice":
            return await _voice(settings)
        case "model":
            return await _model(settings, on_state)


async def _recogniser(settings: Settings, voice: Voice | None) -> Candidate:
    recogniser = await asyncio.to_thread(load_recogniser, settings)
    try:
        speaker = voice
        if speaker is None:
            speaker = await asyncio.to_thread(load_voice, settings)
        try:
            sound = await speak(speaker, settings.language)
        finally:
            if speaker is not voice:
                speaker.close()
        heard = await hear(recogniser, sound, settings.language)
        if not heard.words or heard.likeness < UNDERSTOOD:
            raise EngineError(
                "model-does-not-hear",
                f"{recogniser.name} did not understand a sentence that {speaker.name} said.",
                f"Is it a model of the language {settings.language}? Read it through with: "
                "hey-echo models verify",
            )
    except BaseException:
        recogniser.close()
        raise
    return Candidate(
        f"heard a sentence of {speaker.name} in {heard.seconds:.1f} s", recogniser=recogniser
    )


async def _voice(settings: Settings) -> Candidate:
    voice = await asyncio.to_thread(load_voice, settings)
    try:
        sound = await speak(voice, settings.language)
        if len(sound) < SHORTEST or int(np.abs(sound.astype(np.int32)).max()) < QUIETEST:
            raise EngineError(
                "model-says-nothing",
                f"{voice.name} was asked to say a sentence, and there is no sound in it.",
                "Read its files through with: hey-echo models verify",
            )
    except BaseException:
        voice.close()
        raise
    return Candidate(f"said a sentence of {len(sound) / SAMPLE_RATE:.1f} s", voice=voice)


async def _model(settings: Settings, on_state: OnState) -> Candidate:
    model = load_model(settings, on_state)
    try:
        async with asyncio.timeout(READY_SECONDS):
            await model.ready()
            words = model.reply([Message("user", "Say hello.")])
            async with aclosing(words):
                async for piece in words:
                    if isinstance(piece, str) and piece.strip():
                        return Candidate("began an answer", model=model)
        raise _silent(model, "it ended without a word")
    except TimeoutError as error:
        await model.close()
        raise _silent(model, f"none came for {READY_SECONDS:.0f} seconds") from error
    except BaseException:
        await model.close()
        raise


def _silent(model: LanguageModel, how: str) -> EngineError:
    return EngineError(
        "model-answers-nothing",
        f"{model.name} was asked for one word, and {how}.",
        "Is it a model that follows instructions (instruct, chat), and is there memory for it? "
        "hey-echo models recommend tells what fits.",
    )
