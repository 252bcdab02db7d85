"""Unpacking an archive that may be hostile: regular files below one folder, and no more bytes than
were agreed. Nothing is written before the archive's whole list of names has been looked at."""

import gzip
import io
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, TypeAlias

from firmware_app.errors import EngineError
from firmware_app.model_store.place import need_room, writing

MOST_FILES = 1_000  # the largest Vosk models have about 30
LARGEST = 8 << 30  # bytes unpacked
LONGEST_NAME = 200  # characters of a path
LONGEST_PART = 255  # bytes between two slashes, which is what file systems take
LARGEST_HEADER = 1 << 24  # bytes read at once; a tar's own headers are read whole
SWELLS = 200  # bytes unpacked for one packed; text deflates to a thirtieth at best
SMALL = 1 << 20  # bytes that may swell as they like
CHUNK = 1 << 20

Opener: TypeAlias = Callable[[], AbstractContextManager[IO[bytes]]]


@dataclass(frozen=True, slots=True)
class _Member:
    name: str
    bytes: int
    open: Opener


def unpack(archive: Path, target: Path, *, most: int = LARGEST) -> None:
    """Unpack a zip or tar.gz into the folder target, which is made.

    A folder that holds everything else is left away. most: bytes that all files may have.
    Raises EngineError "model-archive" for anything but plain files with plain names, and
    StorageError where there is no room.
    """
    most = min(most, max(SMALL, archive.stat().st_size * SWELLS))
    with _members(archive) as members:
        files = _checked(members, archive, most)
        need_room(target.parent, sum(member.bytes for member in files.values()))
        strip = _common_folder(files)
        with writing(target):
            target.mkdir(parents=True)
            for path, member in files.items():
                _write(member, target / path.relative_to(strip), archive)


def _checked(members: Iterable[_Member], archive: Path, most: int) -> dict[Path, _Member]:
    """The members by their paths. What is too much is refused before the next one is looked at."""
    files: dict[Path, _Member] = {}
    folded: set[str] = set()
    total = 0
    for member in members:
        path = _plain_path(member.name, archive)
        total += member.bytes
        if total > most:
            raise _refused(archive, f"would swell to more than {most / 1e6:.0f} MB")
        if path.as_posix().casefold() in folded:
            raise _refused(archive, f"holds two files called {path}")
        folded.add(path.as_posix().casefold())
        files[path] = member
        if len(files) > MOST_FILES:
            raise _refused(archive, f"holds more than {MOST_FILES} files")
    if not files:
        raise _refused(archive, "holds no file")
    for path in files:
        if any(parent.as_posix().casefold() in folded for parent in path.parents):
            raise _refused(archive, f"holds {path.parent} as a file and as a folder")
    return files


def _common_folder(paths: Collection[Path]) -> Path:
    tops = {path.parts[0] for path in paths}
    if len(tops) == 1 and all(len(path.parts) > 1 for path in paths):
        return Path(tops.pop())
    return Path()


def _plain_path(name: str, archive: Path) -> Path:
    """The name as a path that cannot lead anywhere but down, and hides nothing."""
    parts = name.split("/")
    plain = (
        name.isprintable()
        and len(name) <= LONGEST_NAME
        and "\\" not in name
        and ":" not in name
        and not any(not part or part.startswith(".") or part.strip() != part for part in parts)
        and all(len(part.encode()) <= LONGEST_PART for part in parts)
    )
    if not plain:
        shown = "".join(c if c.isprintable() else "?" for c in name)[:60]
        raise _refused(archive, f"holds a file called {shown!r}")
    return Path(*parts)


def _write(member: _Member, path: Path, archive: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    left = member.bytes
    with member.open() as packed, path.open("xb") as out:
        while chunk := packed.read(min(CHUNK, left + 1)):
            left -= len(chunk)
            if left < 0:
                raise _refused(archive, f"holds more of {member.name} than it says")
            out.write(chunk)
    if left:
        raise _refused(archive, f"holds less of {member.name} than it says")


@contextmanager
def _members(archive: Path) -> Iterator[Iterator[_Member]]:
    try:
        if zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as packed:
                yield _zip_members(packed, archive)
        else:
            with (
                gzip.open(archive) as unzipped,
                tarfile.open(fileobj=_Sips(unzipped), mode="r:") as packed_tar,
            ):
                yield _tar_members(packed_tar, archive)
    except (
        zipfile.BadZipFile,
        tarfile.TarError,
        zlib.error,
        EOFError,
        ValueError,  # numbers that are none
        RuntimeError,  # a method or an encryption that zipfile does not know
        gzip.BadGzipFile,
    ) as error:
        raise _refused(archive, f"cannot be unpacked ({error})") from error


class _Sips(io.RawIOBase):
    """A stream that is never read in gulps, as a header of gigabytes would be."""

    def __init__(self, stream: gzip.GzipFile) -> None:
        self._stream = stream

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= LARGEST_HEADER:
            raise tarfile.ReadError("a header is too long")
        return self._stream.read(size)

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._stream.seek(offset, whence)

    def tell(self) -> int:
        return self._stream.tell()

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True


def _zip_members(packed: zipfile.ZipFile, archive: Path) -> Iterator[_Member]:
    for entry in packed.infolist():
        mode = entry.external_attr >> 16
        if entry.is_dir():
            continue
        if stat.S_IFMT(mode) not in (0, stat.S_IFREG) or entry.flag_bits & 1:
            raise _refused(archive, "holds something else than plain files")
        yield _Member(entry.filename, entry.file_size, partial(packed.open, entry))


def _tar_members(packed: tarfile.TarFile, archive: Path) -> Iterator[_Member]:
    folders = 0
    for entry in packed:
        if entry.isdir():
            folders += 1
            if folders > MOST_FILES:
                raise _refused(archive, f"holds more than {MOST_FILES} folders")
            continue
        if not entry.isreg() or entry.issparse():
            raise _refused(archive, "holds something else than plain files")
        name = entry.name.removeprefix("./")
        yield _Member(name, entry.size, partial(_tar_file, packed, entry))


def _tar_file(packed: tarfile.TarFile, entry: tarfile.TarInfo) -> IO[bytes]:
    file = packed.extractfile(entry)
    assert file is not None  # noqa: S101 - regular files alone come here
    return file


def _refused(archive: Path, why: str) -> EngineError:
    return EngineError(
        "model-archive",
        f"The archive {archive.name} {why}.",
        "Nothing was installed. Get the model from its maker, and check its SHA-256.",
    )
