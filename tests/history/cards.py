"""Fake cards: file systems under SQLite that fail, stall, or lose power, as real ones do."""

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import apsw


@dataclass
class FakeCard:
    """What goes wrong: every write fails, or each sync takes its time."""

    broken: bool = False
    sync_seconds: float = 0.0
    syncs: int = 0


@dataclass
class _Kept:
    """A file on a card: what is safe, and what a cut of power may or may not leave."""

    safe: bytearray
    unsafe: list[tuple[int, bytes | None]] = field(default_factory=list)  # None: cut to the length

    def sync(self) -> None:
        for change in self.unsafe:
            self.safe = _changed(self.safe, *change)
        self.unsafe.clear()

    def after_power_loss(self, chance: random.Random) -> bytes:
        """Unsynced writes reach the card or do not, in any order."""
        left = self.safe
        for offset, data in self.unsafe:
            if data is not None and chance.random() < 0.5:
                left = _changed(left, offset, data)
        return bytes(left)


class PowerLost(apsw.IOError):
    """The card is without power."""


@dataclass
class PowerCut:
    """Cuts the power at the n-th change to the card, and tells what it kept."""

    at: int | None
    changes: int = 0
    files: dict[Path, _Kept] = field(default_factory=dict)

    @property
    def happened(self) -> bool:
        return self.at is not None and self.changes >= self.at

    def change(self) -> None:
        self.changes += 1
        if self.happened:
            raise PowerLost

    def keep(self, path: Path) -> _Kept:
        if path not in self.files:
            self.files[path] = _Kept(bytearray(path.read_bytes() if path.exists() else b""))
        return self.files[path]

    def leave_behind(self, folder: Path, seed: int) -> None:
        """Write into a folder what the card holds when power is back."""
        chance = random.Random(seed)
        for path, kept in self.files.items():
            if not path.name.endswith("-shm"):
                (folder / path.name).write_bytes(kept.after_power_loss(chance))


class _File(apsw.VFSFile):
    """SQLite, on closing a reader, asks for a lock that a file opened for reading cannot have."""

    def xLock(self, level: int) -> None:  # noqa: N802 - SQLite's name
        try:
            super().xLock(level)
        except apsw.IOError:
            raise apsw.BusyError from None


@contextmanager
def fake_card() -> Iterator[FakeCard]:
    """While the block runs, databases are opened on this card."""
    card = FakeCard()

    class File(_File):
        def __init__(self, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
            super().__init__("unix", name, flags)

        def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802 - SQLite's name
            if card.broken:
                raise apsw.IOError
            super().xWrite(data, offset)

        def xSync(self, flags: int) -> None:  # noqa: N802
            card.syncs += 1
            time.sleep(card.sync_seconds)
            super().xSync(flags)

    class Card(apsw.VFS):
        def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> File:  # noqa: N802
            return File(name, flags)

    mounted = Card("fake-card", "unix", makedefault=True)
    try:
        yield card
    finally:
        mounted.unregister()


@contextmanager
def power_cut(at: int | None) -> Iterator[PowerCut]:
    """While the block runs, databases are opened on a card whose power is cut at that change."""
    cut = PowerCut(at)

    class File(_File):
        def __init__(self, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
            path = name.filename() if isinstance(name, apsw.URIFilename) else name
            self._kept = cut.keep(Path(path)) if path else _Kept(bytearray())
            super().__init__("unix", name, flags)

        def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802 - SQLite's name
            cut.change()
            self._kept.unsafe.append((offset, bytes(data)))
            super().xWrite(data, offset)

        def xTruncate(self, newsize: int) -> None:  # noqa: N802
            cut.change()
            self._kept.unsafe.append((newsize, None))
            super().xTruncate(newsize)

        def xSync(self, flags: int) -> None:  # noqa: N802
            cut.change()
            self._kept.sync()

    class Card(apsw.VFS):
        def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> File:  # noqa: N802
            return File(name, flags)

        def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
            if not cut.happened:
                cut.files.pop(Path(filename), None)
                super().xDelete(filename, syncdir)

    mounted = Card("power-cut", "unix", makedefault=True)
    try:
        yield cut
    finally:
        mounted.unregister()


def _changed(content: bytearray, offset: int, data: bytes | None) -> bytearray:
    if data is None:
        return content[:offset]
    longer = bytearray(max(len(content), offset + len(data)))
    longer[: len(content)] = content
    longer[offset : offset + len(data)] = data
    return longer
