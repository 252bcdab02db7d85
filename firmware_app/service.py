"""The service: Echo on its own microphone and loudspeaker, for as long as the box is on."""

import asyncio
import contextlib
import logging
import os
import signal
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack, aclosing
from dataclasses import replace
from pathlib import Path

from firmware_app import __version__
from firmware_app.app import Echo, awake
from firmware_app.audio.alsa import DeviceState
from firmware_app.audio.level import LevelMeter, MeteredSource
from firmware_app.audio.loudspeaker import AlsaSink
from firmware_app.audio.microphone import AlsaSource
from firmware_app.audio.player import Player
from firmware_app.control import doctor_calls, history_calls, stats_calls
from firmware_app.control.config_calls import ConfigCalls
from firmware_app.control.lock import service_lock
from firmware_app.control.model_calls import Box, ModelCalls
from firmware_app.control.protocol import Json, describe
from firmware_app.control.server import Call, ControlServer
from firmware_app.dialogue.keeping import Keeper
from firmware_app.dialogue.phrases import phrases
from firmware_app.engines import Engines
from firmware_app.engines.loading import load_engines, load_voice
from firmware_app.engines.openai import where_words_go
from firmware_app.errors import EchoError, EngineError, ServiceError, SettingsError, StorageError
from firmware_app.events import Events, Notice, SavingChanged, State, TurnTraced, WakeWasFalse
from firmware_app.folders import data_dir, runtime_dir, state_dir
from firmware_app.history.commands import Commands, history_path
from firmware_app.history.store import Forgotten, SetAside, Store, StoreEvent
from firmware_app.history.usage import Rates, load_rates
from firmware_app.settings import Settings
from firmware_app.settings_layers import Loaded, load
from firmware_app.state import StateStore, read_traces, state_file
from firmware_app.traces import Traces

log = logging.getLogger(__name__)

FLUSH_SECONDS = 2.0  # to write what waits, where the card is known to fail
STALLED_FLUSH_SECONDS = 10.0  # where it only takes long
BACK_OFF = (5.0, 15.0, 60.0, 300.0)  # seconds before engines that failed are tried again


class Service:
    """Keeps Echo awake; answers calls also while it cannot be."""

    def __init__(self, loaded: Loaded, environ: Mapping[str, str] = os.environ) -> None:
        self._loaded = loaded
        self._environ = environ
        self._events = Events()
        self._traces = Traces()
        self._config_calls = ConfigCalls(self._on_settings, environ)
        self._keeper = Keeper(
            self._settings,
            lambda status: self._events.publish(SavingChanged(status)),
            self._switch_saving,
        )
        self._history_state = "not opened yet"
        self._echo: Echo | None = None
        self._engines: Engines | None = None
        self._fault: EchoError | None = None
        self._devices: dict[str, DeviceState] = {}
        self._source: AlsaSource | None = None
        self._sink: AlsaSink | None = None
        self._meter = LevelMeter()
        self._awake_kb = 0  # memory once everything was loaded
        self._model_state = "starting"
        self._started = time.time()
        self._again = asyncio.Event()
        self._stop = asyncio.Event()

    @property
    def _settings(self) -> Settings:
        """Those in force. A damaged file of Echo's own must not turn saving on again."""
        settings = self._loaded.settings
        if self._loaded.problems:
            settings = replace(settings, voice=replace(settings.voice, save_conversations=False))
        return settings

    async def run(self) -> None:
        """Serve until SIGTERM or SIGINT. Raises ServiceError where Echo runs already."""
        runtime, state = runtime_dir(self._settings), state_dir(self._settings)
        with service_lock(runtime):
            async with AsyncExitStack() as stack:
                keeping = asyncio.create_task(
                    self._keep_traces(await self._traces_of(stack, state))
                )
                server = self._control(runtime, await self._open_history(stack))
                await server.open()
                stack.push_async_callback(server.close)
                self._obey_signals()
                living = asyncio.create_task(self._stay_awake())
                stopping = asyncio.create_task(self._stop.wait())
                await asyncio.wait([living, stopping], return_when=asyncio.FIRST_COMPLETED)
                for task in (living, stopping, keeping):
                    task.cancel()
                await asyncio.wait([living, stopping, keeping])
                if not living.cancelled():
                    living.result()
                log.info("stopped")

    async def _traces_of(self, stack: AsyncExitStack, state: Path) -> StateStore | None:
        """Take over the traces of the last run. None where the card gives or takes none."""
        try:
            store = await asyncio.to_thread(StateStore, state_file(state))
            stack.push_async_callback(asyncio.to_thread, store.close)
            for trace in await asyncio.to_thread(read_traces, state_file(state)):
                self._traces.add(trace)
        except StorageError as error:
            log.error("the times of turns are not kept: %s", error)
            return None
        return store

    async def _open_history(self, stack: AsyncExitStack) -> Store | StorageError:
        """The workspace's history, or why there is none; Echo answers without it too."""
        workspace = self._settings.history.workspace
        try:
            path = history_path(data_dir(self._settings), workspace)
            store = await Store.open(path, workspace, on_event=self._on_history)
        except StorageError as error:
            log.error("nothing is saved: %s", error)
            self._history_state = str(error)
            self._keeper.keep_in(None)
            return error
        stack.push_async_callback(self._close_history, store)
        self._history_state = store.reason or "in order"
        self._keeper.keep_in(store)
        return store

    async def _close_history(self, store: Store) -> None:
        self._keeper.end()
        given_up = await store.close(STALLED_FLUSH_SECONDS if store.saving else FLUSH_SECONDS)
        if given_up:
            log.error("%d writes to the history were given up", given_up)
        await self._keeper.close()

    def _on_history(self, event: StoreEvent) -> None:
        match event:
            case Forgotten(deleted):
                self._keeper.forgotten(deleted)
            case SetAside(path):
                self._events.publish(
                    Notice(
                        "history-damaged",
                        f"The history was damaged and lies at {path} now; a new one was begun. "
                        "See what can be recovered with: hey-echo doctor",
                    )
                )
            case _:
                self._history_state = event.reason or "in order"
                self._keeper.tell()

    async def _switch_saving(self, saving: bool) -> None:
        await self._config_calls.change("voice.save_conversations", saving)

    # Staying awake.

    async def _stay_awake(self) -> None:
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

    async def _be_awake(self) -> None:
        """Listen and answer until cancelled."""
        settings = self._settings
        self._engines = await load_engines(settings, self._on_model)
        try:
            async with awake(
                settings,
                self._engines,
                MeteredSource(self._microphone(), self._meter),
                self._loudspeaker(),
                self._events,
                self._traces,
                self._keeper,
            ) as echo:
                self._echo, self._fault = echo, None
                self._awake_kb = _memory_kb()
                names = self._engines.names
                log.info("listening: %s, %s, %s", names.recogniser, names.model, names.voice)
                await asyncio.Event().wait()
        finally:
            self._echo = None
            await self._engines.close()

    def _microphone(self) -> AlsaSource:
        audio = self._settings.audio
        self._source = AlsaSource(
            audio.microphone,
            rate=audio.microphone_rate,
            channels=audio.microphone_channels,
            channel=audio.microphone_channel,
            on_state=self._on_device,
        )
        return self._source

    def _loudspeaker(self) -> AlsaSink:
        audio = self._settings.audio
        self._sink = AlsaSink(
            audio.loudspeaker, rate=audio.loudspeaker_rate, on_state=self._on_device
        )
        return self._sink

    def _on_model(self, state: str, detail: str) -> None:
        self._model_state = f"{state}: {detail}" if detail else state

    def _on_device(self, state: DeviceState) -> None:
        self._devices[state.direction] = state
        if state.direction == "microphone" and self._echo:
            self._echo.dialogue.hears(state.ready, state.text)

    def _note(self, error: EngineError) -> asyncio.Task[None] | None:
        """Log a new fault, and begin to say aloud that there is one."""
        repeated = self._fault is not None and self._fault.what == error.what
        self._fault = error
        if repeated:
            return None
        log.error("%s", error)
        return asyncio.create_task(self._say_fault(), name="fault")

    async def _say_fault(self) -> None:
        """Where the voice still works, the people in the room need not look for a screen."""
        try:
            voice = await asyncio.to_thread(load_voice, self._settings)
        except EngineError:
            return
        sink = self._loudspeaker()
        player = Player(sink, volume=self._settings.voice.volume)
        try:
            async with aclosing(voice.say(phrases(self._settings.language).fault)) as sound:
                async for samples in sound:
                    await player.queue(samples)
            await player.drained()
        finally:
            await player.close()
            await sink.close()
            voice.close()

    async def _keep_traces(self, store: StateStore | None) -> None:
        listener = self._events.listen()
        async for event in listener:
            match event:
                case TurnTraced(trace) if store:
                    store.keep_trace(trace)
                case WakeWasFalse(trace) if store:
                    store.mark_false_wake(trace)

    # Signals and calls.

    def _obey_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop.set)
        loop.add_signal_handler(signal.SIGHUP, self._reload)
        loop.add_signal_handler(signal.SIGUSR1, self._press)

    def _reload(self) -> None:
        """Read the settings again; engines that failed are tried again with them."""
        try:
            self._on_settings(load(self._environ))
        except SettingsError as error:
            log.error("the settings stay as they were: %s", error)
        self._again.set()

    def _press(self) -> None:
        if self._echo:
            self._echo.dialogue.press()

    def _control(self, runtime: Path, history: Store | StorageError) -> ControlServer:
        server = ControlServer(runtime)
        self._config_calls.register(server)
        history_calls.register(server, Commands(history, self._rates()))
        server.handle("chats.continue", self._carry_on)
        stats_calls.register(server, self._traces)
        doctor_calls.register(server, self._vitals, self._meter, self._idle_engines)
        ModelCalls(self._box()).register(server)
        server.handle("status", self._status)
        server.handle("ask", self._ask)
        server.handle("stop", self._stop_reply)
        return server

    def _box(self) -> Box:
        return Box(
            settings=lambda: self._settings,
            at_work=lambda: (self._echo, self._engines) if self._echo and self._engines else None,
            take_over=self._take_over,
            keep=self._config_calls.change,
            again=self._again.set,
            on_model=self._on_model,
        )

    def _take_over(self, engines: Engines) -> None:
        self._engines = engines
        names = engines.names
        log.info("goes on with: %s, %s, %s", names.recogniser, names.model, names.voice)

    def _on_settings(self, loaded: Loaded) -> None:
        self._loaded = loaded
        for problem in loaded.problems:
            log.warning("%s", problem)
        self._keeper.apply(self._settings)
        if self._echo:
            self._echo.dialogue.apply(self._settings)

    def _rates(self) -> Rates:
        """What engines cost; without a file that can be read no cost is ever shown."""
        file = self._settings.history.rates
        try:
            return load_rates(Path(file).expanduser()) if file else Rates()
        except SettingsError as error:
            log.error("%s", error)
            return Rates()

    async def _status(self, call: Call) -> Json:
        state = self._echo.dialogue.state if self._echo else State.STARTING
        engines = self._engines.names if self._engines and self._echo else None
        return {
            "state": State.ERROR if self._fault else state,
            "fault": str(self._fault) if self._fault else "none",
            "microphone": self._device_text("microphone"),
            "loudspeaker": self._device_text("loudspeaker"),
            "recogniser": engines.recogniser if engines else "not loaded",
            "language_model": engines.model if engines else "not loaded",
            "language_model_state": self._model_state,
            "voice": engines.voice if engines else "not loaded",
            "words_go_to": where_words_go(self._settings.model),
            "conversations": self._keeper.status,
            "history": self._history_state,
            "version": __version__,
            "process": os.getpid(),
            "running_for_seconds": round(time.time() - self._started),
        }

    def _device_text(self, direction: str) -> str:
        state = self._devices.get(direction)
        return state.text if state else "not opened yet"

    def _vitals(self) -> dict[str, Json]:
        """What `hey-echo doctor` cannot see from outside."""
        source, sink, fault = self._source, self._sink, self._fault
        return {
            "process": os.getpid(),
            "running_for_seconds": round(time.time() - self._started),
            "awake": self._echo is not None,
            "fault": describe(fault) if fault else None,
            "devices": {name: _device(state) for name, state in self._devices.items()},
            "overruns": source.overruns if source else 0,
            "dropped": source.dropped if source else 0,
            "underruns": sink.underruns if sink else 0,
            "model": self._model_state,
            "conversations": self._keeper.status,
            "history": self._history_state,
            "memory_awake_kb": self._awake_kb,
            "memory_kb": _memory_kb(),
        }

    def _idle_engines(self) -> tuple[Engines, str]:
        if self._awake().dialogue.busy or self._engines is None:
            raise doctor_calls.busy()
        return self._engines, self._settings.language

    async def _ask(self, call: Call) -> Json:
        async with aclosing(self._awake().dialogue.ask(call.text("text"))) as clauses:
            async for clause in clauses:
                await call.event({"clause": clause})
        return {}

    async def _carry_on(self, call: Call) -> Json:
        """Answered when the conversation is open, which may be after the reply in progress."""
        conversation = await self._awake().dialogue.carry_on(call.text("uuid"))
        return {
            "uuid": conversation.uuid,
            "title": conversation.title,
            "saved": self._keeper.status,
        }

    async def _stop_reply(self, call: Call) -> Json:
        self._awake().dialogue.stop()
        return {}

    def _awake(self) -> Echo:
        if self._echo is None:
            raise ServiceError(
                "not-awake",
                str(self._fault) if self._fault else "Echo is still waking up.",
                "Try again in a moment; `hey-echo status` tells more.",
            )
        return self._echo


def _device(state: DeviceState) -> dict[str, Json]:
    return {
        "ready": state.ready,
        "text": state.text,
        "error": describe(state.error) if state.error else None,
        "rate": state.rate,
        "channels": state.channels,
    }


def _memory_kb() -> int:
    """Resident memory of this process, kB; 0 where it cannot be read."""
    with contextlib.suppress(OSError), Path("/proc/self/status").open() as status:
        for line in status:
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
    return 0


async def serve(environ: Mapping[str, str] = os.environ) -> None:
    """Run the service on the settings in force. Raises SettingsError and ServiceError."""
    await Service(load(environ), environ).run()
