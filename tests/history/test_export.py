"""What is taken away is counted first, and says what it leaves out."""

import base64
import json

from firmware_app.events import Status
from firmware_app.history.export import Count, Format
from firmware_app.history.records import Image, NewConversation, NewEntry
from firmware_app.history.store import Store
from tests.history.conftest import add, say

PICTURE = Image("image/png", b"\x89PNG picture", "cat.png")


async def talk(store: Store) -> str:
    new = NewConversation("chat", "ann", "Cats")
    store.start(new)
    store.write(NewEntry(new.uuid, 1, "user", ("what is <this>?", PICTURE), input_mode="text"))
    store.write(NewEntry(new.uuid, 2, "assistant", ("A cat, I",), status=Status.INTERRUPTED))
    await store.end(new.uuid)
    return new.uuid


async def whole(store: Store, uuid: str, form: Format, *, images: bool = True) -> str:
    return "".join([piece async for piece in store.export("ann", uuid, form, images=images)])


async def test_markdown_has_who_said_what_with_its_status_and_images(store: Store) -> None:
    uuid = await talk(store)

    text = await whole(store, uuid, "md")

    assert text.startswith("# Cats\n")
    assert "**You**" in text
    assert "what is <this>?" in text
    assert "**Echo** (interrupted)" in text
    assert f"data:image/png;base64,{base64.b64encode(PICTURE.data).decode()}" in text
    left_out = await whole(store, uuid, "md", images=False)
    assert f"[cat.png, image/png, {len(PICTURE.data)} bytes: left out]" in left_out


async def test_plain_text_marks_images_as_left_out(store: Store) -> None:
    text = await whole(store, await talk(store), "txt")

    assert text.startswith("Cats\n====\n")
    assert "] Echo (interrupted): A cat, I" in text
    assert "left out]" in text


async def test_json_holds_everything_and_is_json(store: Store) -> None:
    uuid = await talk(store)

    read = json.loads(await whole(store, uuid, "json"))

    assert (read["uuid"], read["kind"], read["title"]) == (uuid, "chat", "Cats")
    assert [e["number"] for e in read["entries"]] == [1, 2]
    assert read["entries"][0]["metadata"]["input_mode"] == "text"
    assert read["entries"][1]["metadata"]["status"] == "interrupted"
    image = read["entries"][0]["parts"][1]
    assert base64.b64decode(image["data"]) == PICTURE.data
    read = json.loads(await whole(store, uuid, "json", images=False))
    assert read["entries"][0]["parts"][1]["omitted"] is True


async def test_a_conversation_longer_than_a_page_is_exported_whole_and_in_order(
    store: Store,
) -> None:
    uuid = say(store, "one", "two")
    for number in range(3, 451):
        add(store, uuid, number, str(number))
    await store.end(uuid)

    read = json.loads(await whole(store, uuid, "json"))

    assert [e["number"] for e in read["entries"]] == list(range(1, 451))


async def test_what_goes_out_is_counted(store: Store) -> None:
    uuid = await talk(store)
    for n in range(3):
        await store.end(say(store, f"other {n}", "yes"))
    await store.end(say(store, "bob's", "yes", owner="bob"))

    assert await store.count("ann", uuid) == Count(1, 2, 1, len(PICTURE.data))
    assert await store.count("ann") == Count(4, 8, 1, len(PICTURE.data))
    assert await store.count(None) == Count(5, 10, 1, len(PICTURE.data))
