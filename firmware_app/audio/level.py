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
MINUTE = 60_000 // BLOCK_MS  # blocks
WATCHED_MINUTES = 60
CLIPPING_MINUTES = 10
CLIPPED_BLOCKS = 25  # half a second of sound that is torn
FAINT = 65  # swing of 2/1000 of full scale: even steps in the room should exceed it in an hour


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
        self.samples = 0  # ever
        self._parts: deque[_Part] = deque(maxlen=round(WINDOW_SECONDS * 1000 / BLOCK_MS))

    def add(self, samples: Samples) -> None:
        """Samples of one block of 20 ms, or about that."""
        self.samples += len(samples)
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


class GainWatch:
    """Whether a microphone's level is set well, by what it heard in the last hour.

    Feed it the blocks that the meter gets; it keeps two figures a minute.
    """

    def __init__(self) -> None:
        self._loudest = 0  # swing of a block, of this minute
        self._clipped = 0  # blocks of this minute
        self._blocks = 0
        self._minutes: deque[tuple[int, int]] = deque(maxlen=WATCHED_MINUTES)

    def add(self, samples: Samples) -> None:
        low, high = int(samples.min()), int(samples.max())
        self._loudest = max(self._loudest, high - low)
        self._clipped += high >= FULL or low <= -FULL
        self._blocks += 1
        if self._blocks == MINUTE:
            self._minutes.append((self._loudest, self._clipped))
            self._loudest = self._clipped = self._blocks = 0

    @property
    def warning(self) -> str:
        """A sentence on what is wrong; empty where all is well or too little was heard."""
        recent = list(self._minutes)[-CLIPPING_MINUTES:]
        if self._clipped + sum(clipped for _, clipped in recent) >= CLIPPED_BLOCKS:
            return "Its sound is often clipped: lower its level in `alsamixer` (F4)."
        heard = [loudest for loudest, _ in self._minutes]
        if len(heard) == WATCHED_MINUTES and max(heard) < FAINT:
            return "For an hour it heard hardly anything: raise its level in `alsamixer` (F4)."
        return ""


class MeteredSource:
    """A source that shows what passes to a meter and to the one who watches the gain."""

    def __init__(self, source: Source, meter: LevelMeter, watch: GainWatch) -> None:
        self._source = source
        self._meter = meter
        self._watch = watch

    async def __aiter__(self) -> AsyncIterator[Frame]:
        async for frame in self._source:
            self._meter.add(frame.samples)
            self._watch.add(frame.samples)
            yield frame

    async def close(self) -> None:
        self._meter.clear()
        await self._source.close()
