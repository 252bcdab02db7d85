"""Between a voice and a loudspeaker: one turn's speech, without clicks, stopped at once."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from firmware_app.audio import Sink
from firmware_app.audio.dsp import SampleQueue, amplify, fade_in, fade_out, gain, milliseconds
from firmware_app.frames import BLOCK, SAMPLE_RATE, Samples, seconds

PREBUFFER = milliseconds(60)  # gathered before a start, if it comes within START_WAIT
START_WAIT = 0.03  # seconds
FADE = milliseconds(5)
MARGIN = 0.05  # seconds of sound left at which a gap is taken for certain; more than a
# resampler holds back and a sink leaves before it puts silence in
MOST_WAITING = SAMPLE_RATE * 30
AUDIBLE = 104  # -50 dBFS: voices begin with a breath of near silence, which nobody hears
STOP_FADE_MS = 10


@dataclass(frozen=True, slots=True)
class Span:
    """Where a piece of speech lies on the player's timeline, in samples."""

    start: int
    end: int


class Player:
    """Plays the sound of one turn. Its timeline counts queued samples only, not the gaps.

    on_first_audio: called once, with the monotonic time at which the first audible sample leaves
    the loudspeaker. volume: 0 to 100, may be changed while it plays.
    """

    def __init__(
        self,
        sink: Sink,
        *,
        volume: float = 100,
        on_first_audio: Callable[[float], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.volume = volume
        self.first_audio: float | None = None
        self._sink = sink
        self._on_first_audio = on_first_audio
        self._clock = clock
        self._gain = gain(volume)
        self._waiting = SampleQueue()
        self._queued = 0
        self._written = 0
        self._heard_before = sink.heard
        self._arrived = asyncio.Event()
        self._taken = asyncio.Event()
        self._pump: asyncio.Task[None] | None = None
        self._stopped = False

    @property
    def position(self) -> int:
        """Queued samples that have been heard."""
        return min(self._written, self._sink.heard - self._heard_before)

    @property
    def playing(self) -> bool:
        """Whether something queued has still to be heard."""
        return not self._stopped and self.position < self._queued

    async def queue(self, samples: Samples) -> Span:
        """Add speech to what is played; waits while more than 30 s are waiting.

        After stop nothing is taken: the span is empty.
        """
        while len(self._waiting) > MOST_WAITING and not self._stopped:
            self._taken.clear()
            await self._taken.wait()
        self._raise_failure()
        start = self._queued
        if self._stopped or not len(samples):
            return Span(start, start)
        self._queued += len(samples)
        self._waiting.append(samples)
        self._arrived.set()
        if self._pump is None or self._pump.done():
            self._pump = asyncio.create_task(self._play(), name="player")
            self._pump.add_done_callback(lambda _: self._taken.set())
        return Span(start, self._queued)

    async def drained(self) -> None:
        """Return when everything queued has been heard, or playing was stopped."""
        while self._pump is not None and not self._pump.done():
            await asyncio.wait((self._pump,))
        self._raise_failure()
        if not self._stopped:
            await self._sink.drain()

    async def stop(self) -> int:
        """Fall silent and drop the rest. Returns the position that was truly heard."""
        self._stopped = True
        await self._end_pump()
        self._waiting.clear()
        self._taken.set()
        if self._written:
            await self._sink.stop(STOP_FADE_MS)
        return self.position

    async def close(self) -> None:
        """Take no more; what the loudspeaker already holds is heard."""
        self._stopped = True
        await self._end_pump()
        self._taken.set()

    async def _end_pump(self) -> None:
        if self._pump is not None:
            self._pump.cancel()
            await asyncio.gather(self._pump, return_exceptions=True)

    def _raise_failure(self) -> None:
        if self._pump and self._pump.done() and not self._pump.cancelled():
            self._pump.result()

    async def _play(self) -> None:
        """Write what waits, and end when nothing more came in time."""
        while self._waiting:
            await self._gather()
            rising = True
            while len(self._waiting) > FADE or await self._more_in_time():
                block = self._take(min(BLOCK, len(self._waiting) - FADE))
                await self._write(fade_in(block, FADE) if rising else block)
                rising = False
            last = self._take(FADE)
            await self._write(fade_out(last, len(last)))

    async def _gather(self) -> None:
        """Wait a moment for enough to start with."""
        while len(self._waiting) < PREBUFFER and await self._arrival(START_WAIT):
            pass

    async def _more_in_time(self) -> bool:
        """Whether more comes before the loudspeaker runs dry and the end must be faded."""
        while len(self._waiting) <= FADE:
            left = self._sink.delay - MARGIN
            if left <= 0 or not await self._arrival(left):
                return len(self._waiting) > FADE
        return True

    async def _arrival(self, patience: float) -> bool:
        self._arrived.clear()
        try:
            async with asyncio.timeout(patience):
                await self._arrived.wait()
        except TimeoutError:
            return False
        return True

    def _take(self, count: int) -> Samples:
        block = self._waiting.take(count)
        self._taken.set()
        wanted = gain(self.volume)
        louder = amplify(block, self._gain, wanted)
        self._gain = wanted
        return louder

    async def _write(self, samples: Samples) -> None:
        leaves_at = self._clock() + self._sink.delay
        await self._sink.write(samples)
        self._written += len(samples)
        if self.first_audio is None:
            audible = np.flatnonzero(np.abs(samples.astype(np.int32)) > AUDIBLE)
            if len(audible):
                self.first_audio = leaves_at + seconds(int(audible[0]))
                if self._on_first_audio:
                    self._on_first_audio(self.first_audio)
