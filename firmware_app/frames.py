"""A block of sound and its clock."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

SAMPLE_RATE = 16_000  # Hz; every engine is fed at this rate, conversion happens at the edges
BLOCK_MS = 20
BLOCK = SAMPLE_RATE * BLOCK_MS // 1000  # samples in a frame

Samples: TypeAlias = NDArray[np.int16]


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """Twenty milliseconds of mono sound.

    samples: shape (BLOCK,), int16.
    index: position of the first sample since the source was opened; a jump means lost sound.
    heard_at: monotonic time in seconds at which the last sample was captured.
    far: what the loudspeaker played meanwhile, like samples, where its echo was taken out.
    raw: the microphones of an array as they are, shape (channels, BLOCK), where there is one.
    """

    samples: Samples
    index: int
    heard_at: float
    far: Samples | None = None
    raw: Samples | None = None

    @property
    def end(self) -> int:
        return self.index + len(self.samples)


def seconds(samples: int) -> float:
    return samples / SAMPLE_RATE


def dbfs(samples: Samples) -> float:
    """Level of the samples in dB below full scale; -120 for digital silence."""
    if not len(samples):
        return -120.0
    rms = float(np.sqrt(np.mean(np.square(samples, dtype=np.float64))))
    return max(-120.0, 20 * float(np.log10(max(rms, 1e-3) / 32768)))
