"""What is written can be read again, in order, by its owner and by nobody else."""

import asyncio
from pathlib import Path

import pytest

from firmware_app.events import Status
from firmware_app.history.faults import (
    NoConversationError,
    NumberTakenError,
    PaneError,
    ParentGoneError,
)
from firmware_app.history.records import Image, ImagePart, NewConversation, NewEntry, title_of
from firmware_app.history.statements import RESTARTED
from firmware_app.history.store import CARRIED_ON, Store
from tests.history.conftest import FakeClock, Open, add, say, texts


async def test_an_exchange_is_read_back_with_all_that_was_said_of_it(store: Store) -> None:
    new = NewConversation("voice", "ann", "Rain", usage={"engines": {"voice piper": {"x": 1}}})
    store.start(new)
    store.write(
        NewEntry(
            new.uuid,
            1,
            "user",
            ("will it rain",),
            input_mode="voice",
            key="k1",
            extra={"confidence": 0.9},
        )
    )
    store.write(NewEntry(new.uuid, 2, "tool", ("rain: 80 %",)))
    await store.write(
        NewEntry(
            new.uuid,
            3,
            "assistant",
            ("It will, take",),
            status=Status.INTERRUPTED,
            input_mode="voice",
            engines={"model": "llama/smollm2"},
            origin=("other", 7),
        )
    )

    page = await store.page("ann", new.uuid)

    assert (page.conversation.kind, page.conversation.title) == ("voice", "Rain")
    assert page.conversation.state == "active"
    assert page.conversation.next_entry == 4
    assert page.conversation.usage == {"engines": {"voice piper": {"x": 1}}}
    assert [(e.number, e.kind, e.text) for e in page.entries] == [
        (1, "user", "will it rain"),
        (2, "tool", "rain: 80 %"),
        (3, "assistant", "It will, take"),
    ]
    answer = page.entries[2]
    assert answer.status is Status.INTERRUPTED
    assert answer.metadata["engines"] == {"model": "llama/smollm2"}
    assert answer.origin == ("other", 7)
    assert page.entries[0].input_mode == "voice"
    assert page.entries[0].metadata["confidence"] == 0.9
    assert await store.number_of_key("ann", new.uuid, "k1") == 1
    assert await store.number_of_key("ann", new.uuid, "k2") is None


async def test_images_are_kept_beside_the_text_and_fetched_by_entry_and_part(store: Store) -> None:
    new = NewConversation("chat", "ann", "Picture")
    store.start(new)
    picture = Image("image/png", b"\x89PNG some bytes", "cat.png")
    await store.write(NewEntry(new.uuid, 1, "user", ("what is this", picture)))

    (entry,) = (await store.page("ann", new.uuid)).entries

    assert entry.text == "what is this"
    assert isinstance(entry.parts[1], ImagePart)
    assert (entry.parts[1].name, entry.parts[1].size) == ("cat.png", len(picture.data))
    assert await store.image("ann", new.uuid, 1, 1) == picture
    assert await store.image("ann", new.uuid, 1, 0) is None
    with pytest.raises(NoConversationError):
        await store.image("bob", new.uuid, 1, 1)


async def test_the_list_is_newest_first_and_pages_by_creation_number(store: Store) -> None:
    uuids = [say(store, f"question {n}", "yes") for n in range(7)]
    pane = NewConversation("pane", "ann", "build")
    await store.start(pane)

    first = await store.conversations("ann", limit=3)
    second = await store.conversations("ann", before=first[-1].seq, limit=3)

    assert [c.uuid for c in first] == [pane.uuid, uuids[6], uuids[5]]
    assert [c.uuid for c in second] == [uuids[4], uuids[3], uuids[2]]
    assert [c.uuid for c in await store.conversations("ann", kind="pane")] == [pane.uuid]
    assert len(await store.conversations(None)) == 8


async def test_the_latest_are_those_with_the_latest_entry_whatever_the_clock_says(
    open_store: Open,
) -> None:
    clock = FakeClock()
    store = await open_store(clock=clock)
    bread, _, rome = (say(store, f"about {what}", "Yes.") for what in ("bread", "trees", "rome"))
    build = NewConversation("pane", "ann", "build")
    await store.start(build)
    await add(store, build.uuid, 1, "build")

    async def latest() -> list[str]:
        return [head.conversation.title for head in await store.latest("ann", 8)]

    assert await latest() == ["about rome", "about trees", "about bread"]
    assert await store.latest("ben", 8) == []
    clock.trusted = False
    await add(store, bread, 3, "and rolls")
    assert await latest() == ["about bread", "about rome", "about trees"]
    await store.delete_entries("ann", bread, frozenset({3}))
    assert await latest() == ["about rome", "about trees", "about bread"]
    await store.delete_last_exchange("ann", rome)
    assert await latest() == ["about trees", "about bread", ""]


async def test_older_entries_are_loaded_page_by_page(store: Store) -> None:
    uuid = say(store, "one", "two")
    for number in range(3, 12):
        await add(store, uuid, number, str(number))

    newest = await store.page("ann", uuid, limit=5)
    older = await store.page("ann", uuid, before=newest.before, limit=5)
    oldest = await store.page("ann", uuid, before=older.before, limit=5)

    assert [e.number for e in newest.entries] == [7, 8, 9, 10, 11]
    assert [e.number for e in older.entries] == [2, 3, 4, 5, 6]
    assert [e.number for e in oldest.entries] == [1]
    assert oldest.before is None


async def test_a_strangers_conversation_looks_like_none(store: Store) -> None:
    uuid = say(store, "secret", "yes", owner="ann")
    await store.end(uuid)

    assert await store.conversations("bob") == []
    assert await store.find("bob", "secret") == []
    with pytest.raises(NoConversationError) as foreign:
        await store.page("bob", uuid)
    with pytest.raises(NoConversationError) as unknown:
        await store.page("bob", "nothing")
    assert str(foreign.value) == str(unknown.value)
    for change in (
        store.rename("bob", uuid, "mine"),
        store.delete("bob", uuid),
        store.delete_last_exchange("bob", uuid),
    ):
        with pytest.raises(NoConversationError):
            await change
    with pytest.raises(NoConversationError):
        await store.carry_on("bob", uuid)
    assert (await store.page("ann", uuid)).conversation.title == "secret"


async def test_no_number_is_used_twice_and_nothing_is_overwritten(store: Store) -> None:
    uuid = say(store, "one", "two")
    await add(store, uuid, 5, "a gap is allowed")

    for number in (1, 2, 4, 5):
        with pytest.raises(NumberTakenError):
            await add(store, uuid, number, "again")

    assert await texts(store, uuid) == [(1, "one"), (2, "two"), (5, "a gap is allowed")]


async def test_the_same_entry_tried_again_is_the_same_entry(store: Store) -> None:
    uuid = say(store, "one", "two")

    await add(store, uuid, 3, "tried again")
    await add(store, uuid, 3, "tried again")  # the fake clock stands: the very same entry

    assert await texts(store, uuid) == [(1, "one"), (2, "two"), (3, "tried again")]


async def test_only_an_active_conversation_takes_entries(store: Store) -> None:
    uuid = say(store, "one", "two")
    store.end(uuid)

    with pytest.raises(ParentGoneError):
        await add(store, uuid, 3, "late")
    with pytest.raises(ParentGoneError):
        await add(store, "never-started", 1, "early")
    with pytest.raises(ParentGoneError):
        await store.set_usage("never-started", {})

    assert (await store.page("ann", uuid)).conversation.state == "ended"


async def test_one_refused_write_leaves_those_beside_it_alone(store: Store) -> None:
    uuid = say(store, "one", "two")

    refused = add(store, "nothing", 1, "nowhere")
    kept = add(store, uuid, 3, "three")

    with pytest.raises(ParentGoneError):
        await refused
    await kept
    assert (3, "three") in await texts(store, uuid)


async def test_a_conversation_that_ends_without_an_entry_goes_away(store: Store) -> None:
    new = NewConversation("voice", "ann", "nothing came of it")
    store.start(new)
    await store.end(new.uuid)

    assert await store.conversations("ann") == []


async def test_carrying_on_offers_the_last_eight_exchanges_and_marks_the_new_period(
    store: Store,
) -> None:
    uuid = say(store, "question 1", "answer 1")
    for n in range(2, 12):
        add(store, uuid, 2 * n - 1, f"question {n}")
        add(store, uuid, 2 * n, f"answer {n}", "assistant")
    store.set_summary(uuid, "they talked", through=6)
    await store.end(uuid)

    thread = await store.carry_on("ann", uuid)

    assert thread.conversation.state == "active"
    assert thread.conversation.summary == "they talked"
    assert (thread.conversation.kind, thread.conversation.title) == ("voice", "question 1")
    questions = [e.text for e in thread.entries if e.kind == "user"]
    assert questions == [f"question {n}" for n in range(4, 12)]
    assert (thread.entries[-1].kind, thread.entries[-1].text) == ("notice", CARRIED_ON)
    await add(store, uuid, thread.conversation.next_entry, "and now")
    assert (await texts(store, uuid))[-2:] == [(23, CARRIED_ON), (24, "and now")]


async def test_a_panes_thread_is_not_carried_on(store: Store) -> None:
    pane = NewConversation("pane", "ann", "build")
    store.start(pane)

    with pytest.raises(PaneError):
        await store.carry_on("ann", pane.uuid)


async def test_what_was_left_active_is_interrupted_at_the_next_start(open_store: Open) -> None:
    store = await open_store()
    spoken = say(store, "will this end", "no")
    store.set_usage(spoken, {"engines": {"m": {"prompt_tokens": 3}}})
    ended = say(store, "will this", "yes")
    store.end(ended)
    pane = NewConversation("pane", "ann", "build")
    await store.start(pane)
    await store.close()

    store = await open_store()

    found = {c.uuid: c for c in await store.conversations("ann")}
    assert found[spoken].state == "interrupted"
    assert found[spoken].usage == {"engines": {"m": {"prompt_tokens": 3}}, "incomplete": True}
    assert found[ended].state == "ended"
    assert found[pane.uuid].state == "active"
    assert (await texts(store, spoken))[-1] == (3, RESTARTED)
    assert (await store.carry_on("ann", spoken)).conversation.next_entry == 5


async def test_what_was_acknowledged_is_there_after_a_restart(open_store: Open) -> None:
    store = await open_store()
    uuid = say(store, "one", "two")
    await add(store, uuid, 3, "three")
    await store.close()

    store = await open_store()

    assert (await texts(store, uuid))[:3] == [(1, "one"), (2, "two"), (3, "three")]


async def test_closing_writes_what_waits(open_store: Open) -> None:
    store = await open_store()
    uuid = say(store, "one", "two")
    writes = [add(store, uuid, n, "x" * 100) for n in range(3, 200)]

    assert await store.close() == 0

    assert all(write.done for write in writes)
    store = await open_store()
    assert len((await store.page(None, uuid, limit=1000)).entries) == 199 + 1  # and the notice


async def test_usage_waiting_to_be_written_is_replaced_by_what_came_later(store: Store) -> None:
    uuid = say(store, "one", "two")
    pending = [store.set_usage(uuid, {"n": n}) for n in range(500)]

    await asyncio.gather(*pending)

    assert (await store.page("ann", uuid)).conversation.usage == {"n": 499}


async def test_files_are_private(store: Store, history: Path) -> None:
    await store.end(say(store, "one", "two"))

    assert history.parent.stat().st_mode & 0o777 == 0o700
    for file in history.parent.iterdir():
        assert file.stat().st_mode & 0o777 == 0o600, file.name


async def test_times_of_a_boot_without_a_clock_are_mended_once_it_is_trusted(
    open_store: Open,
) -> None:
    clock = FakeClock(trusted=False)
    store = await open_store(clock=clock)
    uuid = say(store, "one", "two")
    clock.move(60)
    await add(store, uuid, 3, "three")
    before = await store.page("ann", uuid)
    assert [e.created for e in before.entries] == [None, None, None]
    assert before.conversation.created is None

    clock.move(60)
    clock.trusted = True
    await store.close()
    store = await open_store(clock=clock)

    page = await store.page("ann", uuid)
    now = clock.wall
    assert [e.created for e in page.entries[:3]] == [now - 120, now - 120, now - 60]
    assert page.conversation.created == now - 120
    assert page.conversation.ended is not None


async def test_times_of_an_earlier_boot_stay_unknown(open_store: Open) -> None:
    store = await open_store(clock=FakeClock(trusted=False))
    uuid = say(store, "one", "two")
    await store.end(uuid)
    await store.close()

    store = await open_store(clock=FakeClock(boot_id="boot-2"))

    assert [e.created for e in (await store.page("ann", uuid)).entries] == [None, None]


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ("what time is it", "what time is it"),
        ("  spaces\n and   lines ", "spaces and lines"),
        ("x" * 60, "x" * 60),
        ("x" * 61, "x" * 59 + "…"),
        (
            "tell me everything there is to know about the history of rome, please",
            "tell me everything there is to know about the history of…",
        ),
        ("", ""),
    ],
)
def test_titles_are_cut_at_a_word(question: str, title: str) -> None:
    assert title_of(question) == title
    assert len(title) <= 60
