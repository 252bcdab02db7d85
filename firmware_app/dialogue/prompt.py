"""What the model is told: who Echo is, and as much of the conversation as fits."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from firmware_app.dialogue.language import dialogue_words
from firmware_app.engines import Message
from firmware_app.errors import SettingsError
from firmware_app.events import Status

BROKEN_OFF = " \u2026"  # after an answer that was interrupted or failed partway
NEVER_ANSWERED = "\u2026"
MARGIN = 16  # tokens kept free for the template's own marks
BESIDE = 6  # this part of the budget is for what stands beside the conversation
STILL_WORD_FOR_WORD = 4  # this part of it for the last exchanges that the summary covers as well
GROWTH = 8  # this part is left for what is said before there is time for a summary

CountTokens: TypeAlias = Callable[[Sequence[str]], Awaitable[list[int]]]


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question and what was said to it; empty where no word came.

    number, through: of the question's entry, and of the answer's.
    """

    question: str
    answer: str
    status: Status = Status.COMPLETE
    number: int = 0
    through: int = 0

    @property
    def answer_for_model(self) -> str:
        if self.status is Status.COMPLETE:
            return self.answer
        return self.answer.rstrip() + BROKEN_OFF if self.answer.strip() else NEVER_ANSWERED


def system_prompt(persona: str, language: str) -> str:
    """Echo's own, or the text of the owner's file. Raises SettingsError."""
    own = str(dialogue_words(language)["system"])
    if not persona:
        return own
    path = Path(persona).expanduser()
    try:
        return path.read_text("utf-8").strip() or own
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(
            "persona-file",
            f"The file {path} (setting dialogue.persona) cannot be read: {error}.",
            "Give the name of a text file, or unset dialogue.persona.",
        ) from error


@dataclass(frozen=True, slots=True)
class Summary:
    """What was said up to the entry `through`; no text where there is none."""

    text: str = ""
    through: int = 0


@dataclass(frozen=True, slots=True)
class Draft:
    """A request for a summary of all up to the entry `through`."""

    messages: Sequence[Message]
    through: int


NO_SUMMARY = Summary()


class Prompt:
    """Builds the messages of a request within a budget of tokens.

    What changes seldom comes first: the system prompt with the summary, then the exchanges; what
    belongs to one question alone stands right before it. What is too old goes a third of the budget
    at a time, so that between two such cuts each request begins with the one before and the model's
    cache serves it.
    """

    def __init__(self, system: str, budget: int, count: CountTokens, language: str = "en") -> None:
        """budget: tokens of the context less those of the longest reply."""
        self._system = system
        words = dialogue_words(language)["model"]
        self._sum_up = str(words["sum_up"])
        self._earlier = str(words["earlier"])
        self._whole = budget - MARGIN
        self._beside = self._whole // BESIDE
        self._budget = self._whole - self._beside
        self._count = count
        self._counted: dict[str, int] = {}

    async def told(
        self, exchanges: Sequence[Exchange], question: str | None, summary: Summary = NO_SUMMARY
    ) -> Sequence[Exchange]:
        """The exchanges that `messages` would hold, word for word."""
        asked = [] if question is None else [question]
        system = self._system_with(summary)
        sizes = await self._sizes([system, *asked, *_texts(exchanges)])
        fixed = sum(sizes[text] for text in [system, *asked])
        recent = self._recent(exchanges, summary, sizes)
        return recent[self._outdated(recent, sizes, self._budget - fixed) :]

    async def messages(
        self,
        exchanges: Sequence[Exchange],
        question: str | None = None,
        summary: Summary = NO_SUMMARY,
        recalled: Sequence[Exchange] = (),
        source: str = "",
    ) -> list[Message]:
        """The conversation so far, and the question where there is one (none: for prefill).

        recalled: older exchanges that the question refers to, the most fitting first. source: text
        that answers it. Of both no more is used than there is room for.
        """
        kept = await self.told(exchanges, question, summary)
        beside = await self._fitting(recalled) if question is not None else []
        if source and question is not None:
            source = await self._cut(source, self._beside - await self._size(_texts(beside)))
        asked = [] if question is None else [f"{source}\n\n{question}" if source else question]
        return [
            Message("system", self._system_with(summary)),
            *_said(kept),
            *_said(sorted(beside, key=lambda exchange: exchange.number)),
            *(Message("user", text) for text in asked),
        ]

    async def draft(
        self, exchanges: Sequence[Exchange], summary: Summary = NO_SUMMARY
    ) -> Draft | None:
        """A request for a new summary, where the budget is nearly used up; else None.

        It begins like the conversation itself, so that the model's cache keeps serving that.
        """
        system = self._system_with(summary)
        sizes = await self._sizes([system, self._sum_up, *_texts(exchanges)])
        room = self._budget - sizes[system]
        recent = self._recent(exchanges, summary, sizes)
        if _total(recent, sizes) <= room - self._budget // GROWTH:
            return None
        room = self._whole - sizes[system] - sizes[self._sum_up]
        if _total(recent, sizes) > room:  # some were left out before there was time for a summary
            recent = [each for each in recent if not _is_covered(each, summary)]
        covered: list[Exchange] = []
        through = summary.through
        for exchange in recent:
            size = _total([exchange], sizes)
            if size > room and covered:
                break
            through = exchange.through
            if size <= room:  # one that is larger than all there is goes without
                covered.append(exchange)
                room -= size
        if through <= summary.through:
            return None
        said = [Message("system", system), *_said(covered), Message("user", self._sum_up)]
        return Draft(said, through)

    def _system_with(self, summary: Summary) -> str:
        if not summary.text:
            return self._system
        return f"{self._system}\n\n{self._earlier.format(summary=summary.text)}"

    def _recent(
        self, exchanges: Sequence[Exchange], summary: Summary, sizes: Mapping[str, int]
    ) -> list[Exchange]:
        """Those after the summary, and the last of those before it."""
        if not summary.text:
            return list(exchanges)
        fresh = [each for each in exchanges if not _is_covered(each, summary)]
        room = self._budget // STILL_WORD_FOR_WORD
        kept: list[Exchange] = []
        for exchange in reversed(exchanges[: len(exchanges) - len(fresh)]):
            room -= _total([exchange], sizes)
            if room < 0:
                break
            kept.append(exchange)
        return [*reversed(kept), *fresh]

    async def _fitting(self, recalled: Sequence[Exchange]) -> list[Exchange]:
        room = self._beside
        fitting: list[Exchange] = []
        for exchange in recalled:
            size = await self._size(_texts([exchange]))
            if size <= room:
                fitting.append(exchange)
                room -= size
        return fitting

    async def _cut(self, text: str, room: int) -> str:
        """As many whole sentences from its beginning as have room."""
        while text and await self._size([text]) > room:
            text = text[: text.rfind(". ", 0, len(text) - 1) + 1].strip()
        return text

    async def _size(self, texts: Sequence[str]) -> int:
        return sum(await self._count(texts)) if texts else 0

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
        sizes = [_total([each], tokens) for each in exchanges]
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


def _is_covered(exchange: Exchange, summary: Summary) -> bool:
    return bool(summary.text) and exchange.through <= summary.through


def _said(exchanges: Sequence[Exchange]) -> list[Message]:
    return [
        message
        for exchange in exchanges
        for message in (
            Message("user", exchange.question),
            Message("assistant", exchange.answer_for_model),
        )
    ]


def _total(exchanges: Sequence[Exchange], sizes: Mapping[str, int]) -> int:
    return sum(sizes[text] for text in _texts(exchanges))


def _texts(exchanges: Sequence[Exchange]) -> list[str]:
    return [text for each in exchanges for text in (each.question, each.answer_for_model)]
