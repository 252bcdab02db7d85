"""A dialogue in the foreground, shown as it happens."""

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from firmware_app.app import array_of, awake
from firmware_app.audio.alsa import DeviceState
from firmware_app.audio.loudspeaker import AlsaSink
from firmware_app.audio.microphone import AlsaSource
from firmware_app.audio.room import RoomSource, ScriptedSource
from firmware_app.audio.simulated import TimedSink
from firmware_app.audio.wav import WavSink, read_wav
from firmware_app.cli.live import show
from firmware_app.device.board import chosen, resolved
from firmware_app.device.drivers.terminal import SHAPE, Terminal
from firmware_app.device.lights import Lights
from firmware_app.dialogue.dialogue import Dialogue
from firmware_app.engines.loading import load_engines
from firmware_app.events import Events
from firmware_app.settings import Settings
from firmware_app.traces import Outcome, Traces

QUIET_SECONDS = 1.0  # between the end of an answer and the next thing said


async def run_recordings(
    settings: Settings, recordings: Sequence[Path], out: Path | None, *, in_room: bool = False
) -> int:
    """Play the recordings to Echo, each when it has answered the one before.

    in_room: mix the loudspeaker's sound into the microphone. Returns how many were answered.
    """
    sounds = [read_wav(recording) for recording in recordings]
    print("loading the models", flush=True)
    engines = await load_engines(settings)
    events, traces = Events(), Traces()
    shown = asyncio.create_task(show(listener := events.listen()))
    try:
        await engines.model.ready()
        sink = WavSink(out) if out else TimedSink()
        patience = Patience(sink)
        script = ScriptedSource(sounds, patience.is_over, lead=1.0)
        source = RoomSource(script, sink) if in_room else script
        async with (
            terminal_light(settings, events),
            awake(settings, engines, source, sink, events, traces) as echo,
        ):
            patience.dialogue = echo.dialogue
            await echo.dialogue.heard_out()
    finally:
        events.unlisten(listener)
        await shown
        await engines.close()
    return sum(trace.outcome is Outcome.ANSWERED for trace in traces.recent())


async def run_live(settings: Settings) -> None:
    """Talk through this machine's microphone and loudspeaker until cancelled."""
    print("loading the models", flush=True)
    engines = await load_engines(settings)
    events = Events()
    board = chosen(settings.device.board)
    audio = resolved(settings.audio, board)
    array = array_of(audio, board)
    source = AlsaSource.chosen(audio, _tell, array)
    sink = AlsaSink.chosen(audio, _tell)
    try:
        async with (
            terminal_light(settings, events),
            awake(settings, engines, source, sink, events, Traces(), array=array),
        ):
            await show(events.listen())
    finally:
        await engines.close()


def _tell(device: DeviceState) -> None:
    print(device.text, flush=True)


@asynccontextmanager
async def terminal_light(settings: Settings, events: Events) -> AsyncIterator[None]:
    """The light in the corner of the screen, where there is one."""
    if not sys.stdout.isatty():
        yield
        return
    lights = Lights(Terminal, SHAPE, events, settings.lights)
    shining = asyncio.create_task(lights.run())
    try:
        yield
    finally:
        shining.cancel()
        await asyncio.wait([shining])


class Patience:
    """Knows when it is polite to speak: Echo expects it, and has been silent for a while."""

    def __init__(self, sink: TimedSink) -> None:
        self.dialogue: Dialogue | None = None
        self._sink = sink
        self._since: float | None = None

    def is_over(self) -> bool:
        """To be asked again and again, as ScriptedSource does."""
        if not self.dialogue or not self.dialogue.expects_speech or not self._sink.silent_for:
            self._since = None
            return False
        self._since = self._since or time.monotonic()
        return time.monotonic() - self._since >= QUIET_SECONDS
