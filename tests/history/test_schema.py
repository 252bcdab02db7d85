"""An older history becomes the present one; a newer one is left as it is."""

import shutil
from pathlib import Path

import apsw
import pytest

from firmware_app.errors import StorageError
from firmware_app.history.records import Image, NewConversation, NewEntry
from firmware_app.history.schema import VERSION, open_history
from tests.history.conftest import Open, bytes_in, texts

FIRST = Path(__file__).with_name("schema1.sql")
BAKERY = "0b5cbd5e-0000-4000-8000-000000000001"


def make_first(path: Path) -> None:
    path.parent.mkdir(parents=True)
    connection = apsw.Connection(str(path))
    connection.execute(FIRST.read_text())
    connection.close()


async def test_conversations_of_the_first_schema_are_listed_as_chats(
    open_store: Open, history: Path
) -> None:
    make_first(history)

    store = await open_store()

    found = await store.conversations(None)
    assert [(c.kind, c.title) for c in found] == [
        ("chat", "how far is the moon"),
        ("chat", "when does the bakery open"),
    ]
    assert await texts(store, BAKERY) == [(1, "when does the bakery open"), (2, "At seven.")]
    assert [hit.number for hit in await store.find("ann", "bakery")] == [1]
    thread = await store.carry_on("ann", BAKERY)
    picture = Image("image/png", b"png")
    await store.write(
        NewEntry(BAKERY, thread.conversation.next_entry, "user", ("and", picture), origin=("x", 1))
    )
    assert await store.image("ann", BAKERY, 4, 1) == picture


async def test_the_latest_of_an_older_schema_are_known(open_store: Open, history: Path) -> None:
    make_first(history)
    connection = apsw.Connection(str(history))
    connection.execute("UPDATE conversations SET owner = 'ann'")
    connection.close()
    store = await open_store()
    latest = [head.conversation.title for head in await store.latest("ann", 8)]
    assert latest == ["how far is the moon", "when does the bakery open"]


async def test_a_new_history_has_the_same_tables_as_one_brought_up_to_date(tmp_path: Path) -> None:
    make_first(tmp_path / "old" / "history.db")
    schemas = []
    for place in ("old", "new"):
        connection = open_history(tmp_path / place / "history.db", "home", 0.0)
        schemas.append(
            sorted(
                (name, " ".join(sql.split()).replace(" ,", ",") if sql else None)
                for name, sql in connection.execute("SELECT name, sql FROM sqlite_schema")
            )
        )
        assert connection.pragma("integrity_check") == "ok"
        connection.close()
    assert schemas[0] == schemas[1]


async def test_a_newer_history_is_refused_untouched_with_the_version_that_wrote_it(
    open_store: Open, history: Path
) -> None:
    store = await open_store()
    await store.start(NewConversation("chat", "ann", "from the future"))
    await store.close()
    connection = apsw.Connection(str(history))
    connection.execute("UPDATE meta SET value = ? WHERE key = 'schema_version'", (VERSION + 1,))
    connection.execute("UPDATE meta SET value = '9.7.5' WHERE key = 'program'")
    connection.close()
    before = bytes_in(history)

    with pytest.raises(StorageError, match=r"Hey Echo 9\.7\.5 \(schema 4\)") as refusal:
        await open_store()

    assert refusal.value.code == "history-newer"
    assert bytes_in(history) == before


async def test_a_newer_history_is_left_alone_even_with_its_log_beside_it(
    open_store: Open, history: Path, tmp_path: Path
) -> None:
    store = await open_store()
    await store.start(NewConversation("chat", "ann", "from the future"))
    await store.close()
    writing = apsw.Connection(str(history))
    writing.execute("UPDATE meta SET value = ? WHERE key = 'schema_version'", (VERSION + 1,))
    crashed = tmp_path / "crashed" / "history.db"  # as a crash would leave it: with a log
    crashed.parent.mkdir()
    for suffix in ("", "-wal"):
        shutil.copy(f"{history}{suffix}", f"{crashed}{suffix}")
    writing.close()
    log = crashed.with_name("history.db-wal")
    before = (crashed.read_bytes(), log.read_bytes())

    with pytest.raises(StorageError, match=f"schema {VERSION + 1}"):
        await open_store(crashed)

    assert (crashed.read_bytes(), log.read_bytes()) == before


def test_bringing_up_to_date_is_all_or_nothing(
    history: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_first(history)
    from firmware_app.history import schema

    broken = (*schema._STEPS[:-1], schema._STEPS[-1] + "CREATE TABLE images (twice INTEGER);")
    monkeypatch.setattr(schema, "_STEPS", broken)

    with pytest.raises(apsw.Error, match="already exists"):
        open_history(history, "home", 0.0)

    connection = apsw.Connection(str(history))
    assert connection.execute("SELECT value FROM meta WHERE key = 'schema_version'").get == "1"
    columns = [row[1] for row in connection.execute("PRAGMA table_info(conversations)")]
    assert "kind" not in columns
    connection.close()
