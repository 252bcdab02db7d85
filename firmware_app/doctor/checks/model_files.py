"""The files of the models in use: there, whole, and of the right kind."""

import contextlib
from pathlib import Path

from firmware_app import models
from firmware_app.doctor import Area, Check, Finding, failed, passed
from firmware_app.doctor.context import Context
from firmware_app.engines.loading import recogniser_engine
from firmware_app.errors import EngineError
from firmware_app.settings import Settings

SNIFFED = 512  # bytes in which a web page shows itself
PAGE = "{} is a web page, not a model: a download failed."


def run(context: Context) -> Finding:
    """Reads every byte of them: a flipped one makes an engine die, or speak nonsense."""
    read = 0
    for engine, chosen in wanted(context.settings):
        finding, size = judge(engine, chosen, context.settings)
        if finding:
            return finding
        read += size
    return passed(f"All are there and whole ({read / 1e6:.0f} MB read).")


def wanted(settings: Settings) -> list[tuple[str, str]]:
    """Engine and what the settings choose for it, for each engine in use that has a model."""
    found = [("openwakeword", ""), (recogniser_engine(settings), settings.recogniser.model)]
    if settings.model.backend == "llama":
        found.append(("llama", settings.model.model))
    if models.voice_engine(settings) == "piper":
        found.append(("piper", settings.voice.model))
    return found


def judge(engine: str, chosen: str, settings: Settings) -> tuple[Finding | None, int]:
    """What is wrong with the model, and the bytes that were read of it."""
    try:
        path = models.find(engine, chosen, settings)
        model = models.resolve(engine, chosen, settings)
        if isinstance(model, models.Model):
            _read_through(model, settings)
            return None, model.bytes
    except EngineError as error:
        if page := _web_page(engine, chosen, settings):
            return failed(PAGE.format(page), error.mend), 0
        return failed(f"{error.what} [{error.code}]", error.mend), 0
    if is_web_page(path):
        setting = models.SETTING[engine]
        return failed(PAGE.format(path), f"rm {path}; hey-echo config unset {setting}"), 0
    return None, path.stat().st_size if path.is_file() else 0


def _read_through(model: models.Model, settings: Settings) -> None:
    place = models.folder(settings) / model.name
    try:
        models.check(model, place, setting=models.SETTING[model.engine], read=True)
    except EngineError as error:
        if error.code != "model-not-recorded":  # the owner unpacked it: nothing to hold it against
            raise


def _web_page(engine: str, chosen: str, settings: Settings) -> Path | None:
    """The file of the chosen model that is a web page, as a failed download leaves."""
    with contextlib.suppress(EngineError):
        model = models.resolve(engine, chosen, settings)
        if isinstance(model, models.Model):
            place = models.folder(settings) / model.name
            return next(filter(is_web_page, (place / file.path for file in model.files)), None)
    return None


def is_web_page(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            start = file.read(SNIFFED).lstrip().lower()
    except OSError:
        return False
    return start.startswith((b"<!doctype html", b"<html", b"<?xml"))


CHECK = Check("model-files", Area.ENGINES, "the files of the models", run, seconds=120, heavy=True)
