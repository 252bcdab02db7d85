"""Small tools for sound: a queue of samples, fades, volume, change of rate."""

import functools
from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np
import soxr  # type: ignore[import-untyped]
from numpy.typing import NDArray

from firmware_app.frames import BLOCK, SAMPLE_RATE, Samples

FULL_SCALE = 32768
MARGIN = 16  # samples at each end that `shifted` needs
PHASES = 256


def milliseconds(ms: float) -> int:
    """Samples in so many milliseconds."""
    return round(SAMPLE_RATE * ms / 1000)


def blocks(samples: Samples) -> Iterator[Samples]:
    """The samples in frames' size, the last filled up with silence."""
    for start in range(0, len(samples), BLOCK):
        block = samples[start : start + BLOCK]
        yield np.pad(block, (0, BLOCK - len(block))) if len(block) < BLOCK else block


def to_int16(sound: NDArray[Any]) -> Samples:
    """Float samples of full scale 1.0 as int16; what is louder is clipped, NaN is silence."""
    return _rounded(np.nan_to_num(sound) * FULL_SCALE)


def to_float(samples: Samples) -> NDArray[np.float32]:
    return samples.astype(np.float32) / np.float32(FULL_SCALE)


def _rounded(scaled: NDArray[Any]) -> Samples:
    whole: Samples = np.clip(np.rint(scaled), -FULL_SCALE, FULL_SCALE - 1).astype(np.int16)
    return whole


def fade_in(samples: Samples, length: int) -> Samples:
    """Raised-cosine rise over the first `length` samples."""
    length = min(length, len(samples))
    faded = samples.copy()
    faded[:length] = np.rint(faded[:length] * _rise(length))
    return faded


def fade_out(samples: Samples, length: int) -> Samples:
    """Raised-cosine fall over the last `length` samples."""
    return fade_in(samples[::-1], length)[::-1]


def _rise(length: int) -> NDArray[np.float64]:
    return 0.5 - 0.5 * np.cos(np.pi * (np.arange(length) + 0.5) / max(1, length))


def gain(percent: float) -> float:
    """Amplitude for a volume of 0 to 100: a cube follows loudness as people judge it."""
    return float(min(max(percent, 0), 100) / 100) ** 3


def amplify(samples: Samples, before: float, after: float) -> Samples:
    """Change the amplitude, gliding from one factor to the other, so that nothing crackles."""
    if before == after == 1.0:
        return samples
    return _rounded(samples * np.linspace(before, after, len(samples)))


def shifted(samples: Samples, fraction: float) -> Samples:
    """The samples from MARGIN to MARGIN before the end, read a fraction of a sample later.

    By a windowed sine cardinal, to 1/256 of a sample. fraction: from 0 to below 1.
    """
    phase = round(fraction * PHASES)
    if phase == 0:
        return samples[MARGIN:-MARGIN]
    if phase == PHASES:
        return samples[MARGIN + 1 :][: len(samples) - 2 * MARGIN]
    between = np.convolve(samples.astype(np.float32), _kernels()[phase], "valid")
    return _rounded(between[1 : len(samples) - 2 * MARGIN + 1])


@functools.cache
def _kernels() -> NDArray[np.float32]:
    """For each phase the weights, last sample first; shape (PHASES, 2 * MARGIN)."""
    distance = np.arange(MARGIN - 1, -MARGIN - 1, -1) * -1.0
    distance = distance[np.newaxis] - np.arange(PHASES)[:, np.newaxis] / PHASES
    weights = np.sinc(distance) * np.cos(np.pi * distance / (2 * MARGIN + 2)) ** 2
    weights /= weights.sum(axis=1, keepdims=True)
    kernels: NDArray[np.float32] = weights[:, ::-1].astype(np.float32)
    return kernels


class SampleQueue:
    """Samples in order of arrival. Its length is the number of samples."""

    def __init__(self) -> None:
        self._blocks: deque[Samples] = deque()
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def append(self, samples: Samples) -> None:
        if len(samples):
            self._blocks.append(samples)
            self._length += len(samples)

    def take(self, count: int) -> Samples:
        """Remove and return the oldest `count` samples, or all there are."""
        taken: list[Samples] = []
        wanted = min(max(count, 0), self._length)
        self._length -= wanted
        while wanted:
            block = self._blocks.popleft()
            if len(block) > wanted:
                self._blocks.appendleft(block[wanted:])
                block = block[:wanted]
            taken.append(block)
            wanted -= len(block)
        if len(taken) == 1:
            return taken[0]
        return np.concatenate(taken) if taken else np.zeros(0, np.int16)

    def clear(self) -> None:
        self._blocks.clear()
        self._length = 0


class Resampler:
    """Changes the rate of mono float32 sound as it streams by; the same rate passes unchanged.

    live: soxr's variable-rate filters, which hold back 15 ms at most rates, where its others
    hold back up to 60 ms and give in bursts, for three times their computing (4 ms a second).
    """

    def __init__(self, from_rate: int, to_rate: int, *, live: bool) -> None:
        self._rates = from_rate, to_rate
        self._fed = self._given = 0
        self._stream = (
            None
            if from_rate == to_rate
            else soxr.ResampleStream(from_rate, to_rate, 1, "float32", vr=live)
        )

    def feed(self, sound: NDArray[np.float32], last: bool = False) -> NDArray[np.float32]:
        """What can be given for this sound; `last` gives all that is held back, and ends it."""
        if self._stream is None:
            return sound
        resampled: NDArray[np.float32] = self._stream.resample_chunk(sound, last=last)
        self._fed += len(sound)
        self._given += len(resampled)
        if last:
            self.clear()
        return resampled

    @property
    def held(self) -> float:
        """Seconds of sound held back."""
        return max(0.0, self._fed / self._rates[0] - self._given / self._rates[1])

    def clear(self) -> None:
        """Forget the sound so far and begin anew."""
        self._fed = self._given = 0
        if self._stream is not None:
            self._stream.clear()
