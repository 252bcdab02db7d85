"""What the voices share: text made safe for a phonemiser, and their sound brought to 16 kHz."""

import numpy as np
import soxr  # type: ignore[import-untyped]
from numpy.typing import NDArray

from firmware_app.frames import SAMPLE_RATE, Samples

_LEAD_MS = 30  # silence left before the first sound
_SILENCE = 0.01  # of full scale; the silence of Piper's voices stays below 0.004

Sound = NDArray[np.float32]


def readable(text: str) -> str:
    """The text without what Piper and espeak-ng take for raw phonemes, or cannot read at all."""
    plain = text.translate({ord("["): " ", ord("]"): " ", 0: " "})
    return plain.encode("utf-8", "ignore").decode()


class ToSamples:
    """A voice's sound, piece by piece, as 16 kHz int16 without the silence before it.

    rate: of the sound that is fed, Hz. gain: factor to its level; what is too loud is clipped.
    """

    def __init__(self, rate: int, gain: float = 1.0) -> None:
        self._rate = rate
        self._gain = gain
        self._resampler = soxr.ResampleStream(rate, SAMPLE_RATE, 1, dtype="float32")
        self._sounding = False

    def feed(self, piece: Sound) -> Samples:
        """The samples that are ready, perhaps none. piece: shape (n,), full scale is 1."""
        if not self._sounding:
            loud = np.flatnonzero(np.abs(piece) > _SILENCE)
            if not len(loud):
                return np.zeros(0, np.int16)
            self._sounding = True
            piece = piece[max(0, int(loud[0]) - self._rate * _LEAD_MS // 1000) :]
        return self._convert(piece, last=False)

    def finish(self) -> Samples:
        """What the resampler still held back."""
        return self._convert(np.zeros(0, np.float32), last=True)

    def _convert(self, piece: Sound, last: bool) -> Samples:
        sound: Sound = self._resampler.resample_chunk(piece, last=last)
        samples: Samples = np.clip(sound * (self._gain * 32768), -32768, 32767).astype(np.int16)
        return samples
