"""The skill of what was said before: it finds it, and goes on with an old conversation.

It reads no pane's thread, and no further back than the setting voice.history allows.
"""

import datetime
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from firmware_app.errors import EchoError
from firmware_app.history.records import Conversation, ConversationKind, Entry
from firmware_app.history.store import Store
from firmware_app.skills import (
    Arguments,
    Asking,
    Call,
    SkillTool,
    ToolResult,
    parameters,
)
from firmware_app.skills.clock import DATE
from firmware_app.skills.language import Language
from firmware_app.skills.local_time import LocalTime
from firmware_app.skills.reach import Reach, within_reach

KINDS: tuple[ConversationKind, ...] = ("voice", "chat")
LISTED = 500  # conversations of which those of a day are sought
LOOKED_INTO = 20  # conversations
ENTRIES = 400  # of a conversation, from its end
TOLD = 3  # questions that are read out
LONGEST_TOLD = 240  # characters of an answer that is read out
RANGE = 12  # entries that a model may read at once
WEEK = 7  # days
_SHORTEST_WORD = 3  # letters; shorter ones say nothing


class Talk(Protocol):
    """The open conversation, as whoever keeps it knows it."""

    @property
    def store(self) -> Store | None: ...

    @property
    def owner(self) -> str: ...

    @property
    def reach(self) -> Reach: ...

    @property
    def uuid(self) -> str: ...

    def entries(self) -> Sequence[tuple[int, str, str]]:
        """Number, kind and text of those in memory, oldest first."""
        ...

    async def carry_on(self, uuid: str) -> str:
        """Go on with a saved conversation; its title. Raises EchoError."""
        ...


@dataclass(frozen=True, slots=True)
class _Exchange:
    conversation: Conversation
    question: Entry
    answer: Entry | None


class PastSkill:
    """is_about_past: whether a question was itself one for this skill, and so is no find."""

    name = "past"
    tools: Sequence[SkillTool] = (
        SkillTool(
            "search_history",
            "Finds what the user asked Echo before.",
            parameters({"about": {"type": "string"}, "date": DATE}),
        ),
        SkillTool(
            "continue_talk",
            "Finds an earlier conversation and offers to go on with it.",
            parameters({"about": {"type": "string"}, "date": DATE}),
            kept=False,
        ),
        SkillTool(
            "continue_conversation",
            "Goes on with a conversation.",
            parameters({"uuid": {"type": "string"}}, ["uuid"]),
            changes=True,
            offered=False,
            kept=False,
        ),
        SkillTool(
            "conversation_history",
            "Reads older entries of this conversation by their numbers.",
            parameters(
                {
                    "first": {"type": "integer", "minimum": 1},
                    "last": {"type": "integer", "minimum": 1},
                },
                ["first"],
            ),
        ),
    )

    def __init__(
        self,
        language: Language,
        time: LocalTime,
        talk: Talk | None,
        is_about_past: Callable[[str], bool] = lambda text: False,
    ) -> None:
        self._language = language
        self._words = language.skills[self.name].responses
        self._say = language.say
        self._time = time
        self._talk = talk
        self._is_about_past = is_about_past

    def heard(self, tool: str, arguments: Arguments) -> Call:
        """What was said lies in the past: "on Friday" is the last one, not the next."""
        today = self._time.guess().date()
        if "date" in arguments and (date := datetime.date.fromisoformat(arguments["date"])) > today:
            past = _before(date, today).isoformat()
            return Call(tool, {**arguments, "date": past})
        return Call(tool, arguments)

    async def run(self, call: Call) -> ToolResult:
        talk = self._talk
        if call.tool == "conversation_history":
            return await self._read(talk, call.arguments)
        if not talk or not talk.store:
            return ToolResult(self._words["no_store"])
        if call.tool == "continue_conversation":
            return await self._carry_on(talk, call.arguments["uuid"])
        if talk.reach == "off":
            return ToolResult(self._words["off"])
        day = call.arguments.get("date")
        date = datetime.date.fromisoformat(day) if day else None
        if talk.reach == "today" and date and date != self._today():
            return ToolResult(self._words["only_today"])
        about = call.arguments.get("about", "")
        if call.tool == "continue_talk":
            return await self._offer(talk, talk.store, about, date)
        return ToolResult(await self._tell(talk, talk.store, about, date), recalls=True)

    async def _tell(self, talk: Talk, store: Store, about: str, date: datetime.date | None) -> str:
        found = await self._find(talk, store, about, date)
        if not found:
            return self._nothing(about, date)
        if about:
            newest = found[0]
            values = {
                "when": _capital(self._when(newest.question.created)),
                "question": _sentence(newest.question.text),
            }
            if newest.answer:
                answer = _shortened(newest.answer.text)
                return self._words["answered"].format(answer=answer, **values)
            return self._words["asked"].format(**values)
        questions = [_bare(exchange.question.text) for exchange in reversed(found[:TOLD])]
        return self._words["asked_several"].format(
            when=_capital(self._when(found[0].question.created)),
            questions="; ".join(questions),
        )

    async def _offer(
        self, talk: Talk, store: Store, about: str, date: datetime.date | None
    ) -> ToolResult:
        found = await self._find(talk, store, about, date)
        others = [one.conversation for one in found if one.conversation.uuid != talk.uuid]
        if not others:
            nothing = self._nothing(about, date) if about else self._words["nothing_to_continue"]
            return ToolResult(nothing)
        newest = others[0]
        offer = self._words["shall_i"].format(
            title=newest.title, when=self._when(newest.updated or newest.created)
        )
        return ToolResult(offer, Asking(Call("continue_conversation", {"uuid": newest.uuid})))

    async def _carry_on(self, talk: Talk, uuid: str) -> ToolResult:
        try:
            title = await talk.carry_on(uuid)
        except EchoError:
            return ToolResult(self._words["cannot_continue"])
        return ToolResult(self._words["continuing"].format(title=title))

    async def _read(self, talk: Talk | None, arguments: Arguments) -> ToolResult:
        """Entries of the open conversation, from memory where they are, else from the history."""
        first = arguments["first"]
        last = min(arguments.get("last", first), first + RANGE - 1)
        found = {n: (kind, text) for n, kind, text in (talk.entries() if talk else ())}
        if talk and talk.store and any(n not in found for n in range(first, last + 1)):
            try:
                for entry in await talk.store.entries_after(
                    talk.owner, talk.uuid, first - 1, last - first + 1
                ):
                    found.setdefault(entry.number, (entry.kind, entry.text))
            except EchoError:
                pass  # it is in memory alone
        lines = [f"{n} {found[n][0]}: {found[n][1]}" for n in range(first, last + 1) if n in found]
        return ToolResult("\n".join(lines) or self._words["none_at_all"], recalls=True)

    # Behind it.

    async def _find(
        self, talk: Talk, store: Store, about: str, date: datetime.date | None
    ) -> list[_Exchange]:
        """Newest first, one of a conversation where something is looked for."""
        terms = self._terms(about)
        if about and not terms:
            return []
        if about:
            asked = " ".join(f"{term}*" for term in terms)
            hits = [h for kind in KINDS for h in await store.find(talk.owner, asked, kind)]
            conversations = [hit.conversation for hit in hits]
            conversations.sort(key=lambda c: c.updated or c.created or 0.0, reverse=True)
        else:
            conversations = [head.conversation for head in await store.latest(talk.owner, LISTED)]
        if date:
            conversations = [c for c in conversations if self._may_be_of(c, date)]
        found: list[_Exchange] = []
        for conversation in conversations[:LOOKED_INTO]:
            page = await store.page(talk.owner, conversation.uuid, limit=ENTRIES)
            matching = [
                exchange
                for exchange in _exchanges(conversation, page.entries)
                if self._fits(exchange, terms, date, talk.reach)
            ]
            found += reversed(matching[-1:] if about else matching)
        return found

    def _may_be_of(self, conversation: Conversation, date: datetime.date) -> bool:
        """Whether some of it may have been said that day."""
        first, last = self._day(conversation.created), self._day(conversation.updated)
        return (first is None or first <= date) and (last is None or date <= last)

    def _fits(
        self,
        exchange: _Exchange,
        terms: Sequence[str],
        date: datetime.date | None,
        reach: Reach,
    ) -> bool:
        question = exchange.question
        if date and self._day(question.created) != date:
            return False
        if not within_reach(reach, question.created, self._time):
            return False
        if self._is_about_past(question.text):
            return False
        texts = [question.text, exchange.answer.text if exchange.answer else ""]
        said = [word for text in texts for word in self._language.tokens(text)]
        return all(any(word.startswith(term) for word in said) for term in terms)

    def _terms(self, about: str) -> list[str]:
        """The beginnings of the words that say something."""
        words = [w for w in self._language.tokens(about) if not self._language.says_little(w)]
        return [w.removesuffix("s") for w in words if len(w) >= _SHORTEST_WORD]

    def _nothing(self, about: str, date: datetime.date | None) -> str:
        today = self._today()
        day = self._say.day(date, today) if date and today else ""
        on_day, ever = ("none_on", "none") if about else ("none_that_day", "none_at_all")
        form = on_day if day else ever
        return self._words[form].format(about=about, day=day)

    def _today(self) -> datetime.date | None:
        now = self._time.now()
        return now.date() if now else None

    def _day(self, created: float | None) -> datetime.date | None:
        return None if created is None else self._time.at(created).date()

    def _when(self, created: float | None) -> str:
        day, today = self._day(created), self._today()
        return self._say.day(day, today) if day and today else self._words["no_time"]


def _before(date: datetime.date, today: datetime.date) -> datetime.date:
    """The last such day of the week or, where it is further ahead than one, of the year."""
    if (date - today).days <= WEEK:
        return date - datetime.timedelta(days=WEEK)
    return date.replace(year=date.year - 1, day=min(date.day, 28) if date.month == 2 else date.day)


def _exchanges(conversation: Conversation, entries: Iterable[Entry]) -> list[_Exchange]:
    found: list[_Exchange] = []
    for entry in entries:
        if entry.kind == "user":
            found.append(_Exchange(conversation, entry, None))
        elif entry.kind == "assistant" and found and not found[-1].answer:
            found[-1] = _Exchange(conversation, found[-1].question, entry)
    return found


def _shortened(text: str) -> str:
    if len(text) <= LONGEST_TOLD:
        return text
    return text[:LONGEST_TOLD].rpartition(" ")[0] + " \u2026"


def _sentence(text: str) -> str:
    return text if text.endswith((".", "?", "!")) else f"{text}."


def _bare(text: str) -> str:
    return text.rstrip(".?! ")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
