"""The light: what Echo does, mapped to looks, drawn by one task.

It sleeps while nothing changes. A light that fails is logged once and tried again later; the
voice never waits for it.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace

from firmware_app.device.drivers import Driver
from firmware_app.device.patterns import (
    DARK,
    FRAME_SECONDS,
    LOOKS,
    Colours,
    Name,
    Shape,
    dimmed,
    draw,
)
from firmware_app.errors import DeviceError
from firmware_app.events import (
    Event,
    Events,
    Listener,
    MuteChanged,
    RingingChanged,
    Saved,
    SavingChanged,
    State,
    StateChanged,
    TalkerDirection,
)
from firmware_app.settings import LightSettings
from firmware_app.settings_checks import hours

log = logging.getLogger(__name__)

BACK_OFF = (1.0, 5.0, 15.0, 60.0)  # seconds before a light that failed is tried again
LOOK_AT_CLOCK = 600.0  # seconds after which a clock that was set anew is noticed

BUSY: dict[State, Name] = {
    State.LISTENING: "listening",
    State.THINKING: "thinking",
    State.SPEAKING: "speaking",
}

# What a state tells of the microphone; in the others it may be either.
CLOSED_IN = {State.MUTED: True, State.IDLE: False, State.LISTENING: False}


@dataclass(frozen=True, slots=True)
class Scene:
    """What is so at the moment.

    closed: the microphone, as the device itself reports. muted: whether that was asked for.
    """

    state: State = State.STARTING
    muted: bool = False
    closed: bool = False
    ringing: bool = False
    saved: Saved = Saved.SAVED
    talker: float | None = None

    @property
    def look(self) -> Name:
        """What the light says of it. A closed microphone shows, whatever else goes on.

        But one that is closed only because Echo is not awake shows why it is not.
        """
        if self.ringing:
            return "ringing"
        if self.closed and (self.muted or self.state not in (State.STARTING, State.ERROR)):
            return "muted"
        if self.state in BUSY:
            return BUSY[self.state]
        if self.state in (State.STARTING, State.RECONNECTING):
            return "boot"
        if self.state is State.ERROR:
            return "error"
        return "idle" if self.saved is Saved.SAVED else "not saving"


def after(scene: Scene, event: Event) -> Scene:
    """The scene once this has happened."""
    match event:
        case StateChanged(state):
            talker = scene.talker if state is State.LISTENING else None
            closed = CLOSED_IN.get(state, scene.closed)
            return replace(scene, state=state, talker=talker, closed=closed)
        case MuteChanged(muted, closed):
            return replace(scene, muted=muted, closed=closed)
        case RingingChanged(ringing=ringing):
            return replace(scene, ringing=ringing)
        case SavingChanged(status):
            return replace(scene, saved=status)
        case TalkerDirection(degrees):
            return replace(scene, talker=degrees)
    return scene


class Lights:
    """`run` it for as long as Echo lives.

    open_driver: blocks; raises DeviceError. fault: why nothing is shown. thread: runs the driver;
    a thread of its own if None.
    """

    def __init__(
        self,
        open_driver: Callable[[], Driver],
        shape: Shape,
        events: Events,
        settings: LightSettings,
        *,
        clock: Callable[[], float] = time.monotonic,
        local: Callable[[], time.struct_time] = time.localtime,
        thread: Executor | None = None,
    ) -> None:
        self.fault: DeviceError | None = None
        self._open_driver = open_driver
        self._shape = shape
        self._events = events
        self._settings = settings
        self._clock = clock
        self._local = local
        self._scene = Scene()
        self._passing: Name | None = None  # shown before all else
        self._passes_at: float | None = None
        self._changed = asyncio.Event()
        self._driver: Driver | None = None
        self._attempt = 0
        self._again_at = 0.0
        self._shown: Colours | None = None
        self._thread = thread or ThreadPoolExecutor(1, thread_name_prefix="light")

    async def run(self) -> None:
        """Show until cancelled; dark then."""
        listener = self._events.listen()
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._follow(listener), name="light events")
                group.create_task(self._render(), name="light")
        finally:
            self._events.unlisten(listener)
            await asyncio.get_running_loop().run_in_executor(self._thread, self._go_dark)
            self._thread.shutdown(wait=False)

    def apply(self, settings: LightSettings) -> None:
        """Take over another brightness or other hours of the night."""
        self._settings = settings
        self._changed.set()

    def show(self, look: Name, seconds: float | None = None) -> None:
        """Say this before all else, for so long or until `show_state`."""
        self._passing = look
        self._passes_at = None if seconds is None else self._clock() + seconds
        self._changed.set()

    def show_state(self) -> None:
        """Say again what Echo does."""
        self._passing = None
        self._changed.set()

    @property
    def look(self) -> Name:
        """What the light says now, or would where it works."""
        if self._passing and (self._passes_at is None or self._clock() < self._passes_at):
            return self._passing
        return self._scene.look

    async def _follow(self, listener: Listener) -> None:
        async for event in listener:
            if (scene := after(self._scene, event)) != self._scene:
                self._scene = scene
                self._changed.set()

    async def _render(self) -> None:
        look, since, drawn_at = self.look, self._clock(), 0.0
        while True:
            self._changed.clear()
            now = self._clock()
            if self.look != look:
                look, since = self.look, now
            colours, stays = draw(LOOKS[look], now - since, self._shape, self._scene.talker)
            drawn_at = now
            await self._write(dimmed(colours, self._brightness()))
            await self._wait(self._next_change(stays))
            # The same look in other colours (the talker moved) can wait for its frame.
            if self.look == look and (early := drawn_at + FRAME_SECONDS - self._clock()) > 0:
                await self._wait_for_look(look, early)

    async def _wait_for_look(self, look: Name, seconds: float) -> None:
        """Wait so long, or until the light has something else to say."""
        until = self._clock() + seconds
        while self.look == look and (left := until - self._clock()) > 0:
            self._changed.clear()
            await self._wait(left)

    async def _wait(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._changed.wait()

    def _next_change(self, stays: float | None) -> float:
        """Seconds until there may be something else to draw."""
        now = self._clock()
        times = [LOOK_AT_CLOCK if stays is None else stays]
        if self._passing and self._passes_at is not None and self._passes_at > now:
            times.append(self._passes_at - now)
        if self.fault:
            times.append(max(0.0, self._again_at - now))
        if stays is None and (night := hours(self._settings.night_hours)):
            local = self._local()
            second = local.tm_hour * 3600 + local.tm_min * 60 + local.tm_sec
            times += [(edge * 60 - second) % 86_400 or 86_400 for edge in night]
        return min(times)

    def _brightness(self) -> int:
        night, local = hours(self._settings.night_hours), self._local()
        if night:
            begin, end = night
            minute = local.tm_hour * 60 + local.tm_min
            if (minute - begin) % 1440 < (end - begin) % 1440:
                return self._settings.night_brightness
        return self._settings.brightness

    # The driver, always on the light's own thread.

    async def _write(self, colours: Colours) -> None:
        if colours == self._shown and not self.fault:
            return
        if self.fault and self._clock() < self._again_at:
            return
        try:
            await asyncio.get_running_loop().run_in_executor(self._thread, self._put, colours)
        except DeviceError as error:
            self._note(error)
            return
        if self.fault:
            log.info("the light works again")
        self.fault, self._attempt, self._shown = None, 0, colours

    def _put(self, colours: Colours) -> None:
        try:
            if self._driver is None:
                self._driver = self._open_driver()
            self._driver.show(colours)
        except Exception as error:
            driver, self._driver = self._driver, None
            if driver:
                driver.close()
            if isinstance(error, DeviceError):
                raise
            raise DeviceError(  # whatever a driver's library may raise, the voice goes on
                "light-failed",
                f"The light failed ({type(error).__name__}: {error}).",
                "Restart the box; if it fails again, choose another board with device.board.",
            ) from error

    def _note(self, error: DeviceError) -> None:
        if self.fault is None or self.fault.what != error.what:
            log.warning("no light: %s", error)
        self.fault, self._shown = error, None
        self._again_at = self._clock() + BACK_OFF[min(self._attempt, len(BACK_OFF) - 1)]
        self._attempt += 1

    def _go_dark(self) -> None:
        if self._driver:
            with suppress(DeviceError):
                self._driver.show((DARK,) * self._shape.leds)
            self._driver.close()
