"""A copy of the models elsewhere: a folder, a file, or an address, often of a box nearby."""

import contextlib
import hashlib
import stat
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote

from firmware_app.errors import EngineError, UsageError
from firmware_app.model_store.download import (
    CHUNK,
    NotThereError,
    Tell,
    Wanted,
    WrongFileError,
    check_address,
    download,
    file_name,
)
from firmware_app.model_store.place import need_room, part_path, writing


class Mirror:
    """Where files are looked for instead of at their makers'. Raises UsageError for a wrong one."""

    def __init__(self, base: str) -> None:
        self._url = ""
        self._path = Path()
        if "://" in base:
            check_address(base, plain=True)
            self._url = base
            return
        self._path = Path(base).expanduser().absolute()
        if not self._path.exists():
            raise UsageError(
                "mirror-missing",
                f"There is nothing at {self._path}.",
                "Give a folder, a file, or an address that begins with http:// or https://.",
            )

    @property
    def name(self) -> str:
        return file_name(self._url) if self._url else self._path.name

    def itself(self, wanted: Wanted, place: Path, tell: Tell) -> Path:
        """The file that the mirror itself is."""
        if self._url:
            return download(self._url, wanted, place, tell, plain=True)
        return _copy(self._path, wanted, place, tell)

    def fetch(self, names: Iterable[str], wanted: Wanted, place: Path, tell: Tell) -> Path:
        """The file under the first of the names that exists there. Raises NotThereError."""
        for name in names:
            with contextlib.suppress(NotThereError):
                if self._url:
                    address = f"{self._url.rstrip('/')}/{quote(name)}"
                    return download(address, wanted, place, tell, plain=True)
                return _copy(self._path / name, wanted, place, tell)
        raise NotThereError(
            "model-not-there",
            f"{self._url or self._path} has no {wanted.name}.",
            "Copy the models folder of a box that has the model there, or the file as its maker "
            "names it.",
        )


def _copy(source: Path, wanted: Wanted, place: Path, tell: Tell) -> Path:
    """As download does it, from a file on this box."""
    try:
        status = source.stat()
        if not stat.S_ISREG(status.st_mode):
            raise FileNotFoundError
        packed = source.open("rb")
    except FileNotFoundError as error:
        raise NotThereError(
            "model-not-there", f"{source} is not a file.", "Check the path."
        ) from error
    except OSError as error:
        raise EngineError(
            "model-not-fetched",
            f"{source} cannot be read: {error.strerror}.",
            "Mend its permissions, or run the command with sudo.",
        ) from error
    with packed:
        if wanted.limit and (status.st_size > wanted.limit or status.st_size < wanted.bytes):
            raise _differs(source, f"has {status.st_size} bytes instead of {wanted.limit}")
        part = part_path(place, wanted.sha256)
        digest = hashlib.sha256()
        with writing(place):
            part.parent.mkdir(exist_ok=True)
            need_room(place, status.st_size)
            with part.open("wb") as out:
                while chunk := packed.read(CHUNK):
                    digest.update(chunk)
                    out.write(chunk)
                    tell(out.tell(), status.st_size)
    if digest.hexdigest() != wanted.sha256:
        part.unlink()
        raise _differs(source, "has another SHA-256")
    return part


def _differs(source: Path, how: str) -> WrongFileError:
    return WrongFileError(
        "model-hash-differs",
        f"{source} is not the file that was meant: it {how}.",
        "Nothing was installed. Copy the file again, or fetch it from its maker.",
    )
