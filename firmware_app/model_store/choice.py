"""Which models are in use, and what settings change to use another one."""

import dataclasses
from collections.abc import Sequence
from typing import Any, TypeAlias

from firmware_app.errors import EngineError, UsageError
from firmware_app.models import Model, folder, installed, resolve, unknown, voice_engine
from firmware_app.settings import Settings

ESPEAK = "espeak"  # a voice without a model
Changes: TypeAlias = Sequence[tuple[str, str]]  # settings and values, in the order to write them


def in_use(settings: Settings) -> dict[str, str]:
    """The models that Echo opens with these settings, by the setting that chooses each.

    A model of the owner's under a path counts by the name of its file or folder.
    """
    used = {"paths.models": _name("openwakeword", "", settings)}
    used["recogniser.model"] = _recogniser(settings)
    if settings.model.backend == "llama":
        used["model.model"] = _name("llama", settings.model.model, settings)
    if voice_engine(settings) == "piper":
        used["voice.model"] = _name("piper", settings.voice.model, settings)
    return {setting: name for setting, name in used.items() if name}


def _recogniser(settings: Settings) -> str:
    """As load_recogniser chooses: auto takes Vosk where it is installed."""
    engine, chosen = settings.recogniser.engine, settings.recogniser.model
    if engine != "auto":
        return _name(engine, chosen, settings)
    vosk = _name("vosk", chosen, settings)
    return (
        vosk if (folder(settings) / vosk).is_dir() and vosk else _name("whisper", chosen, settings)
    )


def _name(engine: str, chosen: str, settings: Settings) -> str:
    try:
        return resolve(engine, chosen, settings).name
    except EngineError:
        return ""


def changes_for(name: str, settings: Settings) -> Changes:
    """What to set so that Echo uses the installed model of that name, or espeak.

    After each of the changes the settings are such as Echo can start with.
    Raises UsageError for a model that is not there, speaks another language, or cannot be chosen.
    """
    if name == ESPEAK:
        return [("voice.model", ""), ("voice.engine", ESPEAK)]
    there = installed(folder(settings))
    if name not in there:
        raise unknown([name], [*there, ESPEAK])
    model = there[name]
    _check_language(model, settings)
    match model.kind:
        case "recogniser":
            return [
                ("recogniser.model", ""),
                ("recogniser.engine", model.engine),
                ("recogniser.model", name),
            ]
        case "voice":
            return [("voice.model", ""), ("voice.engine", model.engine), ("voice.model", name)]
        case "language-model" if settings.model.backend == "llama":
            return [("model.model", name)]
        case "language-model":
            raise UsageError(
                "model-elsewhere",
                f"Another machine thinks for Echo: model.backend is {settings.model.backend}.",
                "To think on this device: sudo hey-echo config set model.backend llama",
            )
    raise UsageError(
        "model-not-a-choice",
        f"{name} is not chosen: Echo always listens for the wake word with it.",
        "The wake words themselves are the setting wake.models.",
    )


def _check_language(model: Model, settings: Settings) -> None:
    if model.kind == "language-model" or model.language in (settings.language, "multilingual", ""):
        return
    raise UsageError(
        "model-of-another-language",
        f"{model.name} speaks {model.language}, and the language of this Echo is "
        f"{settings.language}.",
        f"Change that first: sudo hey-echo config set language {model.language}",
    )


def changed(settings: Settings, changes: Changes) -> Settings:
    """The settings as they are after the changes."""
    for name, value in changes:
        section, _, key = name.partition(".")
        values: dict[str, Any] = {key: value}
        part = dataclasses.replace(getattr(settings, section), **values)
        settings = dataclasses.replace(settings, **{section: part})
    return settings
