"""Faults of models and engines, each staged on the real ones, and the line that doctor says."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from firmware_app.doctor import Status
from firmware_app.doctor.checks import recogniser, voice_activity
from firmware_app.doctor.trial import Heard
from firmware_app.errors import EngineError, ServiceError
from tests.doctor.conftest import Box

pytestmark = pytest.mark.journey

VOICE = Path("piper-en-us-joe")
GGUF = Path("smollm2-135m-instruct/SmolLM2-135M-Instruct.Q4_1.gguf")


@pytest.fixture
def own(box: Box, models: Path, tmp_path: Path) -> Path:
    """A models folder like the real one, whose files may be spoilt."""
    folder = tmp_path / "models"
    for model in models.iterdir():
        if model.is_dir() and not model.name.startswith("."):
            (folder / model.name).mkdir(parents=True)
            for file in filter(Path.is_file, model.rglob("*")):
                link = folder / file.relative_to(models)
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(file)
    box.values["paths.models"] = str(folder)
    return folder


def spoil(file: Path, contents: bytes) -> None:
    """In the place of the link; what it led to stays as it is."""
    file.unlink()
    file.write_bytes(contents)


def test_models_that_are_whole_pass(box: Box, own: Path) -> None:
    finding = box.finds("model-files")
    assert finding.status is Status.PASS
    assert "whole" in finding.line


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda whole: whole[: len(whole) // 2], "bytes instead of"),
        (lambda whole: whole[:1000] + b"?" + whole[1001:], "other contents"),
        (lambda whole: b"\n<!DOCTYPE html><title>Log in</title>", "is a web page, not a model"),
        (lambda whole: b"", "has 0 bytes"),
    ],
    ids=["truncated", "flipped", "web page", "empty"],
)
def test_a_spoilt_file_is_named(
    box: Box, own: Path, change: Callable[[bytes], bytes], says: str
) -> None:
    file = next((own / "openwakeword-features").glob("embed*.onnx"))
    spoil(file, change(file.read_bytes()))
    finding = box.finds("model-files")
    assert finding.status is Status.FAIL
    assert str(file) in finding.line
    assert says in finding.line
    assert "./scripts/setup" in finding.mend or "hey-echo models" in finding.mend


def test_a_model_of_another_engine_is_refused(box: Box, own: Path) -> None:
    box.values["recogniser.engine"] = "whisper"
    box.values["recogniser.model"] = VOICE.name
    assert "which is a model of piper, not of whisper" in box.finds("model-files").line


def test_a_model_that_is_missing_is_named(box: Box, own: Path) -> None:
    shutil.rmtree(own / VOICE)
    finding = box.finds("model-files")
    assert (finding.status, "[model-missing]" in finding.line) == (Status.FAIL, True)


def test_an_owners_model_that_is_a_web_page_is_found(box: Box, own: Path) -> None:
    (own / "better.gguf").write_bytes(b"<html>404</html>")
    box.values["model.model"] = "better.gguf"
    assert "better.gguf is a web page" in box.finds("model-files").line


def test_voice_and_recogniser_understand_each_other(box: Box, own: Path) -> None:
    assert box.finds("voice").status is Status.PASS
    finding = box.finds("recogniser")
    assert finding.status is Status.PASS
    assert "100% of the letters" in finding.line
    assert box.finds("voice-activity").status is Status.PASS


def test_a_voice_that_is_damaged_is_named(box: Box, own: Path) -> None:
    file = next((own / VOICE).glob("*.onnx"))
    whole = bytearray(file.read_bytes())
    whole[100:5000] = bytes(4900)
    spoil(file, bytes(whole))
    with pytest.raises(EngineError, match="voice") as caught:
        box.finds("voice")
    assert caught.value.code == "model-damaged"


def test_a_recogniser_that_hears_other_words_or_none_is_found() -> None:
    other = recogniser.judge("whisper", Heard(0.2, 5, 0.1))
    assert (other.status, "other words" in other.line) == (Status.FAIL, True)
    assert recogniser.judge("whisper", Heard(0.0, 0, 0.1)).status is Status.FAIL


def test_speech_that_scores_like_silence_is_found() -> None:
    assert voice_activity.judge(0.0, 0.1).status is Status.FAIL
    assert voice_activity.judge(0.9, 0.9).status is Status.FAIL


def test_settings_that_make_the_wake_word_deaf_or_wild_are_found(box: Box, own: Path) -> None:
    assert "is heard in a recording" in box.finds("wake-word").line
    box.values["wake.blocks_in_a_row"] = 10
    finding = box.finds("wake-word")
    assert (finding.status, "not heard" in finding.line) == (Status.WARN, True)
    box.values |= {"wake.threshold": 1e-9, "wake.blocks_in_a_row": 1}
    assert box.finds("wake-word").line == "Echo wakes up in silence."


def test_the_language_model_answers_in_a_process_of_its_own(box: Box, own: Path) -> None:
    assert "started and answered" in box.finds("language-model").line


def test_a_language_model_cut_off_in_the_middle_is_named(box: Box, own: Path) -> None:
    (own / "cut.gguf").write_bytes((own / GGUF).read_bytes()[: 1 << 20])
    box.values["model.model"] = "cut.gguf"
    with pytest.raises(EngineError, match=r"cut\.gguf .* cannot be loaded") as caught:
        box.finds("language-model")
    assert caught.value.code == "model-file"


def test_beside_the_service_its_own_engines_are_asked(box: Box) -> None:
    box.service()
    box.answers["doctor.trial"] = {
        "voice": "piper joe",
        "spoken_samples": 24_000,
        "recogniser": "whisper tiny-en",
        "heard": {"likeness": 1.0, "words": 5, "seconds": 0.2},
    }
    box.answers["doctor.model"] = {"model": "smollm2", "tokens": 4}
    assert "whisper tiny-en hears 100%" in box.finds("recogniser").line
    assert "smollm2 runs in the service" in box.finds("language-model").line
    busy = ServiceError("busy-talking", "Echo is in the middle of an answer.", "Try again.")
    box.answers |= {"doctor.trial": busy, "doctor.model": busy}
    for check in ("recogniser", "language-model"):
        assert box.finds(check).line == "Not tried: Echo is in the middle of an answer."
