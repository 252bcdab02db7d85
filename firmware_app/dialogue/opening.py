"""A wish to go on in another conversation, done when no question is being answered."""

import asyncio
from dataclasses import dataclass, field

from firmware_app.dialogue.conversation import Conversation
from firmware_app.dialogue.keeping import Keeper
from firmware_app.errors import EchoError


def _future() -> asyncio.Future[Conversation]:
    """One that nobody need ask for its error."""
    future: asyncio.Future[Conversation] = asyncio.get_running_loop().create_future()
    future.add_done_callback(lambda done: done.cancelled() or done.exception())
    return future


@dataclass(frozen=True, slots=True)
class Opening:
    """What this owner wants to be the open conversation.

    wanted: a new conversation, or the uuid of a saved one that the keeper has found. save: False
    where nothing more of it is to be saved. by_voice: whether it is to be spoken in.
    done: the open conversation. Raises NoConversationError where it was deleted meanwhile,
    NotSavedError, UsageError where another was preferred, ServiceError where Echo stopped before.
    """

    owner: str
    wanted: Conversation | str
    save: bool = True
    by_voice: bool = False
    done: asyncio.Future[Conversation] = field(default_factory=_future)

    @property
    def new(self) -> Conversation | None:
        return self.wanted if isinstance(self.wanted, Conversation) else None

    @property
    def uuid(self) -> str:
        return self.wanted if isinstance(self.wanted, str) else self.wanted.uuid

    async def perform(self, keeper: Keeper) -> Conversation:
        """Raises NoConversationError and NotSavedError."""
        if isinstance(self.wanted, str):
            conversation = await keeper.carry_on(self.wanted, self.owner, save=self.save)
        else:
            conversation = self.wanted
            keeper.open(conversation)
        if not self.save:
            keeper.leave_unsaved()
        conversation.by_voice = self.by_voice
        return conversation

    def fulfil(self, conversation: Conversation) -> None:
        if not self.done.done():
            self.done.set_result(conversation)

    def refuse(self, error: EchoError) -> None:
        if not self.done.done():
            self.done.set_exception(error)
