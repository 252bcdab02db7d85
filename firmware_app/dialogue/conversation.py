"""A conversation in memory: numbered entries, whether or not they are saved."""

import time
import uuid
from collections.abc import Collection
from dataclasses import dataclass

from firmware_app.dialogue.prompt import Exchange
from firmware_app.events import Status
from firmware_app.history.records import ConversationKind, EntryKind, InputMode, Thread
from firmware_app.history.usage import Totals


@dataclass(frozen=True, slots=True)
class Entry:
    """One item of a conversation. number counts from 1 and is never given twice.

    created: wall clock in seconds; None where the time is unknown.
    """

    number: int
    kind: EntryKind
    text: str
    created: float | None
    status: Status = Status.COMPLETE
    input_mode: InputMode | None = None


class Conversation:
    """A thread of entries; the keeper alone changes it.

    unsaved_from: the number from which on nothing is saved; None while everything is.
    unanswered: the number of the question that is being answered.
    """

    def __init__(self) -> None:
        self.uuid = str(uuid.uuid4())
        self.kind: ConversationKind = "voice"
        self.title = ""
        self.summary = ""
        self.created: float | None = None
        self.entries: list[Entry] = []
        self.next_number = 1
        self.unsaved_from: int | None = None
        self.unanswered: int | None = None
        self.usage = Totals()

    @classmethod
    def carried_on(cls, thread: Thread) -> "Conversation":
        """A saved one, with what it offers as context."""
        kept = thread.conversation
        conversation = cls()
        conversation.uuid, conversation.kind = kept.uuid, kept.kind
        conversation.title, conversation.summary = kept.title, kept.summary
        conversation.created, conversation.next_number = kept.created, kept.next_entry
        conversation.usage = Totals(kept.usage)
        conversation.entries = [
            Entry(e.number, e.kind, e.text, e.created, e.status, e.input_mode)
            for e in thread.entries
        ]
        return conversation

    @property
    def begun(self) -> bool:
        """Whether a question was ever committed to it."""
        return self.next_number > 1

    @property
    def saved(self) -> bool:
        return self.unsaved_from is None

    def is_kept(self, number: int) -> bool:
        """Whether the entry of this number was to be saved."""
        return self.unsaved_from is None or number < self.unsaved_from

    def add(
        self,
        kind: EntryKind,
        text: str,
        status: Status = Status.COMPLETE,
        input_mode: InputMode | None = None,
    ) -> Entry:
        entry = Entry(self.next_number, kind, text, time.time(), status, input_mode)
        self.next_number += 1
        self.entries.append(entry)
        return entry

    def leave_unsaved(self) -> None:
        """Nothing more is saved; a question without its answer is not either."""
        if self.unsaved_from is None:
            self.unsaved_from = self.unanswered or self.next_number

    def forget(self, numbers: Collection[int]) -> None:
        """Drop entries that were deleted; the numbers of the others stay."""
        self.entries = [entry for entry in self.entries if entry.number not in numbers]
        if self.unanswered in numbers:
            self.unanswered = None
        if not self.entries:
            self.title = self.summary = ""

    @property
    def last_question(self) -> Entry | None:
        return next((entry for entry in reversed(self.entries) if entry.kind == "user"), None)

    def exchanges(self) -> list[Exchange]:
        """Questions with the answers they got, oldest first."""
        found: list[Exchange] = []
        question: Entry | None = None
        for entry in self.entries:
            if entry.kind == "user":
                question = entry
            elif entry.kind == "assistant" and question:
                found.append(Exchange(question.text, entry.text, entry.status))
        return found
