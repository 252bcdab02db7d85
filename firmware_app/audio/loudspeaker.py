"""The loudspeaker: a bounded queue, and a thread that keeps ALSA just full enough.

Little is queued in ALSA, so that a stop is heard at once: what is queued there can be dropped but
not faded. A device that is lost is opened again; meanwhile sound passes unheard at the pace of
time, so that no turn waits for it.
"""

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Self

import numpy as np
from numpy.typing import NDArray

from firmware_app.audio.alsa import (
    BACK_OFF,
    XRUN,
    Device,
    DeviceState,
    OnState,
    device_error,
    encode,
    open_loudspeaker,
)
from firmware_app.audio.bridge import Wake
from firmware_app.audio.dsp import (
    Resampler,
    SampleQueue,
    fade_out,
    milliseconds,
    to_float,
    to_int16,
)
from firmware_app.audio.reference import Reference
from firmware_app.errors import DeviceError
from firmware_app.frames import SAMPLE_RATE, Samples, seconds
from firmware_app.settings import AudioSettings

log = logging.getLogger(__name__)

HELD = milliseconds(200)  # waits here for the thread: bridges a late loop, costs a stop nothing
AHEAD = 0.04  # seconds queued in ALSA
AHEAD_AFTER_UNDERRUN = 0.12
CALM = 60.0  # seconds without an underrun after which less is queued again
PERIOD = 0.01  # seconds
RUNNING_DRY = 0.015  # seconds left in ALSA at which silence must follow
LINGER = 0.5  # seconds of silence before the device is halted: short gaps must not restart it
START_WAIT = 0.005  # seconds for the first samples to become enough for a start
STALLED = 2.0  # seconds without progress after which a device counts as lost
CLOSE_WAIT = 0.4  # seconds that closing waits for the thread


class Ledger:
    """When each written sample is heard, and so how many have been."""

    def __init__(self) -> None:
        self._ahead: deque[tuple[float, int]] = deque()  # time at which it begins, samples
        self._heard = 0

    def add(self, begins: float, count: int) -> None:
        self._ahead.append((begins, count))

    def heard(self, now: float) -> int:
        while self._ahead and now >= self._ahead[0][0] + seconds(self._ahead[0][1]):
            self._heard += self._ahead.popleft()[1]
        if not self._ahead:
            return self._heard
        begins, count = self._ahead[0]
        return self._heard + min(count, max(0, round((now - begins) * SAMPLE_RATE)))

    def cut(self, now: float) -> None:
        """What would be heard later is not."""
        self._heard = self.heard(now)
        self._ahead.clear()

    def left(self, now: float) -> float:
        """Seconds until all of it has been heard."""
        if not self._ahead:
            return 0.0
        begins, count = self._ahead[-1]
        return max(0.0, begins + seconds(count) - now)


class Output:
    """A device that is open: what is queued in it, and how fast it takes sound."""

    def __init__(self, device: Device, clock: Callable[[], float]) -> None:
        self.device = device
        self.underruns = 0
        self._clock = clock
        self._resampler = Resampler(SAMPLE_RATE, device.rate, live=True)
        self._tells = True  # whether avail() is true; ALSA's null device always has room
        self._ends = 0.0  # time at which what was written has been heard
        self._running = False

    @property
    def queued(self) -> float:
        """Seconds of sound written and not yet heard. Raises DeviceError on a standstill."""
        if not self._running:
            return 0.0
        if not self._tells:
            return max(0.0, self._ends - self._clock())
        there = self.device.pcm.avail()
        if there < 0:  # an underrun or a loss, which the next write reports
            return 0.0
        left = max(0, self.device.buffer - there) / self.device.rate
        if left > 0 and self._clock() - self._ends > STALLED:
            raise self._stalled()
        return left

    @property
    def held(self) -> float:
        """Seconds of sound given and not yet written, because the resampler holds it back."""
        return self._resampler.held

    @property
    def capacity(self) -> float:
        return self.device.buffer / self.device.rate

    def write(self, samples: Samples) -> None:
        self._put(self._resampler.feed(to_float(samples)))

    def fade(self, samples: Samples) -> None:
        """End the sound softly within as many samples; what was held back comes first of them."""
        sound = self._resampler.feed(to_float(samples), last=True)
        length = round(seconds(len(samples)) * self.device.rate)
        self._put(to_float(fade_out(to_int16(sound[:length]), length)))

    def silence(self, duration: float) -> None:
        """End the sound, and queue silence after it."""
        self._put(self._resampler.feed(np.zeros(0, np.float32), last=True))
        self._put(np.zeros(round(duration * self.device.rate), np.float32))

    def _put(self, sound: NDArray[np.float32]) -> None:
        if not len(sound):
            return
        before = self.queued
        data = encode(sound, self.device)
        frame = len(data) // len(sound)
        deadline = self._clock() + STALLED
        while data:
            written = self._written(data)
            if written == XRUN:
                self.underruns += 1
                before = 0.0
            elif written == 0:  # a buffer smaller than what is written at once
                time.sleep(PERIOD / 2)
            else:
                data = data[written * frame :]
                self._start()
            if self._clock() > deadline:
                raise self._stalled()
        if not self._tells:
            before = max(0.0, self._ends - self._clock())
        self._ends = self._clock() + before + len(sound) / self.device.rate

    def _written(self, data: bytes) -> int:
        try:
            return self.device.pcm.write(data)
        except Exception as error:
            raise device_error("loudspeaker", self.device.name, str(error)) from error

    def _start(self) -> None:
        if not self._running:
            self._running = True
            self._tells = self.device.pcm.avail() < self.device.buffer

    def _stalled(self) -> DeviceError:
        return device_error("loudspeaker", self.device.name, "it takes no more sound")

    def halt(self) -> None:
        """Drop what is queued and stand still."""
        self._running = False
        self._ends = 0.0
        self._resampler.clear()
        try:
            self.device.pcm.drop()
        except Exception as error:
            raise device_error("loudspeaker", self.device.name, str(error)) from error


class AlsaSink:
    """A loudspeaker behind ALSA, whatever its rate, channels and format.

    To be made on the loop; it opens the device at once, so that the first word need not wait.
    on_state: told on the loop, once for each loss and each return. Never raises for the device.
    """

    @classmethod
    def chosen(cls, audio: AudioSettings, on_state: OnState) -> Self:
        """The loudspeaker that the settings name."""
        return cls(audio.loudspeaker, rate=audio.loudspeaker_rate, on_state=on_state)

    def __init__(
        self,
        name: str = "default",
        *,
        rate: int = 48_000,
        on_state: OnState | None = None,
        open_device: Callable[[str, int], Device] = open_loudspeaker,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.underruns = 0  # times that sound came too late for the device
        self._name = name
        self._rate = rate
        self._on_state = on_state
        self._open_device = open_device
        self._clock = clock
        self.reference = Reference(clock())
        self._changed = threading.Condition()  # guards what both threads use, below
        self._queue = SampleQueue()
        self._ledger = Ledger()
        self._free_at = 0.0  # time at which a sample written to ALSA now would be heard
        self._fade: int | None = None  # samples to fade, when a stop is asked
        self._closing = False
        self._wake = Wake()
        self._ended = False
        self._ready: bool | None = None
        self._calm_at = 0.0
        threading.Thread(target=self._run, name="loudspeaker", daemon=True).start()

    async def write(self, samples: Samples) -> None:
        while not self._closing:
            with self._changed:
                if not len(self._queue) or len(self._queue) + len(samples) <= HELD:
                    self._queue.append(samples)
                    self._changed.notify()
                    return
            await self._news()

    async def drain(self) -> None:
        while (left := self.delay_of_sound) > 0 and not self._closing:
            await asyncio.sleep(max(left, 0.005))

    async def stop(self, fade_ms: int = 10) -> None:
        with self._changed:
            self._fade = milliseconds(fade_ms)
            self._changed.notify()
        while self._fade is not None and not self._closing and not self._ended:
            await self._news()

    async def close(self) -> None:
        """End within half a second, even where the driver holds the thread."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        give_up = time.monotonic() + CLOSE_WAIT
        while not self._ended and time.monotonic() < give_up:
            await asyncio.sleep(0.005)
        if not self._ended:
            log.warning("the loudspeaker “%s” does not let go", self._name)
        self._wake.set_from_thread()

    @property
    def heard(self) -> int:
        """Samples that left the loudspeaker; those that passed while it was away count too."""
        with self._changed:
            return self._ledger.heard(self._clock())

    @property
    def delay(self) -> float:
        with self._changed:
            return seconds(len(self._queue)) + max(0.0, self._free_at - self._clock())

    @property
    def delay_of_sound(self) -> float:
        """Seconds until all that was written has been heard, silence after it left out."""
        with self._changed:
            return seconds(len(self._queue)) + self._ledger.left(self._clock())

    async def _news(self) -> None:
        """Wait until the thread has taken samples or finished a stop."""
        self._wake.clear()
        await self._wake.wait()

    # What follows runs in the loudspeaker's thread.

    def _run(self) -> None:
        attempt = 0
        while not self._closing:
            began = self._clock()
            try:
                device = self._open_device(self._name, self._rate)
                try:
                    output = Output(device, self._clock)
                    if self._ready is False:  # it may open and still take nothing
                        output.silence(PERIOD)
                        output.halt()
                    self._tell(
                        DeviceState(
                            "loudspeaker",
                            True,
                            f"The loudspeaker is ready ({device}).",
                            rate=device.rate,
                            channels=device.channels,
                        )
                    )
                    self._serve(output)
                finally:
                    device.close()
            except DeviceError as error:
                self._tell(DeviceState("loudspeaker", False, str(error), error))
            except Exception as error:
                log.debug("a fault in the loudspeaker's thread", exc_info=True)
                failed = device_error("loudspeaker", self._name, repr(error))
                self._tell(DeviceState("loudspeaker", False, str(failed), failed))
            if self._clock() - began > BACK_OFF[-1]:
                attempt = 0
            self._pass_unheard(BACK_OFF[min(attempt, len(BACK_OFF) - 1)])
            attempt += 1
        self._ended = True
        self._wake.set_from_thread()

    def _serve(self, output: Output) -> None:
        """Play until closing. Raises DeviceError when the device is lost."""
        while not self._closing:
            with self._changed:
                self._changed.wait_for(self._something_to_do)
            if self._fade is not None:
                self._finish_stop()
            elif self._queue:
                self._speak(output)

    def _something_to_do(self) -> bool:
        return bool(self._queue) or self._fade is not None or self._closing

    def _speak(self, output: Output) -> None:
        """From the first sample until the device stands still again."""
        with self._changed:
            enough = milliseconds(AHEAD * 1000)
            self._changed.wait_for(
                lambda: len(self._queue) >= enough or self._fade is not None, START_WAIT
            )
        silent = 0.0
        while not self._closing:
            if self._fade is not None:
                self._stop(output)
                return
            queued = output.queued
            samples = self._take(min(self._ahead(), output.capacity) - queued, queued + output.held)
            if len(samples):
                silent = 0.0
                output.write(samples)
                self._watch(output)
                self._wake.set_from_thread()
            elif queued < RUNNING_DRY and not self._queue:
                if silent >= LINGER:
                    output.halt()
                    return
                output.silence(PERIOD)
                silent += PERIOD
            with self._changed:
                self._changed.wait_for(
                    self._must_stop, PERIOD if len(samples) or silent else PERIOD / 2
                )

    def _must_stop(self) -> bool:
        return self._fade is not None or self._closing

    def _take(self, room: float, backlog: float) -> Samples:
        """As much of the queue as there is room for, in whole periods where more will come.

        backlog: seconds until the first of it is heard.
        """
        with self._changed:
            count = int(room * SAMPLE_RATE)
            if count < min(len(self._queue), milliseconds(PERIOD * 1000)):
                count = 0
            samples = self._queue.take(count)
            if len(samples):
                self._ledger.add(self._clock() + backlog, len(samples))
                self.reference.add(self._clock() + backlog, samples)
            self._free_at = self._clock() + backlog + seconds(len(samples))
            return samples

    def _stop(self, output: Output) -> None:
        """Fade what comes next, let it be heard, and drop the rest."""
        with self._changed:
            last = self._queue.take(self._fade or 0)
            begins = self._clock() + output.queued + output.held
            self._ledger.add(begins, len(last))
            self.reference.add(begins, fade_out(last, len(last)))
        output.fade(last)
        output.silence(PERIOD)
        while (left := output.queued - PERIOD) > 0 and not self._closing:
            time.sleep(min(left, PERIOD))
        output.halt()
        self._finish_stop()

    def _finish_stop(self) -> None:
        with self._changed:
            self._queue.clear()
            self._ledger.cut(self._clock())
            self.reference.cut(self._clock())
            self._free_at = 0.0
            self._fade = None
        self._wake.set_from_thread()

    def _ahead(self) -> float:
        return AHEAD_AFTER_UNDERRUN if self._clock() < self._calm_at else AHEAD

    def _watch(self, output: Output) -> None:
        if output.underruns:
            log.debug("underrun of the loudspeaker “%s”", self._name)
            self.reference.interrupt()
            self.underruns += output.underruns
            output.underruns = 0
            self._calm_at = self._clock() + CALM

    def _pass_unheard(self, duration: float) -> None:
        """While there is no device, let sound pass at the pace of time."""
        until = self._clock() + duration
        with self._changed:
            self._ledger.cut(self._clock())
            self.reference.cut(self._clock())
            self._free_at = 0.0
        while not self._closing and (now := self._clock()) < until:
            if self._fade is not None:
                self._finish_stop()
            with self._changed:
                left = self._ledger.left(now)
                samples = self._queue.take(milliseconds(1000 * max(0.0, 2 * PERIOD - left)))
                self._ledger.add(now + left, len(samples))
                self._free_at = now + self._ledger.left(now)
                self._changed.wait(min(until - now, PERIOD if self._queue else duration))
            self._wake.set_from_thread()

    def _tell(self, state: DeviceState) -> None:
        """Log and report a change, and nothing else: a fault that lasts is told once."""
        if self._ready == state.ready or self._closing:
            return
        self._ready = state.ready
        log.log(logging.INFO if state.ready else logging.WARNING, "%s", state.text)
        if self._on_state is not None:
            told = self._on_state
            self._wake.call(lambda: told(state))
