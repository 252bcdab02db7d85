"""Deleted is final when committed, and its words are nowhere in the files when erased."""

import asyncio
import datetime
import random
import struct
from pathlib import Path

import apsw
import pytest

from firmware_app.history import erasure, statements
from firmware_app.history.faults import NoConversationError, ParentGoneError
from firmware_app.history.records import Image, NewConversation, NewEntry
from firmware_app.history.store import Forgotten, Store
from firmware_app.history.writer import Work
from tests.conftest import PATIENCE
from tests.history.conftest import Events, FakeClock, Open, add, bytes_in, say, texts

WORDS = [f"word{n:04d}" for n in range(600)]


def secret(n: int) -> str:
    """A word that is found nowhere else, beside others that begin alike, as an index keeps them."""
    return f"xq{n:05d}kzk"


async def test_a_deleted_conversation_is_gone_and_the_others_stay(
    store: Store, events: Events
) -> None:
    gone = say(store, "where is the key", "under the mat")
    stays = say(store, "where is the cat", "on the mat")

    deleted = await store.delete("ann", gone)

    assert deleted.conversations == {gone}
    assert [c.uuid for c in await store.conversations("ann")] == [stays]
    assert [hit.conversation.uuid for hit in await store.find("ann", "mat")] == [stays]
    assert await store.find("ann", "key") == []
    with pytest.raises(NoConversationError):
        await store.page("ann", gone)
    assert events.told == [Forgotten(deleted)]


@pytest.mark.parametrize("seed", [1, 3])
async def test_no_byte_of_deleted_words_is_left_in_database_log_memory_or_a_fresh_backup(
    store: Store, history: Path, seed: int, tmp_path: Path
) -> None:
    chance = random.Random(seed)
    live: dict[str, int] = {}
    dead: set[int] = set()
    numbers: dict[str, int] = {}
    for n in range(200):
        words = " ".join(chance.choices(WORDS, k=chance.randint(1, 60)))
        new = NewConversation("voice", "ann", f"{secret(n)} {chance.choice(WORDS)}")
        store.start(new)
        live[new.uuid], numbers[new.uuid] = n, 1
        for uuid in chance.choices(list(live)[-5:], k=chance.randint(1, 6)):
            text = f"{secret(live[uuid])} {words}" * chance.choice((1, 1, 1, 40))
            parts = (text, Image("image/png", text.encode(), text[:7]))
            store.write(NewEntry(uuid, numbers[uuid], "user", parts[: chance.randint(1, 2)]))
            numbers[uuid] += 1
            store.set_usage(uuid, {"pad": "0" * chance.randint(0, 900)})
            store.set_summary(uuid, text[: chance.randint(1, 400)], 1)
        if chance.random() < 0.3:
            uuid = chance.choice(list(live))
            dead.add(live.pop(uuid))
            store.delete("ann", uuid)
        if chance.random() < 0.2:
            await store.find("ann", "word0001")  # readers come and go, and batches end
    await store.delete("ann", uuid := next(iter(live)))
    dead.add(live.pop(uuid))

    assert await store.erased()
    await store.back_up(tmp_path / "fresh.db")

    there = bytes_in(tmp_path)
    assert [n for n in sorted(dead) if secret(n)[:-1].encode() in there] == []
    assert all(secret(n).encode() in there for n in live.values())
    await store.close()
    there = bytes_in(tmp_path)
    assert [n for n in sorted(dead) if secret(n)[:-1].encode() in there] == []
    connection = apsw.Connection(str(history))
    assert connection.pragma("integrity_check") == "ok"
    connection.execute("INSERT INTO search (search, rank) VALUES ('integrity-check', 1)")
    connection.close()


async def test_no_page_keeps_bytes_of_rows_that_moved_away(
    store: Store, history: Path, tmp_path: Path
) -> None:
    chance = random.Random(2)
    uuids = []
    for n in range(400):
        uuids.append(say(store, f"question {n} " + "x" * (n % 500), "yes"))
        grown = chance.choice(uuids[-8:])
        store.set_usage(grown, {"pad": "0" * chance.randint(1, 900)})
        await store.set_summary(grown, "s" * chance.randint(1, 900), 2)
    before, _ = await store.back_up(tmp_path / "before.db")
    assert gaps_with_bytes(before) > 0

    await store.delete("ann", uuids[0])
    assert await store.erased()

    after, _ = await store.back_up(tmp_path / "after.db")
    assert gaps_with_bytes(after) == 0
    await store.close()
    assert gaps_with_bytes(history) == 0


def gaps_with_bytes(path: Path) -> int:
    """Table and index pages with words between their index and their rows."""
    content = path.read_bytes()
    found = 0
    for at in range(0, len(content), 4096):
        head = at + (100 if at == 0 else 0)
        if content[head] in (2, 5, 10, 13):
            _, _, cells, start, _ = struct.unpack(">BHHHB", content[head : head + 8])
            index = head + (8 if content[head] > 5 else 12) + 2 * cells
            gap = content[index : at + (start or 65_536)]
            found += any(word in gap for word in (b"question", b"xxx", b"sss"))
    return found


async def test_no_signpost_of_the_index_names_a_deleted_word(store: Store, history: Path) -> None:
    uuids = []
    for n in range(40):
        words = " ".join(f"xq{word:05d}" for word in range(n, 4000, 40))
        uuids.append(say(store, words, "yes"))
    for uuid in uuids[::2]:
        store.delete("ann", uuid)
    assert await store.erased()
    for word in range(1, 200, 2):
        assert len(await store.find("ann", f"xq{word:05d}")) == 1
    await store.close()

    connection = apsw.Connection(str(history))
    terms = [bytes(term) for (term,) in connection.execute("SELECT term FROM search_idx")]
    connection.execute("INSERT INTO search (search, rank) VALUES ('integrity-check', 1)")
    connection.close()
    named = [int(term[3:8]) for term in terms if term.startswith(b"0xq") and len(term) == 8]
    assert named
    assert [word for word in named if word % 40 % 2 == 0] == []


async def test_search_stays_exact_after_erasing(store: Store) -> None:
    chance = random.Random(7)
    said: dict[str, set[str]] = {}
    for n in range(200):
        words = set(chance.choices(WORDS, k=8)) | {secret(n)}
        said[say(store, " ".join(sorted(words)), "yes")] = words
    for uuid in chance.sample(sorted(said), 120):
        store.delete("ann", uuid)
        del said[uuid]
    assert await store.erased()

    for word in (*WORDS[:200], *map(secret, range(200))):
        found = {hit.conversation.uuid for hit in await store.find("ann", word)}
        expected = [uuid for uuid, words in said.items() if word in words]
        assert found == set(expected[-20:]), word


async def test_the_last_exchange_goes_with_its_summary_and_its_title(
    store: Store, tmp_path: Path
) -> None:
    uuid = say(store, "plain question", "plain answer")
    add(store, uuid, 3, "regretted question")
    add(store, uuid, 4, "result", "tool")
    add(store, uuid, 5, "regretted answer", "assistant")
    await store.set_summary(uuid, "they spoke of regretted things", through=5)

    deleted = await store.delete_last_exchange("ann", uuid)

    assert deleted.entries == {uuid: (3, 4, 5)}
    assert await texts(store, uuid) == [(1, "plain question"), (2, "plain answer")]
    conversation = (await store.page("ann", uuid)).conversation
    assert (conversation.title, conversation.summary) == ("plain question", "")
    assert conversation.next_entry == 6
    assert not conversation.incomplete
    await add(store, uuid, 6, "next question")
    await store.delete_last_exchange("ann", uuid)
    await store.delete_last_exchange("ann", uuid)
    assert (await store.page("ann", uuid)).conversation.title == ""
    assert await store.erased()
    assert b"plain" not in bytes_in(tmp_path)
    assert b"regretted" not in bytes_in(tmp_path)


async def test_a_day_is_deleted_entry_by_entry(open_store: Open) -> None:
    monday = datetime.datetime(2026, 3, 2, 12, 0).timestamp()
    clock = FakeClock(wall=monday)
    store = await open_store(clock=clock)
    only_monday = say(store, "monday alone", "yes")
    both = say(store, "monday and tuesday", "yes")
    other = say(store, "monday of another", "yes", owner="bob")
    clock.move(24 * 3600)
    add(store, both, 3, "on tuesday")
    only_tuesday = say(store, "tuesday alone", "yes")
    clock.trusted = False
    add(store, both, 4, "nobody knows when")

    deleted = await store.delete_day("ann", datetime.date(2026, 3, 2))

    assert deleted.conversations == {only_monday}
    assert deleted.entries == {both: (1, 2)}
    assert await texts(store, both) == [(3, "on tuesday"), (4, "nobody knows when")]
    assert (await store.page("ann", both)).conversation.title == "on tuesday"
    left = {c.uuid for c in await store.conversations(None)}
    assert left == {both, only_tuesday, other}


@pytest.mark.parametrize("index_anew", [5, 500])
async def test_everything_of_an_owner_goes_and_no_number_comes_back(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, index_anew: int
) -> None:
    monkeypatch.setattr(statements, "INDEX_ANEW", index_anew)
    for n in range(20):
        say(store, f"annswords {n}", "yes")
    bobs = say(store, "bobswords", "yes", owner="bob")
    await store.end(bobs)
    newest = (await store.conversations(None, limit=1))[0].seq

    assert len((await store.delete_everything("ann")).conversations) == 20
    assert [c.uuid for c in await store.conversations(None)] == [bobs]
    assert [hit.conversation.uuid for hit in await store.find(None, "bobswords")] == [bobs]
    assert await store.erased()
    assert b"annswords" not in bytes_in(tmp_path)

    await store.delete_everything(None)
    assert await store.erased()
    assert b"bobswords" not in bytes_in(tmp_path)
    assert await store.find(None, "bobswords") == []

    again = say(store, "a new start", "yes")
    await store.end(again)
    assert await store.find(None, "start")
    assert (await store.page("ann", again)).conversation.seq > newest


async def test_a_conversation_deleted_while_it_is_spoken_is_not_made_again(store: Store) -> None:
    uuid = say(store, "one", "two")
    before = add(store, uuid, 3, "queued before")
    deletion = store.delete("ann", uuid)
    behind = add(store, uuid, 4, "queued behind")
    usage = store.set_usage(uuid, {"n": 1})

    await before
    await deletion
    for late in (behind, usage, add(store, uuid, 5, "later")):
        with pytest.raises(ParentGoneError):
            await late

    assert await store.conversations(None) == []


async def test_deletion_and_take_over_race_to_one_of_two_ends(store: Store) -> None:
    for n in range(20):
        uuid = say(store, f"race {n}", "on")
        store.end(uuid)
        if n % 2:
            carried, deleted = store.carry_on("ann", uuid), store.delete("ann", uuid)
            thread = await carried
            await deleted
        else:
            deleted, carried = store.delete("ann", uuid), store.carry_on("ann", uuid)
            await deleted
            with pytest.raises(NoConversationError):
                await carried
            continue
        with pytest.raises(ParentGoneError):
            await add(store, uuid, thread.conversation.next_entry, "goes on")
    assert await store.conversations(None) == []


async def test_erasing_is_finished_at_the_next_start(
    open_store: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await open_store()
    uuid = say(store, "unmistakable", "yes")
    say(store, "other", "yes")

    def crash(connection: apsw.Connection, gaps: erasure.Gaps) -> Work[bool]:
        yield 0.0
        return False

    with monkeypatch.context() as patched:
        patched.setattr(erasure, "erase", crash)
        await store.delete("ann", uuid)
        assert not await store.erased()
        await store.close()

    store = await open_store()
    assert await store.erased()
    assert b"unmistakable" not in bytes_in(tmp_path)
    assert await store.find("ann", "other")


async def test_erasing_waits_for_a_reader_and_writes_go_on_meanwhile(
    store: Store, history: Path, tmp_path: Path
) -> None:
    uuid = say(store, "unmistakable", "yes")
    await store.end(uuid)
    reader = apsw.Connection(str(history), flags=apsw.SQLITE_OPEN_READONLY)
    reading = reader.execute("SELECT text FROM entries")
    next(reading)

    await store.delete("ann", uuid)
    erased = asyncio.ensure_future(store.erased())
    await asyncio.wait_for(store.end(say(store, "still writing", "yes")), PATIENCE)
    await asyncio.sleep(0.3)
    assert not erased.done()
    reading.close(True)

    assert await asyncio.wait_for(erased, PATIENCE)
    reader.close()
    assert b"unmistakable" not in bytes_in(tmp_path)


async def test_copies_that_hold_a_conversation_are_named(store: Store, tmp_path: Path) -> None:
    uuid = say(store, "one", "two")
    await store.end(uuid)
    place, _ = await store.back_up()
    elsewhere = tmp_path / "stick" / "copy.db"
    await store.back_up(elsewhere)
    later = say(store, "after the copies", "yes")
    await store.end(later)
    damaged = store.path.with_name("history.db.damaged-20260101-000000")
    damaged.write_bytes(b"who knows what was in it")

    holding_old = await store.copies(frozenset([uuid]))
    holding_new = await store.copies(frozenset([later]))

    assert {c.path for c in holding_old} == {place, elsewhere, damaged}
    assert {c.path for c in holding_new} == {damaged}
