"""The open conversation, as the skill of what was said before reaches it."""

from collections.abc import Sequence

from firmware_app.dialogue.keeping import Keeper
from firmware_app.events import CarriedOn, Events
from firmware_app.history.store import Store
from firmware_app.skills.reach import Reach


class OpenTalk:
    """Implements `skills.past.Talk`."""

    def __init__(self, keeper: Keeper, events: Events) -> None:
        self._keeper = keeper
        self._events = events

    @property
    def store(self) -> Store | None:
        return self._keeper.store

    @property
    def owner(self) -> str:
        return self._keeper.conversation.owner

    @property
    def reach(self) -> Reach:
        return self._keeper.voice_history

    @property
    def uuid(self) -> str:
        return self._keeper.conversation.uuid

    def entries(self) -> Sequence[tuple[int, str, str]]:
        return [(e.number, e.kind, e.text) for e in self._keeper.conversation.entries]

    async def carry_on(self, uuid: str) -> str:
        """Raises NoConversationError and NotSavedError."""
        by_voice = self._keeper.conversation.by_voice
        conversation = await self._keeper.carry_on(uuid, self.owner)
        conversation.by_voice = by_voice
        self._events.publish(CarriedOn(conversation.uuid, conversation.title))
        return conversation.title
