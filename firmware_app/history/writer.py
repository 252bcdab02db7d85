"""The one writer: a thread that owns the write connection and everything that changes the file.

Writes are queued and never waited for. What is queued together is committed together, in order; a
write that fails where it may yet succeed stays at its place and is tried again.
"""

import contextlib
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Generator
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar

from firmware_app.errors import EchoError
from firmware_app.history.faults import CONNECTION_STANDS, NotSavedError, is_damage, reason_of
from firmware_app.sqlite import Connection, Error, FullError, checkpoint

log = logging.getLogger(__name__)

T = TypeVar("T")
Work: TypeAlias = Generator[float, None, T]  # yields the seconds until its next step

ITEMS = 4096
BYTES = 32 * 1024 * 1024
FIRST_RETRY = 0.2  # seconds; doubled with each failure
LAST_RETRY = 15.0
STALLED = 10.0  # seconds without an answer from the card that count as not saving
IDLE = 30.0  # seconds between looks at what waits for no write, such as the clock
CHECKPOINT_PAGES = 1000  # of log, as SQLite's own default


@dataclass(slots=True, eq=False)
class Job(Generic[T]):
    """A change to be made within a transaction. run may be called more than once.

    entry: conversation and number of the entry it writes, so that a failure can be told.
    replaces: a later job of the same name takes this one's place while it waits.
    """

    run: Callable[[Connection], T]
    size: int = 256
    entry: tuple[str, int] | None = None
    replaces: str = ""
    done: Future[T] = field(default_factory=lambda: uncancellable())
    since: float = field(default_factory=time.monotonic)


class Writer:
    """A bounded queue and the thread that empties it.

    opens: gives the write connection. leave_damaged: told of damage, with the connection closed.
    on_saving: told True or False, with the reason, from whichever thread notices. tidy: called
    within the first transaction on a connection and now and again, told whether the file is as
    another process left it. on_incomplete: writes down that saving a conversation's entries failed
    for a time: (connection, uuid, reason, late, lost).
    """

    def __init__(
        self,
        opens: Callable[[], Connection],
        leave_damaged: Callable[[Exception], None],
        on_saving: Callable[[bool, str], None],
        tidy: Callable[[Connection, bool], object],
        on_incomplete: Callable[[Connection, str, str, set[int], set[int]], None],
    ) -> None:
        self._opens = opens
        self._damaged = leave_damaged
        self._on_saving = on_saving
        self._tidy = tidy
        self._on_incomplete = on_incomplete
        self._queue: deque[Job[Any]] = deque()
        self._works: deque[tuple[Work[Any], Future[Any]]] = deque()
        self._size = 0
        self._in_flight = 0
        self._changed = threading.Condition()
        self._stop_by: float | None = None
        self._reason = ""  # why nothing is saved now
        self._trouble_reason = ""
        self._late: dict[str, set[int]] = {}
        self._lost: dict[str, set[int]] = {}
        self._connection: Connection | None = None
        self._log_pages = 0
        self._tidy_at = 0.0
        self._fresh = True
        self._retry_after = FIRST_RETRY
        self.opened: Future[None] = Future()
        self._thread = threading.Thread(target=self._run, name="history", daemon=True)

    def begin(self) -> None:
        """Open the file; `opened` tells how that went."""
        self._thread.start()

    @property
    def reason(self) -> str:
        """Why nothing is saved now; empty while all is well."""
        return self._reason

    @property
    def running(self) -> bool:
        return self._thread.is_alive()

    @property
    def waiting(self) -> int:
        return len(self._queue)

    def submit(self, job: Job[T]) -> Future[T]:
        """Queue a change; returns at once. The future fails when the change is given up."""
        with self._changed:
            if self._stop_by is not None:
                return self._give_up(job, "Echo is stopping")
            if self._take_place(job):
                return job.done
            if len(self._queue) >= ITEMS or self._size + job.size > BYTES:
                return self._give_up(job, "too much is waiting to be written")
            self._queue.append(job)
            self._size += job.size
            self._changed.notify_all()
            stalled = time.monotonic() - self._queue[0].since > STALLED
        if stalled and not self._reason:
            self._not_saving("the card does not answer")
        return job.done

    def work(self, work: Callable[[Connection], Work[T]]) -> Future[T]:
        """Do something long step by step, outside of transactions, between the writes."""
        done: Future[T] = uncancellable()

        def begin() -> Work[T]:
            yield 0.0
            return (yield from work(self._opened_connection()))

        with self._changed:
            if self._stop_by is not None:
                done.set_exception(NotSavedError("Echo is stopping"))
                return done
            self._works.append((begin(), done))
            self._changed.notify_all()
        return done

    def exchange_file(self, act: Callable[[], T]) -> Future[T]:
        """Do something to the file itself, between writes, while no write connection is open."""

        def swap(_: Connection) -> Work[T]:
            yield 0.0
            self._close_connection()
            try:
                result = act()
                self._fresh = True
                return result
            finally:
                self._open_connection()

        return self.work(swap)

    def close(self, seconds: float) -> int:
        """Write what is queued, then stop. How many writes were given up for want of time."""
        with self._changed:
            self._stop_by = time.monotonic() + seconds
            self._changed.notify_all()
        self._thread.join(seconds + 0.5)
        with self._changed:
            left = list(self._queue)
            self._queue.clear()
        for job in left:
            if not job.done.done():
                job.done.set_exception(NotSavedError("Echo stopped before it could be written"))
        return len(left)

    # The thread.

    def _run(self) -> None:
        try:
            while self._step():
                pass
        finally:
            for work, done in self._works:
                work.close()
                if not done.done():
                    done.set_exception(NotSavedError("Echo is stopping"))
            self._close_connection()

    def _step(self) -> bool:
        """Do the next thing there is to do; False when it is time to stop."""
        if self._connection is None and not self._try(self._open_connection):
            return self._wait_to_retry()
        batch = self._take()
        if batch or self._lost or time.monotonic() >= self._tidy_at:
            if not self._try(lambda: self._commit(batch)):
                return self._wait_to_retry()
            self._retry_after = FIRST_RETRY
            if not self.opened.done():
                self.opened.set_result(None)
            self._checkpoint_when_long()
            return True
        if self._stop_by is not None:
            return False
        pause = self._advance_work() if self._works else 0.0
        with self._changed:
            if not self._works:
                pause = IDLE
            if pause and not self._queue and self._stop_by is None:
                self._changed.wait(pause)
        return True

    def _try(self, act: Callable[[], None]) -> bool:
        """Whether it succeeded; a failure has been told, and will have been prepared for."""
        try:
            act()
        except Exception as fault:
            self._failed(fault)
            return False
        return True

    def _failed(self, fault: Exception) -> None:
        reason = reason_of(fault)
        if reason is None and not is_damage(fault) and not self.opened.done():
            self._reason = str(fault)  # such as a newer schema: for the caller to tell
            self.opened.set_exception(fault)
            return
        if is_damage(fault):
            self._leave_damaged(fault)
            reason = "the database is damaged"
        elif not isinstance(fault, CONNECTION_STANDS):
            self._close_connection()
        elif isinstance(fault, FullError) and self._connection:
            with contextlib.suppress(Error):  # the log's own room may be enough
                checkpoint(self._connection, truncate=True)
        self._not_saving(reason or f"it fails with {type(fault).__name__}")
        with self._changed:
            for job in self._queue:
                if job.entry:
                    self._late.setdefault(job.entry[0], set()).add(job.entry[1])
        if not self.opened.done():
            self.opened.set_result(None)

    def _wait_to_retry(self) -> bool:
        with self._changed:
            if self._stop_by is None:
                self._changed.wait_for(lambda: self._stop_by is not None, self._retry_after)
                self._retry_after = min(2 * self._retry_after, LAST_RETRY)
                return True
            left = self._stop_by - time.monotonic()
            if left <= 0:
                return False
            self._changed.wait(min(left, FIRST_RETRY))
            return True

    def _take(self) -> list[Job[Any]]:
        with self._changed:
            self._in_flight = len(self._queue)
            return list(self._queue)

    def _commit(self, batch: list[Job[Any]]) -> None:
        connection = self._opened_connection()
        with self._changed:
            lost = {uuid: set(numbers) for uuid, numbers in self._lost.items()}
        connection.execute("BEGIN IMMEDIATE")
        try:
            if tidied := time.monotonic() >= self._tidy_at:
                self._tidy(connection, self._fresh)
            outcomes = [(job, *_attempt(connection, job)) for job in batch]
            for uuid in self._late.keys() | lost.keys():
                late = self._late.get(uuid, set()) - lost.get(uuid, set())
                self._on_incomplete(
                    connection, uuid, self._trouble_reason, late, lost.get(uuid, set())
                )
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        if tidied:
            self._tidy_at, self._fresh = time.monotonic() + IDLE, False
        self._late.clear()
        self._committed(outcomes, lost)

    def _committed(
        self, outcomes: list[tuple[Job[Any], Any, EchoError | None]], lost: dict[str, set[int]]
    ) -> None:
        with self._changed:
            for uuid, numbers in lost.items():
                self._lost[uuid] -= numbers
                if not self._lost[uuid]:
                    del self._lost[uuid]
            for job, _, refusal in outcomes:
                if self._queue and self._queue[0] is job:
                    self._size -= self._queue.popleft().size
                if job.entry and isinstance(refusal, NotSavedError):
                    self._lost.setdefault(job.entry[0], set()).add(job.entry[1])
            self._in_flight = 0
        if self._reason and not self._lost:
            self._saving_again()
        for job, result, refusal in outcomes:
            if job.done.done():
                continue
            if refusal:
                job.done.set_exception(refusal)
            else:
                job.done.set_result(result)

    def _advance_work(self) -> float:
        """One step of the first long work. Seconds until the next; 0 when it has ended."""
        work, done = self._works[0]
        try:
            return next(work)
        except StopIteration as ended:
            done.set_result(ended.value)
        except Exception as fault:
            if is_damage(fault):
                self._leave_damaged(fault)
            done.set_exception(fault)
        self._works.popleft()
        return 0.0

    def _checkpoint_when_long(self) -> None:
        if self._log_pages >= CHECKPOINT_PAGES and self._connection and not self._works:
            with contextlib.suppress(Error):  # the next write tells of a card that is full
                checkpoint(self._connection)

    # The connection.

    def _opened_connection(self) -> Connection:
        if self._connection is None:
            self._open_connection()
        assert self._connection is not None  # noqa: S101
        return self._connection

    def _open_connection(self) -> None:
        connection = self._opens()
        connection.set_wal_hook(self._note_log)  # instead of SQLite's own checkpoints
        self._connection = connection
        self._tidy_at = 0.0

    def _note_log(self, _connection: Connection, _name: str, pages: int) -> int:
        self._log_pages = pages
        return 0

    def _close_connection(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(Error):
                connection.close(True)

    def _leave_damaged(self, fault: Exception) -> None:
        self._close_connection()
        self._damaged(fault)

    # What is told.

    def _take_place(self, job: Job[Any]) -> bool:
        """Let a later state of the same thing take the place of one that waits."""
        if not job.replaces:
            return False
        for at in range(self._in_flight, len(self._queue)):
            waiting = self._queue[at]
            if waiting.replaces == job.replaces:
                self._size += job.size - waiting.size
                job.done = waiting.done
                self._queue[at] = job
                return True
        return False

    def _give_up(self, job: Job[T], why: str) -> Future[T]:
        if job.entry:
            self._lost.setdefault(job.entry[0], set()).add(job.entry[1])
        self._not_saving(why)
        job.done.set_exception(NotSavedError(why))
        return job.done

    def _not_saving(self, reason: str) -> None:
        self._trouble_reason = reason
        if not self._reason:
            log.error("history is not saving: %s", reason)
        changed, self._reason = self._reason != reason, reason
        if changed:
            self._on_saving(False, reason)

    def _saving_again(self) -> None:
        self._reason = ""
        log.info("history is saving again")
        self._on_saving(True, "")


def _attempt(connection: Connection, job: Job[T]) -> tuple[T | None, EchoError | None]:
    """A job within the batch's transaction: one that is refused leaves the others alone."""
    connection.execute("SAVEPOINT job")
    try:
        result, refusal = job.run(connection), None
    except EchoError as error:
        result, refusal = None, error
    except Exception as fault:
        if reason_of(fault) or is_damage(fault):
            raise
        # By name alone: what the fault says may hold words of the conversation.
        log.error("a write was refused: %s", type(fault).__name__)
        result, refusal = None, NotSavedError("it cannot be stored")
    if refusal:
        connection.execute("ROLLBACK TO job")
    connection.execute("RELEASE job")
    return result, refusal


def uncancellable() -> Future[Any]:
    """A future whose change goes on when whoever awaits it is cancelled."""
    future: Future[Any] = Future()
    future.set_running_or_notify_cancel()
    return future
