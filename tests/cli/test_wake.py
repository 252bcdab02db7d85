"""Teaching Echo how its owner says its name, from recordings, and forgetting it."""

from pathlib import Path

import numpy as np
import pytest
import soundfile  # type: ignore[import-untyped]

from firmware_app.cli import main
from firmware_app.cli.wake import spoken
from firmware_app.engines.voice_activity import SileroVoiceActivity
from firmware_app.frames import SAMPLE_RATE, Samples
from tests.cli.conftest import Box
from tests.frames_of import frames_of
from tests.frames_of import spoken as espeak


def pause(seconds: float) -> Samples:
    noise = np.random.default_rng(1).normal(0, 5, int(seconds * SAMPLE_RATE))
    return np.asarray(np.round(noise), np.int16)


def said(times: int) -> Samples:
    phrase = espeak("Hey Echo.", "en-us")
    return np.concatenate([pause(0.6), *[np.concatenate((phrase, pause(1.0)))] * times])


def recording(folder: Path, times: int) -> Path:
    path = folder / f"{times}.wav"
    soundfile.write(path, said(times), SAMPLE_RATE)
    return path


class FakeMicrophone:
    """A list of frames."""

    def __init__(self, samples: Samples) -> None:
        self._frames = list(frames_of(samples))

    async def __aiter__(self):  # type: ignore[no-untyped-def]  # noqa: ANN204
        for frame in self._frames:
            yield frame

    async def close(self) -> None:
        pass


async def test_each_thing_said_is_one_example() -> None:
    found = [e async for e in spoken(FakeMicrophone(said(3)), SileroVoiceActivity())]
    assert [example.fault for example in found] == ["", "", ""]
    assert all(SAMPLE_RATE < len(example.samples) < 3 * SAMPLE_RATE for example in found)


async def test_a_long_speech_is_no_example() -> None:
    long = espeak("The train to the coast was late again, so we ate our sandwiches.", "en-us")
    source = FakeMicrophone(np.concatenate((pause(0.6), long, pause(1))))
    found = [e async for e in spoken(source, SileroVoiceActivity())]
    assert "too long" in {example.fault for example in found}


def test_ten_examples_are_learnt_listed_and_forgotten(
    box: Box, models: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["wake", "record", "anna", "--from", str(recording(tmp_path, 10))]) == 0
    assert "10 of 10" in capsys.readouterr().out
    folder = box.state / "wake" / "anna"
    assert len(list(folder.glob("*.wav"))) == 10
    assert (folder / "hey_echo.npz").exists()
    assert main(["wake", "list"]) == 0
    assert capsys.readouterr().out == "anna\n"
    assert main(["wake", "forget", "anna"]) == 0
    assert not folder.exists()


def test_too_few_examples_teach_nothing(
    box: Box, models: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["wake", "record", "--from", str(recording(tmp_path, 3))]) != 0
    assert "Only 3 of 10" in capsys.readouterr().err
    assert not (box.state / "wake").exists()


def test_whom_there_is_not_cannot_be_forgotten(
    box: Box, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["wake", "forget", "ben"]) == 2
    assert main(["wake", "forget", "../ben"]) == 2
    assert "Nobody called ben" in capsys.readouterr().err
