"""What the model is told: who Echo is, and as much of the conversation as fits."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from firmware_app.engines import Message
from firmware_app.errors import SettingsError
from firmware_app.events import Status

SYSTEM = "You are Echo, a voice assistant. Answer in one short sentence."

BROKEN_OFF = " \u2026"  # after an answer that was interrupted or failed partway
NEVER_ANSWERED = "\u2026"
MARGIN = 16  # tokens kept free for the template's own marks
QUESTION = 64  # tokens kept free for a question, so that it seldom pushes anything out

CountTokens: TypeAlias = Callable[[Sequence[str]], Awaitable[list[int]]]


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question and what was said to it; empty where no word came."""

    question: str
    answer: str
    status: Status = Status.COMPLETE

    @property
    def answer_for_model(self) -> str:
        if self.status is Status.COMPLETE:
            return self.answer
        return self.answer.rstrip() + BROKEN_OFF if self.answer.strip() else NEVER_ANSWERED


def system_prompt(persona: str) -> str:
    """Echo's own, or the text of the owner's file. Raises SettingsError."""
    if not persona:
        return SYSTEM
    path = Path(persona).expanduser()
    try:
        return path.read_text("utf-8").strip() or SYSTEM
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(
            "persona-file",
            f"The file {path} (setting dialogue.persona) cannot be read: {error}.",
            "Give the name of a text file, or unset dialogue.persona.",
        ) from error


class Prompt:
    """Builds the messages of a request within a budget of tokens.

    What is too old goes a third of the budget at a time, so that between two such cuts each
    request begins with the one before and the model's cache serves it.
    """

    def __init__(self, system: str, budget: int, count: CountTokens) -> None:
        """budget: tokens of the context less those of the longest reply."""
        self._system = system
        self._budget = budget - MARGIN
        self._count = count
        self._counted: dict[str, int] = {}

    def counted_by(self, count: CountTokens) -> "Prompt":
        """The same prompt for another model's tokens."""
        return Prompt(self._system, self._budget + MARGIN, count)

    async def messages(
        self, exchanges: Sequence[Exchange], question: str | None = None, summary: str = ""
    ) -> list[Message]:
        """The conversation so far, and the question where there is one (none: for prefill).

        summary: of what was said before the first of the exchanges.
        """
        asked = [] if question is None else [question]
        system = (
            f"{self._system}\n\nEarlier in this conversation: {summary}"
            if summary
            else (self._system)
        )
        sizes = await self._sizes([system, *asked, *_texts(exchanges)])
        fixed = sum(sizes[text] for text in [system, *asked])
        kept = exchanges[self._outdated(exchanges, sizes, self._budget - fixed) :]
        history = [
            message
            for exchange in kept
            for message in (
                Message("user", exchange.question),
                Message("assistant", exchange.answer_for_model),
            )
        ]
        return [
            Message("system", system),
            *history,
            *(Message("user", text) for text in asked),
        ]

    async def _sizes(self, texts: Sequence[str]) -> dict[str, int]:
        """Tokens of each text; those of this request are remembered for the next."""
        known = {text: self._counted[text] for text in texts if text in self._counted}
        new = [text for text in dict.fromkeys(texts) if text not in known]
        if new:
            known.update(zip(new, await self._count(new), strict=True))
        self._counted = known
        return known

    def _outdated(self, exchanges: Sequence[Exchange], tokens: Mapping[str, int], room: int) -> int:
        """How many exchanges at the beginning are left out."""
        sizes = [sum(tokens[text] for text in _texts([each])) for each in exchanges]
        excess = sum(sizes) - room
        if excess <= 0:
            return 0
        step = max(1, self._budget // 3)
        to_drop = -(-excess // step) * step
        for index, size in enumerate(sizes):
            if to_drop <= 0:
                return index
            to_drop -= size
        return len(sizes)


def _texts(exchanges: Sequence[Exchange]) -> list[str]:
    return [text for each in exchanges for text in (each.question, each.answer_for_model)]
