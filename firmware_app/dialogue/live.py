"""The talk that is going on, as a page or another screen needs it, whoever is awake."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from firmware_app.errors import EchoError, ServiceError, UsageError
from firmware_app.events import Mode, Saved, State


class StaleNumberError(UsageError):
    """A message was not numbered after the last entry; last_id is that one's number."""

    def __init__(self, last_id: int) -> None:
        super().__init__(
            "stale-number",
            f"The conversation has gone on to entry {last_id} meanwhile.",
            f"Send the message again with the number {last_id + 1} and the same key.",
        )
        self.last_id = last_id


def not_awake(fault: EchoError | None) -> ServiceError:
    """What is raised where Echo cannot talk now. fault: why it cannot, where that is known."""
    return ServiceError(
        "not-awake",
        str(fault) if fault else "Echo is still waking up.",
        "Try again in a moment; `hey-echo status` tells more.",
    )


@dataclass(frozen=True, slots=True)
class LiveEntry:
    """One entry of the open conversation. created: wall clock in seconds; None if unknown."""

    number: int
    kind: str
    text: str
    status: str
    input_mode: str | None
    created: float | None
    confidence: float | None
    saved: bool


@dataclass(frozen=True, slots=True)
class LiveConversation:
    """The open conversation from memory, saved or not.

    entries: the newest page of what is in memory, oldest first. more: whether older ones exist in
    memory. continued: whether it was carried on (the page shows the last eight exchanges then).
    last_number: the number that the last entry has; the next message is numbered one more.
    reply: as much of the reply in progress as was said or shown; None where none is.
    """

    uuid: str
    owner: str
    kind: str
    title: str
    begun: bool
    continued: bool
    saved: Saved
    last_number: int
    entries: Sequence[LiveEntry]
    more: bool
    reply: str | None


@dataclass(frozen=True, slots=True)
class Situation:
    """What the light shows, and a page on opening.

    muted: by someone, other than by text mode. microphone_closed: as the device reports.
    ringing: the name of what rings; None where nothing does.
    """

    state: State
    detail: str
    mode: Mode
    muted: bool
    microphone_closed: bool
    ringing: str | None
    saved: Saved
    conversation: str
    owner: str


@dataclass(frozen=True, slots=True)
class Begun:
    """ready: False where a reply in progress is answered first; ConversationOpened tells then."""

    conversation: str
    ready: bool


class Live(Protocol):
    """owner: of the paired phone that asks. Raises EchoError with codes the API maps to statuses.

    "stale-number" (409, with the last number in `StaleNumberError.last_id`), "too-many-messages"
    (429), "not-awake" (503), NoConversationError (404), PaneError (409), NotSavedError (507).
    """

    @property
    def situation(self) -> Situation: ...

    def current(self, owner: str, before: int | None, limit: int) -> LiveConversation:
        """Raises NoConversationError where the open conversation is another owner's."""
        ...

    async def begin(
        self,
        owner: str,
        *,
        chat: str | None,
        new: bool,
        save: bool | None,
        mode: Mode | None,
    ) -> Begun:
        """Carry on `chat`, or open a new one, or keep the open one where it is this owner's.

        save: False saves nothing more of it; anything else leaves that to the setting. mode: to
        talk in from now on. Raises NoConversationError, PaneError, NotSavedError.
        """
        ...

    async def send(self, owner: str, number: int, key: str, text: str) -> int:
        """Accept a typed message; returns the number of its entry. One message for one key.

        Answered when accepted (it may wait for a reply in progress), not when answered. Where
        another owner's conversation is open, it begins one of this owner's, as number 1.
        """
        ...

    async def arrived(self, owner: str, key: str) -> int | None:
        """The entry number of the message with this key, None where it is unknown."""
        ...

    def stop(self) -> None: ...

    async def set_mode(self, mode: Mode, owner: str | None = None) -> None:
        """For the whole device. owner: who means to speak, where the mode is voice."""
        ...

    async def set_muted(self, muted: bool) -> None:
        """Unmuting ends text mode too.

        Raises UsageError "muted-by-button" where only the device may unmute.
        """
        ...

    def false_wake(self) -> None:
        """The last wake-up was not meant for Echo."""
        ...
