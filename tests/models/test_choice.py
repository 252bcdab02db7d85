"""Which model is in use, what choosing another one writes, and what cannot be chosen."""

from dataclasses import replace
from pathlib import Path

import pytest

from firmware_app import models
from firmware_app.errors import UsageError
from firmware_app.model_store.choice import changed, changes_for, in_use
from firmware_app.models import record
from firmware_app.settings import (
    ModelSettings,
    PathSettings,
    RecogniserSettings,
    Settings,
    VoiceSettings,
)


@pytest.fixture
def shelf(place: Path) -> Settings:
    """A models folder where files of some models stand for the real ones."""
    for name in (
        "smollm2-135m-instruct",
        "piper-en-us-joe",
        "piper-de-de-thorsten",
        "whisper-tiny-en",
        "whisper-base",
        "openwakeword-features",
        "qwen2.5-0.5b-instruct",
    ):
        (place / name).mkdir()
    return Settings(paths=PathSettings(models=str(place)))


def add_own(settings: Settings, name: str, engine: str, opens: str) -> None:
    folder = models.folder(settings) / name
    folder.mkdir()
    (folder / (opens or models.MARK[engine].rpartition("/")[2])).write_bytes(b"x")
    record(models.Model(name, models.KIND[engine], engine, "", "MIT", "own", opens=opens), folder)


def test_without_a_choice_the_packaged_ones_are_in_use(shelf: Settings) -> None:
    assert in_use(shelf) == {
        "paths.models": "openwakeword-features",
        "recogniser.model": "whisper-tiny-en",
        "model.model": "smollm2-135m-instruct",
        "voice.model": "piper-en-us-joe",
    }


def test_auto_takes_vosk_once_it_is_there(shelf: Settings) -> None:
    (models.folder(shelf) / "vosk-model-small-en-us-0.15" / "am").mkdir(parents=True)
    (models.folder(shelf) / "vosk-model-small-en-us-0.15" / "am" / "final.mdl").touch()
    assert in_use(shelf)["recogniser.model"] == "vosk-model-small-en-us-0.15"


def test_the_installed_one_of_two_is_the_default(shelf: Settings) -> None:
    """Only the larger of the two English Vosk models is there."""
    (models.folder(shelf) / "vosk-model-en-us-0.22-lgraph").mkdir()
    assert in_use(shelf)["recogniser.model"] == "vosk-model-en-us-0.22-lgraph"


def test_what_is_not_used_is_not_in_use(shelf: Settings) -> None:
    settings = replace(
        shelf,
        voice=VoiceSettings(engine="espeak"),
        model=ModelSettings(backend="openai"),
        recogniser=RecogniserSettings(engine="whisper", model="whisper-base"),
    )
    assert set(in_use(settings).values()) == {"openwakeword-features", "whisper-base"}


@pytest.mark.parametrize(
    ("name", "writes"),
    [
        ("whisper-base", [("recogniser.model", ""), ("recogniser.engine", "whisper"),
                          ("recogniser.model", "whisper-base")]),
        ("qwen2.5-0.5b-instruct", [("model.model", "qwen2.5-0.5b-instruct")]),
        ("piper-en-us-joe", [("voice.model", ""), ("voice.engine", "piper"),
                             ("voice.model", "piper-en-us-joe")]),
        ("espeak", [("voice.model", ""), ("voice.engine", "espeak")]),
    ],
)  # fmt: skip
def test_a_choice_writes_what_every_start_in_between_can_use(
    shelf: Settings, name: str, writes: list[tuple[str, str]]
) -> None:
    assert list(changes_for(name, shelf)) == writes
    after = changed(shelf, writes)
    assert name == "espeak" or name in in_use(after).values()


def test_a_model_by_hand_can_be_chosen(shelf: Settings) -> None:
    add_own(shelf, "mine", "llama", "x.gguf")
    after = changed(shelf, changes_for("mine", shelf))
    assert in_use(after)["model.model"] == "mine"


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("piper-de-de-thorsten", "model-of-another-language"),
        ("piper-fr-fr-siwis", "unknown-model"),  # of the catalogue, and not installed
        ("nothing", "unknown-model"),
        ("openwakeword-features", "model-not-a-choice"),
    ],
)
def test_what_cannot_be_chosen_is_told(shelf: Settings, name: str, code: str) -> None:
    with pytest.raises(UsageError) as caught:
        changes_for(name, shelf)
    assert caught.value.code == code


def test_a_model_is_not_chosen_while_another_machine_thinks(shelf: Settings) -> None:
    settings = replace(shelf, model=ModelSettings(backend="openai"))
    with pytest.raises(UsageError, match="Another machine thinks"):
        changes_for("qwen2.5-0.5b-instruct", settings)
