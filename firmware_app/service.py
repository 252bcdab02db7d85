"""The service: Echo on its own microphone and loudspeaker, for as long as the box is on."""

import asyncio
import logging
import os
import signal
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from firmware_app.abilities import abilities, ringing
from firmware_app.audio.alsa import MixerControl
from firmware_app.condition import Condition
from firmware_app.control import (
    doctor_calls,
    history_calls,
    pair_calls,
    stats_calls,
    talk_calls,
)
from firmware_app.control.config_calls import ConfigCalls
from firmware_app.control.lock import service_lock
from firmware_app.control.model_calls import Box, ModelCalls
from firmware_app.control.protocol import Json
from firmware_app.control.server import Call, ControlServer
from firmware_app.device.hardware import Hardware
from firmware_app.device.manager import ServiceManager
from firmware_app.dialogue.keeping import Keeper
from firmware_app.dialogue.phrases import phrases
from firmware_app.dialogue.talk import Talk
from firmware_app.errors import SettingsError, StorageError, the_one
from firmware_app.events import Events, SettingChanged
from firmware_app.first_talk import tell_once
from firmware_app.folders import runtime_dir, state_dir
from firmware_app.gestures import ButtonGestures
from firmware_app.history.commands import Commands
from firmware_app.history.store import Store
from firmware_app.in_force import InForce, changed_names
from firmware_app.logs import set_up
from firmware_app.settings import Settings
from firmware_app.settings_layers import Loaded, load
from firmware_app.state import StateStore
from firmware_app.stay_awake import StayAwake
from firmware_app.stores import keep_traces, open_history, open_state, rates
from firmware_app.traces import Traces
from firmware_app.web.parts import Parts
from firmware_app.web.server import WebServer

log = logging.getLogger(__name__)

MENDED_SECONDS = 2.0  # between two looks at a file with a fault


class Service:
    """Keeps Echo awake; answers calls also while it cannot be."""

    def __init__(
        self,
        loaded: Loaded,
        manager: ServiceManager,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self._loaded = loaded
        self._manager = manager
        self._environ = environ
        self._in_force = InForce(self._settings)
        self._events = Events()
        self._traces = Traces()
        self._config_calls = ConfigCalls(self._on_settings, environ)
        self._keeper = Keeper(self._settings, self._events.publish, self._switch_saving)
        self._condition = Condition(
            lambda: self._settings, lambda: self._in_force.waiting(self._settings), self._keeper
        )
        self._talk = Talk(
            self._keeper, self._events, self._condition.capture, lambda: self._condition.fault
        )
        self._awake = StayAwake(
            self._condition,
            self._talk,
            self._events,
            self._traces,
            self._in_force.loaded,
            manager.ready,
        )
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
                store = await open_state(stack, state, self._traces)
                await self._talk.restore(store)
                history = await open_history(stack, self._condition, self._events)
                web = self._page(history, store)
                await web.open()
                stack.push_async_callback(web.close)
                server = self._control(runtime, history, web)
                await server.open()
                stack.push_async_callback(server.close)
                self._obey_signals()
                hardware = self._condition.hardware = self._hardware(web)
                await self._live(
                    [
                        hardware.run(),
                        keep_traces(self._events, store),
                        self._talk.follow(),
                        self._have_abilities(store, lambda: web.address),
                        self._tell_what_is_kept(state),
                        self._awake.run(),
                        self._manager.feed(self._condition.alive),
                    ]
                )
                self._manager.stopping()
            log.info("stopped")

    async def _have_abilities(
        self, store: StateStore | None, address: Callable[[], str | None]
    ) -> None:
        """Make the skills, while engines load; what they set rings for as long as this runs."""
        skills = await abilities(
            self._condition, self._talk, self._config_calls, self._events, store, address
        )
        rings = ringing(skills, self._talk, self._events, self._awake.chime)
        self._awake.able_to(skills, rings)
        await rings.run()

    async def _live(self, parts: Sequence[Coroutine[Any, Any, None]]) -> None:
        """Run the parts until told to stop. Raises what ends one of them."""
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(part) for part in parts]
                await self._stop.wait()
                for task in tasks:
                    task.cancel()
        except BaseExceptionGroup as errors:
            raise the_one(errors) from errors

    async def _tell_what_is_kept(self, state: Path) -> None:
        said = phrases(self._settings.language).talks_are_kept
        await tell_once(
            state, self._events, lambda: self._keeper.status, lambda: self._talk.announce(said)
        )

    async def _switch_saving(self, saving: bool) -> None:
        await self._config_calls.change("voice.save_conversations", saving)

    # Signals and calls.

    def _obey_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop.set)
        loop.add_signal_handler(signal.SIGHUP, self._reload_by_signal)
        loop.add_signal_handler(signal.SIGUSR1, self._talk.press)

    def _reload_by_signal(self) -> None:
        self._manager.reloading()
        try:
            self._reload()
        except SettingsError as error:
            log.error("the settings stay as they were: %s", error)
            self._awake.again()
        self._manager.ready(str(self._condition.fault or "Reloaded."))

    def _reload(self) -> dict[str, Json]:
        """Read the settings again; engines that failed are tried again with them.

        Returns the names that changed, and those that wait for a restart. Raises SettingsError,
        and all stays as it was.
        """
        before = self._settings
        self._on_settings(load(self._environ))
        if self._condition.echo is None:
            self._in_force.loaded(self._settings)  # they are about to be
        self._awake.again()
        return {
            "changed": changed_names(before, self._settings),
            "needs_restart": self._in_force.waiting(self._settings),
        }

    def _page(self, history: Store | StorageError, state: StateStore | None) -> WebServer:
        parts = Parts(
            loaded=lambda: replace(self._loaded, settings=self._settings),
            change=self._config_calls.change,
            live=self._talk,
            history=history,
            events=self._events,
            rates=rates(self._settings),
            announce=self._talk.announce,
        )
        return WebServer(parts, state)

    def _hardware(self, web: WebServer) -> Hardware:
        gestures = ButtonGestures(self._talk, lambda: self._settings.audio.chimes, web.speak_code)
        return Hardware(
            self._settings.device.board,
            self._events,
            self._settings.lights,
            gestures,
            self._awake.begin_anew,
            MixerControl,
        )

    def _control(
        self, runtime: Path, history: Store | StorageError, web: WebServer
    ) -> ControlServer:
        server = ControlServer(runtime)
        condition = self._condition
        self._config_calls.register(server)
        history_calls.register(server, Commands(history, rates(self._settings)))
        stats_calls.register(server, self._traces)
        doctor_calls.register(
            server,
            lambda: {**condition.vitals(), "page": web.condition},
            condition.meter,
            condition.idle_engines,
        )
        talk_calls.register(server, condition.awake, self._keeper, self._talk)
        ModelCalls(self._box()).register(server)
        pair_calls.register(server, web)

        async def status(call: Call) -> Json:
            return {**condition.status(), "page": web.condition}

        server.handle("status", status)
        server.handle("reload", self._reload_by_call)
        return server

    def _box(self) -> Box:
        at_work = self._condition
        return Box(
            settings=lambda: self._settings,
            at_work=lambda: (
                (at_work.echo, at_work.engines) if at_work.echo and at_work.engines else None
            ),
            take_over=self._awake.take_over,
            keep=self._keep_in_force,
            again=self._awake.again,
            on_model=self._awake.on_model,
        )

    async def _keep_in_force(self, name: str, value: str) -> None:
        """Write down a setting whose engine is at work already."""
        await self._config_calls.change(name, value)
        self._in_force.applied(name, self._settings)

    def _on_settings(self, loaded: Loaded) -> None:
        before, self._loaded = self._settings, loaded
        for problem in loaded.problems:
            log.warning("%s", problem)
        self._keeper.apply(self._settings)
        if self._condition.echo:
            self._condition.echo.dialogue.apply(self._settings)
        if self._condition.hardware:
            self._condition.hardware.apply(self._settings.lights)
        for name in changed_names(before, self._settings):
            self._events.publish(SettingChanged(name))

    async def _reload_by_call(self, call: Call) -> Json:
        return self._reload()


async def serve(environ: Mapping[str, str] = os.environ) -> None:
    """Run the service on the settings in force. Raises SettingsError and ServiceError.

    Where a service manager would only start it again and again, it waits for a faulty file to be
    mended instead.
    """
    set_up("info", environ=environ)
    manager = ServiceManager(environ)
    loaded = await _mended(manager, environ) if manager.there else load(environ)
    set_up(loaded.settings.log.level, environ=environ)
    for problem in loaded.problems:
        log.warning("%s", problem)
    await Service(loaded, manager, environ).run()


async def _mended(manager: ServiceManager, environ: Mapping[str, str]) -> Loaded:
    """The settings, once they can be used; what is wrong with them is logged once."""
    feeding = asyncio.create_task(manager.feed(lambda: True))
    told = ""
    try:
        while True:
            try:
                return load(environ)
            except SettingsError as error:
                if told != (told := str(error)):
                    log.error("%s", error)
                    manager.ready(told)
            await asyncio.sleep(MENDED_SECONDS)
    finally:
        feeding.cancel()
