"""What doctor says of the language that is set."""

from pathlib import Path
from typing import Literal

import pytest

from firmware_app import models
from firmware_app.doctor import Status
from firmware_app.settings import PathSettings, Settings, VoiceSettings
from tests.doctor.conftest import Box


@pytest.fixture
def shelf(box: Box, tmp_path: Path) -> Path:
    place = tmp_path / "shelf"
    for name in ("whisper-tiny-en", "whisper-base", "piper-en-us-joe", "smollm2-135m-instruct"):
        (place / name).mkdir(parents=True)
    box.values["paths.models"] = str(place)
    return place


def test_the_packaged_engines_know_english(box: Box, shelf: Path) -> None:
    finding = box.finds("language")
    assert finding.status is Status.PASS
    assert finding.line == "Of the language en: whisper-tiny-en hears, piper-en-us-joe speaks."


def test_spanish_takes_what_knows_it(box: Box, shelf: Path) -> None:
    box.values["language"] = "es"
    finding = box.finds("language")
    assert finding.status is Status.PASS
    assert finding.line == "Of the language es: whisper-base hears, espeak-ng speaks."


def test_a_model_that_knows_another_language_is_named(box: Box, shelf: Path) -> None:
    box.values |= {"language": "es", "recogniser.model": "whisper-tiny-en"}
    finding = box.finds("language")
    assert finding.status is Status.FAIL
    assert "whisper-tiny-en (recogniser.model) knows the language en" in finding.line
    box.values |= {"recogniser.model": "", "voice.model": "piper-en-us-joe"}
    assert "piper-en-us-joe (voice.model)" in box.finds("language").line


def test_a_model_that_thinks_in_another_language_is_a_warning(box: Box, shelf: Path) -> None:
    box.values |= {"language": "es", "model.model": "smollm2-135m-instruct"}
    finding = box.finds("language")
    assert finding.status is Status.WARN
    assert "hey-echo models install qwen2.5-0.5b-instruct" in finding.mend


def test_auto_takes_the_voice_that_is_there(tmp_path: Path) -> None:
    def engine(language: Literal["en", "es"], *, voice: str = "") -> str:
        paths = PathSettings(models=str(tmp_path))
        return models.voice_engine(
            Settings(language=language, paths=paths, voice=VoiceSettings(model=voice))
        )

    assert engine("en") == "piper"  # packaged: where it is missing, that is an error
    assert engine("es") == "espeak"
    assert engine("es", voice="es-419") == "espeak"
    (tmp_path / "piper-es-es-davefx").mkdir()
    assert engine("es") == "piper"
    assert engine("es", voice="piper-es-es-davefx") == "piper"
