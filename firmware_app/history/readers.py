"""Read-only connections, lent to a small pool of threads; no transaction outlives its query."""

import asyncio
import contextlib
import queue
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from firmware_app.errors import StorageError
from firmware_app.history.faults import is_damage, unreadable
from firmware_app.sqlite import Connection, Error, open_database

T = TypeVar("T")

CONNECTIONS = 2
LONGEST_READ = 1.0  # seconds: a reader holds up what erases deleted words
_STEPS_BETWEEN_LOOKS = 10_000  # of SQLite's virtual machine, well under a millisecond


@dataclass(slots=True, eq=False)
class _Reader:
    connection: Connection | None = None
    inode: int = 0
    until: float = 0.0

    def open(self, path: Path) -> Connection:
        if self.connection is None:
            self.inode = path.stat().st_ino
            self.connection = open_database(path, readonly=True)
            self.connection.set_progress_handler(self._too_long, _STEPS_BETWEEN_LOOKS)
        self.until = time.monotonic() + LONGEST_READ
        return self.connection

    def close(self) -> None:
        connection, self.connection = self.connection, None
        if connection is not None:
            with contextlib.suppress(Error):
                connection.close(True)

    def _too_long(self) -> bool:
        return time.monotonic() > self.until


class Readers:
    """Runs reads beside the writer. on_damage is told a damaged file's inode, and the fault."""

    def __init__(self, path: Path, on_damage: Callable[[int, Exception], None]) -> None:
        self._path = path
        self._on_damage = on_damage
        self._threads = ThreadPoolExecutor(CONNECTIONS, thread_name_prefix="history-reader")
        self._idle: queue.LifoQueue[_Reader] = queue.LifoQueue()
        for _ in range(CONNECTIONS):
            self._idle.put(_Reader())

    async def read(self, query: Callable[[Connection], T]) -> T:
        """Raises StorageError when the file cannot be read, or a read takes too long."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._read, query)

    @contextlib.contextmanager
    def away(self) -> Iterator[None]:
        """Wait for running reads, and keep every connection closed until the block is left."""
        readers = [self._idle.get() for _ in range(CONNECTIONS)]
        try:
            for reader in readers:
                reader.close()
            yield
        finally:
            for reader in readers:
                self._idle.put(reader)

    def close(self) -> None:
        self._threads.shutdown(cancel_futures=True)
        with self.away():
            pass

    def _read(self, query: Callable[[Connection], T]) -> T:
        reader = self._idle.get()
        damage: Exception | None = None
        try:
            return query(reader.open(self._path))
        except (Error, OSError, StorageError) as fault:
            reader.close()
            damage = fault if is_damage(fault) else None
            if isinstance(fault, StorageError):
                raise
            raise unreadable(self._path, fault) from fault
        finally:
            self._idle.put(reader)
            if damage:
                self._on_damage(reader.inode, damage)
