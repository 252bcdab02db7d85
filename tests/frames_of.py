"""The frames of a sound, as a microphone would bring them."""

import io
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import soundfile  # type: ignore[import-untyped]
import soxr  # type: ignore[import-untyped]

from firmware_app.frames import BLOCK, SAMPLE_RATE, Frame, Samples, seconds

RECORDINGS = Path(__file__).resolve().parents[1] / "recordings"


def frames_of(samples: Samples, begin: int = 0) -> Iterator[Frame]:
    """Whole frames; what is left over at the end is dropped. begin: index of the first sample."""
    for index in range(0, len(samples) - BLOCK + 1, BLOCK):
        end = begin + index + BLOCK
        yield Frame(samples[index : index + BLOCK], begin + index, seconds(end))


def read(path: Path) -> Samples:
    samples: Samples = soundfile.read(path, dtype="int16")[0]
    return samples


def spoken(text: str, language: str) -> Samples:
    """The text in espeak-ng's voice for the language."""
    command = ["espeak-ng", "-v", language, "-s", "130", "--stdout", text]
    wav = subprocess.run(command, capture_output=True, check=True).stdout
    sound, rate = soundfile.read(io.BytesIO(wav), dtype="float32")
    resampled = soxr.resample(sound * 0.8, rate, SAMPLE_RATE)
    samples: Samples = np.rint(resampled * 32767).astype(np.int16)
    return samples
