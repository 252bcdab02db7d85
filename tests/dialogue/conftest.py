import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import numpy as np
import pytest

from firmware_app.audio.array import Array
from firmware_app.audio.simulated import ListSink
from firmware_app.dialogue import keeping
from firmware_app.dialogue.dialogue import Dialogue
from firmware_app.dialogue.ear import Ear
from firmware_app.dialogue.keeping import Keeper
from firmware_app.engines import Engines
from firmware_app.events import Event, Events, ReplyEnded, Saved, SavingChanged, State
from firmware_app.frames import BLOCK, SAMPLE_RATE, Frame, Samples
from firmware_app.history.records import Conversation, Entry
from firmware_app.history.store import Forgotten, Store, StoreEvent
from firmware_app.settings import Settings
from firmware_app.skills.building import load as load_language
from firmware_app.skills.local_time import LocalTime
from firmware_app.skills.registry import Skills
from firmware_app.traces import Traces
from tests.conftest import PATIENCE, until
from tests.dialogue.scripted import (
    STOP_MARK,
    WAKE_MARK,
    WORD,
    LevelActivity,
    ScriptedModel,
    ScriptedRecogniser,
    ScriptedStopWord,
    ScriptedVerifier,
    ScriptedWakeWord,
    ToneVoice,
    tone,
)

E_ = TypeVar("E_", bound=Event)
TICK = 0.005  # seconds


class LoopClock:
    """Seconds that the loop had to itself: while it is held up, no word is said meanwhile."""

    def __init__(self) -> None:
        self._now = time.monotonic()

    def __call__(self) -> float:
        return self._now

    async def run(self) -> None:
        while True:
            before = time.monotonic()
            await asyncio.sleep(TICK)
            self._now += min(time.monotonic() - before, 1.2 * TICK)


@dataclass
class Room:
    """A dialogue with scripted engines, and someone to talk to it."""

    dialogue: Dialogue
    ear: Ear
    sink: ListSink
    model: ScriptedModel
    engines: Engines
    traces: Traces
    running: "asyncio.Task[None]"
    seen: list[Event] = field(default_factory=list)
    _index: int = 0

    async def hear(self, sound: Samples) -> None:
        now = asyncio.get_running_loop().time()
        for start in range(0, len(sound), BLOCK):
            block = sound[start : start + BLOCK]
            await self.ear.hear(Frame(block, self._index, now, np.zeros_like(block)))
            self._index += BLOCK
            await asyncio.sleep(0.001)  # twenty times the speed of time

    async def silence(self, milliseconds: int = 1000) -> None:
        await self.hear(np.zeros(milliseconds * SAMPLE_RATE // 1000 // BLOCK * BLOCK, np.int16))

    async def call(self, level: float = 0.2) -> None:
        """Say the wake word."""
        await self.hear(tone(400, level, mark=WAKE_MARK))

    async def say_stop(self) -> None:
        """Say the word, and wait for the quiet by which it is known to be over."""
        await self.hear(tone(400, 0.2, mark=STOP_MARK))
        await self.silence(300)

    async def say(self, milliseconds: int = 600, level: float = 0.2) -> None:
        await self.hear(tone(milliseconds, level))

    async def ask(self) -> None:
        """The wake word and a question in one breath, and the silence after it."""
        await self.call()
        await self.say()
        await self.silence()

    async def until(self, kind: type[E_], count: int = 1) -> E_:
        """The count-th event of this kind, as soon as it has come."""
        async with asyncio.timeout(PATIENCE):
            while len(found := self.all(kind)) < count:
                await asyncio.sleep(0.002)
        return found[count - 1]

    async def typed(self, text: str) -> str:
        """A typed message, and its answer."""
        return " ".join([clause async for clause in self.dialogue.ask(text)])

    async def until_rest(self) -> None:
        await self.until_true(lambda: not self.dialogue.busy)

    async def until_it_listens(self) -> None:
        await self.until_true(lambda: self.rests_in(State.LISTENING))

    async def until_heard(self, words: int) -> None:
        """So many words have left the loudspeaker."""
        await self.until_true(lambda: self.words_heard >= words)

    async def until_true(self, condition: Callable[[], bool]) -> None:
        await until(condition)

    def all(self, kind: type[E_]) -> list[E_]:
        return [event for event in self.seen if isinstance(event, kind)]

    @property
    def words_heard(self) -> float:
        """Of those that the tone voice said."""
        return self.sink.heard / WORD

    def rests_in(self, state: State) -> bool:
        return self.dialogue.state is state

    @property
    def answers(self) -> list[str]:
        return [event.text for event in self.all(ReplyEnded)]


@dataclass
class Kept:
    """A keeper with a real history, and a look into it."""

    keeper: Keeper
    store: Store
    settings: Settings
    told: list[Saved] = field(default_factory=list)

    async def conversations(self) -> list[Conversation]:
        return await self.store.conversations(None)

    async def entries(self, which: int = 0) -> tuple[Entry, ...]:
        """Of a conversation, counted from the newest, once all is written that waits."""
        await self.written()
        found = await self.conversations()
        return (await self.store.page(None, found[which].uuid)).entries

    async def texts(self, which: int = 0) -> list[tuple[int, str]]:
        return [(entry.number, entry.text) for entry in await self.entries(which)]

    async def written(self) -> None:
        await until(lambda: not self.store.waiting)
        await self.store.erased()
        await asyncio.sleep(0.01)

    async def until_it_ends(self) -> None:
        """The newest conversation."""
        async with asyncio.timeout(PATIENCE):
            while (await self.conversations())[0].state != "ended":
                await asyncio.sleep(0.01)

    def says(self, status: Saved) -> bool:
        return self.keeper.status is status

    async def until_it_says(self, status: Saved) -> None:
        await until(lambda: self.says(status))

    def change(self, **voice: Any) -> None:  # noqa: ANN401 - settings are of many types
        """Change settings of the section voice, as the service does."""
        self.settings = replace(self.settings, voice=replace(self.settings.voice, **voice))
        self.keeper.apply(self.settings)


Keep: TypeAlias = Callable[..., AbstractAsyncContextManager[Kept]]


@pytest.fixture
def keep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Keep:
    """keep(settings=…) makes a Kept for the length of a block."""
    monkeypatch.setattr(keeping, "CARD_SECONDS", PATIENCE)  # the card of a busy machine

    @asynccontextmanager
    async def make(
        settings: Settings | None = None, *, switch: bool = True, events: Events | None = None
    ) -> AsyncIterator[Kept]:
        async def turn(saving: bool) -> None:
            kept.change(save_conversations=saving)

        def on_event(event: StoreEvent) -> None:
            if isinstance(event, Forgotten):
                keeper.forgotten(event.deleted)
            else:
                keeper.tell()

        def on_told(event: Event) -> None:
            if events:
                events.publish(event)
            if isinstance(event, SavingChanged):
                told.append(event.status)

        settings = settings or Settings()
        told: list[Saved] = []
        keeper = Keeper(settings, on_told, turn if switch else None)
        path = tmp_path / "data" / "home" / "history.db"
        store = await Store.open(path, on_event=on_event)
        kept = Kept(keeper, store, settings, told)
        keeper.keep_in(store)
        try:
            yield kept
        finally:
            keeper.end()
            await store.close()
            await keeper.close()

    return make


MakeRoom: TypeAlias = Callable[..., AbstractAsyncContextManager[Room]]


@pytest.fixture
def room() -> MakeRoom:
    """room(heard=[…], model=…, …) makes a Room for the length of a block."""

    @asynccontextmanager
    async def make(
        heard: tuple[str, ...] = ("What time is it?",),
        *,
        model: ScriptedModel | None = None,
        confidence: float = 0.95,
        certain: bool = True,
        verifier: ScriptedVerifier | None = None,
        stop_word: ScriptedStopWord | None = None,
        follow_up: bool = False,
        chimes: bool = False,
        settings: Settings | None = None,
        keeper: Keeper | None = None,
        skills: Skills | None = None,
        events: Events | None = None,
        recogniser: ScriptedRecogniser | None = None,
        array: Array | None = None,
    ) -> AsyncIterator[Room]:
        settings = settings or Settings()
        dialogue_settings = replace(settings.dialogue, follow_up=follow_up)
        audio_settings = replace(settings.audio, chimes=chimes)
        settings = replace(settings, dialogue=dialogue_settings, audio=audio_settings)
        model = model or ScriptedModel()
        engines = Engines(
            ScriptedWakeWord(certain=certain),
            LevelActivity(),
            recogniser or ScriptedRecogniser(heard, confidence),
            model,
            ToneVoice(),
            verifier,
            stop_word,
        )
        events = events or Events()
        clock = LoopClock()
        traces, sink = Traces(), ListSink(paced=True, clock=clock)
        ear = Ear(engines.wake, engines.activity)
        keeper = keeper or Keeper(settings)
        skills = skills or Skills(load_language("en"), (), LocalTime())
        dialogue = Dialogue(settings, engines, ear, sink, keeper, events, traces, skills, array)
        seen: list[Event] = []
        ticking = asyncio.create_task(clock.run())
        watching = asyncio.create_task(_watch(events, seen))
        running = asyncio.create_task(dialogue.run())
        made = Room(dialogue, ear, sink, model, engines, traces, running, seen)
        await asyncio.sleep(0.01)
        try:
            yield made
        finally:
            for task in (running, watching):
                task.cancel()
            await asyncio.wait([running, watching])
            await ear.close()
            await sink.close()
            ticking.cancel()
            await asyncio.wait([ticking])
            if not running.cancelled():
                running.result()

    return make


async def _watch(events: Events, seen: list[Event]) -> None:
    async for event in events.listen(10_000):
        seen += [event]
