"""Words, beginnings and phrases are found, newest first, with where they stand."""

import pytest

from firmware_app.errors import UsageError
from firmware_app.history.records import NewConversation
from firmware_app.history.search import BEGIN_MARK, END_MARK, match_of
from firmware_app.history.store import Store
from tests.history.conftest import add, say


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("weather", ["Café weather report", "the weather in Rome"]),
        ("WEATHER", ["Café weather report", "the weather in Rome"]),
        ("wea*", ["Café weather report", "the weather in Rome"]),
        ("wea", []),
        ("cafe", ["Café weather report"]),
        ('"weather in"', ["the weather in Rome"]),
        ('"in weather"', []),
        ("rome weather", ["the weather in Rome"]),
        ("rome NOT weather", []),
        ('rome) OR "', []),
        ("text:rome", []),
        ("rome -weather", ["the weather in Rome"]),
        ("notes", []),
    ],
)
async def test_what_is_asked_for_is_found(store: Store, asked: str, found: list[str]) -> None:
    for question in ("the weather in Rome", "Café weather report", "set a timer"):
        await store.end(say(store, question, "done"))

    hits = await store.find("ann", asked)

    assert [hit.conversation.title for hit in hits] == found


async def test_a_conversation_is_found_once_at_its_newest_entry_with_a_snippet(
    store: Store,
) -> None:
    uuid = say(store, "apples", "pears")
    add(store, uuid, 3, "more " * 30 + "about apples and " + "so on " * 30)
    await store.end(uuid)

    (hit,) = await store.find("ann", "apples")

    assert hit.number == 3
    assert f"{BEGIN_MARK}apples{END_MARK}" in hit.snippet
    assert len(hit.snippet) < 200


async def test_twenty_are_found_newest_first_and_by_kind(store: Store) -> None:
    uuids = [say(store, f"question {n}", "answer") for n in range(25)]
    pane = NewConversation("pane", "ann", "build")
    store.start(pane)
    await add(store, pane.uuid, 1, "a question in a pane")

    hits = await store.find("ann", "question")

    assert [hit.conversation.uuid for hit in hits] == [pane.uuid, *reversed(uuids)][:20]
    panes = await store.find("ann", "question", kind="pane")
    assert [hit.conversation.uuid for hit in panes] == [pane.uuid]


@pytest.mark.parametrize("asked", ["", "   ", "*", '""', "!?", '"'])
def test_nothing_to_search_for_is_said(asked: str) -> None:
    with pytest.raises(UsageError, match="no word to search for"):
        match_of(asked)


async def test_what_is_found_stays_private(store: Store) -> None:
    await store.end(say(store, "secret", "yes", owner="ann"))

    with pytest.raises(UsageError) as error:
        await store.find("ann", "")
    assert "secret" not in str(error.value)
    assert await store.find("bob", "secret") == []
