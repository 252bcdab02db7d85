"""The skills of the running service: what they reach, and how their timers ring."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from firmware_app.condition import Condition
from firmware_app.control.config_calls import ConfigCalls
from firmware_app.dialogue.open_talk import OpenTalk
from firmware_app.dialogue.ringing import Ringing
from firmware_app.dialogue.talk import Talk
from firmware_app.doctor import Status, all_checks, runner
from firmware_app.doctor.context import this_box
from firmware_app.errors import StorageError
from firmware_app.events import Events
from firmware_app.frames import Samples
from firmware_app.skills.building import World, build
from firmware_app.skills.echo import Health
from firmware_app.skills.registry import Skills
from firmware_app.skills.timers.store import Alerts
from firmware_app.state import StateStore

log = logging.getLogger(__name__)


async def abilities(
    condition: Condition,
    talk: Talk,
    changes: ConfigCalls,
    events: Events,
    store: StateStore | None,
    address: Callable[[], str | None],
) -> Skills:
    """Every skill, with the timers, alarms and reminders of before."""
    alerts = Alerts(store) if store else None
    kept = []
    if alerts:
        try:
            kept = await alerts.load()
        except StorageError as error:
            log.error("timers and alarms cannot be read: %s", error.what)
    world = World(
        settings=condition.settings,
        change=changes.change,
        mute=lambda: talk.set_muted(True),
        health=lambda: _health(condition),
        address=address,
        talk=OpenTalk(condition.keeper, events),
        kept=tuple(kept),
        alerts=alerts,
    )
    return await asyncio.to_thread(build, world)


def ringing(
    skills: Skills,
    talk: Talk,
    events: Events,
    chime_alone: Callable[[Samples], Awaitable[None]],
) -> Ringing:
    """chime_alone: sounds where Echo is not awake, and has no voice to say what rings."""

    async def announce(text: str, sound: Samples | None) -> None:
        if talk.awake:
            await talk.announce(text, sound)
        elif sound is not None:
            await chime_alone(sound)

    return Ringing(skills.timers, events, announce)


async def _health(condition: Condition) -> Health:
    """What the doctor finds without trying the engines, which are at work."""

    def ask(name: str, **args: object) -> object:
        return condition.vitals() if name == "doctor" else condition.status()

    checks = [check for check in all_checks() if not check.heavy]
    context = await asyncio.to_thread(this_box, ask, lambda level: None)
    results = await asyncio.to_thread(lambda: list(runner.run(checks, context)))
    lines = {
        status: [r.finding.line for r in results if r.finding.status is status] for status in Status
    }
    return Health(len(lines[Status.PASS]), lines[Status.FAIL], lines[Status.WARN])
