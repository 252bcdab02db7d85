"""What Echo must know after a restart: kept by a thread of its own, and without a word."""

import logging
import threading
from pathlib import Path

import pytest

from firmware_app import state
from firmware_app.errors import StorageError
from firmware_app.sqlite import Connection, FullError, migrate, open_database
from firmware_app.state import MIGRATIONS, StateStore, read_traces, state_file
from firmware_app.traces import KEPT, Outcome, Stage, Trace
from tests.conftest import PATIENCE


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return state_file(tmp_path / "state")


def turn(number: int = 0) -> Trace:
    return Trace(
        started=1.7e9 + number,
        times={stage: 100 + at / 10 for at, stage in enumerate(Stage)},
        spoken=bool(number % 2),
        outcome=Outcome.ANSWERED,
        wake_score=0.75,
        second_stage_score=-4.5,
        second_stage_ms=81.0,
        second_stage_accepted=True,
    )


def test_traces_come_back_as_they_were(path: Path) -> None:
    store = StateStore(path)
    dropped = Trace(started=3.0, outcome=Outcome.NOTHING_SAID)
    cut_off = Trace(started=4.0, times={Stage.DETECTION: 1.0})
    for trace in (turn(0), turn(1), dropped, cut_off):
        store.keep_trace(trace)
    store.close()
    assert read_traces(path) == [turn(0), turn(1), dropped, cut_off]
    assert read_traces(path, last=2) == [dropped, cut_off]


def test_a_wake_up_is_found_false_afterwards(path: Path) -> None:
    store = StateStore(path)
    store.keep_trace(turn(0))
    store.keep_trace(turn(1))
    store.mark_false_wake(turn(0))
    store.close()
    assert [trace.false_wake for trace in read_traces(path)] == [True, False]


def test_they_outlive_a_restart_and_go_on(path: Path) -> None:
    for number in range(3):
        store = StateStore(path)
        store.keep_trace(turn(number))
        store.close()
    assert read_traces(path) == [turn(0), turn(1), turn(2)]


def test_the_last_thousand_are_kept_and_nothing_of_the_others(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state, "WAITING", KEPT * 2)
    store = StateStore(path)
    for number in range(KEPT + 7):
        store.keep_trace(turn(number))
    _wait(store, 60)
    store.close()
    kept = read_traces(path, last=KEPT * 2)
    assert [trace.started for trace in kept] == [1.7e9 + n for n in range(7, KEPT + 7)]
    database = open_database(path, readonly=True)
    assert database.execute("SELECT count(DISTINCT trace) FROM trace_times").get == KEPT
    database.close()


def test_they_are_read_while_the_service_writes(path: Path) -> None:
    store = StateStore(path)
    store.keep_trace(turn())
    _wait(store)
    assert read_traces(path) == [turn()]
    store.keep_trace(turn(1))
    store.close()
    assert read_traces(path) == [turn(), turn(1)]


def test_without_a_database_there_are_none(path: Path) -> None:
    assert read_traces(path) == []
    assert not path.exists()


def test_a_slow_card_costs_times_and_one_warning_but_no_waiting(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(state, "WAITING", 4)
    go_on = threading.Event()
    insert = state._insert_trace
    monkeypatch.setattr(state, "_insert_trace", lambda *args: (go_on.wait(30), insert(*args)))
    store = StateStore(path)
    for number in range(50):
        store.keep_trace(turn(number))
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    go_on.set()
    store.close()
    kept = read_traces(path)
    assert 4 <= len(kept) <= 5
    assert kept[0] == turn(0)


def test_a_failed_write_is_told_and_the_next_one_goes_through(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    insert = state._insert_trace
    faults = [FullError("database or disk is full")]

    def failing(database: Connection, *rest: object) -> None:
        insert(database, *rest)  # type: ignore[arg-type]
        if faults:
            raise faults.pop()

    monkeypatch.setattr(state, "_insert_trace", failing)
    store = StateStore(path)
    store.keep_trace(turn(0))
    store.keep_trace(turn(1))
    store.close()
    assert read_traces(path) == [turn(1)]
    assert "cannot be written" in caplog.text


def test_a_hanging_card_does_not_hold_up_the_end(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state, "SECONDS_TO_CLOSE", 0.05)
    go_on = threading.Event()
    monkeypatch.setattr(state, "_insert_trace", lambda *_: go_on.wait(30))
    store = StateStore(path)
    store.keep_trace(turn())
    store.close()  # returns though the thread still hangs
    assert store._thread.is_alive()
    go_on.set()
    store._thread.join(10)


def test_a_database_of_a_newer_echo_is_refused_untouched(path: Path) -> None:
    database = open_database(path)
    migrate(database, [*MIGRATIONS, "CREATE TABLE of_a_newer_echo (id)"])
    database.close()
    before = path.read_bytes()
    with pytest.raises(StorageError) as caught:
        StateStore(path)
    assert caught.value.code == "database-newer"
    assert path.read_bytes() == before


def test_names_that_a_newer_echo_wrote_are_passed_over(path: Path) -> None:
    store = StateStore(path)
    store.keep_trace(turn())
    store.close()
    database = open_database(path)
    database.execute("UPDATE traces SET outcome = 'delegated'")
    database.execute("UPDATE trace_times SET stage = 'gaze' WHERE stage = 'detection'")
    database.close()
    (trace,) = read_traces(path)
    assert trace.outcome is None
    assert set(trace.times) == set(Stage) - {Stage.DETECTION}


def test_a_damaged_database_is_set_aside_and_told(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    damage = b"not a database, whatever it was" * 100
    path.parent.mkdir()
    path.write_bytes(damage)
    with pytest.raises(StorageError, match=r"state\.db is damaged"):
        read_traces(path)
    store = StateStore(path)
    store.keep_trace(turn())
    store.close()
    assert read_traces(path) == [turn()]
    assert path.with_name("state.db.broken").read_bytes() == damage
    assert "state.db is damaged" in caplog.text


def test_there_is_no_column_for_words(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """All text in the tables is a name from the fixed lists."""
    caplog.set_level(logging.DEBUG)
    store = StateStore(path)
    store.keep_trace(turn())
    store.close()
    database = open_database(path, readonly=True)
    texts = {
        value
        for table in ("traces", "trace_times")
        for row in database.execute(f"SELECT * FROM {table}")  # noqa: S608
        for value in row
        if isinstance(value, str)
    }
    database.close()
    assert texts <= {*Stage, *Outcome}


def _wait(store: StateStore, seconds: float = PATIENCE) -> None:
    """Until all that was put before is written."""
    written = threading.Event()
    store._put(lambda _: written.set())
    assert written.wait(seconds)
    store._put(lambda _: None)
    while not store._writes.empty():
        threading.Event().wait(0.01)


def test_work_is_done_on_the_stores_thread_and_is_on_the_card_when_its_future_is(
    tmp_path: Path,
) -> None:
    store = StateStore(state_file(tmp_path))
    store.work(lambda db: db.execute("CREATE TABLE t (x)")).result(5)
    store.work(lambda db: db.execute("INSERT INTO t VALUES (7)")).result(5)
    other = open_database(state_file(tmp_path), readonly=True)
    assert list(other.execute("SELECT x FROM t")) == [(7,)]
    other.close()
    store.close()


def test_work_that_fails_leaves_nothing_and_says_so(tmp_path: Path) -> None:
    store = StateStore(state_file(tmp_path))

    def half(db: Connection) -> None:
        db.execute("CREATE TABLE t (x)")
        db.execute("INSERT INTO nowhere VALUES (7)")

    with pytest.raises(StorageError) as failed:
        store.work(half).result(5)
    assert failed.value.code == "state-not-written"
    assert not store.work(
        lambda db: list(db.execute("SELECT * FROM sqlite_schema WHERE name = 't'"))
    ).result(5)
    store.close()
