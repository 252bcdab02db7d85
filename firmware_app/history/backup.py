"""Back-up, its verification, and restoring."""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from firmware_app.errors import StorageError
from firmware_app.history import schema
from firmware_app.history.copies import (
    in_the_making,
    note_place,
    remove_database,
    set_aside,
)
from firmware_app.history.faults import reason_of
from firmware_app.history.rows import fetch
from firmware_app.history.salvage import add_readable
from firmware_app.history.schema import sync_folder
from firmware_app.history.writer import Work
from firmware_app.sqlite import Connection, Error, open_database

_PAGES = 256  # copied in a step, between which writes go on


@dataclass(frozen=True, slots=True)
class Contents:
    """What is in a history. schema: its version before anything was brought up to date."""

    schema: int
    conversations: int
    entries: int
    size: int  # bytes


def create(connection: Connection, target: Path) -> Work[Contents]:
    """Copy the history to a file that is not there yet, while writes go on.

    Raises StorageError when the target exists or cannot be written; nothing is left of a failure.
    """
    if target.exists():
        raise StorageError(
            "backup-exists", f"{target} is there already.", "Name another file, or remove it."
        )
    partial = in_the_making(target)
    with _told(f"The back-up to {target}", partial):
        remove_database(partial)
        with contextlib.closing(open_database(partial)) as copy:
            with copy.backup("main", connection, "main") as steps:
                while not steps.done:
                    steps.step(_PAGES)
                    yield 0.0
            copy.pragma("journal_mode", "DELETE")  # one file, with no log beside it
        _sync(partial)
        partial.rename(target)
        sync_folder(target.parent)
    note_place(connection, target.resolve())
    return contents(target)


def contents(path: Path) -> Contents:
    """Raises StorageError for a missing, damaged or newer file."""
    _must_exist(path)
    version = schema.refuse_newer(path)
    with _read_only(path) as connection:
        (counts,) = fetch(
            connection,
            "SELECT (SELECT count(*) FROM conversations), (SELECT count(*) FROM entries)",
        )
    conversations, entries = counts
    return Contents(version, conversations, entries, path.stat().st_size)


def verify(path: Path) -> Contents:
    """Read every page and check every row's place. Raises StorageError where something is wrong."""
    found = contents(path)
    with _read_only(path) as connection:
        wrong = [
            *(row for row in fetch(connection, "PRAGMA integrity_check") if row != ("ok",)),
            *fetch(connection, "PRAGMA foreign_key_check"),
        ]
    if wrong:
        raise _damaged(path)
    return found


def prepare(source: Path, history: Path, *, replace: bool, salvage: bool) -> Path:
    """Copy a back-up beside the history, ready to take its place.

    With salvage, add what can be read of a damaged database to what there is. Raises StorageError
    when the source is damaged or newer than this program, or when there is a history and it is not
    to be replaced.
    """
    if salvage:
        _must_exist(source)
    else:
        verify(source)
        _may_replace(history, replace=replace)
    fresh = in_the_making(history)
    with _told("Restoring", fresh):
        remove_database(fresh)
        if salvage:
            add_readable([source] if _is_empty(history) else [source, history], fresh)
        else:
            _copy(source, fresh)
        _sync(fresh)
    return fresh


def put_in_place(fresh: Path, history: Path, *, replace: bool) -> Path | None:
    """Let what was prepared take the place of the history: the path of what was there, kept aside.

    No connection to the history may be open. Raises StorageError.
    """
    with _told("Restoring", fresh):
        _may_replace(history, replace=replace)
        aside = None if _is_empty(history) else set_aside(history, "replaced")
        remove_database(history)
        fresh.rename(history)
        sync_folder(history.parent)
    return aside


def _may_replace(history: Path, *, replace: bool) -> None:
    if not replace and not _is_empty(history):
        raise StorageError(
            "history-there",
            f"There is a history at {history} already.",
            "Say --replace to put the back-up in its place; the one that is there is kept aside.",
        )


@contextlib.contextmanager
def _told(what: str, partial: Path) -> Iterator[None]:
    """Tell of a failure in a sentence, and leave nothing half made behind it."""
    try:
        yield
    except BaseException as fault:
        remove_database(partial)
        if isinstance(fault, Error | OSError | StorageError) and _is_of_the_card(fault):
            raise StorageError(
                "copy-failed",
                f"{what} failed: {reason_of(fault) or type(fault).__name__}.",
                "Name a place with room that the service's user may write to.",
            ) from fault
        raise


def _is_of_the_card(fault: Exception) -> bool:
    return not isinstance(fault, StorageError) or reason_of(fault) is not None


def _is_empty(history: Path) -> bool:
    """Whether nothing would be lost with it."""
    if not history.exists() or not history.stat().st_size:
        return True
    try:
        return contents(history).conversations == 0
    except StorageError:
        return False


def _must_exist(path: Path) -> None:
    if not path.is_file():
        raise StorageError(
            "no-such-file",
            f"There is no file {path}.",
            "See which there are: hey-echo backup list",
        )


def _copy(source: Path, target: Path) -> None:
    with (
        _read_only(source) as original,
        contextlib.closing(open_database(target)) as copy,
    ):
        with copy.backup("main", original, "main") as steps:
            steps.step()
        copy.pragma("journal_mode", "DELETE")


@contextlib.contextmanager
def _read_only(path: Path) -> Iterator[Connection]:
    try:
        with contextlib.closing(open_database(path, readonly=True)) as connection:
            yield connection
    except Error as fault:
        raise _damaged(path) from fault


def _damaged(path: Path) -> StorageError:
    return StorageError(
        "backup-damaged",
        f"{path} is damaged.",
        "Take another back-up; or save what can be read: hey-echo backup restore --salvage FILE",
    )


def _sync(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())
