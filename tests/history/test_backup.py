"""Back-ups are made while Echo talks; restoring overwrites nothing unasked."""

import asyncio
import os
from pathlib import Path

import apsw
import pytest

from firmware_app.errors import StorageError
from firmware_app.history import backup
from firmware_app.history.records import Image, NewConversation, NewEntry
from firmware_app.history.schema import VERSION
from firmware_app.history.store import Store
from tests.history.conftest import FakeClock, Open, add, bytes_in, say, texts
from tests.history.test_failure import fill, spoil
from tests.history.test_schema import make_first


async def test_a_backup_is_one_private_file_that_holds_everything(store: Store) -> None:
    uuid = say(store, "one", "two")
    await store.end(uuid)

    path, contents = await store.back_up()

    assert (contents.conversations, contents.entries) == (1, 2)
    assert path.parent == store.path.parent / "backups"
    assert [p.name for p in path.parent.iterdir()] == [path.name]
    assert path.stat().st_mode & 0o777 == 0o600
    assert backup.verify(path) == contents
    assert [p.name for p in path.parent.iterdir()] == [path.name]


async def test_writes_go_on_while_a_backup_is_made(store: Store, tmp_path: Path) -> None:
    uuid = say(store, "large " * 300_000, "two")
    await store.set_usage(uuid, {})

    making = store.back_up(tmp_path / "copy.db")
    for number in range(3, 40):
        await add(store, uuid, number, str(number))
    _, contents = await making

    assert backup.verify(tmp_path / "copy.db") == contents
    assert 2 <= contents.entries <= 39


async def test_a_backup_overwrites_nothing_and_leaves_nothing_of_a_failure(
    store: Store, tmp_path: Path, small_card: Path
) -> None:
    await store.end(say(store, "large " * 300_000, "two"))
    there = tmp_path / "there.db"
    there.touch()
    with pytest.raises(StorageError, match="is there already"):
        await store.back_up(there)

    fill(small_card / "ballast")
    with pytest.raises(StorageError, match="failed: the card is full"):
        await store.back_up(small_card / "copy.db")
    assert await asyncio.to_thread(os.listdir, small_card) == ["ballast"]
    assert store.saving


async def test_verify_finds_damage(store: Store, tmp_path: Path) -> None:
    for n in range(30):
        say(store, f"question {n}", "word " * 500)
    path, _ = await store.back_up(tmp_path / "copy.db")
    spoil(path, "entries")

    with pytest.raises(StorageError, match="is damaged") as damage:
        backup.verify(path)
    assert "--salvage" in damage.value.mend
    for wrong in (tmp_path / "missing.db", tmp_path):
        with pytest.raises(StorageError, match="no file"):
            backup.verify(wrong)


async def test_restoring_takes_the_place_only_when_told_and_keeps_the_old_one_aside(
    store: Store,
) -> None:
    old = say(store, "kept in the backup", "yes")
    await store.end(old)
    path, _ = await store.back_up()
    new = say(store, "said since", "yes")
    await store.end(new)

    with pytest.raises(StorageError, match="--replace"):
        await store.restore(path, replace=False)
    assert len(await store.conversations(None)) == 2

    restored = await store.restore(path, replace=True)

    assert [c.uuid for c in await store.conversations(None)] == [old]
    assert restored.aside is not None
    assert backup.contents(restored.aside).conversations == 2
    assert restored.aside in [copy.path for copy in await store.copies()]
    await store.end(again := say(store, "and on", "yes"))
    assert [c.uuid for c in await store.conversations(None)] == [again, old]
    assert [hit.conversation.uuid for hit in await store.find(None, "since")] == []


async def test_an_empty_history_is_no_obstacle(open_store: Open, tmp_path: Path) -> None:
    store = await open_store()
    uuid = say(store, "one", "two")
    await store.end(uuid)
    path, _ = await store.back_up(tmp_path / "copy.db")
    fresh = await open_store(tmp_path / "elsewhere" / "history.db")

    restored = await fresh.restore(path, replace=False)

    assert restored.aside is None
    assert await texts(fresh, uuid) == [(1, "one"), (2, "two")]


async def test_the_log_of_an_empty_history_is_not_taken_for_that_of_the_restored_one(
    store: Store, tmp_path: Path
) -> None:
    await store.end(uuid := say(store, "large " * 9000, "two"))
    path, _ = await store.back_up(tmp_path / "copy.db")
    await store.delete(None, uuid)
    crashed = tmp_path / "crashed" / "history.db"
    crashed.parent.mkdir()
    for suffix in ("", "-wal"):
        beside = crashed.with_name(crashed.name + suffix)
        beside.write_bytes(bytes_in(store.path.with_name(store.path.name + suffix)))

    fresh = backup.prepare(path, crashed, replace=False, salvage=False)
    assert backup.put_in_place(fresh, crashed, replace=False) is None

    assert backup.verify(crashed).conversations == 1
    assert not crashed.with_name("history.db-wal").exists()


async def test_copies_that_a_crash_left_half_made_are_removed_at_the_next_start(
    store: Store, open_store: Open
) -> None:
    await store.end(say(store, "one", "two"))
    path, _ = await store.back_up()
    await store.close()
    halves = [store.path.with_name("history.db.new"), path.with_name("other.db.new-wal")]
    for half in halves:
        half.write_bytes(b"half")

    await open_store()

    assert path.exists()
    assert not any(half.exists() for half in halves)


async def test_a_newer_backup_is_refused(store: Store, tmp_path: Path) -> None:
    await store.end(say(store, "one", "two"))
    path, _ = await store.back_up(tmp_path / "copy.db")
    connection = apsw.Connection(str(path))
    connection.execute("UPDATE meta SET value = ? WHERE key = 'schema_version'", (VERSION + 1,))
    connection.close()

    with pytest.raises(StorageError, match=f"schema {VERSION + 1}") as refusal:
        await store.restore(path, replace=True)
    assert refusal.value.code == "history-newer"
    assert len(await store.conversations(None)) == 1
    assert store.saving


async def test_restoring_while_conversations_are_read_and_written(store: Store) -> None:
    uuid = say(store, "one", "two")
    await store.end(uuid)
    path, _ = await store.back_up()

    async def reading() -> None:
        for _ in range(50):
            await store.conversations(None)

    readers = [asyncio.ensure_future(reading()) for _ in range(4)]
    for _ in range(5):
        await store.restore(path, replace=True)
        await store.end(say(store, "between", "yes"))
    await asyncio.gather(*readers)
    await store.close()
    assert backup.verify(store.path).conversations == 2


async def test_what_can_be_read_of_a_damaged_database_is_salvaged(
    open_store: Open, tmp_path: Path
) -> None:
    store = await open_store()
    uuids = [say(store, f"question {n}", "word " * 500) for n in range(40)]
    await asyncio.gather(*map(store.end, uuids))
    damaged, _ = await store.back_up(tmp_path / "damaged.db")
    spoil_one(damaged, "entries")
    with pytest.raises(StorageError):
        await store.restore(damaged, replace=True)
    await store.delete_everything(None)  # as if it had been set aside and a new one begun
    picture = Image("image/png", b"png")
    new = NewConversation("chat", "ann", "said since")
    store.start(new)
    store.write(NewEntry(new.uuid, 1, "user", ("look", picture)))
    await store.end(new.uuid)

    restored = await store.restore(damaged, replace=False, salvage=True)

    assert restored.contents.conversations == 41
    assert 41 < restored.contents.entries < 81
    assert backup.verify(store.path)
    found = await store.conversations(None, limit=100)
    assert [c.uuid for c in found] == [new.uuid, *reversed(uuids)]
    assert [c.incomplete for c in found] == [False] + [True] * 40
    assert await store.image(None, new.uuid, 1, 1) == picture
    assert await store.find(None, "question")
    thread = await store.carry_on(None, uuids[0])
    await add(store, uuids[0], thread.conversation.next_entry, "goes on")


def spoil_one(path: Path, table: str) -> None:
    """Overwrite one page of a table, in its middle."""
    connection = apsw.Connection(str(path))
    pages = [
        n
        for (n,) in connection.execute(
            "SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY path", (table,)
        )
    ]
    connection.close()
    with path.open("r+b") as file:
        file.seek((pages[len(pages) // 2] - 1) * 4096)
        file.write(b"\xff" * 4096)


async def test_a_first_schema_can_be_salvaged_too(store: Store, tmp_path: Path) -> None:
    make_first(tmp_path / "old" / "history.db")

    restored = await store.restore(tmp_path / "old" / "history.db", replace=False, salvage=True)

    assert (restored.contents.conversations, restored.contents.entries) == (2, 4)
    assert [c.kind for c in await store.conversations(None)] == ["chat", "chat"]


async def test_a_backup_of_a_crashed_history_verifies(open_store: Open, tmp_path: Path) -> None:
    store = await open_store(clock=FakeClock())
    await store.end(say(store, "one", "two"))
    copied = tmp_path / "crashed.db"
    copied.write_bytes(bytes_in(store.path))
    copied.with_name("crashed.db-wal").write_bytes(bytes_in(store.path.with_name("history.db-wal")))

    assert backup.verify(copied).entries == 2
