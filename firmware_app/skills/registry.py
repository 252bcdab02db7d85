"""All skills of one language: which of them is meant, what Echo has asked, and how one is run.

What is meant is told without any effect (`understand`), so that an answer can be prepared before
the question is committed; whoever commits it says so (`asked`, `leave`).
"""

import datetime
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from firmware_app.engines import Tool
from firmware_app.skills import (
    Asking,
    Call,
    Skill,
    SkillError,
    SkillTool,
    ToolResult,
    schema,
)
from firmware_app.skills.encyclopedia import EncyclopediaSkill
from firmware_app.skills.language import Language
from firmware_app.skills.local_time import LocalTime
from firmware_app.skills.sums import SumsSkill
from firmware_app.skills.timers import TimersSkill
from firmware_app.skills.understanding import Understanding, plain

ANSWER_SECONDS = 30.0  # an answer later than that is a new question
NEAR_ANSWER, NEAR_ANSWER_A_WORD = 0.5, 0.2  # cost up to which words are an answer


@dataclass(frozen=True, slots=True)
class Understood:
    """What is to be done: a tool's use; or what is asked about first, in `says`."""

    call: Call | None = None
    says: ToolResult | None = None
    changes: bool = False
    kept: bool = True


@dataclass(frozen=True, slots=True)
class _Pending:
    asking: Asking
    input_mode: str
    until: float  # monotonic


class Skills:
    def __init__(self, language: Language, skills: Sequence[Skill], local: LocalTime) -> None:
        self.language = language
        self.skills = skills
        self._local = local
        self._of = {tool.name: skill for skill in skills for tool in skill.tools}
        self.tools: Mapping[str, SkillTool] = {
            tool.name: tool for skill in skills for tool in skill.tools
        }
        self._understanding = Understanding(
            language,
            changes=frozenset(tool.name for tool in self.tools.values() if tool.changes),
            slight=frozenset(tool.name for tool in self.tools.values() if tool.slight),
        )
        self._answers = language.answers()
        self._pending: _Pending | None = None

    @property
    def timers(self) -> TimersSkill:
        """What rings."""
        return next(skill for skill in self.skills if isinstance(skill, TimersSkill))

    @property
    def encyclopedia(self) -> EncyclopediaSkill | None:
        """What looks things up; None where the owner has given no file for it."""
        return next((s for s in self.skills if isinstance(s, EncyclopediaSkill)), None)

    @property
    def time(self) -> LocalTime:
        return self._local

    async def warm_up(self) -> None:
        """Load what is heavy, beside other things."""
        for skill in self.skills:
            if isinstance(skill, SumsSkill):
                await skill.warm_up()

    # What is meant.

    def understand(
        self, text: str, confidence: float = 1.0, input_mode: str = "voice"
    ) -> Understood | None:
        """What a skill has to do with this; None where it is a question for the model."""
        if not self._of:
            return None
        if answered := self._answer(text, input_mode):
            return answered
        meaning = self._understanding.meaning(text, self._local.guess().date(), confidence)
        if not meaning or meaning.tool not in self._of:
            return None
        call = self._call(meaning.tool, meaning.arguments)
        if not call:
            return None
        if meaning.doubtful and self._is_complete(call):
            return self._doubt(call, meaning.other)
        return self._use(call)

    def means(self, text: str, tools: frozenset[str]) -> bool:
        """Whether a sentence is for one of these tools."""
        meaning = self._understanding.meaning(text, self._local.guess().date())
        return meaning is not None and meaning.tool in tools

    @property
    def asks(self) -> bool:
        """Whether Echo has asked, and an answer is still one."""
        return self._pending is not None and time.monotonic() < self._pending.until

    def asked(self, result: ToolResult, input_mode: str) -> None:
        """A result was said: what it asks may be answered now."""
        if result.asks:
            until = time.monotonic() + ANSWER_SECONDS
            self._pending = _Pending(result.asks, input_mode, until)

    def leave(self) -> None:
        """Whoever was asked said nothing, or something else."""
        self._pending = None

    # What is done.

    async def use(self, call: Call) -> ToolResult:
        """Run a tool. Raises EchoError where a part of Echo failed."""
        try:
            return await self._of[call.tool].run(call)
        except SkillError as error:
            return ToolResult(self.language.errors[error.code])

    # For a language model.

    def offered(self, *, changing: bool = True) -> list[Tool]:
        """The tools that a language model may call; changing: also those that change something."""
        return [
            Tool(tool.name, tool.description, tool.parameters)
            for tool in self.tools.values()
            if tool.offered and (changing or not tool.changes)
        ]

    def checked(self, name: str, arguments: str) -> Call:
        """A model's call of a tool. Raises SkillError "no-such-tool" or "bad-arguments"."""
        tool = self.tools.get(name)
        if not tool or not tool.offered:
            raise SkillError("no-such-tool", f"There is no tool {name[:40]}.", "Ask otherwise.")
        return Call(name, schema.parse(arguments, tool.parameters))

    def confirm(self, call: Call) -> ToolResult:
        """What is said before a model's call that changes things is done."""
        return self._did_you_say(self._described(call), call)

    # Behind it.

    def _call(self, tool: str, arguments: Mapping[str, Any]) -> Call | None:
        return self._of[tool].heard(tool, arguments)

    def _is_complete(self, call: Call) -> bool:
        """Whether it does something; one that is not asks for what is missing."""
        required: Sequence[str] = self.tools[call.tool].parameters["required"]
        return all(name in call.arguments for name in required)

    def _use(self, call: Call) -> Understood:
        tool = self.tools[call.tool]
        return Understood(call, changes=tool.changes, kept=tool.kept)

    def _doubt(self, call: Call, arguments: Mapping[str, Any] | None) -> Understood:
        """Ask whether it was meant, or the same with other arguments."""
        said = self._described(call)
        other = None if arguments is None else self._call(call.tool, arguments)
        if other is None or self._described(other) == said:
            return Understood(says=self._did_you_say(said, call))
        what = self.language.say.either(said, self._described(other))
        asked = self._did_you_say(what, call)
        assert asked.asks  # noqa: S101 - it asks
        # One of the two is the answer; a "yes" says neither.
        return Understood(
            says=replace(
                asked,
                asks=replace(
                    asked.asks,
                    yes_is_one=False,
                    answers=(
                        *asked.asks.answers,
                        "{duration:seconds}",
                        "{time:time}",
                        "{number:n}",
                    ),
                    others={"first": call, "second": other},
                ),
            )
        )

    def _did_you_say(self, what: str, call: Call) -> ToolResult:
        said = self.language.phrases["did_you_say"].format(what=what)
        return ToolResult(said, Asking(call))

    def _described(self, call: Call) -> str:
        """A use in words, as the skill's file has them: doubt_<tool>."""
        words = self.language.skills[self._of[call.tool].name].responses
        kind = "all" if call.arguments.get("all") else call.arguments.get("kind")
        form = words.get(f"doubt_{call.tool}_{kind}") or words.get(f"doubt_{call.tool}", call.tool)
        return " ".join(
            form.format_map(
                _Spoken(self.language, call.arguments, self._local.guess().date())
            ).split()
        )

    def _answer(self, text: str, input_mode: str) -> Understood | None:
        pending = self._pending
        if not pending or not self.asks or pending.input_mode != input_mode:
            return None
        asking = pending.asking
        heard = self.language.utterance(text, self._local.guess().date())
        if not heard.words:
            return None
        limit = min(NEAR_ANSWER, NEAR_ANSWER_A_WORD * len(heard.words))
        said = next((m.meaning for m in heard.whole(self._answers) if m.cost <= limit), None)
        if said == "no":
            return Understood(says=ToolResult(self.language.phrases["not_done"]), kept=False)
        if said == "yes" and asking.yes_is_one:
            return self._use(asking.call)
        if said and said in asking.others:
            return self._use(asking.others[said])
        for template, call in asking.others.items():
            net = self.language.net([template])
            if any(way.cost <= limit for way in heard.whole(net)):
                return self._use(call)
        for way in heard.whole(self.language.net(asking.answers)) if asking.answers else ():
            if way.cost <= limit:
                return self._completed(asking, plain(way.values))
        return None

    def _completed(self, asking: Asking, values: Mapping[str, Any]) -> Understood:
        choices = [c for key, c in asking.others.items() if key in ("first", "second")]
        for call in choices:  # one of the two that were offered
            if any(value in _numbers(call) for value in values.values()):
                return self._use(call)
        completed = self._call(asking.call.tool, {**asking.call.arguments, **values})
        return self._use(completed or asking.call)


def _numbers(call: Call) -> list[Any]:
    """The values of a call, and its seconds as people count them."""
    values = [value for name, value in call.arguments.items() if name != "number"]
    if seconds := call.arguments.get("seconds"):
        values += [seconds / size for size in (60, 3600, 86_400)]
    return values


class _Spoken(dict[str, Any]):
    """Arguments as they are said."""

    def __init__(
        self, language: Language, arguments: Mapping[str, Any], today: datetime.date
    ) -> None:
        super().__init__(arguments)
        if "seconds" in arguments:
            self["seconds"] = language.say.duration(arguments["seconds"])
        self["when"] = language.say.when(arguments, today)

    def __missing__(self, name: str) -> str:
        return ""
