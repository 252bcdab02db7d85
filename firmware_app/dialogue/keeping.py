"""Keeps the open conversation: in memory always, and in the history where it may be saved."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from firmware_app.dialogue.conversation import Conversation, Entry, as_kept
from firmware_app.dialogue.prompt import NO_SUMMARY, Summary
from firmware_app.engines import EngineNames, Usage
from firmware_app.errors import EchoError, StorageError
from firmware_app.events import (
    ConversationOpened,
    EntriesForgotten,
    EntryAdded,
    Event,
    Saved,
    SavingChanged,
    Status,
)
from firmware_app.history.faults import NoConversationError, NotSavedError, PaneError
from firmware_app.history.records import EntryKind, InputMode, NewConversation, NewEntry, title_of
from firmware_app.history.statements import Deleted
from firmware_app.history.store import Pending, Store
from firmware_app.history.usage import Totals
from firmware_app.settings import Settings

log = logging.getLogger(__name__)

T = TypeVar("T")

CARD_SECONDS = 2.0  # that someone waits for the card where a sentence depends on it
EARLIER_ENTRIES = 4000  # of an old conversation, by which a question is understood
_PAGE = 200


@dataclass(frozen=True, slots=True)
class Asked:
    """A question that was committed: its conversation, and its number there."""

    conversation: Conversation
    number: int

    @property
    def waits(self) -> bool:
        """Whether an answer to it is still wanted; one that was deleted wants none."""
        return self.number in self.conversation.unanswered


class Keeper:
    """Owns the open conversation; it outlives the engines and whoever is connected.

    publish: told whenever what is said is saved, not saved, or cannot be saved; of each entry; of
    what is deleted; and when another conversation is the open one.
    switch: changes the setting voice.save_conversations; None where there is no file for it.
    """

    def __init__(
        self,
        settings: Settings,
        publish: Callable[[Event], None] = lambda event: None,
        switch: Callable[[bool], Awaitable[None]] | None = None,
    ) -> None:
        self.room_owner = settings.dialogue.owner
        self.conversation = Conversation(self.room_owner)
        self.meters: Callable[[], Mapping[str, Usage]] = dict
        self._idle_seconds = settings.dialogue.conversation_minutes * 60
        self._saving = settings.voice.save_conversations
        self.voice_history: Literal["off", "today", "all"] = settings.voice.history
        self._publish = publish
        self._switch = switch
        self._store: Store | None = None
        self._aside: list[Conversation] = []  # not open, with questions that wait for their answer
        self._unusable = False
        self._told: Saved | None = None
        self._idle: asyncio.TimerHandle | None = None
        self._writes: set[asyncio.Task[None]] = set()

    def keep_in(self, store: Store | None) -> None:
        """From now on save there; None where there should be a history and is none."""
        self._store = store
        self._unusable = store is None
        self.tell()

    def end(self) -> None:
        """End the open conversation in good order; the store can be closed then."""
        self._end(self.conversation)

    async def settled(self) -> None:
        """Wait until what is to be written now is on the card, or the card has failed to answer."""
        if self._writes:
            await asyncio.wait(set(self._writes), timeout=CARD_SECONDS)

    async def close(self) -> None:
        """Wait for what is under way; the store has been closed."""
        if self._idle:
            self._idle.cancel()
        await asyncio.gather(*self._writes)

    @property
    def store(self) -> Store | None:
        """The history, where there is one."""
        return self._store

    # Whether it is saved.

    @property
    def status(self) -> Saved:
        return self.status_of(self.conversation)

    def status_of(self, conversation: Conversation) -> Saved:
        wanted = conversation.saved and (conversation.begun or self._saving)
        if not wanted or not (self._store or self._unusable):
            return Saved.NOT_SAVED
        return Saved.SAVED if self._store and self._store.saving else Saved.NOT_SAVING

    def tell(self) -> None:
        """Tell of the status, where it is another one."""
        if self._told is not (status := self.status):
            self._told = status
            self._publish(SavingChanged(status))

    def apply(self, settings: Settings) -> None:
        """Off counts from the next answer, on from the next conversation."""
        self._saving = settings.voice.save_conversations
        self.voice_history = settings.voice.history
        if not self._saving:
            for conversation in (self.conversation, *self._aside):
                if conversation.begun:
                    self.leave_unsaved(conversation)
        self.tell()

    async def set_saving(self, saving: bool) -> bool:
        """Change the setting. Whether it is as wished now: something may stand above it."""
        if self._switch is None:
            return False
        try:
            await self._switch(saving)
        except EchoError as error:
            log.error("saving cannot be switched: %s", error)
            return False
        return self._saving is saving

    def leave_unsaved(self, conversation: Conversation | None = None) -> None:
        """Save nothing more of it, else of the open one. What was saved before stays."""
        conversation = conversation or self.conversation
        if not conversation.saved:
            return
        conversation.leave_unsaved()
        if self._store and conversation.begun:
            if withdrawn := conversation.withdrawn:
                self._track(
                    conversation,
                    self._store.delete_entries(None, conversation.uuid, withdrawn),
                )
            self._track(conversation, self._store.end(conversation.uuid))
        self._wait_for_idleness()
        self.tell()

    # What is said.

    def turn_begins(self, conversation: Conversation | None = None) -> None:
        """What engines consume from now on counts, if this becomes a conversation's first turn.

        conversation: that it belongs to, where that is not the open one.
        """
        conversation = conversation or self.conversation
        if not conversation.begun:
            conversation.usage = Totals()
        self._note_usage(conversation)

    def ask(
        self,
        text: str,
        input_mode: InputMode,
        engines: EngineNames,
        confidence: float,
        *,
        into: Conversation | None = None,
        key: str = "",
    ) -> Asked:
        """A question was committed, to the open conversation unless told where to.

        key: the page's own name for a typed one.
        """
        conversation = into or self.conversation
        if not conversation.begun:
            self._begin(conversation, text, input_mode)
        asked = Asked(conversation, conversation.next_number)
        conversation.unanswered.add(asked.number)
        if conversation is not self.conversation and conversation not in self._aside:
            self._aside.append(conversation)
        spoken = input_mode == "voice"
        self._add(
            conversation,
            "user",
            text,
            input_mode=input_mode,
            engines={"recogniser": engines.recogniser} if spoken else {},
            confidence=round(confidence, 3) if spoken else None,
            key=key,
        )
        return asked

    def used(self, asked: Asked, tool: str, text: str, input_mode: InputMode) -> None:
        """A tool found or did something for this question. Its arguments are never kept."""
        if asked.waits:
            self._add(
                asked.conversation,
                "tool",
                text,
                input_mode=input_mode,
                engines={"tool": tool},
                answers=asked.number,
            )

    def answer(
        self,
        asked: Asked,
        text: str,
        status: Status,
        input_mode: InputMode,
        engines: EngineNames,
    ) -> None:
        """The answer as far as it got. One whose question was deleted meanwhile goes with it."""
        if not asked.waits:
            return
        conversation = asked.conversation
        took_part = {"model": engines.model, "voice": engines.voice}
        self._add(
            conversation,
            "assistant",
            text,
            status=status,
            input_mode=input_mode,
            engines={job: name for job, name in took_part.items() if name},
            answers=asked.number,
        )
        conversation.unanswered.discard(asked.number)
        self._keep_usage(conversation)
        if conversation in self._aside and not conversation.unanswered:
            self._aside.remove(conversation)
            self._end(conversation)

    def sum_up(self, conversation: Conversation, summary: Summary) -> None:
        """Keep the running summary as the conversation is kept: in memory alone, or saved too."""
        conversation.summary = summary
        if self._store and conversation.saved:
            kept = self._store.set_summary(conversation.uuid, summary.text, summary.through)
            self._track(conversation, kept)

    async def earlier(self, conversation: Conversation) -> list[Entry]:
        """The saved entries of a carried-on conversation before those in memory, oldest first."""
        if conversation.earlier is not None or not (store := self._store):
            return conversation.earlier or []
        entries = conversation.entries
        first = entries[0].number if entries else conversation.next_number
        found: list[Entry] = []
        number = max(0, first - 1 - EARLIER_ENTRIES) if conversation.continued else first
        try:
            while number < first - 1:
                some = await store.entries_after(None, conversation.uuid, number, _PAGE)
                found += [as_kept(entry) for entry in some if entry.number < first]
                if not some:
                    break
                number = some[-1].number
        except EchoError:  # deleted meanwhile, or it cannot be read
            return []
        conversation.earlier = found
        return found

    # Which conversation is open.

    def begin_another(self, owner: str | None = None) -> None:
        """End the open conversation; the next question begins one of its owner's, or of another's.

        One in which questions wait is ended when they are answered.
        """
        self.open(Conversation(owner or self.conversation.owner))

    def open(self, conversation: Conversation) -> None:
        """Let this be the open conversation; the one that was it ends."""
        before = self.conversation
        if conversation is before:
            return
        if conversation in self._aside:
            self._aside.remove(conversation)
        if before.unanswered:
            self._aside.append(before)
        else:
            self._end(before)
        self._open(conversation)

    def take_back(self) -> None:
        """Someone speaks in the room: that is its owner, unless another has meant to speak."""
        conversation = self.conversation
        if conversation.owner != self.room_owner and not conversation.by_voice:
            self.begin_another(self.room_owner)

    async def find(self, beginning: str, owner: str) -> str:
        """The uuid that begins so, of a conversation of this owner's that may be carried on.

        Raises NoConversationError for an unknown or foreign one, PaneError for a pane's.
        """
        if not self._store:
            raise NoConversationError
        uuid = await self._store.by_beginning(owner, beginning)
        if (await self._store.thread(owner, uuid)).conversation.kind == "pane":
            raise PaneError
        return uuid

    async def carry_on(self, uuid: str, owner: str, *, save: bool = True) -> Conversation:
        """End the open conversation, and go on with a saved one that `find` has found.

        save: False writes nothing, as while saving is off.
        Raises NoConversationError when it is gone, NotSavedError when the card does not take that.
        """
        for conversation in (self.conversation, *self._aside):
            if conversation.uuid == uuid:
                self.open(conversation)
                return conversation
        if not (store := self._store):
            raise NoConversationError
        saving = self._saving and save
        if saving:
            try:
                thread = await self._in_time(store.carry_on(owner, uuid))
            except NotSavedError:
                self._track(self.conversation, store.end(uuid))  # should it come to pass later
                raise
        else:
            thread = await store.thread(owner, uuid)
        self.open(Conversation.carried_on(thread))
        if not saving:
            self.conversation.leave_unsaved()
        elif not self._saving:  # switched off meanwhile
            self.leave_unsaved()
        self._wait_for_idleness()
        self.tell()
        return self.conversation

    async def number_of_key(self, owner: str, key: str) -> int | None:
        """The number of a saved entry of this owner's with this key, as far as can be read."""
        if self._store:
            with contextlib.suppress(StorageError):
                return await self._store.number_of_key(owner, None, key)
        return None

    # What is deleted.

    async def delete(self, conversation: Conversation, question: int | None = None) -> bool:
        """Delete the open conversation, or its last exchange, which began with a question.

        Whether copies on the device still hold it. Raises NotSavedError when the card does not
        take that now; it is tried again.
        """
        store, pending = self._store, None
        if store and conversation.begun and conversation.is_kept(question or 1):
            if question is None:
                pending = store.delete(conversation.owner, conversation.uuid)
            else:
                pending = store.delete_entries(
                    conversation.owner, conversation.uuid, conversation.exchange(question)
                )
        if question is None:
            self._publish(EntriesForgotten(frozenset([conversation.uuid]), {}))
            self._open(Conversation(conversation.owner))
        else:
            numbers = conversation.exchange(question)
            conversation.forget(numbers)
            self._publish(EntriesForgotten(frozenset(), {conversation.uuid: numbers}))
        if not store or not pending:
            return False
        try:
            deleted = await self._in_time(pending)
        except NoConversationError:
            return False  # someone else was faster
        with contextlib.suppress(StorageError):
            return bool(await store.copies(deleted.touched))
        return False

    def forgotten(self, deleted: Deleted) -> None:
        """Something was deleted, by whomever: what is open must not go on remembering it."""
        entries = {uuid: frozenset(numbers) for uuid, numbers in deleted.entries.items()}
        for conversation in (self.conversation, *self._aside):
            if conversation.uuid in deleted.conversations:
                self._forget_all(conversation)
            elif numbers := entries.pop(conversation.uuid, None):
                # A question that was withdrawn from the history alone goes on in memory.
                entries[conversation.uuid] = frozenset(filter(conversation.is_kept, numbers))
                summed_up = conversation.summary.text
                conversation.forget(entries[conversation.uuid])
                if summed_up and not conversation.summary.text:  # one may be on its way to the card
                    self.sum_up(conversation, NO_SUMMARY)
        entries = {uuid: numbers for uuid, numbers in entries.items() if numbers}
        if deleted.conversations or entries:
            self._publish(EntriesForgotten(deleted.conversations, entries))
        self.tell()

    # Behind it.

    def _forget_all(self, conversation: Conversation) -> None:
        """It was deleted. One that is being spoken goes on unsaved; else the next is another."""
        spoken = bool(conversation.unanswered)
        conversation.leave_unsaved()
        conversation.forget({entry.number for entry in conversation.entries})
        if conversation in self._aside:
            self._aside.remove(conversation)
        elif not spoken:
            self._open(Conversation(conversation.owner))

    def _begin(self, conversation: Conversation, question: str, input_mode: InputMode) -> None:
        conversation.begun = True
        conversation.kind = "voice" if input_mode == "voice" else "chat"
        conversation.title = title_of(question)
        conversation.created = time.time()
        if not self._saving or not (self._store or self._unusable):
            conversation.leave_unsaved()
        if self._store and conversation.saved:
            self._note_usage(conversation)
            new = NewConversation(
                conversation.kind,
                conversation.owner,
                conversation.title,
                conversation.uuid,
                conversation.usage.as_json(),
            )
            self._track(conversation, self._store.start(new))

    def _add(
        self,
        conversation: Conversation,
        kind: EntryKind,
        text: str,
        *,
        status: Status = Status.COMPLETE,
        input_mode: InputMode,
        engines: Mapping[str, str],
        confidence: float | None = None,
        answers: int | None = None,
        key: str = "",
    ) -> None:
        question = conversation.last_question
        if question and answers == question.number:
            answers = None  # nothing came between
        entry = conversation.add(kind, text, status, input_mode, confidence, answers)
        extra: dict[str, Any] = {"confidence": confidence, "answers": answers}
        if self._store and conversation.saved:
            new = NewEntry(
                conversation.uuid,
                entry.number,
                kind,
                (text,),
                status,
                input_mode,
                engines,
                key,
                {name: value for name, value in extra.items() if value is not None},
            )
            self._track(conversation, self._store.write(new))
        self._publish(
            EntryAdded(
                conversation.uuid,
                conversation.owner,
                entry.number,
                kind,
                text,
                status,
                input_mode,
                entry.created,
                confidence,
            )
        )
        self._wait_for_idleness()
        self.tell()

    def _open(self, conversation: Conversation) -> None:
        if self._idle:
            self._idle.cancel()
        self.conversation = conversation
        if not conversation.continued and not conversation.exchanges():
            conversation.usage = Totals()  # what was consumed while it waited was another's
        self._note_usage()
        self._publish(ConversationOpened(conversation.uuid, conversation.owner, conversation.title))
        self.tell()

    def _end(self, conversation: Conversation) -> None:
        if self._store and conversation.begun and conversation.saved:
            self._keep_usage(conversation)
            self._track(conversation, self._store.end(conversation.uuid))

    def _wait_for_idleness(self) -> None:
        if self._idle:
            self._idle.cancel()
        self._idle = asyncio.get_running_loop().call_later(self._idle_seconds, self._idle_over)

    def _idle_over(self) -> None:
        if not self.conversation.unanswered:  # else its answer starts the time anew
            self.begin_another(self.room_owner)

    def _note_usage(self, conversation: Conversation | None = None) -> None:
        conversation = conversation or self.conversation
        for engine, meter in self.meters().items():
            conversation.usage.note(engine, meter)

    def _keep_usage(self, conversation: Conversation) -> None:
        if conversation is self.conversation:
            self._note_usage()
        if self._store and conversation.saved:
            usage = conversation.usage.as_json()
            self._track(conversation, self._store.set_usage(conversation.uuid, usage))

    async def _in_time(self, pending: Pending[T]) -> T:
        try:
            async with asyncio.timeout(CARD_SECONDS):
                return await pending
        except TimeoutError:
            reason = self._store.reason if self._store else ""
            raise NotSavedError(reason or "the card does not answer") from None

    def _track(self, conversation: Conversation, pending: Pending[T]) -> None:
        """See what becomes of a write that nobody waits for."""
        task = asyncio.create_task(self._see(conversation, pending))
        self._writes.add(task)
        task.add_done_callback(self._writes.discard)

    async def _see(self, conversation: Conversation, pending: Pending[T]) -> None:
        try:
            await pending
        except NotSavedError:
            return  # the store tells of it, and marks what is missing
        except EchoError as error:
            if conversation.saved:
                log.warning("the rest of a conversation is not saved: %s", error.code)
                conversation.leave_unsaved()
                if self._store:
                    self._track(conversation, self._store.end(conversation.uuid))
                self.tell()
