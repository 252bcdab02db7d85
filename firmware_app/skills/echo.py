"""The skill that tells about Echo itself: how it is, what it can do, where its page is."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from firmware_app.skills import Arguments, Call, SkillTool, ToolResult, parameters
from firmware_app.skills.language import Language


@dataclass(frozen=True, slots=True)
class Health:
    """What the doctor found: how many checks passed, what failed, and what deserves a look."""

    passed: int
    failed: Sequence[str] = ()
    warned: Sequence[str] = ()


class EchoSkill:
    """others: the other skills there are. health: asks the doctor. address: of the page; None
    where it is switched off."""

    name = "echo"
    tools: Sequence[SkillTool] = (
        SkillTool("how_are_you", "Tells whether Echo's parts work.", parameters()),
        SkillTool("what_can_you_do", "Tells what Echo can do.", parameters()),
        SkillTool("address", "Tells the address of Echo's page.", parameters()),
    )

    def __init__(
        self,
        language: Language,
        others: Sequence[str],
        health: Callable[[], Awaitable[Health]] | None = None,
        address: Callable[[], str | None] = lambda: None,
    ) -> None:
        self._language = language
        self._words = language.skills[self.name].responses
        self._others = others
        self._health = health
        self._address = address

    def heard(self, tool: str, arguments: Arguments) -> Call:
        return Call(tool, arguments)

    async def run(self, call: Call) -> ToolResult:
        match call.tool:
            case "how_are_you":
                return ToolResult(await self._how())
            case "what_can_you_do":
                return ToolResult(self._abilities())
            case _:
                address = self._address()
                form = "address" if address else "no_address"
                return ToolResult(self._words[form].format(address=address))

    async def _how(self) -> str:
        if not self._health:
            return self._words["unknown"]
        health = await self._health()
        if health.failed:
            return self._words["unwell"].format(what=health.failed[0])
        if health.warned:
            return self._words["warned"].format(what=health.warned[0])
        return self._words["well"].format(checked=health.passed)

    def _abilities(self) -> str:
        skills = [self._language.skills[name] for name in self._others]
        tried = [skill.examples[0] for skill in skills][:3]
        told = "; ".join(skill.about for skill in skills)
        return " ".join(
            (
                self._words["abilities"].format(list=told),
                self._words["try"].format(examples="; ".join(tried)),
            )
        )
