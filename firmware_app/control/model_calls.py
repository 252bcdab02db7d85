"""The call models.use: another engine or model, while the conversation goes on."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, cast

from firmware_app.app import Echo
from firmware_app.control.protocol import Json
from firmware_app.control.server import Call, ControlServer
from firmware_app.engines import Engines
from firmware_app.errors import EchoError, ServiceError
from firmware_app.model_store.choice import Changes, changed, changes_for
from firmware_app.settings import Settings
from firmware_app.switch import Candidate, OnState, Part, load_and_try


@dataclass(frozen=True, slots=True)
class Box:
    """What a change of engines needs of the service.

    at_work: what listens and answers; None while it cannot. take_over: keep these engines, and
    close them with the service. keep: write a setting. again: load the engines anew.
    """

    settings: Callable[[], Settings]
    at_work: Callable[[], tuple[Echo, Engines] | None]
    take_over: Callable[[Engines], None]
    keep: Callable[[str, str], Awaitable[Any]]
    again: Callable[[], None]
    on_model: OnState


@dataclass(slots=True)
class _Relay:
    """Hands on the states of a language model once it is the one at work, the last one first."""

    to: OnState
    last: tuple[str, str] | None = None
    live: bool = False

    def __call__(self, state: str, detail: str) -> None:
        self.last = (state, detail)
        if self.live:
            self.to(state, detail)

    def go(self) -> None:
        self.live = True
        if self.last:
            self.to(*self.last)


class ModelCalls:
    def __init__(self, box: Box) -> None:
        self._box = box
        self._one_at_a_time = asyncio.Lock()

    def register(self, server: ControlServer) -> None:
        server.handle("models.use", self._use)

    async def _use(self, call: Call) -> Json:
        """Events tell how far it is; the result says what is in use and what it did at its trial.

        Whatever goes wrong before the change leaves the old engine at work. The client may hang
        up until then.
        """
        name = call.text("name")
        async with self._one_at_a_time:
            settings = self._box.settings()
            changes = await asyncio.to_thread(changes_for, name, settings)
            part = cast("Part", changes[0][0].partition(".")[0])
            wanted = changed(settings, changes)
            await call.event({"text": f"loading {name} beside the {part} that is at work"})
            before = self._box.at_work()
            relay = _Relay(self._box.on_model)
            candidate = await load_and_try(part, wanted, before[1].voice if before else None, relay)
            try:
                await call.event({"text": f"{candidate.name} {candidate.did}"})
                old = await self._change(before, candidate, wanted) if before else candidate
            except BaseException:
                await candidate.close()
                raise
            if before:
                relay.go()
            # From here on it is done, though the client hang up.
            return await asyncio.shield(self._settle(changes, candidate, old))

    async def _change(
        self, before: tuple[Echo, Engines], candidate: Candidate, wanted: Settings
    ) -> Candidate:
        """Wait until nobody talks with Echo, and let it go on with the candidate.

        Returns what it takes the place of.
        """
        echo, engines = before
        new = candidate.among(engines, wanted)
        await echo.dialogue.use(new)
        now = self._box.at_work()
        if now is None or now[0] is not echo:
            raise ServiceError(
                "engines-reloaded",
                "Echo loaded its engines anew while the other one was being tried.",
                "Run the command again.",
            )
        self._box.take_over(new)
        return candidate.replaced(engines)

    async def _settle(self, changes: Changes, candidate: Candidate, old: Candidate) -> Json:
        """Close the old engine and write the settings.

        Where those cannot be written, the new engine is at work until the next start only.
        """
        await old.close()
        problem = ""
        try:
            for setting, value in changes:
                await self._box.keep(setting, value)
        except EchoError as error:
            problem = str(error)
        if old is candidate:  # no engine was at work: all are loaded anew, with this one
            self._box.again()
        return {"using": candidate.name, "did": candidate.did, "not_kept": problem}
