"""The state database <state>/state.db: what Echo must know after a restart, and no words.

It holds the traces of the last turns, and the tables of the rooms that keep something there. One
thread works on it.
"""

import contextlib
import logging
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from itertools import groupby
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from firmware_app.errors import StorageError
from firmware_app.sqlite import Connection, Error, migrate, open_database
from firmware_app.traces import KEPT, Outcome, Stage, Trace

log = logging.getLogger(__name__)

WAITING = 256  # writes that may wait for the card
SECONDS_TO_CLOSE = 2.0

MIGRATIONS = (
    """
    CREATE TABLE traces (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        started REAL NOT NULL,
        spoken INTEGER NOT NULL,
        outcome TEXT,
        wake_score REAL,
        second_stage_score REAL,
        second_stage_ms REAL,
        second_stage_accepted INTEGER,
        false_wake INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE trace_times (
        trace INTEGER NOT NULL REFERENCES traces ON DELETE CASCADE,
        stage TEXT NOT NULL,
        at REAL NOT NULL,
        PRIMARY KEY (trace, stage)
    ) STRICT, WITHOUT ROWID;
    """,
    """
    CREATE TABLE pairings (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        token_hash BLOB NOT NULL UNIQUE,
        owner TEXT NOT NULL,
        name TEXT NOT NULL,
        created REAL NOT NULL,
        last_used REAL NOT NULL
    ) STRICT;
    """,
    """
    CREATE TABLE switches (
        name TEXT PRIMARY KEY,
        value TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    """,
    """
    CREATE TABLE alerts (
        id INTEGER PRIMARY KEY,
        kind TEXT NOT NULL,
        name TEXT NOT NULL,
        seconds INTEGER,
        boot_id TEXT NOT NULL,
        due_boot REAL NOT NULL,
        due REAL,
        time TEXT NOT NULL,
        twelve_hour INTEGER NOT NULL,
        days TEXT NOT NULL,
        anchor REAL
    ) STRICT;
    """,
)

# A newer Echo may have written others.
_STAGES = {stage.value: stage for stage in Stage}
_OUTCOMES = {outcome.value: outcome for outcome in Outcome}

Write: TypeAlias = Callable[[Connection], object]
T = TypeVar("T")


def state_file(state: Path) -> Path:
    return state / "state.db"


class StateStore:
    """The one writer of the state database; its thread runs from making to closing it."""

    def __init__(self, path: Path) -> None:
        """A damaged file is set aside: a box that lost its figures can still answer.

        Raises StorageError when the file is newer than this Echo, or cannot be written.
        """
        try:
            self._database = _opened(path)
        except StorageError as error:
            if error.code != "database-damaged":
                raise
            log.error("%s It is kept as %s.broken.", error.what, path)
            _set_aside(path)
            self._database = _opened(path)
        self._writes: queue.Queue[Write | None] = queue.Queue(WAITING)
        self._dropping = False
        self._thread = threading.Thread(target=self._run, name="state", daemon=True)
        self._thread.start()

    def keep_trace(self, trace: Trace) -> None:
        """Write it down some time soon; never waits. Left out when the card lags far behind."""
        values = _columns(trace)
        times = [(stage.value, at) for stage, at in trace.times.items()]
        self._put(lambda database: _insert_trace(database, values, times))

    def mark_false_wake(self, trace: Trace) -> None:
        """Somebody said that this turn was not meant for Echo."""
        started = trace.started
        self._put(
            lambda database: database.execute(
                "UPDATE traces SET false_wake = 1 WHERE started = ?", (started,)
            )
        )

    def work(self, work: Callable[[Connection], T]) -> "Future[T]":
        """Read or write in one transaction on the store's thread; done when it is on the card.

        The future raises StorageError where the card does not take it, or lags far behind.
        """
        done: Future[T] = Future()

        def act(database: Connection) -> None:
            try:
                with database:
                    result = work(database)
            except Error as fault:
                done.set_exception(_unwritten(str(fault)))
            except BaseException as fault:
                done.set_exception(fault)
            else:
                done.set_result(result)

        try:
            self._writes.put_nowait(act)
        except queue.Full:
            done.set_exception(_unwritten("the card is too slow"))
        return done

    def close(self) -> None:
        """Write what waits, as far as the card keeps up."""
        try:
            self._writes.put(None, timeout=SECONDS_TO_CLOSE)
        except queue.Full:
            return  # the thread hangs in a sync; it ends with the process
        self._thread.join(SECONDS_TO_CLOSE)

    def _put(self, write: Write) -> None:
        if self._writes.empty():
            self._dropping = False
        try:
            self._writes.put_nowait(lambda database: _write_or_log(database, write))
        except queue.Full:
            if not self._dropping:
                log.warning("the card is too slow: times of turns are left out")
            self._dropping = True

    def _run(self) -> None:
        while (write := self._writes.get()) is not None:
            write(self._database)
        self._database.close()


def _write_or_log(database: Connection, write: Write) -> None:
    try:
        with database:
            write(database)
    except Error:
        log.exception("the state database cannot be written")


def _unwritten(reason: str) -> StorageError:
    return StorageError(
        "state-not-written",
        f"What Echo must know after a restart could not be written ({reason}).",
        "Look at the space on the card and its state: hey-echo doctor",
    )


def read_traces(path: Path, last: int = KEPT) -> list[Trace]:
    """The last traces, oldest first; none when there is no database yet.

    Raises StorageError when the file cannot be opened.
    """
    try:
        path.stat()
    except FileNotFoundError:
        return []
    except PermissionError as fault:
        raise StorageError(
            "not-allowed", f"You may not read {path}.", "Run the command with sudo."
        ) from fault
    database = open_database(path, readonly=True)
    try:
        rows = database.execute(
            "SELECT traces.*, stage, at FROM traces LEFT JOIN trace_times ON trace = id"
            " WHERE id IN (SELECT id FROM traces ORDER BY id DESC LIMIT ?) ORDER BY id",
            (last,),
        )
        return [_trace(list(of_one)) for _, of_one in groupby(rows, key=lambda row: row[0])]
    finally:
        database.close()


def _opened(path: Path) -> Connection:
    database = open_database(path)
    try:
        migrate(database, MIGRATIONS)
    except BaseException:
        database.close()
        raise
    return database


def _set_aside(path: Path) -> None:
    """Move the database away with its log and index, which belong to no other."""
    for part in ("", "-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            Path(f"{path}{part}").replace(f"{path}{part}.broken")


def _columns(trace: Trace) -> tuple[Any, ...]:
    return (
        trace.started,
        trace.spoken,
        trace.outcome,
        trace.wake_score,
        trace.second_stage_score,
        trace.second_stage_ms,
        trace.second_stage_accepted,
        trace.false_wake,
    )


def _insert_trace(
    database: Connection, values: tuple[Any, ...], times: list[tuple[str, float]]
) -> None:
    database.execute(
        "INSERT INTO traces (started, spoken, outcome, wake_score, second_stage_score,"
        " second_stage_ms, second_stage_accepted, false_wake) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        values,
    )
    number = database.last_insert_rowid()
    for stage, at in times:
        database.execute("INSERT INTO trace_times VALUES (?, ?, ?)", (number, stage, at))
    database.execute("DELETE FROM traces WHERE id <= ?", (number - KEPT,))


def _trace(rows: list[Any]) -> Trace:
    _, started, spoken, outcome, wake_score, score, took_ms, accepted, false_wake, *_ = rows[0]
    return Trace(
        started=started,
        times={_STAGES[stage]: at for *_, stage, at in rows if stage in _STAGES},
        spoken=bool(spoken),
        outcome=_OUTCOMES.get(outcome),
        wake_score=wake_score,
        second_stage_score=score,
        second_stage_ms=took_ms,
        second_stage_accepted=None if accepted is None else bool(accepted),
        false_wake=bool(false_wake),
    )
