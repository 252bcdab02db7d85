"""A conversation in memory: numbered entries, whether or not they are saved."""

import time
import uuid
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from firmware_app.dialogue.prompt import NO_SUMMARY, Exchange, Summary
from firmware_app.events import Status
from firmware_app.history.records import ConversationKind, EntryKind, InputMode, Thread
from firmware_app.history.records import Entry as Kept
from firmware_app.history.usage import Totals


@dataclass(frozen=True, slots=True)
class Entry:
    """One item of a conversation. number counts from 1 and is never given twice.

    created: wall clock in seconds; None where the time is unknown. confidence: of a question that
    was heard. answers: the number of the question that an answer belongs to, where another message
    came between the two; without it that is the last question before.
    """

    number: int
    kind: EntryKind
    text: str
    created: float | None
    status: Status = Status.COMPLETE
    input_mode: InputMode | None = None
    confidence: float | None = None
    answers: int | None = None


class Conversation:
    """A thread of entries; the keeper alone changes it.

    unsaved_from: the number from which on nothing is saved; None while everything is.
    withdrawn: numbers before that which are not saved any more, for want of an answer.
    unanswered: the numbers of the questions that are being answered, or wait for that.
    continued: whether it was carried on. by_voice: whether whoever has it open means to speak.
    summary: of its beginning. earlier: saved entries before those in memory, once they were read.
    """

    def __init__(self, owner: str) -> None:
        self.uuid = str(uuid.uuid4())
        self.owner = owner
        self.kind: ConversationKind = "voice"
        self.title = ""
        self.summary = NO_SUMMARY
        self.earlier: list[Entry] | None = None
        self.created: float | None = None
        self.entries: list[Entry] = []
        self.begun = False  # whether a question was ever committed to it
        self.next_number = 1
        self.unsaved_from: int | None = None
        self.withdrawn: frozenset[int] = frozenset()
        self.unanswered: set[int] = set()
        self.continued = False
        self.by_voice = False
        self.usage = Totals()

    @classmethod
    def carried_on(cls, thread: Thread) -> "Conversation":
        """A saved one, with what it offers as context."""
        kept = thread.conversation
        conversation = cls(kept.owner)
        conversation.begun = conversation.continued = True
        conversation.uuid, conversation.kind = kept.uuid, kept.kind
        conversation.title = kept.title
        if kept.summary:
            conversation.summary = Summary(kept.summary, kept.summary_through)
        conversation.created, conversation.next_number = kept.created, kept.next_entry
        conversation.usage = Totals(kept.usage)
        conversation.entries = [as_kept(entry) for entry in thread.entries]
        return conversation

    @property
    def saved(self) -> bool:
        return self.unsaved_from is None

    def is_kept(self, number: int) -> bool:
        """Whether the entry of this number was to be saved."""
        saved = self.unsaved_from is None or number < self.unsaved_from
        return saved and number not in self.withdrawn

    def add(
        self,
        kind: EntryKind,
        text: str,
        status: Status = Status.COMPLETE,
        input_mode: InputMode | None = None,
        confidence: float | None = None,
        answers: int | None = None,
    ) -> Entry:
        entry = Entry(
            self.take_number(), kind, text, time.time(), status, input_mode, confidence, answers
        )
        self.entries.append(entry)
        return entry

    def take_number(self) -> int:
        """The next number, which is not given again."""
        number, self.next_number = self.next_number, self.next_number + 1
        return number

    def leave_unsaved(self) -> None:
        """Nothing more is saved; a question without its answer is not either."""
        if self.unsaved_from is None:
            self.unsaved_from = self.next_number
            self.withdrawn = frozenset().union(*map(self.exchange, self.unanswered))

    def forget(self, numbers: Collection[int]) -> None:
        """Drop entries that were deleted, and a summary of them; the others keep their numbers."""
        self.entries = [entry for entry in self.entries if entry.number not in numbers]
        self.earlier = None
        self.unanswered.difference_update(numbers)
        if numbers and min(numbers) <= self.summary.through:
            self.summary = NO_SUMMARY
        if not self.entries:
            self.title, self.summary = "", NO_SUMMARY

    @property
    def last_question(self) -> Entry | None:
        """The last one that waits for no answer."""
        return next(
            (
                entry
                for entry in reversed(self.entries)
                if entry.kind == "user" and entry.number not in self.unanswered
            ),
            None,
        )

    def exchanges(self) -> list[Exchange]:
        """Questions with the answers they got, oldest first."""
        return exchanges_of(self.entries)

    def exchange(self, question: int) -> frozenset[int]:
        """The numbers of a question and of all that came of it."""
        return frozenset(
            entry.number for entry, number in _belonging(self.entries) if number == question
        )


def exchanges_of(entries: Iterable[Entry]) -> list[Exchange]:
    """Questions with the answers they got, oldest first."""
    entries = list(entries)
    questions = {entry.number: entry.text for entry in entries if entry.kind == "user"}
    return [
        Exchange(questions[number], entry.text, entry.status, number, entry.number)
        for entry, number in _belonging(entries)
        if entry.kind == "assistant" and number in questions
    ]


def _belonging(entries: Iterable[Entry]) -> Iterator[tuple[Entry, int]]:
    """Each entry with the number of the question it belongs to; 0 where it is to none."""
    last = 0
    for entry in entries:
        if entry.kind == "user":
            last = entry.number
        yield entry, entry.answers or last


def as_kept(entry: Kept) -> Entry:
    return Entry(
        entry.number,
        entry.kind,
        entry.text,
        entry.created,
        entry.status,
        entry.input_mode,
        entry.metadata.get("confidence"),
        entry.metadata.get("answers"),
    )
