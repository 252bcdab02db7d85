"""A talk over a room with scripted engines, with a real history and a real state database."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import pytest

from firmware_app.dialogue.live import LiveConversation
from firmware_app.dialogue.talk import Talk
from firmware_app.errors import EchoError
from firmware_app.events import Events, TurnTraced
from firmware_app.settings import Settings
from firmware_app.state import StateStore
from tests.dialogue.conftest import Keep, Kept, MakeRoom, Room
from tests.dialogue.scripted import ScriptedModel

LONG = "One two three four five, six seven eight nine ten, eleven twelve thirteen fourteen fifteen."


@dataclass
class FakeMicrophone:
    """Opens and closes when told to, and reports it: at once, or when the test says."""

    prompt: bool = True
    wanted: bool = True
    orders: list[bool] = field(default_factory=list)
    talk: Talk | None = None

    def capture(self, wanted: bool) -> None:
        if wanted is not self.wanted:
            self.orders.append(wanted)
        self.wanted = wanted
        if self.prompt:
            asyncio.get_running_loop().call_soon(self.report)

    def report(self) -> None:
        if self.talk:
            self.talk.on_microphone(self.wanted, "as told", not self.wanted)


@dataclass
class Talking:
    """People at a page and at the device; home is the owner of the room."""

    talk: Talk
    room: Room
    kept: Kept
    microphone: FakeMicrophone
    events: Events

    async def send(self, text: str, owner: str = "home", key: str = "") -> int:
        """A message numbered after the last entry."""
        try:
            last = self.current(owner).last_number
        except EchoError:
            last = 0
        return await self.talk.send(owner, last + 1, key or str(uuid.uuid4()), text)

    async def answered(self, text: str, owner: str = "home") -> str:
        """A message, and its answer."""
        turns = len(self.room.all(TurnTraced))
        await self.send(text, owner)
        await self.room.until(TurnTraced, turns + 1)
        await self.room.until_rest()
        return self.room.answers[-1]

    def current(self, owner: str = "home") -> LiveConversation:
        return self.talk.current(owner, None, 50)

    def shown(self, owner: str = "home") -> list[tuple[int, str]]:
        return [(entry.number, entry.text) for entry in self.current(owner).entries]


class MakeTalk(Protocol):
    def __call__(
        self,
        heard: tuple[str, ...] = ...,
        *,
        model: ScriptedModel | None = None,
        saving: bool = True,
        prompt: bool = True,
        follow_up: bool = False,
        settings: Settings | None = None,
    ) -> AbstractAsyncContextManager[Talking]: ...


@pytest.fixture
def talking(keep: Keep, room: MakeRoom, tmp_path: Path) -> MakeTalk:
    """talking(heard=[…], model=…, …) makes a Talking; a second one is the same device restarted."""

    @asynccontextmanager
    async def make(
        heard: tuple[str, ...] = ("What time is it?",),
        *,
        saving: bool = True,
        prompt: bool = True,
        settings: Settings | None = None,
        **of_room: Any,  # noqa: ANN401 - handed on
    ) -> AsyncIterator[Talking]:
        settings = settings or Settings()
        settings = replace(settings, voice=replace(settings.voice, save_conversations=saving))
        events, microphone = Events(), FakeMicrophone(prompt)
        store = StateStore(tmp_path / "state.db")
        try:
            async with (
                keep(settings, events=events) as k,
                room(heard, keeper=k.keeper, events=events, settings=settings, **of_room) as r,
            ):
                talk = microphone.talk = Talk(k.keeper, events, microphone.capture)
                await talk.restore(store)
                talk.attach(r.dialogue)
                following = asyncio.create_task(talk.follow())
                await asyncio.sleep(0.01)
                yield Talking(talk, r, k, microphone, events)
                talk.detach()
                following.cancel()
                await asyncio.wait([following])
        finally:
            store.close()

    return make
