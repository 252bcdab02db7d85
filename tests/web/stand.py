"""The real web server over a real history, with a fake talk behind it; for tests and for a browser.

    python -m tests.web.stand [--port N] [--tls]

prints the page's address with a pairing code in it; Enter prints another one, "bob" one of bob's.
"""

import argparse
import asyncio
import contextlib
import itertools
import tempfile
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from firmware_app.dialogue.live import (
    Begun,
    LiveConversation,
    LiveEntry,
    Situation,
    StaleNumberError,
)
from firmware_app.errors import UsageError
from firmware_app.events import (
    ConversationOpened,
    EntriesForgotten,
    EntryAdded,
    Events,
    Mode,
    ModeChanged,
    MuteChanged,
    PartialTranscript,
    QuestionAsked,
    ReplyClause,
    ReplyEnded,
    RingingChanged,
    Saved,
    SavingChanged,
    SettingChanged,
    State,
    StateChanged,
    Status,
    ToolUsed,
)
from firmware_app.history.clock import SystemClock
from firmware_app.history.faults import NoConversationError, PaneError
from firmware_app.history.records import (
    ConversationKind,
    EntryKind,
    Image,
    NewConversation,
    NewEntry,
    Part,
)
from firmware_app.history.store import CARRIED_ON, Forgotten, Store, StoreEvent
from firmware_app.history.usage import Rates
from firmware_app.settings import WebSettings
from firmware_app.settings_change import set_changed
from firmware_app.settings_checks import Value
from firmware_app.settings_layers import Loaded, load
from firmware_app.state import StateStore, state_file
from firmware_app.web import tls
from firmware_app.web.parts import Parts
from firmware_app.web.server import WebServer

OWNER = "home"
LASTING = 10_000  # clauses; at the pace of a test they outlast it
ANSWER = ("That is a good question.", "I would take an umbrella,", "for it may rain.")
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c"
    "6360606060000000050001a5f645400000000049454e44ae426082"
)


@dataclass
class FakeTalk:
    """Stands for the talk of a box that is awake: one open conversation, answers by heart.

    pace: seconds between the clauses of an answer. spoken: what was announced.
    """

    events: Events
    store: Store
    pace: float = 0.05
    answers: list[Sequence[str]] = field(default_factory=list)
    announced: list[str] = field(default_factory=list)
    muted_by_button: bool = False
    false_wakes: int = 0

    def __post_init__(self) -> None:
        self._state = State.IDLE
        self._mode = Mode.VOICE
        self._muted = False
        self._ringing: str | None = None
        self._saved = True
        self._replying: asyncio.Task[None] | None = None
        self._waiting: list[asyncio.Task[None]] = []
        self._turns = asyncio.Lock()
        self._fresh(OWNER)

    def _fresh(self, owner: str) -> None:
        self._uuid, self._owner, self._title = str(uuid.uuid4()), owner, ""
        self._kind: ConversationKind = "voice"
        self._entries: list[LiveEntry] = []
        self._keys: dict[tuple[str, str], int] = {}
        self._next = 1
        self._begun = self._continued = False
        self._reply: str | None = None

    # What the page sees.

    @property
    def situation(self) -> Situation:
        closed = self._muted or self._mode is Mode.TEXT
        return Situation(
            state=State.MUTED if self._muted else self._state,
            detail="",
            mode=self._mode,
            muted=self._muted,
            microphone_closed=closed,
            ringing=self._ringing,
            saved=self._status,
            conversation=self._uuid,
            owner=self._owner,
        )

    def current(self, owner: str, before: int | None, limit: int) -> LiveConversation:
        if owner != self._owner:
            raise NoConversationError
        older = [e for e in self._entries if before is None or e.number < before]
        return LiveConversation(
            uuid=self._uuid,
            owner=self._owner,
            kind=self._kind,
            title=self._title,
            begun=self._begun,
            continued=self._continued,
            saved=self._status,
            last_number=self._next - 1,
            entries=older[-limit:],
            more=len(older) > limit,
            reply=self._reply,
        )

    # What the page asks.

    async def begin(
        self, owner: str, *, chat: str | None, new: bool, save: bool | None, mode: Mode | None
    ) -> Begun:
        if chat:
            await self._carry_on(owner, chat)
        elif new or owner != self._owner:
            self._fresh(owner)
        if save is not None and not self._begun:
            self._saved = save
        if mode:
            await self.set_mode(mode)
        self.events.publish(ConversationOpened(self._uuid, self._owner, self._title))
        self.events.publish(SavingChanged(self._status))
        return Begun(self._uuid, ready=True)

    async def _carry_on(self, owner: str, chat: str) -> None:
        thread = await self.store.thread(owner, chat)
        if thread.conversation.kind == "pane":
            raise PaneError
        if chat == self._uuid:
            return
        thread = await self.store.carry_on(owner, chat)
        self._fresh(owner)
        self._uuid, self._title = chat, thread.conversation.title
        self._kind, self._begun, self._continued = thread.conversation.kind, True, True
        self._next = thread.conversation.next_entry
        self._entries = [
            LiveEntry(e.number, e.kind, e.text, e.status, e.input_mode, e.created, None, saved=True)
            for e in thread.entries
        ]

    async def send(self, owner: str, number: int, key: str, text: str) -> int:
        if (owner, key) in self._keys:
            return self._keys[owner, key]
        if owner != self._owner:
            self._fresh(owner)
            self.events.publish(ConversationOpened(self._uuid, owner, ""))
        if number != self._next:
            raise StaleNumberError(self._next - 1)
        taken = await self._ask(text, "text")
        self._keys[owner, key] = taken
        self._replying = asyncio.create_task(self._answer(self._mode is Mode.VOICE))
        return taken

    async def arrived(self, owner: str, key: str) -> int | None:
        return self._keys.get((owner, key))

    def stop(self) -> None:
        self.ring(None)
        if self._replying:
            self._replying.cancel()

    async def set_mode(self, mode: Mode, owner: str | None = None) -> None:
        if mode is not self._mode:
            self._mode = mode
            self._muted = self._muted and mode is Mode.TEXT
            self.events.publish(ModeChanged(mode))
            self.events.publish(MuteChanged(self._muted, mode is Mode.TEXT))

    async def set_muted(self, muted: bool) -> None:
        if self.muted_by_button and not muted:
            raise UsageError(
                "muted-by-button",
                "Echo was muted at the device.",
                "Hold its button for two seconds.",
            )
        self._muted = muted
        self.events.publish(MuteChanged(muted, muted or self._mode is Mode.TEXT))
        self._tell(State.MUTED if muted else State.IDLE)

    # What people in the room do.

    async def wake(self, question: str = "What is the weather like?") -> None:
        """Somebody speaks, and is answered; done when the answer is."""
        if self._owner != OWNER:
            self._fresh(OWNER)
            self.events.publish(ConversationOpened(self._uuid, OWNER, ""))
        self._tell(State.LISTENING)
        words = question.split()
        for n in range(1, len(words) + 1):
            self.events.publish(PartialTranscript(" ".join(words[:n])))
            await asyncio.sleep(self.pace / 4)
        await self._ask(question, "voice")
        self._replying = asyncio.create_task(self._answer(True))
        with contextlib.suppress(asyncio.CancelledError):
            await self._replying

    def ring(self, name: str | None) -> None:
        if name != self._ringing:
            self.events.publish(RingingChanged(name is not None, name or self._ringing or ""))
            self._ringing = name

    def notice_forgotten(self, conversations: frozenset[str], entries: Mapping[str, Any]) -> None:
        self.events.publish(
            EntriesForgotten(
                conversations, {name: frozenset(numbers) for name, numbers in entries.items()}
            )
        )
        if self._uuid in conversations:
            self.stop()
            self._fresh(self._owner)
            self.events.publish(ConversationOpened(self._uuid, self._owner, ""))

    async def announce(self, text: str) -> None:
        self.announced.append(text)

    def false_wake(self) -> None:
        self.false_wakes += 1

    async def close(self) -> None:
        if self._replying:
            self._replying.cancel()
            await asyncio.gather(self._replying, return_exceptions=True)

    # How it does it.

    @property
    def _status(self) -> Saved:
        return Saved.SAVED if self._saved else Saved.NOT_SAVED

    def _tell(self, state: State) -> None:
        self._state = state
        self.events.publish(StateChanged(state))

    async def _ask(self, text: str, input_mode: str) -> int:
        if not self._begun:
            self._begun, self._title = True, text
            if self._saved:
                self._kind = "voice" if input_mode == "voice" else "chat"
                self.store.start(NewConversation(self._kind, self._owner, text, self._uuid))
        confidence = 0.9 if input_mode == "voice" else 1.0
        number = self._add("user", text, Status.COMPLETE, input_mode, confidence)
        self.events.publish(QuestionAsked(text, confidence, input_mode == "voice"))
        return number

    async def _answer(self, spoken: bool) -> None:
        async with self._turns:
            clauses = self.answers.pop(0) if self.answers else ANSWER
            uuid_then, said, status = self._uuid, "", Status.COMPLETE
            self._tell(State.THINKING)
            try:
                await asyncio.sleep(self.pace)
                self._tell(State.SPEAKING if spoken else State.THINKING)
                for clause in clauses:
                    if clause.startswith("tool:"):
                        self.events.publish(ToolUsed("clock", clause.removeprefix("tool:")))
                        continue
                    said = f"{said} {clause}".strip()
                    self._reply = said
                    self.events.publish(ReplyClause(clause))
                    await asyncio.sleep(self.pace)
            except asyncio.CancelledError:
                status = Status.INTERRUPTED
            self._reply = None
            if self._uuid == uuid_then:
                self._add("assistant", said, status, None, None)
            self.events.publish(ReplyEnded(status, said))
            self._tell(State.IDLE)

    def _add(
        self,
        kind: EntryKind,
        text: str,
        status: Status,
        input_mode: Any,  # noqa: ANN401
        confidence: float | None,
    ) -> int:
        number, self._next = self._next, self._next + 1
        created = SystemClock().now().created
        self._entries.append(
            LiveEntry(number, kind, text, status, input_mode, created, confidence, self._saved)
        )
        if self._saved:
            extra = {} if confidence is None else {"confidence": confidence}
            self.store.write(
                NewEntry(self._uuid, number, kind, (text,), status, input_mode, extra=extra)
            )
        self.events.publish(
            EntryAdded(self._uuid, self._owner, number, kind, text, status, input_mode, created)
        )
        return number


@dataclass
class Stand:
    """url: of the page, without a slash at the end."""

    server: WebServer
    live: FakeTalk
    store: Store
    state: StateStore
    events: Events
    folder: Path
    secure: bool
    environ: Mapping[str, str]
    loaded: Loaded

    @property
    def url(self) -> str:
        return f"{'https' if self.secure else 'http'}://127.0.0.1:{self.server.port}"

    def code(self, owner: str = OWNER) -> str:
        return self.server.codes.new(owner, 8)

    def pairing_url(self, owner: str = OWNER) -> str:
        return f"{self.url}/#pair={self.code(owner)}"

    async def change(self, name: str, value: Value) -> Loaded:
        """As the service does it."""
        changed = set_changed(name, value, self.environ)
        self.loaded = replace(
            changed, settings=replace(changed.settings, web=self.loaded.settings.web)
        )
        self.events.publish(SettingChanged(name))
        return self.loaded


@asynccontextmanager
async def stand(
    folder: Path, web: WebSettings | None = None, *, secure: bool = False, filled: bool = True
) -> AsyncIterator[Stand]:
    """The server on a free port, unless `web` says otherwise; data and state are in the folder."""
    config = folder / "config.toml"
    config.write_text(f'[paths]\nstate = "{folder / "state"}"\n')
    environ = {"HEY_ECHO_CONFIG": str(config)}
    loaded = load(environ)
    web = web or WebSettings(port=0)
    loaded = replace(loaded, settings=replace(loaded.settings, web=web))
    if secure:
        tls.create(loaded.settings, folder / "state")
    made: list[Stand] = []

    def on_event(event: StoreEvent) -> None:
        if isinstance(event, Forgotten) and made:
            deleted = event.deleted
            made[0].live.notice_forgotten(frozenset(deleted.conversations), deleted.entries)

    store = await Store.open(folder / "history.db", on_event=on_event)
    state = StateStore(state_file(folder / "state"))
    events = Events()
    live = FakeTalk(events, store)
    if filled:
        await fill(store)
    parts = Parts(
        loaded=lambda: made[0].loaded,
        change=lambda name, value: made[0].change(name, value),
        live=live,
        history=store,
        events=events,
        rates=Rates(),
        announce=live.announce,
    )
    server = WebServer(parts, state)
    made.append(Stand(server, live, store, state, events, folder, secure, environ, loaded))
    try:
        await server.open()
        async with asyncio.timeout(60):
            await server.listening()
        yield made[0]
    finally:
        await live.close()
        await server.close()
        await store.close()
        state.close()


# What is in the history.

Said = tuple[EntryKind, str] | tuple[EntryKind, str, Status]

CONVERSATIONS: tuple[tuple[ConversationKind, str, str, tuple[Said, ...]], ...] = (
    (
        "voice",
        OWNER,
        "How many people live in Lima?",
        (
            ("user", "How many people live in Lima?"),
            ("assistant", "About ten million people live in Lima, the capital of Peru."),
            ("user", "And in Tokyo?"),
            ("assistant", "Tokyo has about fourteen million", Status.INTERRUPTED),
        ),
    ),
    (
        "chat",
        OWNER,
        "A letter to the landlord",
        (
            ("user", "Help me write to my landlord about the heating."),
            ("assistant", "Dear Ms. Moreno, the heating in flat 12 has been cold since Monday."),
            ("notice", CARRIED_ON),
            ("user", "Make it friendlier."),
            ("assistant", "Dear Ms. Moreno, I hope you are well. Could someone look at it?"),
        ),
    ),
    (
        "pane",
        OWNER,
        "build",
        (
            ("user", "Run the tests."),
            ("action", "Sent to the pane build: make test"),
            ("tool", "All tests passed."),
        ),
    ),
    (
        "voice",
        "bob",
        "Where are my keys?",
        (
            ("user", "Where are my keys?"),
            ("assistant", "I cannot see them, but the drawer is where they were last time."),
        ),
    ),
)


async def fill(store: Store) -> list[str]:
    """Some conversations of two owners, one long, one with a picture; their uuids."""
    names = []
    for kind, owner, title, said in CONVERSATIONS:
        new = NewConversation(kind, owner, title)
        store.start(new)
        for number, one in enumerate(said, 1):
            entry_kind, text = one[0], one[1]
            parts: tuple[Part, ...] = (text,)
            if kind == "chat" and number == 1:
                parts = (text, Image("image/png", PNG, "heating.png"))
            mode: Any = ("voice" if kind == "voice" else "text") if entry_kind == "user" else None
            of = one[2] if len(one) == 3 else Status.COMPLETE
            extra = {"confidence": 0.55} if text == "And in Tokyo?" else {}
            store.write(NewEntry(new.uuid, number, entry_kind, parts, of, mode, extra=extra))
        store.end(new.uuid)
        names.append(new.uuid)
    long = NewConversation("voice", OWNER, "Sums, many of them")
    store.start(long)
    for n in range(60):
        said = (("user", f"What is {n} plus {n}?"), ("assistant", f"It is {2 * n}."))
        for at, line in enumerate(said, 2 * n + 1):
            store.write(NewEntry(long.uuid, at, line[0], (line[1],)))
    await store.end(long.uuid)
    return [*names, long.uuid]


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument("--tls", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="echo-stand-") as folder:
        web = WebSettings(port=arguments.port)
        async with stand(Path(folder), web, secure=arguments.tls) as there:
            questions = itertools.cycle(("What is the weather like?", "How old is the moon?"))
            print("Enter: another code. NAME: one for that owner. say: somebody asks. q: the end.")
            print(there.pairing_url(), flush=True)
            while (line := (await asyncio.to_thread(input)).strip()) != "q":
                if line == "say":
                    await there.live.wake(next(questions))
                else:
                    print(there.pairing_url(line or OWNER), flush=True)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt, EOFError):
        asyncio.run(main())
