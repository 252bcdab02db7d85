"""What goes wrong with a history, told apart by what is to be done about it."""

from pathlib import Path

from firmware_app.errors import StorageError, UsageError
from firmware_app.sqlite import (
    BusyError,
    CantOpenError,
    CorruptError,
    DiskError,
    FullError,
    LockedError,
    NoMemError,
    NotADBError,
    PermissionsError,
    ReadOnlyError,
)

# Faults that may pass: the same write is tried again.
PASSING: dict[type[Exception], str] = {
    FullError: "the card is full",
    ReadOnlyError: "the card is read-only",
    BusyError: "another program holds the database",
    LockedError: "another program holds the database",
    CantOpenError: "the file cannot be opened",
    PermissionsError: "the file may not be opened",
    NoMemError: "there is no memory left",
    DiskError: "the card does not read or write",
}
DAMAGE = (CorruptError, NotADBError)
_CORRUPT_VIRTUAL_TABLE = 267  # SQLITE_CORRUPT_VTAB: sqlite.org/rescode.html
CONNECTION_STANDS = (FullError, BusyError, LockedError)  # after any other, open it anew


def reason_of(fault: Exception) -> str | None:
    """Why a write failed, in words, where it may pass; None where trying again is no use."""
    cause = fault.__cause__ if isinstance(fault, StorageError) else fault
    if isinstance(cause, OSError):
        return (cause.strerror or str(cause)).lower()
    return next((why for kind, why in PASSING.items() if isinstance(cause, kind)), None)


def is_damage(fault: Exception) -> bool:
    cause = fault.__cause__ if isinstance(fault, StorageError) else fault
    return isinstance(cause, DAMAGE)


def is_damage_of_index(fault: Exception) -> bool:
    """Whether only the search index is damaged, which can be made anew."""
    extended: int = getattr(fault, "extendedresult", 0)
    return extended == _CORRUPT_VIRTUAL_TABLE


class NoConversationError(UsageError):
    """There is none of that name, or it is someone else's: the two look alike."""

    def __init__(self) -> None:
        super().__init__(
            "no-conversation",
            "There is no such conversation.",
            "List those there are: hey-echo chats list",
        )


class PaneError(UsageError):
    """A pane thread cannot be carried on as a conversation."""

    def __init__(self) -> None:
        super().__init__(
            "is-a-pane",
            "That thread belongs to a pane.",
            "Use the pane itself, or carry on another conversation.",
        )


class ParentGoneError(StorageError):
    """The conversation of a write was deleted, or is not active: nothing of it is saved."""

    def __init__(self) -> None:
        super().__init__(
            "conversation-gone",
            "The conversation was deleted or has ended, so this was not saved.",
            "Begin a new conversation.",
        )


class NumberTakenError(StorageError):
    """Another entry has that number already; nothing was overwritten."""

    def __init__(self, number: int) -> None:
        super().__init__(
            "number-taken",
            f"Entry {number} of this conversation is there already.",
            "Read the conversation again and go on with its next number.",
        )


class NotSavedError(StorageError):
    """A write was given up."""

    def __init__(self, why: str) -> None:
        super().__init__(
            "history-not-saving",
            f"This was not saved: {why}.",
            "See what is wrong with: hey-echo doctor",
        )


def unreadable(path: Path, fault: Exception) -> StorageError:
    """A read failed; said without what was searched for."""
    why = "it is damaged" if isinstance(fault, DAMAGE) else reason_of(fault) or "it took too long"
    return StorageError(
        "history-unreadable",
        f"The history in {path} cannot be read: {why}.",
        "Try again; if it stays so, run: hey-echo doctor",
    )
