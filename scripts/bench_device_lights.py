"""From a wake-up and from a press to the light, through the pipeline as Echo runs it.

Real engines hear a recording of the wake word; the button is gpiozero's mock pin, driven from
another thread as a real one would be. The light is one that only notes when it was told: writing
12 APA102 LEDs takes 0.5 ms more (57 bytes at 1 MHz), and is not measured here.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from gpiozero.pins.mock import MockFactory  # type: ignore[import-untyped, unused-ignore]

from firmware_app.app import Echo, awake
from firmware_app.audio.room import ScriptedSource
from firmware_app.audio.simulated import TimedSink
from firmware_app.audio.wav import read_wav
from firmware_app.device.button import DOUBLE
from firmware_app.device.hardware import Hardware
from firmware_app.device.mixer import Control
from firmware_app.device.patterns import Colours
from firmware_app.dialogue.dialogue import Dialogue
from firmware_app.engines import Engines
from firmware_app.engines.loading import load_engines
from firmware_app.events import Events, State, StateChanged, TurnTraced, WakeWordHeard
from firmware_app.frames import SAMPLE_RATE, Samples, dbfs
from firmware_app.settings import LightSettings, Settings
from firmware_app.settings_layers import load
from firmware_app.traces import Traces

WAKE_WORD = Path(__file__).parents[1] / "recordings" / "bench" / "pause_after_wake_word.flac"
WAKE_UPS, PRESSES = 15, 50
BUTTON = 17  # of the board usb-with-led
WANTED = {"the detection": 50, "the press": 30}  # ms


@dataclass
class NotingLight:
    """Notes when it first was told of something bright."""

    lit_at: float = 0.0
    lit: asyncio.Event = field(default_factory=asyncio.Event)
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)

    async def when_lit(self) -> float:
        async with asyncio.timeout(5):
            await self.lit.wait()
        return self.lit_at

    def forget(self) -> None:
        self.lit_at = 0.0
        self.lit.clear()

    def show(self, colours: Colours) -> None:
        if any(map(any, colours)) and not self.lit_at:
            self.lit_at = time.monotonic()
            self.loop.call_soon_threadsafe(self.lit.set)

    def close(self) -> None:
        return


@dataclass
class PressOnly:
    """The button's press reaches the dialogue; no more is measured."""

    dialogue: Dialogue

    def press(self) -> None:
        self.dialogue.press()

    def dont_save(self) -> None:
        return

    def holding_to_mute(self) -> None:
        return

    def toggle_mute(self) -> None:
        return

    def speak_pairing_code(self) -> None:
        return


def run() -> None:
    """Measure, and print the table."""
    asyncio.run(_measure())


async def _measure() -> None:
    settings = load().settings
    quick = replace(settings.endpoint, nothing_said_seconds=1.0)
    settings = replace(settings, endpoint=quick, audio=replace(settings.audio, chimes=False))
    engines = await load_engines(settings)
    try:
        await engines.model.ready()
        wake_ups = await _wake_ups(settings, engines)
        presses = await _presses(settings, engines)
    finally:
        await engines.close()
    print("| from | to the light, ms: median | 95 % | worst | times | wanted at most |")
    print("|---|---|---|---|---|---|")
    for name, times in (("the detection", wake_ups), ("the press", presses)):
        middle, most, worst = np.percentile(times, [50, 95, 100])
        print(
            f"| {name} | {middle:.1f} | {most:.1f} | {worst:.1f} | {len(times)} | {WANTED[name]} |"
        )
    print(f"\nload average {os.getloadavg()[0]:.2f}")


async def _wake_ups(settings: Settings, engines: Engines) -> list[float]:
    """ms from a detection, as it is told, to the light."""
    said = [_wake_word()] * WAKE_UPS
    detected: list[float] = []
    lit: list[float] = []
    async with _box(settings, engines, said) as box:
        async for event in box.events.listen():
            match event:
                case WakeWordHeard():
                    detected.append(time.monotonic())
                    lit.append(await box.light.when_lit())
                case TurnTraced():
                    await box.until_dark()
                    if len(lit) == WAKE_UPS:
                        break
    return [(at - before) * 1000 for before, at in zip(detected, lit, strict=True)]


async def _presses(settings: Settings, engines: Engines) -> list[float]:
    """ms from an edge at the pin to the light."""
    times = []
    quiet: Samples = np.zeros(SAMPLE_RATE * 600, np.int16)
    async with _box(settings, engines, [quiet]) as box:
        for _ in range(PRESSES):
            await box.until_dark()
            pressed = await asyncio.to_thread(box.press)
            times.append((await box.light.when_lit() - pressed) * 1000)
            await asyncio.to_thread(box.let_go)
            box.echo.dialogue.cancel_listening()
            await asyncio.sleep(2 * DOUBLE)
    return times


@dataclass
class Box:
    """Echo awake, with a light and a button."""

    echo: Echo
    events: Events
    light: NotingLight
    pins: MockFactory

    def press(self) -> float:
        """By a thread of its own; returns when."""
        at = time.monotonic()
        self.pins.pin(BUTTON).drive_low()
        return at

    def let_go(self) -> None:
        self.pins.pin(BUTTON).drive_high()

    async def until_dark(self) -> None:
        while self.echo.dialogue.state is not State.IDLE:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        self.light.forget()


@asynccontextmanager
async def _box(settings: Settings, engines: Engines, said: Sequence[Samples]) -> AsyncIterator[Box]:
    def may_speak() -> bool:
        return patience.over()

    patience = Patience()
    events = Events()
    source = ScriptedSource(said, may_speak, lead=0.5)
    async with awake(settings, engines, source, TimedSink(), events, Traces()) as echo:
        patience.dialogue = echo.dialogue
        light, pins = NotingLight(), MockFactory()
        hardware = Hardware(
            "usb-with-led",
            events,
            LightSettings(night_hours=""),
            PressOnly(echo.dialogue),
            lambda: None,
            _no_mixer,
            root=Path("/nonexistent"),
            open_driver=lambda: light,
            factory=pins,
        )
        running = asyncio.create_task(hardware.run())
        await asyncio.sleep(0.2)
        events.publish(StateChanged(echo.dialogue.state))
        try:
            box = Box(echo, events, light, pins)
            await box.until_dark()
            yield box
        finally:
            running.cancel()
            await asyncio.wait([running])
            pins.reset()


@dataclass
class Patience:
    """Lets the next one speak when Echo has rested for a while, each time another one."""

    dialogue: Dialogue | None = None
    rested: int = 0
    turns: int = 0

    def over(self) -> bool:
        if not self.dialogue or self.dialogue.busy:
            self.rested = 0
            return False
        self.rested += 1
        # The wake word's blocks of 80 ms begin anywhere in the phrase.
        if self.rested < 25 + self.turns % 4:
            return False
        self.rested, self.turns = 0, self.turns + 1
        return True


def _no_mixer(card: str, name: str) -> Control:
    raise OSError("there is no card")


def _wake_word() -> Samples:
    """The recording up to the pause after the wake word."""
    sound = read_wav(WAKE_WORD)
    blocks = [dbfs(sound[at : at + 1600]) > -45 for at in range(0, len(sound), 1600)]
    began = blocks.index(True)
    ended = next(n for n in range(began + 4, len(blocks)) if not any(blocks[n : n + 3]))
    return sound[: ended * 1600]


if __name__ == "__main__":
    run()
