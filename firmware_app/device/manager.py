"""What Echo tells the service manager: that it is ready, alive, stopping (sd_notify(3))."""

import asyncio
import contextlib
import os
import socket
import time
from collections.abc import Callable, Mapping

FEEDS = 4  # of the watchdog within its time: one may be late, and another lost
ENOUGH = 180  # characters of a status line


class ServiceManager:
    """The manager that started this process; where none did, telling it does nothing."""

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        address = environ.get("NOTIFY_SOCKET", "")
        self._address = "\0" + address[1:] if address.startswith("@") else address
        watched = environ.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
        self.watchdog_seconds = int(environ.get("WATCHDOG_USEC", 0)) / 1e6 if watched else 0.0
        self._ready = False

    @property
    def there(self) -> bool:
        return bool(self._address)

    def ready(self, status: str) -> None:
        """Started, or done with reloading: `systemctl start` and `reload` wait for it."""
        self._ready = True
        self._tell("READY=1", _status(status))

    def status(self, text: str) -> None:
        """One line for `systemctl status`; never words that were said."""
        self._tell(_status(text))

    def reloading(self) -> None:
        """To be followed by ready."""
        if self._ready:
            self._tell("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")

    def stopping(self) -> None:
        self._tell("STOPPING=1", _status("Stopping."))

    async def feed(self, alive: Callable[[], bool]) -> None:
        """Feed the watchdog until cancelled, whenever the loop and what it asks are alive."""
        if not self.watchdog_seconds:
            await asyncio.Event().wait()
        while True:
            if alive():
                self._tell("WATCHDOG=1")
            await asyncio.sleep(self.watchdog_seconds / FEEDS)

    def _tell(self, *lines: str) -> None:
        if not self._address:
            return
        # A manager that is gone or busy must not stop Echo.
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as to:
            to.setblocking(False)
            to.sendto("\n".join(lines).encode(), self._address)


def _status(text: str) -> str:
    return "STATUS=" + " ".join(text.split())[:ENOUGH]
