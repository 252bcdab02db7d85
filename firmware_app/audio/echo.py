"""Echo cancellation: what the loudspeaker plays is taken out of what the microphone hears."""

import math
from collections.abc import AsyncIterator
from dataclasses import replace

import numpy as np

from firmware_app.audio import Source
from firmware_app.audio.alignment import UNKNOWN, Alignment, LagMeter
from firmware_app.audio.dsp import MARGIN, milliseconds, shifted
from firmware_app.audio.reference import Reference
from firmware_app.audio.speex import SpeexEcho
from firmware_app.frames import BLOCK, SAMPLE_RATE, Frame, Samples

TAIL = milliseconds(200)  # of echo that the filter can model
LEAST_LEAD, LEAD, MOST_LEAD = milliseconds(2), milliseconds(10), milliseconds(100)
SILENCE = np.zeros(BLOCK, np.int16)
FAR_OFF = 2.0  # samples by which the filter must be moved before what was heard is of no use
FOLLOWS = 0.3  # share by which a newly measured latency counts


class EchoCancelled:
    """A source without the echo of the loudspeaker.

    Where nothing was played for longer than the echo lasts, frames pass untouched. The delay is
    known from the clocks of both devices but for the hardware's latency, which is measured while
    the loudspeaker plays and kept; so is the difference of two clocks.
    """

    def __init__(self, source: Source, reference: Reference) -> None:
        """Raises EngineError where the library is missing."""
        self._source = source
        self._reference = reference
        self._filter = SpeexEcho(TAIL)
        self._alignment = Alignment()
        self._lags = LagMeter()
        self._lead = 0.0  # samples by which the far end goes ahead of its echo
        self._latency: float | None = None  # samples from leaving the loudspeaker to the microphone
        self._clock_offset = 0.0  # of this run, as the times have it
        self._run: int | None = None
        self._silent = TAIL  # samples since something was played
        self._heard = 0  # end of the last frame on the microphone's clock

    @property
    def delay(self) -> float | None:
        """Seconds from the loudspeaker to the microphone, once measured."""
        return None if self._latency is None else self._latency / SAMPLE_RATE

    @property
    def drift_ppm(self) -> float:
        """By how many millionths the loudspeaker's clock is faster than the microphone's."""
        return self._alignment.ppm

    @property
    def text(self) -> str:
        """What was measured, in a sentence."""
        if self.delay is None:
            return "on, nothing measured yet"
        return (
            f"on, {1000 * self.delay:.0f} ms from loudspeaker to microphone, "
            f"their clocks {abs(self.drift_ppm):.0f} ppm apart"
        )

    async def __aiter__(self) -> AsyncIterator[Frame]:
        async for frame in self._source:
            yield self._cancelled(frame)

    async def close(self) -> None:
        await self._source.close()

    def _cancelled(self, frame: Frame) -> Frame:
        if self._run != self._reference.run or frame.index != self._heard:
            self._place(frame)
        self._heard = frame.end
        far = self._far(frame.index + self._alignment.expected(frame.index) + self._lead)
        self._silent = 0 if far.any() else self._silent + BLOCK
        if self._silent > TAIL:
            return frame
        near = np.ascontiguousarray(frame.samples)
        self._follow(near, far, frame.end)
        return replace(frame, samples=self._filter.cancel(near, far), far=far)

    def _far(self, start: float) -> Samples:
        """A block of what is played, from a place on the loudspeaker's timeline on."""
        whole = math.floor(start)
        if whole - MARGIN > self._reference.end:
            return SILENCE
        return shifted(self._reference.read(whole - MARGIN, BLOCK + 2 * MARGIN), start - whole)

    def _place(self, frame: Frame) -> None:
        """A run begins, or sound was lost: the clocks say where the two stand."""
        self._run = self._reference.run
        self._clock_offset = self._reference.position_at(frame.heard_at) - frame.end
        if self._latency is None:
            self._alignment.place(self._clock_offset, frame.index, UNKNOWN)
        else:
            self._alignment.place(self._clock_offset - self._latency, frame.index)
        self._lags.restart()

    def _follow(self, near: Samples, far: Samples, end: int) -> None:
        """Measure now and then where the echo lies, and keep to it."""
        lag = self._lags.feed(near, far)
        if lag is None:
            return
        middle = end - self._lags.span // 2
        alignment, before = self._alignment, self._alignment.expected(end) + self._lead
        measured_before = alignment.sure
        alignment.observe(alignment.expected(middle) + self._lead - lag, middle)
        if alignment.sure and not measured_before:
            self._learn_latency(self._clock_offset - alignment.offset)
        if abs(alignment.expected(end) + self._lead - before) > FAR_OFF:
            self._lags.restart()

    def _learn_latency(self, latency: float) -> None:
        if self._latency is None:
            self._latency = latency
            self._lead = latency if LEAST_LEAD <= latency <= MOST_LEAD else LEAD
        self._latency += FOLLOWS * (latency - self._latency)
