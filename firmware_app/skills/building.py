"""Makes the skills of a language from what the rest of Echo hands in."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import lru_cache

from firmware_app.settings import Settings
from firmware_app.settings_checks import Value
from firmware_app.skills import Skill
from firmware_app.skills.clock import ClockSkill
from firmware_app.skills.device import DeviceSkill
from firmware_app.skills.echo import EchoSkill, Health
from firmware_app.skills.encyclopedia import EncyclopediaSkill, Library
from firmware_app.skills.language import Language
from firmware_app.skills.local_time import LocalTime
from firmware_app.skills.past import PastSkill, Talk
from firmware_app.skills.registry import Skills
from firmware_app.skills.sums import SumsSkill
from firmware_app.skills.timers import TimersSkill
from firmware_app.skills.timers.schedule import Alert, Schedule
from firmware_app.skills.timers.store import Alerts


@dataclass(frozen=True, slots=True)
class World:
    """What skills reach of the rest of Echo; without it they say that they cannot.

    kept: timers, alarms and reminders of before; alerts: where they are kept.
    """

    settings: Callable[[], Settings] = Settings
    change: Callable[[str, Value], Awaitable[object]] | None = None
    mute: Callable[[], Awaitable[None]] | None = None
    health: Callable[[], Awaitable[Health]] | None = None
    address: Callable[[], str | None] = lambda: None
    talk: Talk | None = None
    time: LocalTime = field(default_factory=LocalTime)
    kept: tuple[Alert, ...] = ()
    alerts: Alerts | None = None


def build(world: World) -> Skills:
    """Takes about half a second: call it in a thread. Every skill, in the settings' language."""
    language = load(world.settings().language)
    time = world.time
    library = Library(world.settings().encyclopedia.files)
    past_tools = frozenset({"search_history", "continue_talk"})
    skills: Skills

    def is_about_past(text: str) -> bool:
        return skills.means(text, past_tools)

    others: list[Skill] = [
        ClockSkill(language, time),
        TimersSkill(language, Schedule(time, world.kept, world.alerts), world.alerts),
        SumsSkill(language, time),
        DeviceSkill(language, world.settings, world.change, world.mute),
        PastSkill(language, time, world.talk, is_about_past),
    ]
    if library.files:
        others.append(EncyclopediaSkill(language, time, library))
    names = [skill.name for skill in others]
    echo = EchoSkill(language, names, world.health, world.address)
    skills = Skills(language, (*others, echo), time)
    return skills


@lru_cache(4)
def load(code: str) -> Language:
    """A language, read once. Raises SettingsError."""
    return Language(code)
