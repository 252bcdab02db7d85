"""What is kept: conversations, their entries and images, and when each thing happened."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from firmware_app.events import Status

ConversationKind = Literal["voice", "chat", "pane"]
ConversationState = Literal["active", "ended", "interrupted"]
EntryKind = Literal["user", "assistant", "tool", "action", "notice"]
InputMode = Literal["voice", "text"]

TITLE_LENGTH = 60  # characters


@dataclass(frozen=True, slots=True)
class Image:
    """A picture in an entry. mime: such as image/png."""

    mime: str
    data: bytes
    name: str = ""


Part: TypeAlias = str | Image


@dataclass(frozen=True, slots=True)
class Moment:
    """When something happened.

    created: wall clock in seconds; None while the clock was not to be trusted.
    boot_id, monotonic: the boot it happened in, and the seconds since then.
    """

    created: float | None
    boot_id: str
    monotonic: float


@dataclass(frozen=True, slots=True)
class NewConversation:
    """A conversation to be started. The uuid is its name from the first moment on."""

    kind: ConversationKind
    owner: str
    title: str
    uuid: str = field(default_factory=lambda: str(uuid.uuid4()))
    usage: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NewEntry:
    """An entry to be written. parts: texts and images in their order.

    engines: names by job, such as {"model": "llama/smollm2"}. key: the page's own name for a typed
    message. origin: the conversation and number it was taken from.
    """

    conversation: str
    number: int
    kind: EntryKind
    parts: tuple[Part, ...]
    status: Status = Status.COMPLETE
    input_mode: InputMode | None = None
    engines: Mapping[str, str] = field(default_factory=dict)
    key: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)
    origin: tuple[str, int] | None = None

    @property
    def text(self) -> str:
        return "\n".join(part for part in self.parts if isinstance(part, str))

    @property
    def size(self) -> int:
        """Bytes it takes in memory, about."""
        return 512 + sum(len(p) if isinstance(p, str) else len(p.data) for p in self.parts)


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation as it is kept. Times in seconds of the wall clock; None: time unknown."""

    seq: int
    uuid: str
    kind: ConversationKind
    owner: str
    title: str
    state: ConversationState
    created: float | None
    updated: float | None
    ended: float | None
    next_entry: int
    incomplete: bool
    summary: str
    summary_through: int
    usage: Mapping[str, Any]
    metadata: Mapping[str, Any]

    @property
    def missing(self) -> str:
        """What may be missing, in a sentence for each time saving failed; empty if nothing."""
        return " ".join(_trouble(times) for times in self.metadata.get("trouble", ()))


@dataclass(frozen=True, slots=True)
class ImagePart:
    """An image as an entry names it; its bytes are asked for by entry and part."""

    mime: str
    name: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry as it is kept."""

    conversation: str
    number: int
    kind: EntryKind
    created: float | None
    parts: tuple[str | ImagePart, ...]
    text: str
    metadata: Mapping[str, Any]
    origin: tuple[str, int] | None

    @property
    def status(self) -> Status:
        return Status(self.metadata.get("status", Status.COMPLETE))

    @property
    def input_mode(self) -> InputMode | None:
        mode: InputMode | None = self.metadata.get("input_mode")
        return mode


@dataclass(frozen=True, slots=True)
class Thread:
    """What carrying on needs: a conversation and its last exchanges, oldest first."""

    conversation: Conversation
    entries: tuple[Entry, ...]


def title_of(question: str) -> str:
    """A title after the first question: one line, cut at a word."""
    line = " ".join(question.split())
    if len(line) <= TITLE_LENGTH:
        return line
    cut = line[:TITLE_LENGTH]  # one character more than is kept: room for the ellipsis
    at = cut.rfind(" ")
    return (cut[:at] if at > 0 else cut[:-1]).rstrip(" ,;:-") + "…"


def _trouble(times: Mapping[str, Any]) -> str:
    lost, late = times.get("lost", []), times.get("late", [])
    said = f"Saving failed for a time ({times.get('reason', 'unknown')})."
    if lost:
        said += f" Missing: {_numbers(lost)}."
    elif late:
        said += f" Saved late: {_numbers(late)}; none is known to be missing."
    return said


def _numbers(numbers: list[int]) -> str:
    return ("entry " if len(numbers) == 1 else "entries ") + ", ".join(map(str, numbers))
