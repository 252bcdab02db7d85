"""Time for what is not a device: the pace of a recording, and a loudspeaker made of a clock."""

import asyncio
import math
import time
from collections.abc import Callable

import numpy as np

from firmware_app.audio.dsp import SampleQueue, fade_out, milliseconds
from firmware_app.audio.reference import Reference
from firmware_app.frames import SAMPLE_RATE, Frame, Samples, seconds

FILL = milliseconds(200)  # written and not yet heard; as much as the ALSA sink holds
REMEMBERED = SAMPLE_RATE * 2  # of what was played, for those who hear the loudspeaker
SILENCE = SAMPLE_RATE  # at most so much of it is made at once


class Pacer:
    """Stamps blocks with index and time; paced, each is given when its last sample is due."""

    def __init__(self, paced: bool, clock: Callable[[], float]) -> None:
        self._paced = paced
        self._clock = clock
        self._started: float | None = None
        self._index = 0

    async def stamp(self, samples: Samples) -> Frame:
        if self._started is None:
            self._started = self._clock()
        end = self._index + len(samples)
        frame = Frame(samples, self._index, self._started + seconds(end))
        self._index = end
        await asyncio.sleep(max(0.0, frame.heard_at - self._clock()) if self._paced else 0)
        return frame


class TimedSink:
    """A simulated loudspeaker: sound leaves it at the speed of a clock, silence between.

    Not paced, whatever is written is heard at once.
    """

    def __init__(self, *, paced: bool = True, clock: Callable[[], float] = time.monotonic) -> None:
        self._paced = paced
        self._clock = clock
        self._opened = clock()
        self.reference = Reference(self._opened)
        self._waiting = SampleQueue()
        self._heard = 0
        self._position = 0  # on the loudspeaker's timeline, silences included
        self._sounded = 0  # end of the last sound on it
        self._recent = np.zeros(REMEMBERED, np.int16)

    def _keep(self, samples: Samples) -> None:
        """Called with everything that leaves the loudspeaker, in order, silences included."""

    async def write(self, samples: Samples) -> None:
        self._advance()
        while self._paced and self._waiting and len(self._waiting) + len(samples) > FILL:
            excess = min(len(self._waiting), len(self._waiting) + len(samples) - FILL)
            await asyncio.sleep(seconds(excess))
            self._advance()
        if self._paced:
            self._await_turn(samples)
        else:
            self._sound(samples)

    async def drain(self) -> None:
        self._advance()
        while self._waiting:
            await asyncio.sleep(self.delay)
            self._advance()

    async def stop(self, fade_ms: int = 10) -> None:
        self._advance()
        last = self._waiting.take(milliseconds(fade_ms))
        self._waiting.clear()
        self.reference.cut(self._opened + seconds(self._position))
        self._await_turn(fade_out(last, len(last)))
        await self.drain()

    async def close(self) -> None:
        """Bring the timeline up to now; what was still waiting is not heard."""
        self._advance()
        self._waiting.clear()
        self.reference.cut(self._opened + seconds(self._position))

    def _await_turn(self, samples: Samples) -> None:
        begins = self._opened + seconds(self._position + len(self._waiting))
        self.reference.add(begins, samples)
        self._waiting.append(samples)

    @property
    def heard(self) -> int:
        self._advance()
        return self._heard

    @property
    def delay(self) -> float:
        self._advance()
        return seconds(len(self._waiting))

    @property
    def silent_for(self) -> float:
        """Seconds since the last sound; infinite where there was none."""
        self._advance()
        if self._waiting:
            return 0.0
        return seconds(self._position - self._sounded) if self._heard else math.inf

    def position_at(self, moment: float) -> int:
        """The place on the loudspeaker's timeline that belongs to a time of the clock."""
        return round((moment - self._opened) * SAMPLE_RATE)

    def played(self, start: int, count: int) -> Samples:
        """What left the loudspeaker from a place of its timeline on; silence where forgotten."""
        self._advance()
        ages = np.arange(self._position - start, self._position - start - count, -1)
        known = (ages > 0) & (ages <= REMEMBERED)
        return np.where(known, self._recent[np.where(known, -ages, -1)], 0).astype(np.int16)

    def _advance(self) -> None:
        """Let sound out, or silence, for the time that has passed."""
        if not self._paced:
            return
        due = self.position_at(self._clock()) - self._position
        if due > 0 and self._waiting:
            sound = self._waiting.take(due)
            due -= len(sound)
            self._sound(sound)
        while due > 0:
            silence = np.zeros(min(due, SILENCE), np.int16)
            due -= len(silence)
            self._out(silence)

    def _sound(self, samples: Samples) -> None:
        self._heard += len(samples)
        self._out(samples)
        self._sounded = self._position

    def _out(self, samples: Samples) -> None:
        self._position += len(samples)
        recent = samples[-REMEMBERED:]
        self._recent = np.concatenate((self._recent[len(recent) :], recent))
        self._keep(samples)


class ListSink(TimedSink):
    """A simulated loudspeaker that keeps all its sound in memory, for tests and short runs."""

    def __init__(self, *, paced: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        self._kept: list[Samples] = []
        super().__init__(paced=paced, clock=clock)

    def _keep(self, samples: Samples) -> None:
        self._kept.append(samples)

    @property
    def samples(self) -> Samples:
        """All that left the loudspeaker until now, shape (n,)."""
        self._advance()
        return np.concatenate(self._kept) if self._kept else np.zeros(0, np.int16)
