"""Opening a database of Echo's own. The one file that imports apsw, which brings its own SQLite."""

import contextlib
import os
import stat
from collections.abc import Sequence
from pathlib import Path

from firmware_app.errors import EngineError, StorageError

try:
    import apsw
    from apsw import (
        BusyError,
        CantOpenError,
        Connection,
        ConstraintError,
        CorruptError,
        Error,
        FullError,
        InterruptError,
        LockedError,
        NoMemError,
        NotADBError,
        PermissionsError,
        ReadOnlyError,
        SQLError,
    )
    from apsw import IOError as DiskError
except ImportError as missing:
    raise EngineError(
        "not-installed", "The Python package apsw is not installed.", "Run ./scripts/setup."
    ) from missing

__all__ = [
    "BusyError",
    "CantOpenError",
    "Connection",
    "ConstraintError",
    "CorruptError",
    "DiskError",
    "Error",
    "FullError",
    "InterruptError",
    "LockedError",
    "NoMemError",
    "NotADBError",
    "PermissionsError",
    "ReadOnlyError",
    "SQLError",
    "checkpoint",
    "damage",
    "library_version",
    "migrate",
    "open_database",
]

BUSY_MS = 5_000  # a sync on a card can take seconds


def open_database(path: Path, *, readonly: bool = False) -> Connection:
    """A connection on which deleted rows are overwritten and acknowledged ones survive a power cut.

    Makes the file (0600) and its folder (0700) unless readonly. A connection may be handed from
    thread to thread; two threads must not use it at once.

    Raises StorageError when the file cannot be opened, or is not a database.
    """
    try:
        if not readonly:
            _make_private(path)
        flags = (
            apsw.SQLITE_OPEN_READONLY
            if readonly
            else apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
        )
        connection = Connection(str(path), flags=flags)
    except (Error, OSError) as fault:
        raise _unusable(path, fault) from fault
    try:
        connection.set_busy_timeout(BUSY_MS)
        connection.pragma("temp_store", "MEMORY")  # no words in temporary files
        connection.pragma("foreign_keys", True)
        connection.pragma("secure_delete", True)
        connection.pragma("synchronous", "FULL")
        if readonly:
            connection.pragma("schema_version")  # reads the header: is this a database at all?
        else:
            connection.pragma("journal_mode", "WAL")
    except Error as fault:
        connection.close(True)
        raise _unusable(path, fault) from fault
    return connection


def checkpoint(connection: Connection, *, truncate: bool = False) -> bool:
    """Bring the log into the database; with truncate, leave no byte in the log.

    False while a reader stands in the way. Raises the driver's errors.
    """
    mode = apsw.SQLITE_CHECKPOINT_TRUNCATE if truncate else apsw.SQLITE_CHECKPOINT_PASSIVE
    try:
        in_log, copied = connection.wal_checkpoint(mode=mode)
    except (BusyError, LockedError):
        return False
    return in_log == copied


def migrate(connection: Connection, steps: Sequence[str]) -> None:
    """Bring the schema to version len(steps): step n makes version n + 1 out of version n.

    All missing steps go in one transaction, so a power cut leaves the old schema or the new one.
    Raises StorageError when the file cannot be written and, with it untouched, when a newer Echo
    wrote it.
    """
    try:
        _migrate(connection, steps)
    except (BusyError, CorruptError, DiskError, FullError, NotADBError, ReadOnlyError) as fault:
        raise _unusable(Path(connection.filename), fault) from fault


def _migrate(connection: Connection, steps: Sequence[str]) -> None:
    with contextlib.closing(connection.cursor()) as cursor:
        cursor.execute("BEGIN IMMEDIATE")  # two processes that start at once migrate once
        try:
            version = int(connection.pragma("user_version"))
            if version > len(steps):
                raise StorageError(
                    "database-newer",
                    f"{connection.filename} was written by a newer Echo "
                    f"(schema {version}; this one knows {len(steps)}).",
                    "Install that version again, or move the file away.",
                )
            for step in steps[version:]:
                cursor.execute(step)
            connection.pragma("user_version", len(steps))
            cursor.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:  # some faults have rolled it back themselves
                cursor.execute("ROLLBACK")
            raise


def _make_private(path: Path) -> None:
    if not path.parent.is_dir():
        path.parent.mkdir(parents=True)
        path.parent.chmod(0o700)
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        # By name, never by opening it: closing a second descriptor drops SQLite's own locks.
        if stat.S_IMODE(path.stat().st_mode) & 0o077:
            path.chmod(0o600)


def _unusable(path: Path, fault: Exception) -> StorageError:
    if isinstance(fault, apsw.NotADBError | apsw.CorruptError):
        return StorageError(
            "database-damaged",
            f"{path} is damaged, or is not a database.",
            "Move it away, or put a back-up in its place.",
        )
    reason = fault.strerror if isinstance(fault, OSError) else str(fault)
    return StorageError(
        "database-unusable",
        f"{path} cannot be opened: {reason}.",
        "Check that the folder exists, is yours, and that the card is not full.",
    )


def library_version() -> str:
    """Of the SQLite that the driver brings, such as 3.51.3."""
    return str(apsw.sqlite_lib_version())


def damage(path: Path) -> str:
    """What SQLite finds wrong with a database; empty when nothing.

    Raises StorageError when it cannot be read at all. Writes nothing.
    """
    connection = open_database(path, readonly=True)
    try:
        ((found,),) = connection.execute("PRAGMA quick_check(1)")
        return "" if found == "ok" else str(found).splitlines()[-1]
    except Error as fault:
        raise _unusable(path, fault) from fault
    finally:
        connection.close()
