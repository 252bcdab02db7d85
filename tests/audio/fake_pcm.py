"""Fake ALSA devices, for what its file and null plugins cannot do: losses, xruns, wrong formats.

They run on real time, as sound cards do.
"""

import threading
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from firmware_app.audio.alsa import XRUN, Device, device_error

NO_DEVICE = -19


class FakeError(Exception):
    """What alsaaudio raises: a string, with the name at its end."""


def gone() -> FakeError:
    return FakeError("No such device [fake]")


@dataclass
class FakeLoudspeakerPcm:
    """Plays mono S16 at the speed of time and keeps what was truly heard."""

    rate: int = 48_000
    buffer: int = 7_680
    lost: bool = False
    broken: bool = False  # opens, and every write is an error
    stuck: bool = False  # takes no more, and says nothing
    underruns: int = 0
    most_queued: int = 0
    heard: list[NDArray[np.int16]] = field(default_factory=list)
    _queue: NDArray[np.int16] = field(default_factory=lambda: np.zeros(0, np.int16))
    _started: float | None = None
    _played: int = 0  # of the frames since the start

    def device(self) -> Device:
        if self.lost:
            raise gone()
        return Device(self, "fake", self.rate, 1, "S16_LE", self.rate // 100, self.buffer)

    def _run(self) -> bool:
        """Play what is due. False, once, when the queue ran dry meanwhile."""
        if self._started is None or self.stuck:
            return True
        due = int((time.monotonic() - self._started) * self.rate) - self._played
        self.heard.append(self._queue[:due])
        self._played += due
        if due > len(self._queue):
            self._queue = self._queue[:0]
            self._started = None
            self.underruns += 1
            return False
        self._queue = self._queue[due:]
        return True

    def avail(self) -> int:
        if self.lost:
            return NO_DEVICE
        return self.buffer - len(self._queue) if self._run() else XRUN

    def write(self, data: bytes) -> int:
        if self.lost:
            raise gone()
        if self.broken:
            raise FakeError("Input/output error [fake]")
        if not self._run():
            return XRUN
        frames = np.frombuffer(data, "<i2")[: self.buffer - len(self._queue)]
        self._queue = np.concatenate((self._queue, frames))
        self.most_queued = max(self.most_queued, len(self._queue))
        if self._started is None:
            self._started, self._played = time.monotonic(), 0
        return len(frames)

    def drop(self) -> int:
        self._run()
        self._queue, self._started = self._queue[:0], None
        return 0

    def sound(self) -> NDArray[np.int16]:
        return np.concatenate(self.heard) if self.heard else np.zeros(0, np.int16)

    def close(self) -> None: ...

    def read(self) -> tuple[int, bytes]:
        raise NotImplementedError

    def info(self) -> dict[str, Any]:
        raise NotImplementedError


@dataclass
class FakeMicrophonePcm:
    """Gives a counting ramp of mono S16 at 16 kHz; may lose sound, vanish, hang or fall silent."""

    lost: bool = False
    silent: bool = False
    hangs: threading.Event | None = None  # read blocks until it is set
    overrun_once: float = 0.0  # seconds of sound lost with the next read
    closed: bool = False
    channels: int = 1
    rate: int = 16_000  # that it claims and keeps
    busy: bool = False
    constant: int | None = None  # the one value that is delivered
    fails_after: float | None = None  # seconds of sound after which each read is an error
    _started: float | None = None  # by the first read, and the first after an overrun
    _read: int = 0

    def device(self) -> Device:
        if self.lost:
            raise gone()
        if self.busy:
            raise device_error("microphone", "fake", "Device or resource busy [fake]")
        self._started = None
        period = self.rate // 50
        return Device(self, "fake", self.rate, self.channels, "S16_LE", period, 8 * period)

    def avail(self) -> int:
        if self.lost:
            return NO_DEVICE
        if self.hangs is not None:
            return self.rate // 50
        if self.silent or self._started is None:
            return 0
        return int((time.monotonic() - self._started) * self.rate) - self._read

    def read(self) -> tuple[int, bytes]:
        if self.hangs is not None:
            self.hangs.wait()
        if self.lost:
            raise gone()
        if self.overrun_once:
            time.sleep(self.overrun_once)
            self.overrun_once = 0.0
            self._started = None
            return XRUN, b""
        if self._started is None:
            self._started, self._read = time.monotonic(), 0
        if self.fails_after is not None and self._read >= self.fails_after * self.rate:
            raise FakeError("Input/output error [fake]")
        period = self.rate // 50
        if self.avail() < period:
            return 0, b""
        ramp = np.arange(self._read, self._read + period) % 30_000
        if self.constant is not None:
            ramp = np.full(period, self.constant)
        self._read += period
        return period, np.repeat(ramp[:, np.newaxis], self.channels, axis=1).astype("<i2").tobytes()

    def close(self) -> None:
        self.closed = True

    def drop(self) -> int:
        return 0

    def write(self, data: bytes) -> int:
        raise NotImplementedError

    def info(self) -> dict[str, Any]:
        raise NotImplementedError
