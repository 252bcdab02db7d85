"""The running summary: written while nobody talks, when a conversation outgrows the model."""

from contextlib import aclosing

from firmware_app.dialogue.conversation import Conversation
from firmware_app.dialogue.keeping import Keeper
from firmware_app.dialogue.prompt import Draft, Prompt, Summary
from firmware_app.engines import LanguageModel
from firmware_app.skills.language import Language

LONGEST = 1200  # characters; a model that writes more has not summed up
OF_WHAT_WAS_SAID = 0.6  # share of a small model's words that stand in what it sums up
PATIENCE = 16  # entries until a model that could not sum up is asked again


class Summariser:
    def __init__(self, keeper: Keeper, language: Language) -> None:
        self._keeper = keeper
        self._language = language
        self._could_not: tuple[str, int] | None = None  # in which conversation, and through where

    async def sum_up(self, model: LanguageModel, prompt: Prompt) -> bool:
        """Sum up the open conversation, where that is due. Whether there is a new summary.

        A small model may write anything; where that is no summary it is thrown away. Cancelled,
        this leaves everything as it was. Raises EchoError as the model does.
        """
        conversation = self._keeper.conversation
        draft = await prompt.draft(conversation.exchanges(), conversation.summary)
        if draft is None or self._is_too_soon(conversation, draft):
            return False
        before = _fingerprint(conversation, draft)
        async with aclosing(model.reply(draft.messages)) as pieces:
            text = "".join([piece async for piece in pieces if isinstance(piece, str)])
        text = " ".join(text.split())[:LONGEST]
        if _fingerprint(conversation, draft) != before:
            return False  # something of it was deleted meanwhile
        if not text or (model.small and not self._sums_up(text, draft)):
            self._could_not = conversation.uuid, draft.through
            return False
        self._keeper.sum_up(conversation, Summary(text, draft.through))
        return True

    def _is_too_soon(self, conversation: Conversation, draft: Draft) -> bool:
        if self._could_not is None or self._could_not[0] != conversation.uuid:
            return False
        return draft.through < self._could_not[1] + PATIENCE

    def _sums_up(self, text: str, draft: Draft) -> bool:
        said = {word for message in draft.messages[:-1] for word in self._words(message.content)}
        words = self._words(text)
        return bool(words) and len(words & said) >= OF_WHAT_WAS_SAID * len(words)

    def _words(self, text: str) -> set[str]:
        return {w for w in self._language.tokens(text) if not self._language.says_little(w)}


def _fingerprint(conversation: Conversation, draft: Draft) -> object:
    """What the summary rests on."""
    numbers = tuple(e.number for e in conversation.entries if e.number <= draft.through)
    return conversation.summary, numbers
