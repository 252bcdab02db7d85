"""The light follows what happens, sleeps while nothing does, and outlives its faults."""

import asyncio
import logging
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import pairwise

import pytest

from firmware_app.device.lights import BACK_OFF, LOOK_AT_CLOCK, Lights
from firmware_app.device.patterns import FRAME_SECONDS, LOOKS, Shape, dimmed, draw
from firmware_app.errors import DeviceError
from firmware_app.events import (
    Events,
    MuteChanged,
    RingingChanged,
    Saved,
    SavingChanged,
    State,
    StateChanged,
    TalkerDirection,
)
from firmware_app.settings import LightSettings
from tests.conftest import PATIENCE, until
from tests.device.fakes import FakeLight, FakeThread
from tests.virtual_time import now, virtual_time

FULL = LightSettings(brightness=100, night_hours="")
RING = Shape(12, ring=True)
GONE = DeviceError("light-missing", "The light is gone.", "Plug it in.")


class Lit:
    """Lights on virtual time, with a fake light and a clock on the wall."""

    def __init__(self, settings: LightSettings = FULL, shape: Shape = RING) -> None:
        self.light = FakeLight(now)
        self.events = Events()
        self.wall = time.struct_time((2026, 11, 30, 12, 0, 0, 0, 334, 0))
        self.lights = Lights(
            self.light.open,
            shape,
            self.events,
            settings,
            clock=now,
            local=self._local,
            thread=FakeThread(),
        )
        self.looked_at_clock = 0
        self._shape = shape

    def _local(self) -> time.struct_time:
        self.looked_at_clock += 1
        return self.wall

    async def happens(self, *events: object, seconds: float = 0.0) -> None:
        for event in events:
            self.events.publish(event)  # type: ignore[arg-type]
        for _ in range(5):
            await asyncio.sleep(0)
        await asyncio.sleep(seconds)

    def shows(self, name: str, talker: float | None = None) -> bool:
        """Whether the last frame begins this look."""
        return self.light.now == draw(LOOKS[name], 0.0, self._shape, talker)[0]  # type: ignore[index]


@asynccontextmanager
async def lit(
    settings: LightSettings = FULL, shape: Shape = RING, fault: DeviceError | None = None
) -> AsyncIterator[Lit]:
    made = Lit(settings, shape)
    made.light.fault = fault
    running = asyncio.create_task(made.lights.run())
    await made.happens()
    try:
        yield made
    finally:
        running.cancel()
        await asyncio.wait([running])
        if not running.cancelled():
            running.result()


@virtual_time
async def test_each_state_has_its_look_at_once() -> None:
    async with lit() as box:
        assert box.shows("boot")
        for state, look in (
            (State.IDLE, "idle"),
            (State.LISTENING, "listening"),
            (State.THINKING, "thinking"),
            (State.SPEAKING, "speaking"),
            (State.RECONNECTING, "boot"),
            (State.ERROR, "error"),
        ):
            before = now()
            await box.happens(StateChanged(state))
            assert box.shows(look)
            assert now() == before


@virtual_time
async def test_mute_is_shown_when_the_microphone_is_closed_not_when_it_is_wished() -> None:
    async with lit() as box:
        await box.happens(StateChanged(State.IDLE), MuteChanged(muted=True, closed=False))
        assert box.shows("idle")
        await box.happens(MuteChanged(muted=True, closed=True))
        assert box.shows("muted")
        await box.happens(StateChanged(State.THINKING))  # of a typed message
        assert box.shows("muted")
        await box.happens(MuteChanged(muted=False, closed=True))
        assert box.shows("muted")
        await box.happens(MuteChanged(muted=False, closed=False))
        assert box.shows("thinking")


@virtual_time
async def test_a_box_that_starts_muted_shows_it_in_every_state() -> None:
    async with lit() as box:
        await box.happens(StateChanged(State.MUTED))
        assert box.shows("muted")
        await box.happens(StateChanged(State.THINKING))
        assert box.shows("muted")


@virtual_time
async def test_a_fault_shows_unless_somebody_muted_echo() -> None:
    async with lit() as box:
        await box.happens(StateChanged(State.ERROR), MuteChanged(muted=False, closed=True))
        assert box.shows("error")
        await box.happens(MuteChanged(muted=True, closed=True))
        assert box.shows("muted")


@virtual_time
async def test_ringing_shows_over_all_and_ends() -> None:
    async with lit() as box:
        await box.happens(StateChanged(State.SPEAKING), RingingChanged(True, "tea"))
        assert box.shows("ringing")
        await box.happens(RingingChanged(False, ""))
        assert box.shows("speaking")


@virtual_time
async def test_rest_shows_whether_talk_is_saved() -> None:
    async with lit() as box:
        await box.happens(StateChanged(State.IDLE), SavingChanged(Saved.NOT_SAVED))
        assert box.shows("not saving")
        await box.happens(SavingChanged(Saved.NOT_SAVING))
        assert box.shows("not saving")
        await box.happens(SavingChanged(Saved.SAVED))
        assert box.shows("idle")


@virtual_time
async def test_the_ring_points_to_the_talker_while_it_listens() -> None:
    async with lit() as box:
        await box.happens(TalkerDirection(90.0), StateChanged(State.LISTENING))
        assert box.shows("listening", 90.0)
        await box.happens(TalkerDirection(180.0), seconds=0.1)
        assert box.shows("listening", 180.0)
        await box.happens(StateChanged(State.THINKING), StateChanged(State.LISTENING))
        assert box.shows("listening")  # somebody else may go on from elsewhere


@virtual_time
async def test_a_talker_who_moves_costs_no_more_than_the_frame_rate() -> None:
    async with lit() as box:
        await box.happens(StateChanged(State.LISTENING))
        box.light.frames.clear()
        for degrees in range(100):
            await box.happens(TalkerDirection(float(degrees * 3)), seconds=0.01)
        assert 15 <= len(box.light.frames) <= 21


@virtual_time
async def test_a_moving_look_keeps_its_frame_rate_and_a_still_one_draws_nothing() -> None:
    async with lit() as box:
        await box.happens(StateChanged(State.THINKING), seconds=5)
        times = [at for at, _ in box.light.frames][1:]
        gaps = [later - at for at, later in pairwise(times)]
        assert min(gaps) >= FRAME_SECONDS - 1e-6
        assert len(times) == pytest.approx(100, abs=3)
        await box.happens(StateChanged(State.IDLE))
        drawn = len(box.light.frames)
        await asyncio.sleep(3600)
        assert len(box.light.frames) == drawn


@virtual_time
async def test_nothing_is_woken_while_nothing_changes() -> None:
    async with lit() as box:
        await box.happens(StateChanged(State.IDLE))
        before = box.looked_at_clock
        await asyncio.sleep(3600)
        assert box.looked_at_clock - before <= 3600 / LOOK_AT_CLOCK


@virtual_time
async def test_night_dims_and_morning_brightens() -> None:
    settings = LightSettings(brightness=100, night_brightness=10, night_hours="22:00-07:00")
    async with lit(settings) as box:
        await box.happens(MuteChanged(muted=True, closed=True))
        day, _ = draw(LOOKS["muted"], 0, RING)
        assert box.light.now == day
        for hour, night in ((22, True), (3, True), (6, True), (7, False), (21, False)):
            box.wall = time.struct_time((2026, 11, 30, hour, 0, 0, 0, 334, 0))
            await asyncio.sleep(LOOK_AT_CLOCK)
            assert box.light.now == dimmed(day, 10 if night else 100), hour


@virtual_time
async def test_the_night_begins_on_the_minute() -> None:
    settings = LightSettings(brightness=100, night_brightness=10, night_hours="12:01-13:00")
    async with lit(settings) as box:
        await box.happens(MuteChanged(muted=True, closed=True), seconds=59)
        day, _ = draw(LOOKS["muted"], 0, RING)
        box.wall = time.struct_time((2026, 11, 30, 12, 1, 0, 0, 334, 0))
        assert box.light.now == day
        await asyncio.sleep(1.1)
        assert box.light.now == dimmed(day, 10)


@virtual_time
async def test_brightness_changes_at_once() -> None:
    async with lit() as box:
        await box.happens(MuteChanged(muted=True, closed=True))
        box.lights.apply(replace(FULL, brightness=20))
        await box.happens(seconds=0.1)
        assert box.light.now == dimmed(draw(LOOKS["muted"], 0, RING)[0], 20)


@virtual_time
async def test_a_look_that_passes_gives_way_to_the_state_again() -> None:
    async with lit() as box:
        await box.happens(StateChanged(State.IDLE))
        box.lights.show("not this one", 1.0)
        await box.happens()
        assert box.shows("not this one")
        await asyncio.sleep(1.01)
        assert box.shows("idle")
        box.lights.show("holding")
        await box.happens(seconds=0.6)
        assert box.lights.look == "holding"
        box.lights.show_state()
        await box.happens()
        assert box.shows("idle")


@virtual_time
async def test_a_light_that_fails_is_tried_again_ever_more_rarely() -> None:
    async with lit(fault=GONE) as box:
        assert box.lights.fault is GONE
        await asyncio.sleep(sum(BACK_OFF) + 0.5)
        assert box.light.opened == len(BACK_OFF) + 1
        box.light.fault = None
        await box.happens(StateChanged(State.IDLE), MuteChanged(muted=True, closed=True))
        await asyncio.sleep(BACK_OFF[-1])
        assert box.lights.fault is None
        assert box.shows("muted")


async def test_a_fault_that_lasts_is_one_line_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    light = FakeLight(fault=GONE)
    events = Events()
    lights = Lights(light.open, RING, events, FULL, thread=FakeThread())
    with caplog.at_level(logging.INFO):
        running = asyncio.create_task(lights.run())
        await asyncio.sleep(0.02)
        lights._again_at = 0.0  # time for another try
        events.publish(StateChanged(State.IDLE))
        await asyncio.sleep(0.02)
        assert light.opened >= 2
        light.fault, lights._again_at = None, 0.0
        events.publish(StateChanged(State.LISTENING))
        await asyncio.sleep(0.02)
        running.cancel()
        await asyncio.wait([running])
    assert [record.message for record in caplog.records] == [
        "no light: The light is gone. Plug it in.",
        "the light works again",
    ]


@virtual_time
async def test_it_goes_dark_and_lets_go_when_it_ends() -> None:
    async with lit() as box:
        await box.happens(StateChanged(State.SPEAKING))
        light = box.light
    assert not any(map(any, light.now))
    assert light.closed == 1


async def test_a_driver_that_hangs_keeps_nobody_else_waiting() -> None:
    """The light's own thread blocks; the loop goes on."""

    hangs, released, freed = threading.Event(), threading.Event(), list[bool]()

    class FakeHangingLight(FakeLight):
        def show(self, colours: tuple[tuple[int, int, int], ...]) -> None:
            hangs.set()
            freed.append(released.wait(PATIENCE))

    events = Events()
    running = asyncio.create_task(Lights(FakeHangingLight().open, RING, events, FULL).run())
    await until(hangs.is_set)
    for _ in range(20):
        events.publish(StateChanged(State.THINKING))
        await asyncio.sleep(0.005)
    released.set()  # which a loop that hung with it would never have come to
    running.cancel()
    await asyncio.wait([running])
    assert all(freed)
