"""A card that fails costs neither sound nor numbers, and what it may have cost is told."""

import asyncio
import logging
import os
import subprocess
import time
from pathlib import Path

import apsw
import pytest

from firmware_app.errors import StorageError
from firmware_app.history import writer
from firmware_app.history.faults import NotSavedError, ParentGoneError
from firmware_app.history.records import NewConversation, NewEntry
from firmware_app.history.store import SavingChanged, SetAside, Store
from tests.conftest import PATIENCE, until
from tests.history.cards import fake_card
from tests.history.conftest import Events, FakeClock, Open, add, say, texts


async def conversation(store: Store, uuid: str) -> tuple[bool, str]:
    found = (await store.page(None, uuid)).conversation
    return found.incomplete, found.missing


async def test_a_full_card_is_told_within_an_exchange_and_nothing_is_lost_once_there_is_room(
    small_card: Path, open_store: Open, events: Events, caplog: pytest.LogCaptureFixture
) -> None:
    store = await open_store(small_card / "home" / "history.db")
    uuid = say(store, "before", "yes")
    await store.set_usage(uuid, {})
    ballast = small_card / "ballast"
    fill(ballast)

    add(store, uuid, 3, "question " + "x" * 300_000)
    add(store, uuid, 4, "answer " + "y" * 300_000, "assistant")
    await until(lambda: not store.saving)
    assert store.reason == "the card is full"
    assert store.waiting == 2
    assert (await texts(store, uuid))[-1][0] == 2  # reading goes on

    with caplog.at_level(logging.INFO):
        ballast.unlink()
        await add(store, uuid, 5, "afterwards")

    assert store.saving
    assert [n for n, _ in await texts(store, uuid)] == [1, 2, 3, 4, 5]
    incomplete, missing = await conversation(store, uuid)
    assert incomplete
    assert "the card is full" in missing
    assert "Saved late: entries 3, 4" in missing
    assert events.of(SavingChanged) == [
        SavingChanged(False, "the card is full"),
        SavingChanged(True, ""),
    ]
    assert [r.message for r in caplog.records if "history" in r.message] == [
        "history is not saving: the card is full",
        "history is saving again",
    ]


async def test_a_read_only_card_is_waited_for(small_card: Path, open_store: Open) -> None:
    (small_card / "home").mkdir(mode=0o700)
    put(small_card / "home" / "history.db.new", b"left by a crash")
    remount(small_card, "ro")
    store = await open_store(small_card / "home" / "history.db")
    assert not store.saving
    assert "read-only" in store.reason
    with pytest.raises(StorageError):
        await store.conversations(None)

    uuid = say(store, "one", "two")
    remount(small_card, "rw")
    await add(store, uuid, 3, "three")

    assert store.saving
    assert [n for n, _ in await texts(store, uuid)] == [1, 2, 3]


async def test_a_database_held_by_another_program_is_waited_for(
    store: Store, history: Path
) -> None:
    uuid = say(store, "one", "two")
    await store.set_usage(uuid, {})
    other = apsw.Connection(str(history))
    other.execute("BEGIN IMMEDIATE")

    late = add(store, uuid, 3, "three")
    await until(lambda: not store.saving)
    assert store.reason == "another program holds the database"
    other.execute("ROLLBACK")
    other.close()

    await late
    assert store.saving
    assert [n for n, _ in await texts(store, uuid)] == [1, 2, 3]


async def test_a_card_that_does_not_write_is_tried_again_with_the_same_numbers(
    history: Path, events: Events
) -> None:
    with fake_card() as card:
        store = await Store.open(history, clock=FakeClock(), on_event=events)
        uuid = say(store, "one", "two")
        await store.set_usage(uuid, {})
        card.broken = True
        late = [add(store, uuid, n, str(n)) for n in (3, 4)]
        await until(lambda: not store.saving)
        await asyncio.sleep(0.5)  # some tries
        card.broken = False
        await asyncio.gather(*late)
        await add(store, uuid, 5, "5")
        assert [n for n, _ in await texts(store, uuid)] == [1, 2, 3, 4, 5]
        assert (await conversation(store, uuid))[0]
        await store.close()


async def test_what_does_not_fit_the_queue_is_lost_told_and_its_number_never_used(
    store: Store, history: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    uuid = say(store, "one", "two")
    await store.set_usage(uuid, {})
    monkeypatch.setattr(writer, "ITEMS", 10)
    other = apsw.Connection(str(history))
    other.execute("BEGIN IMMEDIATE")
    writes = [add(store, uuid, n, str(n)) for n in range(3, 17)]
    assert not store.saving
    other.execute("ROLLBACK")
    other.close()

    results = await asyncio.gather(*writes, return_exceptions=True)

    assert results[:10] == [None] * 10
    assert all(isinstance(result, NotSavedError) for result in results[10:])
    await until(lambda: store.saving)
    page = await store.page(None, uuid)
    assert [e.number for e in page.entries] == list(range(1, 13))
    assert page.conversation.next_entry == 17
    assert page.conversation.incomplete
    assert "Missing: entries 13, 14, 15, 16." in page.conversation.missing


async def test_the_queue_is_bounded_in_bytes(
    store: Store, history: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "BYTES", 10_000)
    uuid = say(store, "one", "two")

    with pytest.raises(NotSavedError):
        await add(store, uuid, 3, "x" * 20_000)

    await until(lambda: store.saving)
    assert (await conversation(store, uuid)) == (
        True,
        "Saving failed for a time (too much is waiting to be written). Missing: entry 3.",
    )


async def test_a_stalled_card_never_stalls_the_loop_and_is_told(
    history: Path, events: Events, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "STALLED", 0.5)
    with fake_card() as card:
        store = await Store.open(history, clock=FakeClock(), on_event=events)
        uuid = say(store, "one", "two")
        await store.set_usage(uuid, {})
        card.sync_seconds = 2.0
        number = 3
        until_then = time.monotonic() + 1.5
        while time.monotonic() < until_then:
            add(store, uuid, number, "said meanwhile")
            number += 1
            await asyncio.sleep(0.01)
        assert number > 8  # a loop that stalls with the card has one turn or two
        await until(lambda: not store.saving)
        assert store.reason == "the card does not answer"
        card.sync_seconds = 0.0
        await add(store, uuid, number, "last")
        assert store.saving
        assert [n for n, _ in await texts(store, uuid)] == list(range(1, number + 1))
        await store.close()


async def test_stopping_does_not_wait_for_ever(history: Path) -> None:
    with fake_card() as card:
        store = await Store.open(history, clock=FakeClock())
        uuid = say(store, "one", "two")
        await store.set_usage(uuid, {})
        card.broken = True
        lost = add(store, uuid, 3, "never")

        assert await asyncio.wait_for(store.close(0.5), PATIENCE) == 1

        with pytest.raises(NotSavedError):
            await lost
        card.broken = False


async def test_a_damaged_database_is_set_aside_with_its_log_and_a_new_one_begun(
    open_store: Open, history: Path, events: Events
) -> None:
    store = await open_store()
    await store.end(say(store, "long ago", "yes"))
    await store.close()
    damage = b"not a database at all" * 1000
    put(history, damage)
    put(history.with_name("history.db-wal"), b"its log")

    store = await open_store()
    uuid = say(store, "a new beginning", "yes")
    await store.set_usage(uuid, {})

    assert [c.uuid for c in await store.conversations(None)] == [uuid]
    (told,) = events.of(SetAside)
    assert isinstance(told, SetAside)
    assert told.path.read_bytes() == damage
    assert told.path.with_name(told.path.name + "-wal").read_bytes() == b"its log"
    assert store.saving


async def test_damage_met_by_a_reader_sets_the_database_aside(
    open_store: Open, history: Path, events: Events
) -> None:
    store = await open_store()
    uuids = [say(store, f"question {n}", "word " * 400) for n in range(60)]
    await asyncio.gather(*map(store.end, uuids))
    await store.close()
    spoil(history, "entries")
    store = await open_store()
    current = NewConversation("voice", "ann", "now")
    await store.start(current)

    read = [store.page(None, uuid) for uuid in uuids]
    results = await asyncio.gather(*read, return_exceptions=True)
    assert any(isinstance(result, StorageError) for result in results)
    await until(lambda: bool(events.of(SetAside)))

    with pytest.raises(ParentGoneError):
        await store.write(NewEntry(current.uuid, 1, "user", ("on",)))
    again = say(store, "starting over", "yes")
    await store.set_usage(again, {})
    assert [c.uuid for c in await store.conversations(None)] == [again]
    await asyncio.sleep(0.2)
    assert len(events.of(SetAside)) == 1


async def test_a_damaged_search_index_is_made_anew_and_nothing_is_set_aside(
    open_store: Open, history: Path, events: Events, caplog: pytest.LogCaptureFixture
) -> None:
    store = await open_store()
    uuids = [say(store, f"question {n}", "word " * 40) for n in range(30)]
    await asyncio.gather(*map(store.end, uuids))
    await store.close()
    connection = apsw.Connection(str(history))
    connection.execute("UPDATE search_data SET block = zeroblob(40) WHERE id > 10")
    connection.close()
    store = await open_store()

    with pytest.raises(StorageError):
        await store.find(None, "question")
    await until(lambda: "made anew" in caplog.text)

    assert len(await store.find(None, "question")) == 20
    assert len(await store.conversations(None)) == 30
    assert events.of(SetAside) == []
    await store.delete(None, uuids[0])
    assert store.saving


async def test_damage_met_by_the_writer_sets_the_database_aside(
    open_store: Open, history: Path, events: Events
) -> None:
    store = await open_store()
    uuid = say(store, "one", "two")
    await store.end(uuid)
    await store.close()
    spoil(history, "conversations")

    store = await open_store()
    fresh = say(store, "three", "four")
    await until(lambda: bool(events.of(SetAside)))
    await until(lambda: store.saving)

    assert [c.uuid for c in await store.conversations(None)] in ([], [fresh])
    last = say(store, "five", "six")
    await store.set_usage(last, {})
    assert last in [c.uuid for c in await store.conversations(None)]


def put(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def spoil(path: Path, table: str) -> None:
    """Overwrite the pages of a table, past its first."""
    connection = apsw.Connection(str(path))
    pages = [
        n
        for (n,) in connection.execute(
            "SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf'", (table,)
        )
    ]
    connection.close()
    with path.open("r+b") as file:
        for page in pages:
            file.seek((page - 1) * 4096)
            file.write(b"\xff" * 4096)


def fill(ballast: Path) -> None:
    with ballast.open("wb", buffering=0) as file:
        for size in (65_536, 4096):
            try:
                while True:
                    file.write(os.urandom(size))
            except OSError:
                continue


def remount(folder: Path, how: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{how}", str(folder)], check=True)  # noqa: S607
