"""The copies of a history that the box itself made: back-ups, and files that were set aside."""

import contextlib
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from firmware_app.errors import StorageError
from firmware_app.history.rows import fetch
from firmware_app.history.schema import meta, set_meta, sync_folder
from firmware_app.sqlite import Connection, Error, open_database

BACKUPS = "backups"  # folder beside the history, where a back-up goes unless told otherwise
_PLACES = "copies"  # in meta: back-ups that were put elsewhere
_COMPANIONS = ("-wal", "-shm", "-journal")
_NEW = ".new"

WhyAside = Literal["damaged", "replaced"]


@dataclass(frozen=True, slots=True)
class Copy:
    """A file with words of the history in it. made: wall clock, seconds. size: bytes."""

    path: Path
    why: Literal["back-up", "damaged", "replaced"]
    made: float
    size: int


def backup_path(history: Path, name: str = "") -> Path:
    return history.parent / BACKUPS / (name or f"history-{_stamp()}.db")


def set_aside(history: Path, why: WhyAside) -> Path | None:
    """Give the database and its log a dated name; nothing is lost. None where there is none.

    No connection may be open.
    """
    if not history.exists():
        return None
    base = f"{history.name}.{why}-{_stamp()}"
    aside = history.with_name(base)
    n = 1
    while aside.exists():
        n += 1
        aside = history.with_name(f"{base}-{n}")
    for companion in _COMPANIONS:
        with contextlib.suppress(FileNotFoundError):
            _beside(history, companion).rename(_beside(aside, companion))
    history.rename(aside)
    sync_folder(history.parent)
    return aside


def note_place(connection: Connection, path: Path) -> None:
    """Remember a back-up, so that it can be named when what is in it is deleted."""
    places = [*_places(connection), str(path)]
    set_meta(connection, _PLACES, json.dumps(sorted(set(places))))


def copies(connection: Connection, history: Path, conversations: frozenset[str]) -> list[Copy]:
    """Those that hold any of these conversations, or cannot be read; every one if none is named."""
    found: dict[Path, Literal["back-up", "damaged", "replaced"]] = {}
    for place in (*map(Path, _places(connection)), *(history.parent / BACKUPS).glob("*.db")):
        found[place] = "back-up"
    for why in ("damaged", "replaced"):
        for path in history.parent.glob(f"{history.name}.{why}-*"):
            if not path.name.endswith(_COMPANIONS):
                found[path] = why
    return [
        Copy(path, why, path.stat().st_mtime, path.stat().st_size)
        for path, why in sorted(found.items())
        if path.exists() and (not conversations or _may_hold(path, conversations))
    ]


def remove(copy: Copy) -> None:
    """Raises StorageError when the file cannot be removed."""
    try:
        remove_database(copy.path)
        sync_folder(copy.path.parent)
    except OSError as fault:
        raise StorageError(
            "copy-not-removed",
            f"{copy.path} cannot be removed: {(fault.strerror or str(fault)).lower()}.",
            "Remove it yourself.",
        ) from fault


def remove_database(path: Path) -> None:
    """A file and what SQLite keeps beside it: a log would be taken for that of the next file."""
    for companion in (*_COMPANIONS, ""):
        _beside(path, companion).unlink(missing_ok=True)


def in_the_making(path: Path) -> Path:
    """Where what is to become a back-up, or the history, is put together."""
    return _beside(path, _NEW)


def remove_unfinished(history: Path) -> None:
    """At start-up: copies that a crash left half made."""
    for folder in (history.parent, history.parent / BACKUPS):
        with contextlib.suppress(OSError):  # of a card that is read-only: at another start
            for path in folder.glob(f"*.db{_NEW}*"):
                path.unlink()


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _places(connection: Connection) -> list[str]:
    places: list[str] = json.loads(meta(connection, _PLACES) or "[]")
    return places


def _may_hold(path: Path, conversations: frozenset[str]) -> bool:
    try:
        with contextlib.closing(open_database(path, readonly=True)) as connection:
            held = fetch(
                connection,
                "SELECT 1 FROM conversations"
                " WHERE uuid IN (SELECT value FROM json_each(?)) LIMIT 1",
                (json.dumps(sorted(conversations)),),
            )
    except (Error, StorageError):
        return True
    return bool(held)


def _stamp() -> str:
    return time.strftime("%Y%m%d-%H%M%S")
