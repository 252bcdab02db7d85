"""A database of Echo's own: private, lasting, and able to forget."""

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from firmware_app.errors import StorageError
from firmware_app.sqlite import ConstraintError, Error, ReadOnlyError, migrate, open_database

ROOT = Path(__file__).parent.parent


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_files_and_folder_are_private_whatever_the_umask(tmp_path: Path) -> None:
    path = tmp_path / "data" / "home" / "history.db"
    before = os.umask(0)
    try:
        database = open_database(path)
        database.execute("CREATE TABLE t (x)")
        assert mode(path.parent) == 0o700
        assert {mode(entry) for entry in path.parent.iterdir()} == {0o600}
        assert len(list(path.parent.iterdir())) == 3  # with log and index
    finally:
        os.umask(before)
        database.close()


def test_a_file_that_others_could_read_is_closed_to_them(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    open_database(path).close()
    path.chmod(0o644)
    open_database(path).close()
    assert mode(path) == 0o600


@pytest.mark.parametrize("readonly", [False, True])
def test_each_connection_deletes_for_good_and_keeps_what_it_acknowledged(
    tmp_path: Path, readonly: bool
) -> None:
    open_database(tmp_path / "x.db").close()
    database = open_database(tmp_path / "x.db", readonly=readonly)
    names = ("foreign_keys", "secure_delete", "synchronous", "journal_mode", "temp_store")
    assert [database.pragma(name) for name in names] == [1, 1, 2, "wal", 2]
    database.close()


def test_deleted_words_are_gone_after_a_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    database = open_database(path)
    database.execute("CREATE TABLE t (x); INSERT INTO t VALUES ('marzipan')")
    database.execute("DELETE FROM t")
    database.pragma("wal_checkpoint", "TRUNCATE")
    left = b"".join(entry.read_bytes() for entry in tmp_path.iterdir())
    database.close()
    assert b"marzipan" not in left


def test_a_reader_cannot_write(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    writer = open_database(path)
    writer.execute("CREATE TABLE t (x)")
    reader = open_database(path, readonly=True)
    with pytest.raises(ReadOnlyError):
        reader.execute("INSERT INTO t VALUES (1)")
    reader.close()
    writer.close()


def test_a_child_without_its_parent_is_refused(tmp_path: Path) -> None:
    database = open_database(tmp_path / "x.db")
    database.execute("CREATE TABLE p (id INTEGER PRIMARY KEY); CREATE TABLE c (p REFERENCES p)")
    with pytest.raises(ConstraintError):
        database.execute("INSERT INTO c VALUES (7)")
    database.close()


def test_another_writer_is_waited_for(tmp_path: Path) -> None:
    first, second = open_database(tmp_path / "x.db"), open_database(tmp_path / "x.db")
    first.execute("CREATE TABLE t (x); BEGIN IMMEDIATE")
    release = threading.Timer(0.1, lambda: first.execute("COMMIT"))
    release.start()
    second.execute("INSERT INTO t VALUES (1)")
    release.join()
    first.close()
    second.close()


@pytest.mark.parametrize("readonly", [False, True])
def test_what_is_no_database_is_named(tmp_path: Path, readonly: bool) -> None:
    path = tmp_path / "x.db"
    path.write_bytes(b"hello, I am a letter" * 100)
    with pytest.raises(StorageError) as caught:
        open_database(path, readonly=readonly)
    assert str(path) in caught.value.what
    assert caught.value.code == "database-damaged"


def test_a_file_that_is_missing_or_a_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"x\.db cannot be opened"):
        open_database(tmp_path / "x.db", readonly=True)
    with pytest.raises(StorageError, match="cannot be opened"):
        open_database(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot be opened"):
        open_database(tmp_path / "file" / "x.db")


class TestMigration:
    STEPS = ("CREATE TABLE a (x); CREATE TABLE b (x)", "ALTER TABLE a ADD COLUMN y")

    def test_missing_steps_are_made_once(self, tmp_path: Path) -> None:
        database = open_database(tmp_path / "x.db")
        migrate(database, self.STEPS[:1])
        database.execute("INSERT INTO a VALUES (1)")
        for _ in range(2):
            migrate(database, self.STEPS)
        assert list(database.execute("SELECT x, y FROM a")) == [(1, None)]
        assert database.pragma("user_version") == 2
        database.close()

    def test_a_step_that_fails_undoes_all(self, tmp_path: Path) -> None:
        database = open_database(tmp_path / "x.db")
        with pytest.raises(Error):
            migrate(database, (*self.STEPS, "CREATE TABLE c (x); SELECT nothing"))
        assert list(database.execute("SELECT name FROM sqlite_schema")) == []
        assert database.pragma("user_version") == 0
        migrate(database, self.STEPS)
        database.close()

    def test_a_newer_schema_is_refused(self, tmp_path: Path) -> None:
        database = open_database(tmp_path / "x.db")
        migrate(database, self.STEPS)
        with pytest.raises(StorageError, match="newer Echo"):
            migrate(database, self.STEPS[:1])
        migrate(database, self.STEPS)
        database.close()

    def test_a_database_that_cannot_be_written_is_named(self, tmp_path: Path) -> None:
        path = tmp_path / "x.db"
        open_database(path).close()
        database = open_database(path, readonly=True)
        with pytest.raises(StorageError, match=r"x\.db cannot be opened"):
            migrate(database, self.STEPS)
        database.close()

    def test_two_that_start_at_once_migrate_once(self, tmp_path: Path) -> None:
        databases = [open_database(tmp_path / "x.db") for _ in range(4)]
        faults: list[BaseException] = []

        def start(number: int) -> None:
            try:
                migrate(databases[number], self.STEPS)
            except BaseException as fault:
                faults.append(fault)

        threads = [threading.Thread(target=start, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert faults == []
        assert {database.pragma("user_version") for database in databases} == {2}
        for database in databases:
            database.close()


def test_without_the_driver_one_hears_what_installs_it() -> None:
    script = (
        "import sys; sys.modules['apsw'] = None\n"
        "try:\n    import firmware_app.sqlite\n"
        "except Exception as error:\n    print(type(error).__name__, error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == (
        "EngineError The Python package apsw is not installed. Run ./scripts/setup.\n"
    )
