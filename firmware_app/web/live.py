"""The live events as Server-Sent Events: told to whom they concern, and once more after a gap."""

import asyncio
import contextlib
import logging
import secrets
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from aiohttp import web

from firmware_app.dialogue.live import Situation
from firmware_app.errors import EchoError
from firmware_app.events import (
    ConversationOpened,
    EntriesForgotten,
    EntryAdded,
    Event,
    Listener,
    ModeChanged,
    MuteChanged,
    Notice,
    PartialTranscript,
    ReplyClause,
    ReplyEnded,
    RingingChanged,
    SavingChanged,
    SettingChanged,
    StateChanged,
    ToolUsed,
    TurnDropped,
)
from firmware_app.settings_layers import value_of
from firmware_app.web.answers import encode
from firmware_app.web.asked import query
from firmware_app.web.door import Connection
from firmware_app.web.entries import entry_json
from firmware_app.web.pairings import Pairing
from firmware_app.web.parts import Parts
from firmware_app.web.problems import WebError
from firmware_app.web.security import PAIRING
from firmware_app.web.settings import SHOWN
from firmware_app.web.voice import conversation_json

log = logging.getLogger(__name__)

REPLAYED = 512  # events
LONGEST_REPLAY = 512 * 1024  # bytes
COMMENT_SECONDS = 15.0
WAITING = 4096  # events between rooms and the page; they are taken at the loop's next turn
AT_ONCE = 16  # phones that are written to before the loop's other work has its turn
FOLLOWERS_OF_ONE = 12  # streams of one phone

EVENTS = (
    "ready",
    "state",
    "partial",
    "entry",
    "clause",
    "reply",
    "dropped",
    "tool",
    "notice",
    "opened",
    "saved",
    "forgotten",
    "mode",
    "mute",
    "setting",
    "ringing",
    "revoked",
)

_COMMENT = b": still here\n\n"


class Writer(Protocol):
    def send_now(self, data: bytes) -> bool: ...


@dataclass(slots=True, eq=False)
class Follower:
    """One stream. since: the last event it was told. over: set when it has to end."""

    pairing: Pairing
    writer: Writer
    since: int = 0
    over: asyncio.Event = field(default_factory=asyncio.Event)

    def send(self, chunk: bytes) -> None:
        if not self.writer.send_now(chunk):
            self.over.set()


@dataclass(frozen=True, slots=True)
class Told:
    """An event as it went out. owner: whose alone it is; None is everybody's."""

    number: int
    owner: str | None
    chunk: bytes


class Streams:
    """Turns events into chunks, once for each audience, and writes them to all who follow."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._start = secrets.token_hex(4)
        self._number = 0
        self._floor = 0  # the events after this number can be told again
        self._told: deque[Told] = deque()
        self._told_bytes = 0
        self._outgoing: deque[Told] = deque()
        self._something = asyncio.Event()  # is outgoing
        self._followers: set[Follower] = set()
        self._ended: set[int] = set()  # phones that were revoked
        self._owner = ""  # of the open conversation, as of the last event
        self._listener: Listener | None = None
        self._task: asyncio.Task[None] | None = None

    def open(self) -> None:
        self._owner = self._parts.live.situation.owner
        self._listener = self._parts.events.listen(WAITING)
        self._task = asyncio.create_task(self._run(), name="live events")

    async def close(self) -> None:
        for follower in self._followers:
            follower.over.set()
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._listener:
            self._parts.events.unlisten(self._listener)

    @property
    def last_id(self) -> str:
        return f"{self._start}-{self._number}"

    @property
    def followers(self) -> int:
        return len(self._followers)

    def end(self, pairing: int) -> None:
        """The phone was revoked: its streams end at once."""
        self._ended.add(pairing)
        for follower in [f for f in self._followers if f.pairing.id == pairing]:
            follower.send(self._chunk("revoked", {}, None))
            follower.over.set()

    def join(self, follower: Follower, last_id: str) -> None:
        """Send what it missed and how things are, and everything from now on.

        The replay comes first: whoever takes the snapshot after it, or leaves it, is right.
        """
        if follower.pairing.id in self._ended:
            follower.over.set()
            return
        for event in self._listener.waiting() if self._listener else ():
            self._tell(event)  # or the snapshot would have it, and it would be told once more
        missed = self._missed(follower.pairing.owner, last_id)
        for told in missed or ():
            follower.send(told.chunk)
        ready = self._ready(follower.pairing.owner)
        if last_id and missed is None:
            ready["reset"] = True
        follower.send(self._chunk("ready", ready, self._number))
        follower.since = self._number
        self._followers.add(follower)

    def leave(self, follower: Follower) -> None:
        self._followers.discard(follower)

    def of_phone(self, pairing: int) -> int:
        return sum(follower.pairing.id == pairing for follower in self._followers)

    def _missed(self, owner: str, last_id: str) -> list[Told] | None:
        """None where it cannot be told what was missed."""
        start, _, number = last_id.rpartition("-")
        if start != self._start or not (number.isascii() and number.isdigit()):
            return None
        last = int(number[:20])
        if not self._floor <= last <= self._number:
            return None
        return [t for t in self._told if t.number > last and t.owner in (None, owner)]

    def _ready(self, owner: str) -> dict[str, Any]:
        conversation = None
        with contextlib.suppress(EchoError):  # another owner's, or none
            found = self._parts.live.current(owner, None, CURRENT_ENTRIES)
            conversation = conversation_json(found)
        return {
            "last_id": self.last_id,
            "situation": situation_json(
                self._parts.live.situation, owner, self._parts.loaded().settings.dialogue.owner
            ),
            "conversation": conversation,
        }

    async def _run(self) -> None:
        assert self._listener is not None  # noqa: S101 - open has made it
        async with asyncio.TaskGroup() as group:
            group.create_task(self._comment())
            group.create_task(self._write())
            async for event in self._listener:
                try:
                    self._tell(event)
                except Exception as fault:  # one event must not end the others
                    log.error("an event was not told: %s", type(fault).__name__)

    async def _comment(self) -> None:
        """Silence is how a phone sees that the box is gone."""
        while True:
            await asyncio.sleep(COMMENT_SECONDS)
            for follower in list(self._followers):
                follower.send(_framed(_COMMENT))

    def _tell(self, event: Event) -> None:
        if isinstance(event, ConversationOpened) and event.owner != self._owner:
            self._send(self._owner, "opened", {"conversation": None, "title": "", "ready": True})
            self._owner = event.owner
        for owner, name, data in self._renderings(event):
            self._send(owner, name, data)
        if isinstance(event, EntriesForgotten):
            # What is deleted must not be told again; who missed something begins anew.
            self._told.clear()
            self._told_bytes = 0
            self._floor = self._number

    def _send(self, owner: str | None, name: str, data: dict[str, Any]) -> None:
        self._number += 1
        chunk = self._chunk(name, data, self._number)
        self._told.append(Told(self._number, owner, chunk))
        self._outgoing.append(self._told[-1])
        self._something.set()
        self._told_bytes += len(chunk)
        while len(self._told) > REPLAYED or self._told_bytes > LONGEST_REPLAY:
            oldest = self._told.popleft()
            self._floor = oldest.number
            self._told_bytes -= len(oldest.chunk)

    async def _write(self) -> None:
        """Write what is outgoing, a few phones at a time: the loop has sound to attend to."""
        while await self._something.wait():
            self._something.clear()
            while self._outgoing:
                told = self._outgoing.popleft()
                mine = (f for f in tuple(self._followers) if told.owner in (None, f.pairing.owner))
                for n, follower in enumerate(mine, 1):
                    if follower.since < told.number:
                        follower.since = told.number
                        follower.send(told.chunk)
                    if n % AT_ONCE == 0:
                        await asyncio.sleep(0)

    def _renderings(self, event: Event) -> list[tuple[str | None, str, dict[str, Any]]]:
        """Who is told, the name, and the data; nothing of content to anybody but its owner."""
        mine = self._owner
        match event:
            case StateChanged(state, detail):
                return [(None, "state", {"state": state, "detail": detail})]
            case PartialTranscript(text):
                return [(mine, "partial", {"text": text})]
            case EntryAdded():
                return [(event.owner, "entry", _entry(event))]
            case ReplyClause(text):
                return [(mine, "clause", {"text": text})]
            case ReplyEnded(status, text):
                return [(mine, "reply", {"status": status, "text": text})]
            case TurnDropped(outcome):
                return [(mine, "dropped", {"outcome": outcome})]
            case Notice(code, text):
                room = self._parts.loaded().settings.dialogue.owner
                to = room if code == "alarm-missed" else None  # it names what did not ring
                return [(to, "notice", {"code": code, "text": text})]
            case ToolUsed(name, text):
                return [(mine, "tool", {"name": name, "text": text})]
            case ConversationOpened(uuid, owner, title):
                opened = {"conversation": uuid, "title": title, "ready": True}
                return [(owner, "opened", opened)]
            case EntriesForgotten(conversations, entries):
                return [(None, "forgotten", _forgotten(conversations, entries))]
            case SavingChanged(status):
                return [(None, "saved", {"status": status})]
            case ModeChanged(mode):
                return [(None, "mode", {"mode": mode})]
            case MuteChanged(muted, closed):
                return [(None, "mute", {"muted": muted, "closed": closed})]
            case SettingChanged(name) if name in SHOWN:
                value = value_of(self._parts.loaded().settings, name)
                return [(None, "setting", {"name": name, "value": value})]
            case RingingChanged(ringing, name):
                return self._ringing(ringing, name)
            case _:
                return []

    def _ringing(self, ringing: bool, name: str) -> list[tuple[str | None, str, dict[str, Any]]]:
        """That something rings everybody hears; what it is called concerns the room's owner."""
        room = self._parts.loaded().settings.dialogue.owner
        nameless = {"ringing": ringing, "name": ""}
        return [(None, "ringing", nameless), (room, "ringing", {"ringing": ringing, "name": name})]

    def _chunk(self, name: str, data: dict[str, Any], number: int | None) -> bytes:
        line = b"" if number is None else f"id: {self._start}-{number}\n".encode()
        return _framed(line + f"event: {name}\ndata: ".encode() + encode(data) + b"\n\n")


CURRENT_ENTRIES = 50


def situation_json(situation: Situation, owner: str, room: str) -> dict[str, Any]:
    """Others than the owner of the open conversation see what the light shows.

    room: the owner of what is said in the room, timers among it.
    """
    mine = owner == situation.owner
    ringing = situation.ringing
    return {
        "state": situation.state,
        "detail": situation.detail,
        "mode": situation.mode,
        "muted": situation.muted,
        "microphone_closed": situation.microphone_closed,
        "ringing": ringing if ringing is None or owner == room else "",
        "saved": situation.saved,
        "conversation": situation.conversation if mine else None,
    }


def _entry(event: EntryAdded) -> dict[str, Any]:
    return {"conversation": event.conversation, **entry_json(event, event.confidence)}


def _forgotten(
    conversations: frozenset[str], entries: Mapping[str, frozenset[int]]
) -> dict[str, Any]:
    """For all: whose they were nobody knows any more, and the names alone tell nothing."""
    return {
        "conversations": sorted(conversations),
        "entries": {uuid: sorted(numbers) for uuid, numbers in entries.items()},
    }


def _framed(data: bytes) -> bytes:
    """As a chunk of HTTP/1.1 (RFC 9112, 7.1), made once for all who get it."""
    return b"%x\r\n%b\r\n" % (len(data), data)


class LiveRoutes:
    def __init__(self, streams: Streams) -> None:
        self._streams = streams

    def routes(self) -> list[web.RouteDef]:
        return [web.get("/api/live", self._follow, allow_head=False)]

    async def _follow(self, request: web.Request) -> web.StreamResponse:
        if "text/event-stream" not in request.headers.get("Accept", ""):
            raise WebError(
                "not-acceptable", "This is a stream of events.", "Load the page.", status=406
            )
        if request.version < (1, 1):
            raise WebError(
                "old-http", "The live events need HTTP/1.1.", "Use a newer browser.", status=505
            )
        asked = query(request, "last_id").optional_text("last_id", 40)
        last_id = request.headers.get("Last-Event-ID", "")[:40] or asked or ""
        pairing = request[PAIRING]
        if self._streams.of_phone(pairing.id) >= FOLLOWERS_OF_ONE:
            raise WebError(
                "too-many-streams",
                "This phone follows too often.",
                "Close other tabs.",
                status=429,
                headers={"Retry-After": "30"},
            )
        connection = request.protocol
        assert isinstance(connection, Connection)  # noqa: S101 - the door makes no others
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        response.headers["X-Accel-Buffering"] = "no"
        response.enable_chunked_encoding()
        follower = Follower(pairing, connection)
        connection.when_lost(follower.over.set)
        await response.prepare(request)
        self._streams.join(follower, last_id)
        try:
            await follower.over.wait()
        finally:
            self._streams.leave(follower)
        response.force_close()
        return response
