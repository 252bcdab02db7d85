"""What time it is, and whether that is to be trusted: a small board starts without a clock."""

import ctypes
import time
from functools import cached_property
from pathlib import Path
from typing import Protocol

from firmware_app.history.records import Moment

_TIME_ERROR = 5  # adjtimex(2): the kernel's clock is not synchronised


class Clock(Protocol):
    def now(self) -> Moment: ...


class SystemClock:
    """The machine's own clock. Once it was trusted it stays so."""

    def __init__(self) -> None:
        self._trusted = False

    def now(self) -> Moment:
        since_boot = time.clock_gettime(time.CLOCK_BOOTTIME)
        self._trusted = self._trusted or not self._starts_without or _synchronised()
        return Moment(time.time() if self._trusted else None, self._boot_id, since_boot)

    @cached_property
    def _boot_id(self) -> str:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()

    @cached_property
    def _starts_without(self) -> bool:
        """Boards described by a device tree seldom have a battery for their clock."""
        return Path("/proc/device-tree/model").exists()


def _synchronised() -> bool:
    if Path("/run/systemd/timesync/synchronized").exists():
        return True
    nothing_to_set = ctypes.create_string_buffer(512)  # struct timex is about 200 bytes
    state: int = ctypes.CDLL(None).adjtimex(nothing_to_set)
    return 0 <= state < _TIME_ERROR
