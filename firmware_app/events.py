"""What rooms tell each other. Events may be lost for a slow listener; entries never are."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from firmware_app.traces import Outcome, Trace


class State(StrEnum):
    STARTING = "starting"
    IDLE = "idle"
    LISTENING = "listening"
    THINKING = "thinking"
    SPEAKING = "speaking"
    MUTED = "muted"
    RECONNECTING = "reconnecting"
    ERROR = "error"


class Status(StrEnum):
    """How a reply ended."""

    COMPLETE = "complete"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


class Mode(StrEnum):
    """How people talk with Echo: by voice, or by text alone with the microphone closed."""

    VOICE = "voice"
    TEXT = "text"


class Saved(StrEnum):
    """Whether what is said now is kept."""

    SAVED = "saved"
    NOT_SAVED = "not saved"
    NOT_SAVING = "history not saving"  # it should be, and cannot


@dataclass(frozen=True, slots=True)
class StateChanged:
    state: State
    detail: str = ""


@dataclass(frozen=True, slots=True)
class WakeWordHeard:
    word: str
    score: float


@dataclass(frozen=True, slots=True)
class PartialTranscript:
    text: str


@dataclass(frozen=True, slots=True)
class QuestionAsked:
    """The question was committed: the final transcript, or a typed message."""

    text: str
    confidence: float
    spoken: bool


@dataclass(frozen=True, slots=True)
class ReplyClause:
    """A clause of the reply begins to sound (or to show, where nothing is spoken)."""

    text: str


@dataclass(frozen=True, slots=True)
class ReplyEnded:
    status: Status
    text: str


@dataclass(frozen=True, slots=True)
class TurnDropped:
    """A wake-up came to nothing: silence, noise, or a second look that said no."""

    outcome: Outcome


@dataclass(frozen=True, slots=True)
class TurnTraced:
    """A turn is over; its trace is complete."""

    trace: Trace


@dataclass(frozen=True, slots=True)
class Notice:
    """Something the owner should know; code is for `hey-echo explain`."""

    code: str
    text: str


@dataclass(frozen=True, slots=True)
class ModelReady:
    name: str


@dataclass(frozen=True, slots=True)
class WakeWasFalse:
    """Somebody said that the turn of this trace was not meant for Echo."""

    trace: Trace


@dataclass(frozen=True, slots=True)
class SavingChanged:
    status: Saved


@dataclass(frozen=True, slots=True)
class CarriedOn:
    """A saved conversation is the open one now."""

    uuid: str
    title: str


@dataclass(frozen=True, slots=True)
class ConversationOpened:
    """This is the open conversation now, or the one that the next question begins (title empty)."""

    uuid: str
    owner: str
    title: str


@dataclass(frozen=True, slots=True)
class EntryAdded:
    """The open conversation has an entry more. created: wall clock in seconds, None if unknown."""

    conversation: str
    owner: str
    number: int
    kind: str
    text: str
    status: Status
    input_mode: str | None
    created: float | None
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class EntriesForgotten:
    """Entries were deleted, or whole conversations where they stand in `conversations`."""

    conversations: frozenset[str]
    entries: Mapping[str, frozenset[int]]


@dataclass(frozen=True, slots=True)
class ModeChanged:
    mode: Mode


@dataclass(frozen=True, slots=True)
class MuteChanged:
    """muted: what was asked for. closed: whether the capture device is closed, as it reports."""

    muted: bool
    closed: bool


@dataclass(frozen=True, slots=True)
class SettingChanged:
    name: str


@dataclass(frozen=True, slots=True)
class RingingChanged:
    """A timer or alarm rings, or no longer does. name: as people would say it."""

    ringing: bool
    name: str


@dataclass(frozen=True, slots=True)
class ToolUsed:
    """A skill or tool did something in this turn; text says what."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class TalkerDirection:
    """Where the talker is, degrees clockwise from the front of the microphone array."""

    degrees: float


Event: TypeAlias = (
    StateChanged
    | WakeWordHeard
    | PartialTranscript
    | QuestionAsked
    | ReplyClause
    | ReplyEnded
    | TurnDropped
    | TurnTraced
    | WakeWasFalse
    | Notice
    | ModelReady
    | SavingChanged
    | CarriedOn
    | ConversationOpened
    | EntryAdded
    | EntriesForgotten
    | ModeChanged
    | MuteChanged
    | SettingChanged
    | RingingChanged
    | ToolUsed
    | TalkerDirection
)


class Listener:
    """One listener's bounded queue: when it is full the oldest event goes."""

    def __init__(self, size: int) -> None:
        self._events: deque[Event] = deque(maxlen=size)
        self._arrived = asyncio.Event()
        self._closed = False

    def offer(self, event: Event) -> None:
        self._events.append(event)
        self._arrived.set()

    def close(self) -> None:
        self._closed = True
        self._arrived.set()

    def waiting(self) -> Iterator[Event]:
        """Take what has come so far, without waiting for more."""
        while self._events:
            yield self._events.popleft()

    async def __aiter__(self) -> AsyncIterator[Event]:
        while True:
            while self._events:
                yield self._events.popleft()
            if self._closed:
                return
            self._arrived.clear()
            await self._arrived.wait()


class Events:
    """Hands each event to every listener, without waiting for any. For the loop's thread alone."""

    def __init__(self) -> None:
        self._listeners: set[Listener] = set()

    def publish(self, event: Event) -> None:
        for listener in self._listeners:
            listener.offer(event)

    def listen(self, size: int = 256) -> Listener:
        listener = Listener(size)
        self._listeners.add(listener)
        return listener

    def unlisten(self, listener: Listener) -> None:
        self._listeners.discard(listener)
        listener.close()
