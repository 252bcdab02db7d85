"""Skills on a clock that tests drive."""

import datetime
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from firmware_app.history.records import Moment
from firmware_app.settings import Settings
from firmware_app.skills.building import World, build
from firmware_app.skills.local_time import LocalTime
from firmware_app.skills.registry import Skills
from firmware_app.skills.timers.store import Alerts
from firmware_app.state import StateStore

BERLIN = ZoneInfo("Europe/Berlin")
MONDAY = datetime.datetime(2026, 11, 30, 17, 0, tzinfo=BERLIN)


@dataclass
class DrivenClock:
    """A wall clock and a time since boot that go on only when told. trusted: of the wall clock."""

    wall: float = field(default_factory=MONDAY.timestamp)
    since_boot: float = 100.0
    boot_id: str = "first boot"
    trusted: bool = True

    def now(self) -> Moment:
        return Moment(self.wall if self.trusted else None, self.boot_id, self.since_boot)

    def go_on(self, seconds: float) -> None:
        self.wall += seconds
        self.since_boot += seconds

    def go_to(self, moment: datetime.datetime) -> None:
        self.go_on(moment.timestamp() - self.wall)

    def restart(self, seconds_off: float = 0.0) -> None:
        """The device was off for a while; its time since boot begins anew."""
        self.wall += seconds_off
        self.since_boot, self.boot_id = 5.0, f"after {self.boot_id}"

    def local(self) -> LocalTime:
        return LocalTime(self, BERLIN)


@pytest.fixture
def clock() -> DrivenClock:
    return DrivenClock()


@pytest.fixture
def state(tmp_path: Path) -> Iterator[StateStore]:
    store = StateStore(tmp_path / "state.db")
    yield store
    store.close()


@pytest.fixture
def skills(clock: DrivenClock, state: StateStore) -> Skills:
    return build(World(time=clock.local(), settings=Settings, alerts=Alerts(state)))


@dataclass
class Speaker:
    """Somebody who talks with the skills, and hears what they say."""

    skills: Skills

    async def __call__(self, text: str, confidence: float = 1.0) -> str:
        understood = self.skills.understand(text, confidence)
        self.skills.leave()
        if not understood:
            return ""
        result = understood.says
        if understood.call:
            result = await self.skills.use(understood.call)
        assert result
        self.skills.asked(result, "voice")
        return result.text


@pytest.fixture
def say(skills: Skills) -> Speaker:
    return Speaker(skills)
