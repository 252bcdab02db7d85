"""Whether what hears, thinks and speaks knows the language that is set."""

from firmware_app import models
from firmware_app.doctor import Area, Check, Finding, failed, failed_by, passed, warned
from firmware_app.doctor.context import Context
from firmware_app.engines.loading import recogniser_engine
from firmware_app.errors import EngineError
from firmware_app.settings import Settings


def run(context: Context) -> Finding:
    settings = context.settings
    language = settings.language
    recogniser, voice = recogniser_engine(settings), models.voice_engine(settings)
    try:
        hears = _model(recogniser, settings.recogniser.model, settings)
        speaks = "espeak-ng" if voice == "espeak" else _model(voice, settings.voice.model, settings)
        llama = settings.model.backend == "llama"
        thinks = _model("llama", settings.model.model, settings) if llama else ""
    except EngineError as error:
        return failed_by(error)
    for setting, model in (("recogniser.model", hears), ("voice.model", speaks)):
        if not _knows(model, language):
            return failed(
                f"{_name(model)} ({setting}) knows {_languages(model)}, and the language is "
                f"{language}.",
                f"hey-echo config unset {setting}",
            )
    if not _knows(thinks, language):
        better = models.default("llama", settings).name
        return warned(
            f"{_name(thinks)} (model.model) knows {_languages(thinks)}; what no skill answers will "
            f"be poor in the language {language}.",
            f"hey-echo models install {better}, then: hey-echo models use {better}",
        )
    return passed(f"Of the language {language}: {_name(hears)} hears, {_name(speaks)} speaks.")


def _model(engine: str, chosen: str, settings: Settings) -> models.Model | str:
    """A model, or the name of one of the owner's, of which nothing is known."""
    found = models.resolve(engine, chosen, settings)
    return found if isinstance(found, models.Model) else found.name


def _knows(model: models.Model | str, language: str) -> bool:
    return isinstance(model, str) or model.language in (language, "multilingual", "")


def _name(model: models.Model | str) -> str:
    return model if isinstance(model, str) else model.name


def _languages(model: models.Model | str) -> str:
    return f"the language {model.language}" if isinstance(model, models.Model) else ""


CHECK = Check("language", Area.ENGINES, "whether the engines know the language", run)
