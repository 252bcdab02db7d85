"""Which sample of the loudspeaker a sample of the microphone holds, measured while it plays."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from firmware_app.frames import BLOCK, SAMPLE_RATE, Samples, dbfs

NEAR = 8192  # samples of the microphone that a measurement looks at
FIRST = NEAR // 2  # … and of those the fewest, at the beginning of a run
LONGEST = 4096  # samples, the longest lag that is looked for: 256 ms
EARLIEST = 320  # samples by which the microphone may seem to be ahead of the loudspeaker
BAND = (300.0, 6000.0)  # Hz, where small loudspeakers and speech have something to compare
WHITENING = 0.8  # exponent: 1 is the phase transform, 0 plain correlation
CLEAR = 9.0  # times the root mean square of all lags, which a peak must reach
AUDIBLE_DB = -60.0  # dBFS of the far end, below which there is nothing to measure

# Of the filter that follows both clocks; variances in samples², samples²/s², and those a second.
MEASURED = 0.05**2
CLOCKS_DIFFER = 0.8**2  # 50 ppm, as two crystals do
PLACED_BY_TIME = 48.0**2  # 3 ms, as well as devices tell when they begin
UNKNOWN = 4096.0**2
WANDER, WANDER_OF_DRIFT = 0.02**2, 0.0016**2
BELIEVABLE = 25.0  # variances by which a measurement may be off
CONTRADICTED = 3  # measurements in a row that are off, after which they are believed


class LagMeter:
    """By how many samples the microphone is behind the far end, by generalised correlation."""

    def __init__(self) -> None:
        self._near = np.zeros(NEAR + LONGEST, np.float32)
        self._far = np.zeros(NEAR + LONGEST, np.float32)
        frequencies = np.fft.rfftfreq(NEAR + LONGEST, 1 / SAMPLE_RATE)
        self._band = (frequencies > BAND[0]) & (frequencies < BAND[1])
        self._fed = 0

    def restart(self) -> None:
        """What was heard before does not belong to what comes."""
        self._near[:] = 0
        self._fed = 0

    def feed(self, near: Samples, far: Samples) -> float | None:
        """A block of both. Returns the lag now and then, where there is one to be seen."""
        for kept, new in ((self._near, near), (self._far, far)):
            kept[:-BLOCK] = kept[BLOCK:]
            kept[-BLOCK:] = new
        self._fed += BLOCK
        if not self._due():
            return None
        return self._measure() if dbfs(self._far.astype(np.int16)) > AUDIBLE_DB else None

    @property
    def span(self) -> int:
        """Samples up to now that a measurement goes by."""
        return min(self._fed, NEAR)

    def _due(self) -> bool:
        before = self._fed - BLOCK
        return before // NEAR != self._fed // NEAR or before < FIRST <= self._fed

    def _measure(self) -> float | None:
        near = self._near.copy()
        near[:LONGEST] = 0
        near[-EARLIEST:] = 0
        cross = np.fft.rfft(near) * np.conj(np.fft.rfft(self._far))
        cross[~self._band] = 0
        strength = np.abs(cross)
        if not strength.any():
            return None
        cross /= np.maximum(strength, strength.max() * 1e-9) ** WHITENING
        return _peak(np.abs(np.roll(np.fft.irfft(cross), EARLIEST)[: EARLIEST + LONGEST]))


def _peak(likeness: NDArray[np.float64]) -> float | None:
    """The lag of the highest value, between samples, where it stands out."""
    top = int(np.argmax(likeness))
    if not 0 < top < len(likeness) - 1:
        return None
    if likeness[top] < CLEAR * math.sqrt(float(np.mean(np.square(likeness)))):
        return None
    before, at, after = (float(value) for value in likeness[top - 1 : top + 2])
    return top - EARLIEST + 0.5 * (before - after) / (before - 2 * at + after)


@dataclass
class Alignment:
    """Microphone sample n holds what was sample n + offset of the loudspeaker's timeline.

    A Kalman filter of the offset, in samples, and of its drift, in samples a second: the
    difference of two clocks, 0 where the devices share one.
    """

    offset: float = 0.0
    drift: float = 0.0
    at: int = 0  # the microphone sample for which the offset holds
    sure: bool = False  # whether it was measured since it was placed
    _variance: float = UNKNOWN
    _covariance: float = 0.0
    _drift_variance: float = CLOCKS_DIFFER
    _contradicted: int = 0

    @property
    def ppm(self) -> float:
        """By how many millionths the loudspeaker's clock is faster than the microphone's."""
        return self.drift / SAMPLE_RATE * 1e6

    def expected(self, sample: int) -> float:
        """The offset at a sample of the microphone."""
        return self.offset + self.drift * (sample - self.at) / SAMPLE_RATE

    def place(self, offset: float, sample: int, variance: float = PLACED_BY_TIME) -> None:
        """Begin a new run there; what is known of the drift is kept."""
        self._drift_variance += WANDER_OF_DRIFT * max(0, sample - self.at) / SAMPLE_RATE
        self._drift_variance = min(self._drift_variance, CLOCKS_DIFFER)
        self.offset, self.at, self.sure = offset, sample, False
        self._variance, self._covariance = variance, 0.0

    def observe(self, offset: float, sample: int) -> None:
        """The offset was measured around a sample of the microphone."""
        self._predict(sample)
        surprise = offset - self.offset
        if surprise**2 > BELIEVABLE * (self._variance + MEASURED):
            self._contradicted += 1
            if self._contradicted < CONTRADICTED:
                return
            self._variance, self._covariance = UNKNOWN, 0.0
        self._contradicted = 0
        self.sure = True
        total = self._variance + MEASURED
        gain, drift_gain = self._variance / total, self._covariance / total
        self.offset += gain * surprise
        self.drift += drift_gain * surprise
        self._drift_variance -= drift_gain * self._covariance
        self._covariance -= gain * self._covariance
        self._variance -= gain * self._variance

    def _predict(self, sample: int) -> None:
        passed = (sample - self.at) / SAMPLE_RATE
        self.offset, self.at = self.expected(sample), sample
        self._variance += passed * (
            2 * self._covariance + passed * self._drift_variance
        ) + WANDER * abs(passed)
        self._covariance += passed * self._drift_variance
        self._drift_variance += WANDER_OF_DRIFT * abs(passed)
