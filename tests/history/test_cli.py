"""The command line is the reader: alike through the running service and while none runs."""

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from firmware_app.control import history_calls
from firmware_app.control.server import Call, ControlServer
from firmware_app.history.commands import Commands
from firmware_app.history.records import Image, NewConversation, NewEntry
from firmware_app.history.store import Store
from firmware_app.history.usage import Rates
from tests.commands import Run, runner
from tests.history.conftest import FakeClock, add, bytes_in, say

Served = Callable[[], AbstractContextManager[None]]


class Box:
    """Folders that every command run here uses."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.runtime = folder / "run"
        self.history = folder / "state" / "data" / "home" / "history.db"

    def fill(self, talk: Callable[[Store], Awaitable[Any]]) -> Any:  # noqa: ANN401
        async def filling() -> Any:  # noqa: ANN401
            store = await Store.open(self.history, clock=FakeClock())
            try:
                return await talk(store)
            finally:
                await store.close()

        return asyncio.run(filling())

    @contextmanager
    def service(self) -> Iterator[None]:
        """The part of the running service that these commands call."""
        loop = asyncio.new_event_loop()
        server = ControlServer(self.runtime)

        async def open_all() -> Store:
            store = await Store.open(self.history, clock=FakeClock())
            history_calls.register(server, Commands(store, Rates()))
            server.handle("chats.continue", carry_on)
            await server.open()
            return store

        async def carry_on(call: Call) -> dict[str, Any]:
            thread = await store.carry_on(None, call.text("uuid"))
            return {"title": thread.conversation.title, "saved": "saved"}

        async def close_all() -> None:
            await server.close()
            await store.close()

        store = loop.run_until_complete(open_all())
        thread = threading.Thread(target=loop.run_forever)
        thread.start()
        try:
            yield
        finally:
            asyncio.run_coroutine_threadsafe(close_all(), loop).result(10)
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()


@pytest.fixture
def box(monkeypatch: pytest.MonkeyPatch) -> Iterator[Box]:
    with TemporaryDirectory(prefix="echo-") as name:
        made = Box(Path(name))
        (made.folder / "config.toml").touch()
        monkeypatch.setenv("HEY_ECHO_CONFIG", str(made.folder / "config.toml"))
        monkeypatch.setenv("HEY_ECHO_PATHS_STATE", str(made.folder / "state"))
        monkeypatch.setenv("HEY_ECHO_PATHS_RUNTIME", str(made.runtime))
        monkeypatch.setenv("COLUMNS", "80")
        monkeypatch.delenv("HEY_ECHO_LOG_LEVEL", raising=False)
        yield made


@pytest.fixture(params=["service", "alone"])
def served(box: Box, request: pytest.FixtureRequest) -> Served:
    return box.service if request.param == "service" else nullcontext


@pytest.fixture
def hey_echo(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(capsys)


async def two_talks(store: Store) -> tuple[str, str]:
    first = say(store, "where are my glasses", "On your nose.")
    await store.end(first)
    second = NewConversation("chat", "ann", "a picture of a cat")
    store.start(second)
    picture = Image("image/png", b"\x89PNG", "cat.png")
    store.write(NewEntry(second.uuid, 1, "user", ("what is this", picture), input_mode="text"))
    for number in range(2, 40):
        add(store, second.uuid, number, f"entry number {number}")
    await store.end(second.uuid)
    return first, second.uuid


def test_chats_are_listed_newest_first_and_page_to_older_ones(
    box: Box, served: Served, hey_echo: Run
) -> None:
    first, second = box.fill(two_talks)
    with served():
        status, out, _ = hey_echo("chats", "list")
        assert status == 0
        lines = out.splitlines()
        assert lines[1].startswith(second[:8])
        assert lines[1].endswith("a picture of a cat")
        assert lines[2].startswith(first[:8])
        assert max(map(len, lines)) <= 80

        page = json.loads(hey_echo("chats", "list", "--limit", "1", "--json")[1])
        assert [c["uuid"] for c in page["conversations"]] == [second]
        older = hey_echo("chats", "list", "--json", "--before", str(page["before"]))[1]
        assert [c["uuid"] for c in json.loads(older)["conversations"]] == [first]
        voices = json.loads(hey_echo("chats", "list", "--kind", "voice", "--json")[1])
        assert [c["uuid"] for c in voices["conversations"]] == [first]


def test_the_list_fits_a_phone(box: Box, hey_echo: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    box.fill(two_talks)
    monkeypatch.setenv("COLUMNS", "44")
    _, out, _ = hey_echo("chats", "list")
    assert max(map(len, out.splitlines())) <= 44


def test_nothing_saved_is_said(box: Box, served: Served, hey_echo: Run) -> None:
    with served():
        assert hey_echo("chats", "list") == (0, "Nothing is saved here.\n", "")


def test_a_chat_is_shown_by_the_beginning_of_its_id(
    box: Box, served: Served, hey_echo: Run
) -> None:
    first, second = box.fill(two_talks)
    with served():
        _, out, _ = hey_echo("chats", "show", first[:8])
        assert "   1  You: where are my glasses\n   2  Echo: On your nose.\n" in out
        _, out, _ = hey_echo("chats", "show", second[:8], "--limit", "5")
        assert f"Older: hey-echo chats show {second[:8]} --before 35" in out
        assert "  39  You: entry number 39" in out
        _, out, _ = hey_echo("chats", "show", second[:8], "--before", "3")
        assert "   1  You: what is this\n[cat.png, image/png]" in out

        status, out, err = hey_echo("chats", "show", "ffffffff")
        assert (status, out) == (2, "")
        assert "There is no such conversation." in err


def test_words_are_found(box: Box, served: Served, hey_echo: Run) -> None:
    first, _ = box.fill(two_talks)
    with served():
        _, out, _ = hey_echo("chats", "search", "glas*")
        assert out.startswith(f"{first[:8]}  where are my glasses\n    1: where are my glasses")
        _, out, _ = hey_echo("chats", "search", "my glasses", "--json")
        assert len(json.loads(out)["hits"]) == 1
        assert hey_echo("chats", "search", "glasses my") == (0, "Nothing was found.\n", "")


def test_a_chat_is_renamed(box: Box, served: Served, hey_echo: Run) -> None:
    first, _ = box.fill(two_talks)
    with served():
        assert hey_echo("chats", "rename", first[:8], "Lost", "things")[0] == 0
        assert "Lost things" in hey_echo("chats", "list")[1]
        assert hey_echo("chats", "rename", first[:8], " ")[0] == 2


def test_deleting_asks_first_and_names_the_copies(box: Box, served: Served, hey_echo: Run) -> None:
    first, second = box.fill(two_talks)
    with served():
        hey_echo("backup", "create")
        status, _, err = hey_echo("chats", "delete", first[:8])
        assert status == 2
        assert "Delete 'where are my glasses' for good?" in err
        assert "--yes" in err

        status, out, _ = hey_echo("chats", "delete", first[:8], "--yes")
        assert status == 0
        assert "Deleted: 1 conversation." in out
        assert "Still in: " in out
        assert "not recalled" in out
        assert b"glasses" in bytes_in(box.history.parent / "backups")

        _, out, _ = hey_echo("chats", "delete", second[:8], "--yes", "--copies")
        assert "Removed: " in out
        assert hey_echo("chats", "list")[1] == "Nothing is saved here.\n"
    assert b"glasses" not in bytes_in(box.folder)
    assert b"entry number" not in bytes_in(box.folder)


def test_an_exchange_a_day_and_everything_can_be_deleted(
    box: Box, served: Served, hey_echo: Run
) -> None:
    first, second = box.fill(two_talks)
    with served():
        _, out, _ = hey_echo("chats", "delete", second[:8], "--exchange", "--yes")
        assert "Deleted: 1 entry." in out
        _, out, _ = hey_echo("chats", "delete", "--day", "1999-01-01", "--yes")
        assert out == "There was nothing to delete.\n"
        assert hey_echo("chats", "delete", "--day", "the fifth", "--yes")[0] == 2
        _, out, _ = hey_echo("chats", "delete", "--everything", "--yes", "--json")
        assert sorted(json.loads(out)["conversations"]) == sorted([first, second])


def test_chats_are_exported_after_a_count_of_what_goes_out(
    box: Box, served: Served, hey_echo: Run
) -> None:
    first, second = box.fill(two_talks)
    target = box.folder / "out.md"
    with served():
        status, _, err = hey_echo("chats", "export", "--all", "--out", str(target))
        assert status == 2
        assert "Going out: 2 conversations, 41 entries, 1 image." in err
        assert not target.exists()

        assert hey_echo("chats", "export", "--all", "--out", str(target), "--yes")[0] == 0
        text = target.read_text()
        assert "# where are my glasses" in text
        assert "# a picture of a cat" in text
        assert "![cat.png](data:image/png;base64," in text

        read = json.loads(hey_echo("chats", "export", "--all", "--format", "json")[1])
        assert [c["uuid"] for c in read] == [second, first]
        assert len(read[0]["entries"]) == 39
        _, out, err = hey_echo("chats", "export", first[:8], "--format", "txt")
        assert err == "Going out: 1 conversation, 2 entries, 0 images.\n"
        assert "Echo: On your nose." in out
        assert hey_echo("chats", "export")[0] == 2


def test_a_chat_is_carried_on_by_the_service_alone(box: Box, hey_echo: Run) -> None:
    first, _ = box.fill(two_talks)
    status, _, err = hey_echo("chats", "continue", first[:8])
    assert (status, "Echo is not running." in err) == (75, True)
    with box.service():
        _, out, _ = hey_echo("chats", "continue", first[:8], "--json")
        assert json.loads(out)["title"] == "where are my glasses"
        assert hey_echo("chats", "continue", first[:8])[1] == (
            "Continuing 'where are my glasses'.\n"
        )


def test_backups_are_made_checked_and_put_back(box: Box, served: Served, hey_echo: Run) -> None:
    box.fill(two_talks)
    copy = str(box.folder / "copy.db")
    with served():
        _, out, _ = hey_echo("backup", "create", copy)
        assert out.startswith(f"Copied to {copy}: 2 conversations, 41 entries, ")
        assert hey_echo("backup", "create", copy)[0] == 74
        assert hey_echo("backup", "verify", copy)[1].startswith(f"{copy} is sound")
        assert copy in hey_echo("backup", "list")[1]

        status, _, err = hey_echo("backup", "restore", copy)
        assert status == 74
        assert "--replace" in err
        hey_echo("chats", "delete", "--everything", "--yes")
        assert hey_echo("backup", "restore", copy)[0] == 0
        assert len(json.loads(hey_echo("chats", "list", "--json")[1])["conversations"]) == 2
        _, out, _ = hey_echo("backup", "restore", copy, "--replace", "--yes")
        assert "What was there is kept as " in out


def test_backing_up_what_does_not_exist_or_is_damaged_is_one_sentence(
    box: Box, served: Served, hey_echo: Run
) -> None:
    bad = box.folder / "bad.db"
    bad.write_bytes(b"nothing of the kind" * 300)
    with served():
        for file in (str(bad), str(box.folder / "missing.db")):
            for verb in ("verify", "restore"):
                status, out, err = hey_echo("backup", verb, file)
                assert (status, out) == (74, "")
                assert err.count("\n") == 1
                assert file in err
