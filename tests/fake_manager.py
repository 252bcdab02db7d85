"""A fake service manager: what systemd does for Type=notify, WatchdogSec= and Restart=always."""

import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self


class FakeManager:
    """Runs a command, takes its datagrams, and starts it again when it ends or is silent.

    told: the lines it was told, in order. starts: how often the command was started. killed: how
    often because the watchdog was not fed in time. environment: what the command is given.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        folder: Path,
        *,
        watchdog_seconds: float = 30.0,
        restart_seconds: float = 0.1,
    ) -> None:
        self.told: list[str] = []
        self.starts = 0
        self.killed = 0
        self.log = folder / "service.log"
        self._command = command
        self._watchdog_seconds = watchdog_seconds
        self._restart_seconds = restart_seconds
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(folder / "notify"))
        self._socket.settimeout(0.02)
        self.environment = {
            **environment,
            "NOTIFY_SOCKET": str(folder / "notify"),
            "WATCHDOG_USEC": str(round(watchdog_seconds * 1e6)),
        }
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.process = self._start()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: object, places: TracebackType | None
    ) -> None:
        self._stopping.set()
        self._thread.join()
        self.process.kill()
        self.process.wait()
        self._socket.close()

    def until(self, true: Callable[[], bool], seconds: float = 60.0) -> None:
        give_up = time.monotonic() + seconds
        while not true():
            assert time.monotonic() < give_up, f"{self.told}\n{self.log.read_text()}"
            time.sleep(0.02)

    def count(self, line: str) -> int:
        return self.told.count(line)

    @property
    def status(self) -> str:
        lines = [line for line in self.told if line.startswith("STATUS=")]
        return lines[-1].removeprefix("STATUS=") if lines else ""

    def _start(self) -> subprocess.Popen[bytes]:
        self.starts += 1
        self._ready = False
        with self.log.open("ab") as out:
            return subprocess.Popen(self._command, env=self.environment, stdout=out, stderr=out)

    def _run(self) -> None:
        fed = time.monotonic()
        while not self._stopping.is_set():
            try:
                lines = self._socket.recv(4096).decode().split("\n")
            except TimeoutError:
                lines = []
            self.told += lines
            if {"READY=1", "WATCHDOG=1"} & set(lines):
                self._ready |= "READY=1" in lines
                fed = time.monotonic()
            if self._ready and time.monotonic() - fed > self._watchdog_seconds:
                self.killed += 1
                self.process.send_signal(signal.SIGABRT)
                self.process.send_signal(signal.SIGCONT)  # one that was stopped cannot end
                self.process.wait()
            if self.process.poll() is not None and not self._stopping.wait(self._restart_seconds):
                self.process = self._start()


def environment(config: Path, folder: Path, models: Path) -> dict[str, str]:
    """Of a service of its own, beside whatever runs on this machine."""
    return {
        **os.environ,
        "HEY_ECHO_CONFIG": str(config),
        "HEY_ECHO_PATHS_STATE": str(folder / "state"),
        "HEY_ECHO_PATHS_RUNTIME": str(folder / "run"),
        "HEY_ECHO_PATHS_MODELS": str(models),
    }
