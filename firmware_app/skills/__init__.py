"""What Echo can do besides talking: skills, the tools each offers, and what a use of one gave.

A skill is reached by its sentences (languages/<language>/<skill>.yaml), or by a language model
that calls one of its tools; both run the same function with arguments of the same schema.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from firmware_app.errors import EchoError

Arguments: TypeAlias = Mapping[str, Any]
Schema: TypeAlias = Mapping[str, Any]  # JSON Schema


class SkillError(EchoError):
    """A skill cannot do what was asked; `what` is said to whoever asked."""


@dataclass(frozen=True, slots=True)
class SkillTool:
    """One thing that a skill does.

    description, parameters: for a language model; a JSON Schema object.
    changes: whether it changes anything, so that it waits until the question is committed.
    slight: whether that is heard or seen at once and undone by a word, so that it need not be asked
    about where the recogniser is unsure.
    offered: whether a language model may call it at all.
    kept: whether it makes an exchange of the conversation; what is about the conversation does not.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    changes: bool = False
    slight: bool = False
    offered: bool = True
    kept: bool = True


@dataclass(frozen=True, slots=True)
class Call:
    """A use of a tool: its name, and arguments that fit its schema."""

    tool: str
    arguments: Arguments = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Asking:
    """What Echo has asked, and what is done at which answer; any other is a new question.

    call: done at a "yes", where yes_is_one. answers: templates whose values complete the call.
    others: other calls, by the template that chooses each.
    """

    call: Call
    answers: Sequence[str] = ()
    others: Mapping[str, Call] = field(default_factory=dict)
    yes_is_one: bool = True


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool found or did, in a sentence or two that can be spoken.

    asks: what Echo has asked with it. recalls: whether the text holds what was said before or
    stands elsewhere, so that a model that reads it may not change anything in the same turn.
    """

    text: str
    asks: Asking | None = None
    recalls: bool = False


class Skill(Protocol):
    name: str
    tools: Sequence[SkillTool]

    def heard(self, tool: str, arguments: Arguments) -> Call | None:
        """The use of a tool that a sentence means, whose slots have these values.

        None where that is nothing for the skill after all.
        """
        ...

    async def run(self, call: Call) -> ToolResult:
        """Do it. Raises SkillError where it cannot be done, EchoError where a part failed."""
        ...


def parameters(
    properties: Mapping[str, Schema] | None = None, required: Sequence[str] = ()
) -> Schema:
    """A JSON Schema object of these properties and no others."""
    return {
        "type": "object",
        "properties": dict(properties or {}),
        "required": list(required),
        "additionalProperties": False,
    }
