"""A simulated room for the demo, journeys and the benchmark: Echo hears its own loudspeaker."""

import time
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import numpy as np

from firmware_app.audio import Source
from firmware_app.audio.dsp import FULL_SCALE, blocks, milliseconds, to_float, to_int16
from firmware_app.audio.simulated import Pacer, TimedSink
from firmware_app.audio.wav import read_wav
from firmware_app.frames import BLOCK, SAMPLE_RATE, Frame, Samples

ECHO_DB = -12.0  # loudspeaker as the microphone hears it
ECHO_MS = 60.0  # its way through buffers and the room
QUIET_DBFS = -70.0  # a silent room is not digital silence


class RoomSource:
    """A source with the loudspeaker's sound mixed in, quieter and later, as in a room.

    Both must run on one clock and be paced. noise_dbfs: level of white noise that is added.
    """

    def __init__(
        self,
        source: Source,
        loudspeaker: TimedSink,
        *,
        echo_db: float = ECHO_DB,
        delay_ms: float = ECHO_MS,
        noise_dbfs: float | None = None,
    ) -> None:
        self._source = source
        self._loudspeaker = loudspeaker
        self._echo = 10 ** (echo_db / 20)
        self._delay = milliseconds(delay_ms)
        self._noise = None if noise_dbfs is None else Noise(noise_dbfs)

    async def __aiter__(self) -> AsyncIterator[Frame]:
        offset: int | None = None  # from the source's index to the loudspeaker's timeline
        async for frame in self._source:
            if offset is None:
                offset = self._loudspeaker.position_at(frame.heard_at) - frame.end - self._delay
            echo = self._loudspeaker.played(frame.index + offset, len(frame.samples))
            mixed = to_float(frame.samples) + to_float(echo) * self._echo
            if self._noise is not None:
                mixed += to_float(self._noise.block())
            yield Frame(to_int16(mixed), frame.index, frame.heard_at)

    async def close(self) -> None:
        await self._source.close()


class ScriptedSource:
    """Someone who says several things, each when it is their turn; between, the room is quiet.

    may_speak: asked with each block once a recording has ended; True lets the next begin, and
    after the last ends the source. After `patience` seconds of waiting it goes on anyway.
    """

    def __init__(
        self,
        recordings: Sequence[str | Path | Samples],
        may_speak: Callable[[], bool],
        *,
        lead: float = 1.0,
        patience: float = 60.0,
        noise_dbfs: float = QUIET_DBFS,
        paced: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """lead: seconds of quiet before the first. Raises AudioFileError as read_wav does."""
        self._recordings = [
            said if isinstance(said, np.ndarray) else read_wav(said) for said in recordings
        ]
        self._may_speak = may_speak
        self._lead = round(lead * SAMPLE_RATE / BLOCK)
        self._patience = round(patience * SAMPLE_RATE / BLOCK)
        self._noise = Noise(noise_dbfs)
        self._pacer = Pacer(paced, clock)
        self._closed = False

    async def __aiter__(self) -> AsyncIterator[Frame]:
        for _ in range(self._lead):
            yield await self._pacer.stamp(self._noise.block())
        for said in self._recordings:
            for block in blocks(said):
                yield await self._pacer.stamp(block)
                if self._closed:
                    return
            for _ in range(self._patience):
                if self._closed or self._may_speak():
                    break
                yield await self._pacer.stamp(self._noise.block())

    async def close(self) -> None:
        self._closed = True


class Noise:
    """White noise at a level, the same each time."""

    def __init__(self, level_dbfs: float) -> None:
        self._random = np.random.default_rng(0)
        self._amplitude = FULL_SCALE * 10 ** (level_dbfs / 20)

    def block(self) -> Samples:
        return to_int16(self._random.normal(0, self._amplitude, BLOCK) / FULL_SCALE)
