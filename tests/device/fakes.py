"""Stand-ins for what needs hardware: a light, an SPI bus, a USB board, a mixer's control."""

import errno
from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from typing import Any

from firmware_app.device.patterns import Colours
from firmware_app.errors import DeviceError


@dataclass
class FakeLight:
    """Keeps what it was shown, and when. fault: raised by `show` while it is set."""

    clock: Callable[[], float] = lambda: 0.0
    fault: DeviceError | None = None
    frames: list[tuple[float, Colours]] = field(default_factory=list)
    opened: int = 0
    closed: int = 0

    def open(self) -> "FakeLight":
        self.opened += 1
        return self

    def show(self, colours: Colours) -> None:
        if self.fault:
            raise self.fault
        self.frames.append((self.clock(), colours))

    def close(self) -> None:
        self.closed += 1

    @property
    def now(self) -> Colours:
        return self.frames[-1][1]


@dataclass
class FakeSpi:
    """error: raised by `open`, such as the one for a device that is not there."""

    error: OSError | None = None
    max_speed_hz: int = 0
    opened: tuple[int, int] | None = None
    written: list[bytes] = field(default_factory=list)
    closed: bool = False

    def open(self, bus: int, device: int) -> None:
        if self.error:
            raise self.error
        self.opened = bus, device

    def writebytes2(self, data: bytes) -> None:
        self.written.append(bytes(data))

    def close(self) -> None:
        self.closed = True


@dataclass
class FakeUsb:
    """A USB board that takes control transfers. number: the errno with which it refuses."""

    number: int = 0
    transfers: list[tuple[int, int, int, int, bytes]] = field(default_factory=list)

    def ctrl_transfer(
        self,
        bmRequestType: int,  # noqa: N803
        bRequest: int,  # noqa: N803
        wValue: int,  # noqa: N803
        wIndex: int,  # noqa: N803
        data_or_wLength: bytes,  # noqa: N803
        timeout: int,
    ) -> int:
        if self.number:
            raise OSError(self.number, errno.errorcode[self.number])
        self.transfers.append((bmRequestType, bRequest, wValue, wIndex, bytes(data_or_wLength)))
        return len(data_or_wLength)


class FakeThread(Executor):
    """Does the work where it is asked for, so that virtual time does not run on beside it."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:  # noqa: ANN401
        done: Future[Any] = Future()
        try:
            done.set_result(fn(*args, **kwargs))
        except Exception as error:
            done.set_exception(error)
        return done
