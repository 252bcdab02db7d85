"""Chooses and loads the engines that the settings name."""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from firmware_app import models
from firmware_app.engines import (
    Engines,
    LanguageModel,
    Recogniser,
    StopWord,
    Voice,
    VoiceActivity,
    WakeVerifier,
    WakeWord,
)
from firmware_app.errors import EngineError
from firmware_app.folders import state_dir
from firmware_app.settings import Settings

if TYPE_CHECKING:
    from firmware_app.engines.wake import OpenWakeWord

log = logging.getLogger(__name__)


async def load_engines(
    settings: Settings, on_model: Callable[[str, str], None] = lambda state, detail: None
) -> Engines:
    """Load all side by side. The language model starts too, but is not waited for.

    on_model: told "ready", "reconnecting" or "error" with a sentence when the model's process is
    started, started again, or cannot be.
    Raises EngineError naming the setting, the file and the mend.
    """
    if settings.model.backend == "llama":
        _model_path(settings)  # before anything is loaded in vain
    hearing, voice, activity = await asyncio.gather(
        asyncio.to_thread(_load_hearing, settings),
        asyncio.to_thread(load_voice, settings),
        asyncio.to_thread(load_voice_activity),
    )
    recogniser, verifier, wake = hearing
    try:
        # Last: its process would take a core from the others, without which nobody can ask.
        model = load_model(settings, on_model)
    except BaseException:
        voice.close()
        recogniser.close()
        raise
    stop_word = load_stop_word(settings, recogniser)
    return Engines(wake, activity, recogniser, model, voice, verifier, stop_word)


def _load_hearing(settings: Settings) -> tuple[Recogniser, WakeVerifier | None, WakeWord]:
    """One after the other, which together take as long as the voice does beside them."""
    recogniser = load_recogniser(settings)
    try:
        verifier = load_verifier(settings, recogniser)
        return recogniser, verifier, load_wake_word(settings, verifier is not None)
    except BaseException:
        recogniser.close()
        raise


def load_recogniser(settings: Settings) -> Recogniser:
    """The recogniser that the settings name; "auto" says in the log which it took."""
    engine = recogniser_engine(settings)
    if settings.recogniser.engine == "auto":
        log.info("recogniser.engine is auto: %s was chosen", engine)
    path = models.find(engine, settings.recogniser.model, settings)
    if engine == "vosk":
        from firmware_app.engines.vosk import VoskRecogniser

        return VoskRecogniser(path)
    from firmware_app.engines.whisper import WhisperRecogniser

    return WhisperRecogniser(path, settings.language)


def recogniser_engine(settings: Settings) -> str:
    """vosk or whisper: as named, else by the model that is there."""
    if settings.recogniser.engine != "auto":
        return settings.recogniser.engine
    return "vosk" if _vosk_model(settings) else "whisper"


def load_voice(settings: Settings) -> Voice:
    """The voice that the settings name; "auto" says in the log which it took."""
    engine = models.voice_engine(settings)
    if settings.voice.engine == "auto":
        log.info("voice.engine is auto: %s was chosen", engine)
    if engine == "espeak":
        from firmware_app.engines.espeak import Espeak

        return Espeak(settings.voice.model or settings.language, settings.voice.speed)
    from firmware_app.engines.piper import Piper

    return Piper(models.find("piper", settings.voice.model, settings), settings.voice.speed)


def load_model(
    settings: Settings, on_state: Callable[[str, str], None] = lambda state, detail: None
) -> LanguageModel:
    if settings.model.backend == "openai":
        from firmware_app.engines.openai import OpenAIModel

        return OpenAIModel(settings.model)
    from firmware_app.engines.llama import LlamaModel

    path = _model_path(settings)
    small = models.is_small(models.resolve("llama", settings.model.model, settings))
    return LlamaModel(path.stem, path, settings.model, on_state, small=small)


def _model_path(settings: Settings) -> Path:
    return models.find("llama", settings.model.model, settings)


def load_voice_activity() -> VoiceActivity:
    from firmware_app.engines.voice_activity import SileroVoiceActivity

    return SileroVoiceActivity()


def load_verifier(settings: Settings, recogniser: Recogniser) -> WakeVerifier | None:
    """The wake word's second stage, where it is wanted and the recogniser can be it."""
    from firmware_app.engines.wake import head_paths
    from firmware_app.engines.wake_verifier import verifier_for

    if not settings.wake.second_stage:
        return None
    return verifier_for(recogniser, head_paths(settings.wake.models, _head_folders(settings)))


def load_stop_word(settings: Settings, recogniser: Recogniser) -> StopWord | None:
    """What hears "stop" over a reply, where it is wanted and the recogniser can be it."""
    from firmware_app.engines.stop_word import stop_word_for

    return stop_word_for(recogniser) if settings.wake.stop_word else None


def load_wake_word(settings: Settings, verified: bool) -> "OpenWakeWord":
    """verified: whether a second stage looks at doubtful wake-ups."""
    from firmware_app.engines.wake import FeatureModels, Head, OpenWakeWord, head_paths
    from firmware_app.engines.wake_owner import OwnerStore, with_owners

    features = FeatureModels(models.find("openwakeword", "", settings))
    store = OwnerStore(state_dir(settings))
    paths = head_paths(settings.wake.models, _head_folders(settings))
    heads = [head for path in paths for head in with_owners(Head(path), store, features)]
    return OpenWakeWord(features, heads, settings.wake, second_stage=verified)


def _head_folders(settings: Settings) -> list[Path]:
    return [models.SHIPPED, models.folder(settings)]


def _vosk_model(settings: Settings) -> bool:
    try:
        models.find("vosk", settings.recogniser.model, settings)
    except EngineError:
        return False
    return True
