"""What people hand to Echo by mistake: one clear sentence, a fitting exit status, no traceback."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile  # type: ignore[import-untyped]

from firmware_app.cli import main
from firmware_app.models import folder
from firmware_app.settings import Settings

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def complain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> Callable[..., tuple[int, str]]:
    """Runs a command that must fail; gives its exit status and its one line."""
    monkeypatch.setenv("HEY_ECHO_PATHS_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("HEY_ECHO_PATHS_RUNTIME", str(tmp_path / "run"))

    def run(*words: str | Path) -> tuple[int, str]:
        status = main([str(word) for word in words])
        said = capsys.readouterr().err.strip()
        assert "Traceback" not in said
        assert said.startswith("hey-echo: ")
        assert "\n" not in said
        return status, said

    return run


Complain = Callable[..., tuple[int, str]]


def test_a_missing_recording_is_named(complain: Complain, tmp_path: Path) -> None:
    status, said = complain("listen", tmp_path / "none.wav")
    assert status == 65
    assert "none.wav" in said


@pytest.mark.parametrize(
    ("content", "names"),
    [
        (b"", "empty"),
        (b"RIFF\x24\x7d\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x80>\x00\x00", "not a"),
        (b"<html><body>not found</body></html>", "not a"),
        (b"\x00" * 4096, "not a"),
    ],
    ids=["empty", "cut off in its header", "a web page", "zeros"],
)
def test_a_file_that_is_no_recording_is_refused(
    complain: Complain, tmp_path: Path, content: bytes, names: str
) -> None:
    file = tmp_path / "sound.wav"
    file.write_bytes(content)
    status, said = complain("listen", file)
    assert status == 65
    assert "sound.wav" in said
    assert names in said


def test_a_recording_cut_short_is_refused(complain: Complain, tmp_path: Path) -> None:
    file = tmp_path / "sound.wav"
    soundfile.write(file, np.zeros(16_000, np.int16), 16_000)
    file.write_bytes(file.read_bytes()[:9_000])
    status, said = complain("listen", file)
    assert status == 65
    assert "cut" in said


@pytest.mark.parametrize(
    "rate", [3_000, 400_000], ids=["slower than any voice", "faster than any card"]
)
def test_an_absurd_rate_is_refused(complain: Complain, tmp_path: Path, rate: int) -> None:
    file = tmp_path / "sound.wav"
    soundfile.write(file, np.zeros(1_000, np.int16), rate)
    status, said = complain("listen", file)
    assert status == 65
    assert str(rate) in said.replace(",", "").replace(" ", "")


def test_a_setting_with_a_typo_is_met_with_the_right_name(
    complain: Complain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "config.toml"
    config.write_text('[wake]\nsensitivty = "high"\n')
    monkeypatch.setenv("HEY_ECHO_CONFIG", str(config))
    status, said = complain("config", "show")
    assert status == 78
    assert "wake.sensitivity" in said
    assert "config.toml" in said


@pytest.mark.parametrize(
    ("setting", "file", "keep"),
    [
        ("model.model", "smollm2-135m-instruct/SmolLM2-135M-Instruct.Q4_1.gguf", 0.5),
        ("model.model", "smollm2-135m-instruct/SmolLM2-135M-Instruct.Q4_1.gguf", 0.0),
    ],
    ids=["cut in half", "empty"],
)
def test_a_damaged_language_model_is_named_with_its_setting(
    complain: Complain,
    models: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    setting: str,
    file: str,
    keep: float,
) -> None:
    whole = (models / file).read_bytes()
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(whole[: int(len(whole) * keep)])
    monkeypatch.setenv("HEY_ECHO_MODEL_MODEL", str(cut))
    status, said = complain("ask", "Hello?")
    assert status == 69
    assert setting in said
    assert "cut.gguf" in said


def test_a_damaged_voice_or_recogniser_is_named_with_its_setting(
    complain: Complain, models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = tmp_path / "sound.wav"
    soundfile.write(recording, np.zeros(16_000, np.int16), 16_000)
    halved = tmp_path / "whisper-tiny-en"
    halved.mkdir()
    for file in (models / "whisper-tiny-en").iterdir():
        content = file.read_bytes()
        (halved / file.name).write_bytes(
            content[: len(content) // 2] if file.name == "model.bin" else content
        )
    monkeypatch.setenv("HEY_ECHO_RECOGNISER_ENGINE", "whisper")
    monkeypatch.setenv("HEY_ECHO_RECOGNISER_MODEL", str(halved))
    status, said = complain("listen", recording)
    assert status == 69
    assert "recogniser.model" in said
    assert str(halved) in said


def test_a_missing_wake_word_is_named(
    complain: Complain, models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert models == folder(Settings())
    recording = tmp_path / "sound.wav"
    soundfile.write(recording, np.zeros(16_000, np.int16), 16_000)
    monkeypatch.setenv("HEY_ECHO_WAKE_MODELS", "hey_nobody")
    status, said = complain("listen", recording)
    assert status == 69
    assert "hey_nobody" in said
    assert "wake.models" in said
