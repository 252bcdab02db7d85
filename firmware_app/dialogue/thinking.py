"""How the language model comes to an answer: what it is told, and the tools that it uses."""

import json
import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

from firmware_app.dialogue.keeping import Keeper
from firmware_app.dialogue.language import dialogue_words
from firmware_app.dialogue.prompt import Prompt, system_prompt
from firmware_app.dialogue.recall import Recall
from firmware_app.dialogue.summary import Summariser
from firmware_app.engines import LanguageModel, Message, Tool, ToolCall
from firmware_app.errors import EchoError
from firmware_app.settings import Settings
from firmware_app.skills import SkillError, ToolResult
from firmware_app.skills.encyclopedia import Article
from firmware_app.skills.registry import Skills

log = logging.getLogger(__name__)

ROUNDS = 3  # in which a model may call tools before it has to answer
TOOLS_AT_MOST = 0.5  # share of the budget for the descriptions of all tools
LOOK_UP = "look_up"


@dataclass(frozen=True, slots=True)
class Used:
    """What a tool found, as an entry keeps it."""

    tool: str
    text: str


@dataclass
class Thought:
    """A question that the model answers.

    spoken: whether it was asked by voice. used: the tools that were, in their order. asks: what
    Echo has asked, where the answer ended so.
    """

    question: str
    spoken: bool = True
    used: list[Used] = field(default_factory=list)
    asks: ToolResult | None = None


class Thinking:
    """Asks one model. keeper: has the conversation. skills: offer their tools to the model."""

    def __init__(
        self, settings: Settings, model: LanguageModel, keeper: Keeper, skills: Skills
    ) -> None:
        self._model = model
        self._keeper = keeper
        self._skills = skills
        self._recall = Recall(keeper, skills.language, skills.time)
        self._budget = settings.model.context_tokens - settings.model.reply_tokens
        self._system = system_prompt(settings.dialogue.persona, settings.language)
        self._language = settings.language
        self._told: Mapping[str, str] = dialogue_words(settings.language)["model"]
        self._summaries = Summariser(keeper, skills.language)
        self._asks: tuple[Prompt, Sequence[Tool]] | None = None

    @property
    def model(self) -> LanguageModel:
        return self._model

    def use(self, model: LanguageModel) -> None:
        """Ask this one from the next question on."""
        self._model = model
        self._asks = None

    async def read(self, partial: str | None) -> None:
        """Let the model read the conversation, and the beginning of a question. Raises EchoError"""
        thought = None if partial is None else Thought(partial)
        await self._model.prefill(await self._messages(thought, None))

    async def sum_up(self) -> bool:
        """Sum the conversation up where that is due. Whether it was. Raises EchoError."""
        prompt, _ = await self._prompt_and_tools()
        return await self._summaries.sum_up(self._model, prompt)

    async def words(self, thought: Thought) -> AsyncGenerator[str, None]:
        """The answer as it comes. Raises EchoError."""
        encyclopedia = self._skills.encyclopedia
        article = await encyclopedia.answers(thought.question) if encyclopedia else None
        if encyclopedia and article:
            thought.used.append(Used(LOOK_UP, encyclopedia.as_entry(article)))
            if self._model.small:
                yield encyclopedia.read_out(article)
                return
        async with aclosing(self._ask(thought, article)) as pieces:
            async for piece in pieces:
                yield piece

    async def _ask(self, thought: Thought, article: Article | None) -> AsyncGenerator[str, None]:
        """The model's answer, after what it wants to know from tools."""
        messages = await self._messages(thought, article)
        recalled = article is not None
        done: dict[str, ToolResult] = {}
        result = ToolResult("")
        for rounds_left in reversed(range(ROUNDS + 1)):
            tools = await self._offered(changing=not recalled) if rounds_left else ()
            said, calls = "", []
            async with aclosing(self._model.reply(messages, tools)) as pieces:
                async for piece in pieces:
                    if isinstance(piece, ToolCall):
                        calls.append(piece)
                    else:
                        said += piece
                        yield piece
            if not calls:
                return
            if said:
                yield " "
            messages.append(Message("assistant", said, calls=tuple(calls)))
            for call in calls:
                result = await self._called(call, thought, done, changing=not recalled)
                if result.asks:
                    thought.asks = result
                    yield result.text
                    return
                recalled = recalled or result.recalls
                messages.append(Message("tool", result.text, call_id=call.id))
        yield result.text  # it does nothing but call: what was found is an answer as well

    async def _called(
        self, asked: ToolCall, thought: Thought, done: dict[str, ToolResult], *, changing: bool
    ) -> ToolResult:
        """What comes of a call; one that does not fit is answered with why.

        What changes something is not done but asked about. The same call is not run twice.
        """
        try:
            call = self._skills.checked(asked.name, asked.arguments)
        except SkillError as error:
            return ToolResult(str(error))
        tool = self._skills.tools[call.tool]
        if tool.changes:
            return self._skills.confirm(call) if changing else ToolResult(self._told["refused"])
        which = json.dumps([call.tool, dict(call.arguments)], sort_keys=True)
        if which not in done:
            try:
                done[which] = await self._skills.use(call)
            except EchoError as error:
                return ToolResult(str(error))
            if tool.kept:
                thought.used.append(Used(call.tool, done[which].text))
        return done[which]

    async def _offered(self, *, changing: bool) -> Sequence[Tool]:
        _, tools = await self._prompt_and_tools()
        may_change = self._skills.tools
        return [tool for tool in tools if changing or not may_change[tool.name].changes]

    async def _messages(self, thought: Thought | None, article: Article | None) -> list[Message]:
        conversation = self._keeper.conversation
        exchanges, covered = conversation.exchanges(), conversation.summary
        prompt, tools = await self._prompt_and_tools()
        if thought is None:
            return await prompt.messages(exchanges, None, covered)
        told = await prompt.told(exchanges, thought.question, covered)
        notes = []
        recalled = []
        if tools:
            first = told[0].number if told else conversation.next_number
            notes += [self._told["older"].format(last=first - 1)] if first > 1 else []
        else:
            recalled = await self._recall.recall(
                conversation, told, thought.question, spoken=thought.spoken
            )
        if article and (encyclopedia := self._skills.encyclopedia):
            notes.append(encyclopedia.for_model(article))
        return await prompt.messages(
            exchanges, thought.question, covered, recalled, "\n\n".join(notes)
        )

    def _prompt(self, budget: int) -> Prompt:
        return Prompt(self._system, budget, self._model.count, self._language)

    async def _prompt_and_tools(self) -> tuple[Prompt, Sequence[Tool]]:
        """The prompt within what the descriptions of the tools leave, and the tools."""
        if self._asks is None:
            tools = self._skills.offered() if self._model.can_call_tools else []
            texts = [json.dumps([t.name, t.description, dict(t.parameters)]) for t in tools]
            size = sum(await self._model.count(texts)) if texts else 0
            if size > TOOLS_AT_MOST * self._budget:
                log.warning(
                    "no tools are offered to the language model: they take %d tokens, which is "
                    "more than half of what model.context_tokens leaves (%d)",
                    size,
                    self._budget,
                )
                tools, size = [], 0
            self._asks = self._prompt(self._budget - size), tools
        return self._asks
