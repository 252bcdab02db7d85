"""Keeps Echo awake: loads the engines, listens, and tries again where an engine fails."""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager

from firmware_app.app import awake
from firmware_app.audio.alsa import DeviceState
from firmware_app.audio.level import MeteredSource
from firmware_app.audio.loudspeaker import AlsaSink
from firmware_app.audio.microphone import AlsaSource
from firmware_app.audio.player import Player
from firmware_app.condition import Condition, memory_kb
from firmware_app.dialogue.phrases import phrases
from firmware_app.dialogue.ringing import Ringing
from firmware_app.dialogue.talk import Talk
from firmware_app.engines import Engines
from firmware_app.engines.loading import load_engines, load_voice
from firmware_app.errors import EngineError
from firmware_app.events import Events
from firmware_app.frames import Samples
from firmware_app.settings import Settings
from firmware_app.skills.registry import Skills
from firmware_app.traces import Traces

log = logging.getLogger(__name__)

BACK_OFF = (5.0, 15.0, 60.0, 300.0)  # seconds before engines that failed are tried again
LISTENING = "Listening."


class StayAwake:
    """`run` it for as long as the service lives; it keeps the condition up to date.

    To be made on the loop. It listens once it was told what it is `able_to` do.

    on_load: told the settings that engines and devices are made with, each time. on_settled: told
    in one line each time that Echo listens, or cannot, or that the microphone came or went.
    """

    def __init__(
        self,
        condition: Condition,
        talk: Talk,
        events: Events,
        traces: Traces,
        on_load: Callable[[Settings], None],
        on_settled: Callable[[str], None],
    ) -> None:
        self._condition = condition
        self._talk = talk
        self._events = events
        self._traces = traces
        self._on_load = on_load
        self._on_settled = on_settled
        self._abilities: asyncio.Future[tuple[Skills, Ringing]] = (
            asyncio.get_running_loop().create_future()
        )
        self._again = asyncio.Event()
        self._anew = asyncio.Event()

    async def run(self) -> None:
        """Load the engines and listen; where an engine fails, say so and try again."""
        attempt = 0
        while True:
            self._again.clear()
            began = time.monotonic()
            saying: asyncio.Task[None] | None = None
            try:
                await self._be_awake()
            except EngineError as error:
                attempt = 0 if time.monotonic() - began > BACK_OFF[-1] else attempt
                saying = self._note(error)
            try:
                async with asyncio.timeout(BACK_OFF[min(attempt, len(BACK_OFF) - 1)]):
                    await self._again.wait()
            except TimeoutError:
                attempt += 1
            finally:
                if saying:
                    saying.cancel()
                    await asyncio.wait([saying])

    def able_to(self, skills: Skills, rings: Ringing) -> None:
        """The skills are there, and what lets their timers ring."""
        self._abilities.set_result((skills, rings))

    def begin_anew(self) -> None:
        """Load all again: there is another board, and so another microphone."""
        self._anew.set()
        self._again.set()

    def again(self) -> None:
        """Try engines that failed at once, with the settings as they are now."""
        self._again.set()

    def take_over(self, engines: Engines) -> None:
        """Go on with these, and close them with the others."""
        self._condition.engines = engines
        names = engines.names
        log.info("goes on with: %s, %s, %s", names.recogniser, names.model, names.voice)

    async def chime(self, sound: Samples) -> None:
        """Sound it where Echo is not awake, and nobody else has the loudspeaker."""
        async with self._loudspeaker_alone() as player:
            await player.queue(sound)

    def on_model(self, state: str, detail: str) -> None:
        self._condition.model = f"{state}: {detail}" if detail else state

    async def _be_awake(self) -> None:
        """Listen and answer until cancelled, or to begin anew."""
        self._anew.clear()
        condition, settings = self._condition, self._condition.settings()
        condition.loading_since = time.monotonic()
        self._on_load(settings)
        condition.engines = await load_engines(settings, self.on_model)
        try:
            skills, rings = await asyncio.shield(self._abilities)
            async with awake(
                settings,
                condition.engines,
                MeteredSource(self._microphone(), condition.meter, condition.gain),
                self._loudspeaker(),
                self._events,
                self._traces,
                condition.keeper,
                skills,
                condition.array,
            ) as echo:
                condition.echo, condition.fault = echo, None
                echo.dialogue.stop_ringing = rings.stop
                self._talk.attach(echo.dialogue)
                condition.awake_kb = memory_kb()
                names = condition.engines.names
                log.info("listening: %s, %s, %s", names.recogniser, names.model, names.voice)
                self._on_settled(LISTENING)
                await self._anew.wait()
        finally:
            condition.echo = None
            self._talk.detach()
            await condition.engines.close()

    @asynccontextmanager
    async def _loudspeaker_alone(self) -> AsyncIterator[Player]:
        """A player where nobody else has the loudspeaker; what it was given is heard out."""
        sink = self._loudspeaker()
        player = Player(sink, volume=self._condition.settings().voice.volume)
        try:
            yield player
            await player.drained()
        finally:
            await player.close()
            await sink.close()

    def _microphone(self) -> AlsaSource:
        condition = self._condition
        condition.source = AlsaSource.chosen(condition.audio, self._on_device, condition.array)
        condition.capture(self._talk.listens)
        return condition.source

    def _loudspeaker(self) -> AlsaSink:
        self._condition.sink = AlsaSink.chosen(self._condition.audio, self._on_device)
        return self._condition.sink

    def _on_device(self, state: DeviceState) -> None:
        self._condition.devices[state.direction] = state
        if state.direction == "microphone":
            self._talk.on_microphone(state.ready, state.text, state.closed)
            self._on_settled(LISTENING if state.ready else state.text)

    def _note(self, error: EngineError) -> asyncio.Task[None] | None:
        """Log a new fault, and begin to say aloud that there is one."""
        repeated = self._condition.fault is not None and self._condition.fault.what == error.what
        self._condition.fault = error
        self._talk.tell()
        self._on_settled(str(error))
        if repeated:
            return None
        log.error("%s", error)
        return asyncio.create_task(self._say_fault(), name="fault")

    async def _say_fault(self) -> None:
        """Where the voice still works, the people in the room need not look for a screen."""
        settings = self._condition.settings()
        with contextlib.suppress(EngineError):
            voice = await asyncio.to_thread(load_voice, settings)
            try:
                async with (
                    self._loudspeaker_alone() as player,
                    aclosing(voice.say(phrases(settings.language).fault)) as sound,
                ):
                    async for samples in sound:
                        await player.queue(samples)
            finally:
                voice.close()
