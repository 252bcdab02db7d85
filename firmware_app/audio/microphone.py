"""The microphone: a thread that reads ALSA, a bounded ring, and frames on the loop.

It listens for ever: a device that is lost is opened again, and the index of the frames jumps by
what was missed meanwhile.
"""

import asyncio
import logging
import math
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import Self

import numpy as np

from firmware_app.audio.alsa import (
    BACK_OFF,
    XRUN,
    Device,
    DeviceState,
    OnState,
    decode,
    device_error,
    open_microphone,
)
from firmware_app.audio.array import Array
from firmware_app.audio.bridge import Wake
from firmware_app.audio.dsp import Resampler, SampleQueue, to_int16
from firmware_app.errors import DeviceError
from firmware_app.frames import BLOCK, SAMPLE_RATE, Frame, Samples, seconds
from firmware_app.settings import AudioSettings

log = logging.getLogger(__name__)

RING = 2 * SAMPLE_RATE // BLOCK  # frames kept for a loop that is late: 2 s
STALLED = 2.0  # seconds without a sample after which a device counts as lost
HELD_UP = 0.5  # seconds between two looks at a device, after which it is this process that stood
DEAD = 60.0  # seconds of one and the same value after which a device counts as lost
STILL_DEAD = 10.0  # … and once it does, before it is opened anew
RUNAWAY = 0.5  # seconds of sound too many: no clock behind it, as when a file has ended
PROOF = 0.1  # seconds of sound at the right pace before a device counts as ready
CLOSE_WAIT = 0.4  # seconds that closing waits for the thread
WINDOW = 5.0  # seconds


class SampleClock:
    """The index of samples, and the time at which each was captured.

    A read may be late by chance but is never early, so the earliest of some seconds tells the
    time.
    """

    def __init__(self) -> None:
        self.index = 0
        self._origin: float | None = None  # time of index 0, as the earliest reads have it
        self._recent = math.inf  # the earliest of this window, which will follow on _origin
        self._window_ends = 0.0
        self._pace = math.nan  # time of index 0 as a slow mean since the device was opened
        self._read_at = 0.0

    def read(self, count: int, now: float) -> float:
        """So many samples ended now. Returns by how many seconds the sound is ahead of time."""
        seen = now - seconds(self.index + count)
        self._recent = min(self._recent, seen)
        if self._origin is None or now > self._window_ends:
            self._origin, self._recent = self._recent, seen
            self._window_ends = now + WINDOW
        self._origin = min(self._origin, seen)
        if math.isnan(self._pace):
            self._pace, self._read_at = seen, now
        ahead = self._pace - seen
        self._pace -= ahead * min(1.0, (now - self._read_at) / WINDOW)
        self._read_at = now
        return ahead

    def at(self, index: int) -> float:
        return (self._origin or 0.0) + seconds(index)

    def skip_to(self, now: float) -> None:
        """Sound was lost until now: move the index on."""
        self._pace = math.nan
        if self._origin is not None:
            self.index = max(self.index, round((now - self._origin) * SAMPLE_RATE))


class RawChannels:
    """Some channels of a device at our rate, as many samples of each as of the one listened to."""

    def __init__(self, channels: tuple[int, ...], device: Device) -> None:
        self._channels = channels
        self._device = device
        self._resamplers = [Resampler(device.rate, SAMPLE_RATE, live=True) for _ in channels]
        self._sound = SampleQueue()  # shape (samples, channels)

    def append(self, data: bytes) -> None:
        """Take in what the device gave, all its channels interleaved."""
        device = self._device
        if device.format == "S16_LE" and device.rate == SAMPLE_RATE:
            all_channels = np.frombuffer(data, "<i2").reshape(-1, device.channels)
            self._sound.append(all_channels[:, self._channels])
        else:
            pairs = zip(self._channels, self._resamplers, strict=True)
            sounds = [to_int16(by.feed(decode(data, device, channel))) for channel, by in pairs]
            self._sound.append(np.stack(sounds, axis=1))

    def take(self) -> Samples:
        """A block of each, shape (channels, BLOCK)."""
        return self._sound.take(BLOCK).T

    def clear(self) -> None:
        self._sound.clear()
        for resampler in self._resamplers:
            resampler.clear()


class AlsaSource:
    """Frames from an ALSA capture device, whatever its rate, channels and format.

    channel: the one that is listened to, from 0. raw: the microphones of an array, which frames
    carry beside it where the device has them all. on_state: told on the loop, once for each loss,
    each return and each closing. Never raises for the device; close() ends the iterator.
    """

    @classmethod
    def chosen(cls, audio: AudioSettings, on_state: OnState, array: Array | None = None) -> Self:
        """The microphone that the settings name; array: whose raw channels are wanted beside it."""
        return cls(
            audio.microphone,
            rate=audio.microphone_rate,
            channels=audio.microphone_channels,
            channel=audio.microphone_channel,
            raw=array.channels if array else (),
            on_state=on_state,
        )

    def __init__(
        self,
        name: str = "default",
        *,
        rate: int = SAMPLE_RATE,
        channels: int = 1,
        channel: int = 0,
        raw: tuple[int, ...] = (),
        on_state: OnState | None = None,
        open_device: Callable[[str, int, int], Device] = open_microphone,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.overruns = 0  # times that the device lost sound because it was read too late
        self.dropped = 0  # frames that a late loop missed
        self._name = name
        self._asked = rate, channels
        self._channel = channel
        self._raw = raw
        self._on_state = on_state
        self._open_device = open_device
        self._clock = clock
        self._samples = SampleClock()
        self._ring: deque[Frame] = deque()
        self._wake: Wake | None = None
        self._ended = False
        self._closing = False
        self._shut = False  # the device is to be closed, and is not to be opened
        self._asked_anew = threading.Event()  # one of these two has changed
        self._told: tuple[bool, bool] | None = None  # ready and closed, as last told
        self._value = 0  # the last sample that differed from the one before
        self._changed_at = 0.0  # the time of the last block with more than that in it
        self._dead = False  # it was lost because it delivered one value only
        self._gave_out = 0  # times in a row that the device opened, and was lost soon
        self._sound_since: float | None = None  # the time of its first sound

    async def __aiter__(self) -> AsyncIterator[Frame]:
        wake = self._wake or self._start()
        while True:
            while self._ring and self._wanted:
                yield self._ring.popleft()
            if self._ended or self._closing:
                return
            wake.clear()
            await wake.wait()

    def _start(self) -> Wake:
        self._wake = Wake()
        threading.Thread(target=self._run, name="microphone", daemon=True).start()
        return self._wake

    @property
    def _wanted(self) -> bool:
        """Whether the device is to be listened to."""
        return not (self._closing or self._shut)

    def close_capture(self) -> None:
        """Close the device, and listen to nothing until open_capture; `on_state` tells when.

        Sound that was captured and not yet given out is forgotten at once.
        """
        self._shut = True
        self._ring.clear()
        self._asked_anew.set()

    def open_capture(self) -> None:
        """Listen again; `on_state` tells when."""
        self._shut = False
        self._asked_anew.set()

    async def close(self) -> None:
        """End within half a second, even where the driver holds the thread."""
        self._closing = True
        self._asked_anew.set()
        if self._wake is None:
            return
        give_up = time.monotonic() + CLOSE_WAIT
        while not self._ended and time.monotonic() < give_up:
            await asyncio.sleep(0.005)
        if not self._ended:
            log.warning("the microphone “%s” does not let go", self._name)
        self._wake.set_from_thread()

    # What follows runs in the microphone's thread.

    def _run(self) -> None:
        attempt = 0
        while not self._closing:
            self._asked_anew.clear()
            if self._shut:
                attempt = self._gave_out = 0
                self._rest()
                continue
            began = self._clock()
            try:
                device = self._open_device(self._name, *self._asked)
                try:
                    self._listen(device)
                finally:
                    self._gave_out += 1
                    device.close()
            except DeviceError as error:
                self._tell(DeviceState("microphone", False, str(error), error))
            except Exception as error:
                log.debug("a fault in the microphone's thread", exc_info=True)
                failed = device_error("microphone", self._name, repr(error))
                self._tell(DeviceState("microphone", False, str(failed), failed))
            if self._clock() - began > BACK_OFF[-1]:
                attempt = self._gave_out = 0
            self._asked_anew.wait(BACK_OFF[min(attempt, len(BACK_OFF) - 1)])
            attempt += 1
        self._ended = True
        self._woken()

    def _rest(self) -> None:
        """Stay closed until something else is asked."""
        self._ring.clear()
        text = "The microphone is closed: Echo hears nothing."
        self._tell(DeviceState("microphone", False, text, closed=True))
        self._asked_anew.wait()

    def _listen(self, device: Device) -> None:
        """Read for as long as it is wanted. Raises DeviceError when the device is lost."""
        if self._channel >= device.channels:
            raise DeviceError(
                "device-channel",
                f"The microphone “{self._name}” has {device.channels} channels, counted from 0, "
                f"and {self._channel} was asked.",
                "hey-echo config set audio.microphone_channel 0",
            )
        resampler = Resampler(device.rate, SAMPLE_RATE, live=True)
        left_over = SampleQueue()
        has_raw = self._raw and max(self._raw) < device.channels
        raw = RawChannels(self._raw, device) if has_raw else None
        self._samples.skip_to(self._clock())
        last_read = looked_at = self._changed_at = self._clock()
        self._sound_since = None
        started = False  # a read starts the device, and after an overrun starts it again
        while self._wanted:
            now = self._clock()
            if now - looked_at > HELD_UP:
                last_read += now - looked_at
            looked_at = now
            if now - last_read > STALLED:
                raise device_error("microphone", self._name, "it delivers no more sound")
            if started and (wait := self._time_to_wait(device)):
                time.sleep(wait)
                continue
            count, data = self._read(device)
            started = count != XRUN
            if count == XRUN:
                self.overruns += 1
                resampler.clear()
                left_over.clear()
                if raw:
                    raw.clear()
                self._samples.skip_to(self._clock())
            elif count > 0:
                last_read = self._clock()
                sound = self._heard(data, device, resampler)
                left_over.append(sound)
                if raw:
                    raw.append(data)
                self._check_pace(len(left_over) + round(resampler.held * SAMPLE_RATE), last_read)
                self._check_life(sound, last_read)
                if self._is_proven(last_read):
                    self._announce(device)
                self._give(left_over, raw)
            else:
                time.sleep(0.002)

    def _time_to_wait(self, device: Device) -> float:
        """Seconds until a period can be read; 0 also after an overrun, which read reports."""
        there = device.pcm.avail()
        if there < 0 or there >= device.period:
            return 0.0
        return (device.period - there) / device.rate + 0.0005

    def _read(self, device: Device) -> tuple[int, bytes]:
        try:
            return device.pcm.read()
        except Exception as error:
            raise device_error("microphone", self._name, str(error)) from error

    def _heard(self, data: bytes, device: Device, resampler: Resampler) -> Samples:
        if device.format == "S16_LE" and device.rate == SAMPLE_RATE:
            return np.frombuffer(data, "<i2")[self._channel :: device.channels].copy()
        return to_int16(resampler.feed(decode(data, device, self._channel)))

    def _check_pace(self, count: int, now: float) -> None:
        if self._samples.read(count, now) > RUNAWAY:
            raise DeviceError(
                "device-pace",
                f"The sound of the microphone “{self._name}” runs faster than time.",
                "Its true rate is told by: sudo systemctl stop hey-echo; hey-echo doctor "
                "microphone. A device without a clock, such as null, is no microphone.",
            )

    def _check_life(self, sound: Samples, now: float) -> None:
        """Raises DeviceError where there was one and the same value for long."""
        if len(sound) and (sound.min() != self._value or sound.max() != self._value):
            self._value, self._changed_at, self._dead = int(sound[-1]), now, False
        elif now - self._changed_at > (STILL_DEAD if self._dead else DEAD):
            self._dead = True
            raise DeviceError(
                "device-silent",
                f"The microphone “{self._name}” delivers nothing but silence.",
                "Look for a mute switch on it, and raise its level in `alsamixer` (F4).",
            )

    def _is_proven(self, now: float) -> bool:
        """Whether the device can be counted on; the more often it gave out, the longer it takes."""
        if self._sound_since is None:
            self._sound_since = now
        tried = min(self._gave_out, len(BACK_OFF))
        return now - self._sound_since >= (BACK_OFF[tried - 1] if tried else PROOF)

    def _give(self, left_over: SampleQueue, raw: RawChannels | None) -> None:
        """Hand on what is heard; of a device that does not count as ready nothing is."""
        ready = self._told == (True, False)
        while len(left_over) >= BLOCK:
            samples, beside = left_over.take(BLOCK), raw.take() if raw else None
            index = self._samples.index
            self._samples.index += BLOCK
            if not ready:
                continue
            if len(self._ring) >= RING:
                self._ring.popleft()
                self.dropped += 1
            heard_at = self._samples.at(index + BLOCK)
            self._ring.append(Frame(samples, index, heard_at, raw=beside))
        self._woken()

    def _woken(self) -> None:
        if self._wake is not None:
            self._wake.set_from_thread()

    def _announce(self, device: Device) -> None:
        if self._told != (True, False) and not self._dead:
            text = f"The microphone is ready ({device})."
            self._tell(
                DeviceState("microphone", True, text, rate=device.rate, channels=device.channels)
            )

    def _tell(self, state: DeviceState) -> None:
        """Log and report a change, and nothing else: a fault that lasts is told once."""
        if self._told == (state.ready, state.closed) or self._closing:
            return
        self._told = state.ready, state.closed
        expected = state.ready or state.closed
        log.log(logging.INFO if expected else logging.WARNING, "%s", state.text)
        if self._on_state is not None and self._wake is not None:
            told = self._on_state
            self._wake.call(lambda: told(state))
