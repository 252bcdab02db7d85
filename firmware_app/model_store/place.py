"""The models folder: one change at a time, room on the disk, and models that appear at once.

Everything unfinished lives in two places inside the folder, so that it is on the same file system:
`.fetch-*`, a model in the making, thrown away by whoever comes next; `.parts/`, downloads that
broke off, which the next run goes on with.
"""

import contextlib
import errno
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from firmware_app.errors import StorageError

LOCK = ".lock"
PARTS = ".parts"
UNFINISHED = ".fetch-"
RESERVE = 64 << 20  # bytes left free for the rest of the box, its history above all
FORGOTTEN_DAYS = 14  # after which a download that broke off is not gone on with

Say = Callable[[str], None]


@contextmanager
def alone(place: Path, say: Say = lambda line: None) -> Iterator[None]:
    """Be the only one who changes the folder; another one who does is waited for.

    The kernel lets go of the lock when a process ends, however it ends. What it left unfinished
    is cleared away here. Raises StorageError where the folder cannot be written.
    """
    with writing(place):
        place.mkdir(parents=True, exist_ok=True)
        lock = (place / LOCK).open("a+")
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting for process {_holder(place)}, which changes the models too")
            fcntl.flock(lock, fcntl.LOCK_EX)
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        with writing(place):
            _tidy(place)
        yield


def _holder(place: Path) -> str:
    with contextlib.suppress(OSError):
        return (place / LOCK).read_text().strip() or "unknown"
    return "unknown"


def _tidy(place: Path) -> None:
    for leftover in place.glob(f"{UNFINISHED}*"):
        shutil.rmtree(leftover)
    oldest = time.time() - FORGOTTEN_DAYS * 86_400
    for part in (place / PARTS).glob("*"):
        if part.stat().st_mtime < oldest:
            part.unlink()


def part_path(place: Path, sha256: str) -> Path:
    """Where a download is while it is not whole, by the hash that it will have."""
    return place / PARTS / sha256


@contextmanager
def in_the_making(place: Path) -> Iterator[Path]:
    """A folder that is gone afterwards, unless `put` has taken what is in it."""
    with tempfile.TemporaryDirectory(prefix=UNFINISHED, dir=place) as temporary:
        yield Path(temporary)


def put(fresh: Path, target: Path) -> None:
    """Let the finished folder appear as the target, by one rename, for good.

    What stood there goes aside first, and then away.
    """
    for folder, _, names in os.walk(fresh):
        for name in names:
            sync(Path(folder) / name)
        sync(Path(folder))
    with in_the_making(target.parent) as aside:
        if target.exists():
            target.rename(aside / "old")
        fresh.rename(target)
        sync(target.parent)


def sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def need_room(place: Path, size: int) -> None:
    """Raises StorageError where so many bytes more would fill the disk."""
    free = free_bytes(place)
    if size + RESERVE > free:
        raise StorageError(
            "models-disk-full",
            f"There is no room for {size / 1e6:.0f} MB more in {place}: {free / 1e6:.0f} MB are "
            f"free, of which {RESERVE / 1e6:.0f} MB are kept for the rest of the box.",
            "Remove a model that is not in use (hey-echo models list), or set paths.models to a "
            "folder on a larger disk.",
        )


def free_bytes(place: Path) -> int:
    disk = os.statvfs(place)
    return disk.f_bavail * disk.f_frsize


@contextmanager
def writing(place: Path) -> Iterator[None]:
    """Raises StorageError for whatever the disk refuses."""
    try:
        yield
    except OSError as error:
        if error.errno is None:  # not the disk's: gzip complains so of what it reads
            raise
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StorageError(
                "models-disk-full",
                f"The disk that holds {place} is full.",
                "Make room and run the command again: it goes on where it stopped.",
            ) from error
        raise StorageError(
            "models-not-written",
            f"Models cannot be stored in {place}: {error.strerror or error}.",
            "Mend the permissions there, run the command as the owner of the folder (sudo), or set "
            "paths.models to another folder.",
        ) from error
