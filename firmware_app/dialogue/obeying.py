"""Obeys what is said about the conversation itself: whether it is saved, and what is deleted."""

import time
from dataclasses import dataclass

from firmware_app.dialogue.commands import Command, command
from firmware_app.dialogue.conversation import Conversation
from firmware_app.dialogue.keeping import Keeper
from firmware_app.dialogue.phrases import phrases
from firmware_app.events import Saved
from firmware_app.history.faults import NotSavedError
from firmware_app.history.records import InputMode
from firmware_app.skills.local_time import LocalTime
from firmware_app.skills.reach import within_reach

CONFIRM_SECONDS = 30.0  # a "yes" later than that is no longer about the deletion


@dataclass(frozen=True, slots=True)
class _Deletion:
    """What waits for a "yes". question: of the exchange; None for the whole conversation."""

    conversation: Conversation
    question: int | None
    input_mode: InputMode
    until: float  # monotonic

    def asked_of(self, input_mode: InputMode) -> bool:
        return input_mode == self.input_mode and time.monotonic() < self.until


class Obeying:
    """Does what a command asks, and gives the sentence that says what was done."""

    def __init__(self, keeper: Keeper, language: str, local: LocalTime) -> None:
        self._keeper = keeper
        self._local = local
        self._language = language
        self._phrases = phrases(language)
        self._deletion: _Deletion | None = None

    @property
    def asks(self) -> bool:
        """Whether Echo has asked, and waits for a "yes"."""
        return self._deletion is not None

    def leave(self) -> None:
        """Whoever was asked said nothing, or something else: nothing is deleted."""
        self._deletion = None

    def meant(self, text: str, input_mode: InputMode) -> Command | None:
        """The command that this is; "yes" and "no" are some only where Echo has asked."""
        found = command(text, self._language)
        if found in (Command.YES, Command.NO):
            return found if self._deletion and self._deletion.asked_of(input_mode) else None
        return found

    async def obey(self, meant: Command, input_mode: InputMode) -> str:
        deletion, self._deletion = self._deletion, None
        match meant:
            case Command.NEW_CONVERSATION:
                self._keeper.begin_another()
                return self._phrases.new_conversation
            case Command.DONT_SAVE:
                return self._leave_unsaved()
            case Command.STOP_SAVING:
                return await self._stop_saving()
            case Command.START_SAVING:
                if await self._keeper.set_saving(True):
                    return self._phrases.saving_on
                return self._phrases.cannot_switch
            case Command.ARE_YOU_SAVING:
                return {
                    Saved.SAVED: self._phrases.is_saved,
                    Saved.NOT_SAVED: self._phrases.is_not_saved,
                    Saved.NOT_SAVING: self._phrases.is_not_saving,
                }[self._keeper.status]
            case Command.DELETE_THAT:
                last = self._keeper.conversation.last_question
                return self._ask_to_delete(last.number if last else None, input_mode)
            case Command.DELETE_CONVERSATION:
                return self._ask_to_delete(None, input_mode)
            case Command.YES if deletion:
                return await self._delete(deletion)
            case _:
                return self._phrases.nothing_deleted

    def _leave_unsaved(self) -> str:
        keeper = self._keeper
        if keeper.status is Saved.NOT_SAVED:
            return self._phrases.is_not_saved
        keeper.leave_unsaved()
        if keeper.conversation.begun:
            return self._phrases.rest_unsaved
        return self._phrases.next_unsaved

    async def _stop_saving(self) -> str:
        if await self._keeper.set_saving(False):
            return self._phrases.saving_off
        self._keeper.leave_unsaved()
        return f"{self._phrases.cannot_switch} {self._phrases.is_not_saved}"

    def _ask_to_delete(self, question: int | None, input_mode: InputMode) -> str:
        conversation = self._keeper.conversation
        last = conversation.last_question
        if not last:
            return self._phrases.delete_what
        if not self._within_reach(conversation, question):
            return self._phrases.out_of_reach
        until = time.monotonic() + CONFIRM_SECONDS
        self._deletion = _Deletion(conversation, question, input_mode, until)
        if question is None:
            return self._phrases.delete_conversation
        return self._phrases.delete_exchange

    def _within_reach(self, conversation: Conversation, question: int | None) -> bool:
        """Whether voice.history lets it be deleted by voice; what is in memory alone always is."""
        if not conversation.is_kept(question or 1):
            return True
        last = conversation.last_question
        began = last.created if question and last else conversation.created
        return within_reach(self._keeper.voice_history, began, self._local)

    async def _delete(self, deletion: _Deletion) -> str:
        if deletion.conversation is not self._keeper.conversation:
            return self._phrases.nothing_deleted
        try:
            copies = await self._keeper.delete(deletion.conversation, deletion.question)
        except NotSavedError:
            return self._phrases.deleted_later
        if copies:
            return f"{self._phrases.deleted} {self._phrases.copies_remain}"
        return self._phrases.deleted
