"""Sound devices without hardware, through ALSA's own file and null plugins.

A microphone is a FIFO that a thread feeds at the pace of time; unplugging removes it. A
loudspeaker is a file that holds all that was written to the device. ALSA reads its configuration
once in a process, so all devices share one that takes the path in the device's name; a child
process needs ALSA_CONFIG_PATH alone (see `environment`).
"""

import array
import contextlib
import fcntl
import os
import shutil
import termios
import threading
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from firmware_app.audio.alsa import Device, device_error, open_loudspeaker

CONFIG = """
</usr/share/alsa/alsa.conf>
pcm.echomic {
  @args [ FIFO ]
  @args.FIFO { type string }
  type file
  slave.pcm null
  file /dev/null
  infile $FIFO
  format raw
}
pcm.echospk {
  @args [ FILE ]
  @args.FILE { type string }
  type file
  slave.pcm null
  file $FILE
  format raw
}
"""

F_SETPIPE_SZ = 1031
PERIOD_MS = 20
PERIODS = 8  # that wait for a reader; what comes then is lost, as in a real device
LATEST = 0.3  # seconds that the feeder itself may catch up


class FifoMicrophone:
    """A capture device that hears what `say` is given, and silence or a room's hum otherwise."""

    def __init__(
        self,
        path: Path,
        *,
        rate: int = 16_000,
        channels: int = 1,
        dtype: str = "<i2",
        hum: int | tuple[int, ...] = 0,
    ) -> None:
        """hum: steps by which a quiet room's noise moves the sound; 0 is digital silence.

        It may be given for each channel.
        """
        self.name = f"echomic:FIFO={path}"
        self.rate, self.channels, self.dtype = rate, channels, np.dtype(dtype)
        self._path = path
        self._hum = np.asarray(hum)
        self._period = rate * PERIOD_MS // 1000
        self._size = self._period * channels * self.dtype.itemsize
        self._waiting: deque[bytes] = deque()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def plug(self) -> None:
        """Make the device appear."""
        new = self._path.with_suffix(".new")
        os.mkfifo(new)
        # Opened for both ends and before it has its name: else the reader's opening blocks.
        end = os.open(new, os.O_RDWR | os.O_NONBLOCK)
        fcntl.fcntl(end, F_SETPIPE_SZ, 2 * PERIODS * self._size)
        new.rename(self._path)
        self._stop.clear()
        self._thread = threading.Thread(target=self._feed, args=(end,), daemon=True)
        self._thread.start()

    def unplug(self) -> None:
        """Make the device vanish, as a cable that is pulled."""
        if self._thread is not None:
            self._path.unlink()
            self._stop.set()
            self._thread.join()
            self._thread = None

    def say(self, sound: NDArray[np.generic]) -> None:
        """Queue frames, shape (n,) or (n, channels), of the device's own kind."""
        data = sound.astype(self.dtype).tobytes()
        blocks = (data[at : at + self._size] for at in range(0, len(data), self._size))
        self._waiting.extend(block.ljust(self._size, b"\0") for block in blocks)

    def forget(self) -> None:
        """Say nothing of what is still queued."""
        self._waiting.clear()

    @property
    def waiting(self) -> bool:
        """Whether something queued has still to be said."""
        return bool(self._waiting)

    def _feed(self, end: int) -> None:
        random = np.random.default_rng(0)
        shape = (self._period, self.channels)
        silence = random.integers(-self._hum, self._hum + 1, shape).astype(self.dtype).tobytes()
        unread = array.array("i", [0])
        due = time.monotonic()
        while not self._stop.is_set():
            fcntl.ioctl(end, termios.FIONREAD, unread)
            if unread[0] < PERIODS * self._size:
                os.write(end, self._waiting.popleft() if self._waiting else silence)
            due = max(due + PERIOD_MS / 1000, time.monotonic() - LATEST)
            self._stop.wait(max(0.0, due - time.monotonic()))
        os.close(end)


class FileLoudspeaker:
    """A playback device whose sound lands in a file."""

    def __init__(self, path: Path) -> None:
        self.name = f"echospk:FILE={path}"
        self._path = path

    def frames(self, channels: int = 1, dtype: str = "<i2") -> NDArray[np.generic]:
        """All that the device took, shape (n, channels); complete once it has been halted."""
        return np.fromfile(self._path, dtype).reshape(-1, channels)


class FifoLoudspeaker:
    """A playback device that can be unplugged; its sound is counted, not kept."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / "loudspeaker.fifo"
        self.name = f"echospk:FILE={self._path}"
        self.bytes = 0  # that it took
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def plug(self) -> None:
        """Make the device appear."""
        new = self._folder.with_suffix(".new")
        new.mkdir()
        os.mkfifo(new / self._path.name)
        end = os.open(new / self._path.name, os.O_RDWR | os.O_NONBLOCK)
        new.rename(self._folder)  # complete, so that no regular file takes the FIFO's place
        self._stop.clear()
        self._thread = threading.Thread(target=self._play, args=(end,), daemon=True)
        self._thread.start()

    def opened(self, name: str, rate: int) -> Device:
        """As open_loudspeaker; ALSA's plugin itself would open a file that cannot be there."""
        if self._thread is None:
            raise device_error("loudspeaker", name, "No such device")
        return open_loudspeaker(name, rate)

    def unplug(self) -> None:
        """Make the device vanish; what is written to it then is an I/O error."""
        if self._thread is not None:
            shutil.rmtree(self._folder)
            self._stop.set()
            self._thread.join()
            self._thread = None

    def _play(self, end: int) -> None:
        while not self._stop.is_set():
            try:
                self.bytes += len(os.read(end, 65_536))
            except BlockingIOError:
                self._stop.wait(0.005)
        os.close(end)


class AlsaDevices:
    """Makes devices in a folder of its own, and takes them away at the end."""

    def __init__(self, folder: Path, config: Path) -> None:
        self.environment = {"ALSA_CONFIG_PATH": str(config)}
        self._folder = folder
        self._unplugged_at_end: list[FifoMicrophone | FifoLoudspeaker] = []

    def microphone(
        self,
        *,
        rate: int = 16_000,
        channels: int = 1,
        dtype: str = "<i2",
        plugged: bool = True,
        hum: int | tuple[int, ...] = 0,
    ) -> FifoMicrophone:
        path = self._folder / f"microphone{len(self._unplugged_at_end)}.fifo"
        made = FifoMicrophone(path, rate=rate, channels=channels, dtype=dtype, hum=hum)
        self._unplugged_at_end.append(made)
        if plugged:
            made.plug()
        return made

    def loudspeaker(self, name: str = "loudspeaker") -> FileLoudspeaker:
        return FileLoudspeaker(self._folder / f"{name}.raw")

    def unpluggable_loudspeaker(self) -> FifoLoudspeaker:
        made = FifoLoudspeaker(self._folder / "unpluggable")
        self._unplugged_at_end.append(made)
        made.plug()
        return made


@contextlib.contextmanager
def alsa_config(folder: Path) -> Iterator[Path]:
    """A configuration for this process and its children, to be made before ALSA's first use."""
    config = folder / "asound.conf"
    config.write_text(CONFIG)
    before = os.environ.get("ALSA_CONFIG_PATH")
    os.environ["ALSA_CONFIG_PATH"] = str(config)
    try:
        yield config
    finally:
        if before is None:
            del os.environ["ALSA_CONFIG_PATH"]
        else:
            os.environ["ALSA_CONFIG_PATH"] = before


@contextlib.contextmanager
def alsa_devices(folder: Path, config: Path) -> Iterator[AlsaDevices]:
    devices = AlsaDevices(folder, config)
    try:
        yield devices
    finally:
        for device in devices._unplugged_at_end:
            device.unplug()
