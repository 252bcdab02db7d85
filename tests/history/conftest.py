"""A store on the test's own folder, and talk to put into it."""

import os
import subprocess
from collections.abc import AsyncIterator, Awaitable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import pytest

from firmware_app.history.clock import Clock
from firmware_app.history.records import Moment, NewConversation, NewEntry, title_of
from firmware_app.history.store import Pending, Store, StoreEvent

FULL = bool(os.environ.get("HEY_ECHO_FULL"))


@dataclass
class FakeClock:
    """A clock that stands until it is moved, and may be one that is not to be trusted."""

    wall: float = 1_750_000_000.0
    since_boot: float = 100.0
    boot_id: str = "boot-1"
    trusted: bool = True

    def now(self) -> Moment:
        return Moment(self.wall if self.trusted else None, self.boot_id, self.since_boot)

    def move(self, seconds: float) -> None:
        self.wall += seconds
        self.since_boot += seconds


class Open(Protocol):
    def __call__(
        self, path: Path | None = None, *, clock: Clock | None = None
    ) -> Awaitable[Store]: ...


@dataclass
class Events:
    """What the store told, in order."""

    told: list[StoreEvent] = field(default_factory=list)

    def __call__(self, event: StoreEvent) -> None:
        self.told.append(event)

    def of(self, kind: type[StoreEvent]) -> list[StoreEvent]:
        return [event for event in self.told if isinstance(event, kind)]


@pytest.fixture
def history(tmp_path: Path) -> Path:
    return tmp_path / "data" / "home" / "history.db"


@pytest.fixture
def events() -> Events:
    return Events()


@pytest.fixture
async def open_store(history: Path, events: Events) -> AsyncIterator[Open]:
    opened: list[Store] = []

    async def open_one(path: Path | None = None, *, clock: Clock | None = None) -> Store:
        store = await Store.open(path or history, clock=clock or FakeClock(), on_event=events)
        opened.append(store)
        return store

    yield open_one
    for store in opened:
        await store.close()


@pytest.fixture
async def store(open_store: Open) -> Store:
    return await open_store()


@pytest.fixture
def small_card(tmp_path: Path) -> Iterator[Path]:
    """A real file system of a few megabytes; needs the right to mount one."""
    folder = tmp_path / "card"
    folder.mkdir()
    mounting = ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(folder)]
    if subprocess.run(mounting, check=False, capture_output=True).returncode:
        pytest.skip("a small file system cannot be mounted here: run the tests as root")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)  # noqa: S607


def say(store: Store, question: str, answer: str, *, owner: str = "ann") -> str:
    """A conversation of one exchange; its uuid."""
    new = NewConversation("voice", owner, title_of(question))
    store.start(new)
    store.write(NewEntry(new.uuid, 1, "user", (question,), input_mode="voice"))
    store.write(NewEntry(new.uuid, 2, "assistant", (answer,), engines={"model": "llama/smollm2"}))
    return new.uuid


def add(store: Store, uuid: str, number: int, text: str, kind: str = "user") -> Pending[None]:
    return store.write(NewEntry(uuid, number, kind, (text,)))  # type: ignore[arg-type]


async def texts(store: Store, uuid: str) -> list[tuple[int, str]]:
    return [(e.number, e.text) for e in (await store.page(None, uuid, limit=1000)).entries]


def bytes_in(place: Path) -> bytes:
    """All there is in a file, or in a folder's files."""
    files = [place] if place.is_file() else sorted(p for p in place.rglob("*") if p.is_file())
    return b"\0".join(file.read_bytes() for file in files)
