"""How loud sound is, and whether it is sound at all: a meter over the last two seconds."""

import math
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass

import numpy as np

from firmware_app.audio import Source
from firmware_app.audio.dsp import FULL_SCALE
from firmware_app.frames import BLOCK_MS, Frame, Samples, seconds

WINDOW_SECONDS = 2.0
FULL = FULL_SCALE - 8  # a converter at its limit may miss the very last steps
FLOOR_DB = -120.0  # of silence


@dataclass(frozen=True, slots=True)
class Level:
    """What a stretch of sound is like; amplitudes as fractions of full scale.

    rms: without the offset. swing: from the lowest sample to the highest. clipped: share of the
    samples that stand at full scale.
    """

    seconds: float
    rms: float
    peak: float
    swing: float
    offset: float
    clipped: float

    @property
    def db(self) -> float:
        return max(FLOOR_DB, 20 * math.log10(max(self.rms, 1e-9)))


@dataclass(frozen=True, slots=True)
class _Part:
    count: int
    total: float
    squares: float
    low: int
    high: int
    clipped: int


class LevelMeter:
    """Feed it samples as they come; it keeps figures of the last two seconds, and no sound."""

    def __init__(self) -> None:
        self._parts: deque[_Part] = deque(maxlen=round(WINDOW_SECONDS * 1000 / BLOCK_MS))

    def add(self, samples: Samples) -> None:
        """Samples of one block of 20 ms, or about that."""
        exact = samples.astype(np.float64)
        self._parts.append(
            _Part(
                len(samples),
                float(exact.sum()),
                float(exact @ exact),
                int(samples.min()),
                int(samples.max()),
                int(np.count_nonzero((samples >= FULL) | (samples <= -FULL))),
            )
        )

    def clear(self) -> None:
        self._parts.clear()

    @property
    def level(self) -> Level | None:
        """None before there is any sound."""
        parts = list(self._parts)
        count = sum(part.count for part in parts)
        if not count:
            return None
        mean = sum(part.total for part in parts) / count
        power = max(0.0, sum(part.squares for part in parts) / count - mean * mean)
        low, high = min(part.low for part in parts), max(part.high for part in parts)
        return Level(
            seconds(count),
            math.sqrt(power) / FULL_SCALE,
            max(-low, high) / FULL_SCALE,
            (high - low) / FULL_SCALE,
            mean / FULL_SCALE,
            sum(part.clipped for part in parts) / count,
        )


class MeteredSource:
    """A source that shows what passes to a meter."""

    def __init__(self, source: Source, meter: LevelMeter) -> None:
        self._source = source
        self._meter = meter

    async def __aiter__(self) -> AsyncIterator[Frame]:
        async for frame in self._source:
            self._meter.add(frame.samples)
            yield frame

    async def close(self) -> None:
        self._meter.clear()
        await self._source.close()
