"""Keeps the open conversation: in memory always, and in the history where it may be saved."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Literal, TypeVar

from firmware_app.dialogue.conversation import Conversation
from firmware_app.engines import EngineNames, Usage
from firmware_app.errors import EchoError, StorageError
from firmware_app.events import Saved, Status
from firmware_app.history.faults import NoConversationError, NotSavedError, PaneError
from firmware_app.history.records import EntryKind, InputMode, NewConversation, NewEntry, title_of
from firmware_app.history.statements import Deleted
from firmware_app.history.store import Pending, Store
from firmware_app.history.usage import Totals
from firmware_app.settings import Settings

log = logging.getLogger(__name__)

T = TypeVar("T")

CARD_SECONDS = 2.0  # that someone waits for the card where a sentence depends on it


class Keeper:
    """Owns the open conversation; it outlives the engines and whoever is connected.

    on_status: told whenever what is said is saved, not saved, or cannot be saved.
    switch: changes the setting voice.save_conversations; None where there is no file for it.
    """

    def __init__(
        self,
        settings: Settings,
        on_status: Callable[[Saved], None] = lambda status: None,
        switch: Callable[[bool], Awaitable[None]] | None = None,
    ) -> None:
        self.conversation = Conversation()
        self.meters: Callable[[], Mapping[str, Usage]] = dict
        self._owner = settings.dialogue.owner
        self._idle_seconds = settings.dialogue.conversation_minutes * 60
        self._saving = settings.voice.save_conversations
        self.voice_history: Literal["off", "today", "all"] = settings.voice.history
        self._on_status = on_status
        self._switch = switch
        self._store: Store | None = None
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
        self._end()

    async def close(self) -> None:
        """Wait for what is under way; the store has been closed."""
        if self._idle:
            self._idle.cancel()
        await asyncio.gather(*self._writes)

    # Whether it is saved.

    @property
    def status(self) -> Saved:
        wanted = self.conversation.saved and (self.conversation.begun or self._saving)
        if not wanted or not (self._store or self._unusable):
            return Saved.NOT_SAVED
        return Saved.SAVED if self._store and self._store.saving else Saved.NOT_SAVING

    def tell(self) -> None:
        """Tell of the status, where it is another one."""
        if self._told is not (status := self.status):
            self._told = status
            self._on_status(status)

    def apply(self, settings: Settings) -> None:
        """Off counts from the next answer, on from the next conversation."""
        self._saving = settings.voice.save_conversations
        self.voice_history = settings.voice.history
        if not self._saving and self.conversation.begun:
            self.leave_unsaved()
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

    def leave_unsaved(self) -> None:
        """Save nothing more of the open conversation. What was saved before stays."""
        conversation = self.conversation
        if not conversation.saved:
            return
        conversation.leave_unsaved()
        if self._store and conversation.begun:
            if question := conversation.unanswered:
                self._track(
                    conversation,
                    self._store.delete_last_exchange(None, conversation.uuid, question),
                )
            self._track(conversation, self._store.end(conversation.uuid))
        self._wait_for_idleness()
        self.tell()

    # What is said.

    def turn_begins(self) -> None:
        """What engines consume from now on counts, if this becomes a conversation's first turn."""
        if not self.conversation.begun:
            self.conversation.usage = Totals()
        self._note_usage()

    def ask(
        self, text: str, input_mode: InputMode, engines: EngineNames, confidence: float
    ) -> Conversation:
        """A question was committed. The conversation that its answer belongs to."""
        conversation = self.conversation
        if not conversation.begun:
            self._begin(text, input_mode)
        conversation.unanswered = conversation.next_number
        spoken = input_mode == "voice"
        self._add(
            conversation,
            "user",
            text,
            input_mode=input_mode,
            engines={"recogniser": engines.recogniser} if spoken else {},
            extra={"confidence": round(confidence, 3)} if spoken else {},
        )
        return conversation

    def answer(
        self,
        conversation: Conversation,
        text: str,
        status: Status,
        input_mode: InputMode,
        engines: EngineNames,
    ) -> None:
        """The answer as far as it got. One whose question was deleted meanwhile goes with it."""
        if conversation.unanswered is None:
            return
        took_part = {"model": engines.model, "voice": engines.voice}
        self._add(
            conversation,
            "assistant",
            text,
            status=status,
            input_mode=input_mode,
            engines={job: name for job, name in took_part.items() if name},
        )
        conversation.unanswered = None
        self._keep_usage(conversation)

    def begin_another(self) -> None:
        """End the open conversation; the next question begins one of its own."""
        self._end()
        self._open(Conversation())

    async def find(self, beginning: str) -> str:
        """The uuid that begins so, of a conversation that may be carried on.

        Raises NoConversationError for an unknown or foreign one, PaneError for a pane's.
        """
        if not self._store:
            raise NoConversationError
        uuid = await self._store.by_beginning(self._owner, beginning)
        if (await self._store.thread(self._owner, uuid)).conversation.kind == "pane":
            raise PaneError
        return uuid

    async def carry_on(self, uuid: str) -> Conversation:
        """End the open conversation, and go on with a saved one that `find` has found.

        Raises NoConversationError when it is gone, NotSavedError when the card does not take that.
        """
        if uuid == self.conversation.uuid:
            return self.conversation
        if not (store := self._store):
            raise NoConversationError
        saving = self._saving
        if saving:
            try:
                thread = await self._in_time(store.carry_on(self._owner, uuid))
            except NotSavedError:
                self._track(self.conversation, store.end(uuid))  # should it come to pass later
                raise
        else:
            thread = await store.thread(self._owner, uuid)
        self._end()
        self._open(Conversation.carried_on(thread))
        if not saving:
            self.conversation.leave_unsaved()
        elif not self._saving:  # switched off meanwhile
            self.leave_unsaved()
        self._wait_for_idleness()
        self.tell()
        return self.conversation

    # What is deleted.

    async def delete(self, conversation: Conversation, question: int | None = None) -> bool:
        """Delete the open conversation, or its last exchange, which began with a question.

        Whether copies on the device still hold it. Raises NotSavedError when the card does not
        take that now; it is tried again.
        """
        store, pending = self._store, None
        if store and conversation.begun and conversation.is_kept(question or 1):
            if question is None:
                pending = store.delete(self._owner, conversation.uuid)
            else:
                pending = store.delete_last_exchange(self._owner, conversation.uuid, question)
        if question is None:
            self._open(Conversation())
        else:
            conversation.forget({e.number for e in conversation.entries if e.number >= question})
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
        conversation = self.conversation
        if conversation.uuid in deleted.conversations:
            conversation.leave_unsaved()
            conversation.forget({entry.number for entry in conversation.entries})
        elif numbers := deleted.entries.get(conversation.uuid):
            # A question that was withdrawn from the history alone goes on in memory.
            conversation.forget({n for n in numbers if conversation.is_kept(n)})
        self.tell()

    # Behind it.

    def _begin(self, question: str, input_mode: InputMode) -> None:
        conversation = self.conversation
        conversation.kind = "voice" if input_mode == "voice" else "chat"
        conversation.title = title_of(question)
        conversation.created = time.time()
        if not self._saving or not (self._store or self._unusable):
            conversation.leave_unsaved()
        if self._store and conversation.saved:
            self._note_usage()
            new = NewConversation(
                conversation.kind,
                self._owner,
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
        extra: Mapping[str, float] | None = None,
    ) -> None:
        entry = conversation.add(kind, text, status, input_mode)
        if self._store and conversation.saved:
            new = NewEntry(
                conversation.uuid,
                entry.number,
                kind,
                (text,),
                status,
                input_mode,
                engines,
                extra=extra or {},
            )
            self._track(conversation, self._store.write(new))
        self._wait_for_idleness()
        self.tell()

    def _open(self, conversation: Conversation) -> None:
        if self._idle:
            self._idle.cancel()
        self.conversation = conversation
        self._note_usage()
        self.tell()

    def _end(self) -> None:
        conversation = self.conversation
        if self._store and conversation.begun and conversation.saved:
            self._keep_usage(conversation)
            self._track(conversation, self._store.end(conversation.uuid))

    def _wait_for_idleness(self) -> None:
        if self._idle:
            self._idle.cancel()
        self._idle = asyncio.get_running_loop().call_later(self._idle_seconds, self._idle_over)

    def _idle_over(self) -> None:
        if self.conversation.unanswered is None:  # else its answer starts the time anew
            self.begin_another()

    def _note_usage(self) -> None:
        for engine, meter in self.meters().items():
            self.conversation.usage.note(engine, meter)

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
