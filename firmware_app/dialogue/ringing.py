"""Rings when a timer, alarm or reminder is due, until somebody stops it or the limit is reached."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from firmware_app.audio.chimes import chime
from firmware_app.errors import EchoError
from firmware_app.events import Events, Notice, RingingChanged
from firmware_app.frames import Samples
from firmware_app.skills.timers import TimersSkill
from firmware_app.skills.timers.schedule import Due

log = logging.getLogger(__name__)

LIMIT_SECONDS = 120.0  # that something rings unheard
PAUSE_SECONDS = 2.0  # between two rings, in which Echo can hear
LOOK_SECONDS = 20.0  # at least so often the clock is looked at: somebody may set it


class Ringing:
    """`run` it beside the dialogue. announce: says a text after a sound, and returns when it has.

    limit, pause: seconds.
    """

    def __init__(
        self,
        timers: TimersSkill,
        events: Events,
        announce: Callable[[str, Samples | None], Awaitable[None]],
        limit: float = LIMIT_SECONDS,
        pause: float = PAUSE_SECONDS,
    ) -> None:
        self._timers = timers
        self._events = events
        self._announce = announce
        self._limit = limit
        self._pause = pause
        self._changed = asyncio.Event()
        self._stopped = asyncio.Event()
        self._rings = False

    def stop(self) -> bool:
        """Whether something rang; it does no more."""
        rang, self._rings = self._rings, False
        self._stopped.set()
        return rang

    async def run(self) -> None:
        """Ring whatever comes due, until cancelled."""
        schedule = self._timers.schedule
        schedule.on_change = self._changed.set
        try:
            while True:
                self._changed.clear()
                for due in schedule.due():
                    await self._ring(due)
                wait = max(0.0, min(schedule.next_in() or LOOK_SECONDS, LOOK_SECONDS))
                try:
                    async with asyncio.timeout(wait):
                        await self._changed.wait()
                except TimeoutError:
                    pass
        finally:
            schedule.on_change = lambda: None

    async def _ring(self, due: Due) -> None:
        name = self._timers.ring_name(due)
        if due.missed:
            self._events.publish(Notice("alarm-missed", f"{name} could not ring in time."))
            return
        self._timers.schedule.rang(due.alert)
        self._stopped.clear()
        self._rings = True
        self._events.publish(RingingChanged(True, name))
        try:
            async with asyncio.timeout(self._limit):
                while not self._stopped.is_set():
                    await self._once(due)
                    try:
                        async with asyncio.timeout(self._pause):
                            await self._stopped.wait()
                    except TimeoutError:
                        pass
        except TimeoutError:
            log.info("nobody stopped what rang")
        finally:
            self._rings = False
            self._events.publish(RingingChanged(False, name))

    async def _once(self, due: Due) -> None:
        try:
            await self._announce(self._timers.ring_text(due), chime("timer"))
        except EchoError as error:
            log.warning("it cannot be heard that something rings: %s", error.code)
