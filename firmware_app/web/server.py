"""The web server: opened after the history, closed first. A port that is taken is tried again."""

import asyncio
import contextlib
import logging

from aiohttp import web

from firmware_app.errors import EchoError, StorageError
from firmware_app.state import StateStore
from firmware_app.web import problems, security, tls
from firmware_app.web.addresses import page_address
from firmware_app.web.asked import LONGEST_BODY
from firmware_app.web.chats import Chats
from firmware_app.web.codes import Codes
from firmware_app.web.door import Door
from firmware_app.web.limits import Limits
from firmware_app.web.live import LiveRoutes, Streams
from firmware_app.web.openapi import OpenApi
from firmware_app.web.pairing import PairingRoutes
from firmware_app.web.pairings import Pairings
from firmware_app.web.parts import Parts
from firmware_app.web.plain import Plain
from firmware_app.web.settings import SettingsRoutes
from firmware_app.web.static import Static
from firmware_app.web.voice import Voice

log = logging.getLogger(__name__)

BACK_OFF = (2.0, 10.0, 60.0)  # seconds before it is tried again to listen
SECONDS_TO_CLOSE = 1.0


class WebServer:
    """codes, pairings: for the command line and the button, whether it listens or not."""

    def __init__(self, parts: Parts, state: StateStore | None) -> None:
        self.codes = Codes()
        self.streams = Streams(parts)
        self.pairings = Pairings(state, self.streams.end)
        self.routes: list[web.RouteDef] = []  # while it listens
        self.parts = parts
        self._fault: EchoError | None = None
        self._address: str | None = None
        self._door: Door | None = None
        self._task: asyncio.Task[None] | None = None
        self._listening = asyncio.Event()

    @property
    def address(self) -> str | None:
        """Of the page, as people type it; None while it does not listen."""
        return self._address

    @property
    def condition(self) -> str:
        """The address, or why there is none; for people."""
        if self._address:
            return self._address
        return str(self._fault) if self._fault else "off"

    @property
    def fault(self) -> EchoError | None:
        """Why it does not listen."""
        return self._fault

    @property
    def port(self) -> int:
        return self._door.port if self._door else 0

    async def open(self) -> None:
        """Listen, where the settings say so; what fails is logged once, and tried again."""
        try:
            await self.pairings.load()  # they can be listed and revoked while the page is off
        except StorageError as error:
            log.error("no phone is known: %s", error)
        if self.parts.loaded().settings.web.enabled:
            self._task = asyncio.create_task(self._stay_open(), name="web")

    async def listening(self) -> None:
        """Wait until it listens."""
        await self._listening.wait()

    async def close(self) -> None:
        """End all streams and connections."""
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def speak_code(self) -> None:
        """Say a pairing code for the room's owner. Raises ServiceError without a voice."""
        settings = self.parts.loaded().settings
        await self.codes.speak(settings.dialogue.owner, settings.language, self.parts.announce)

    async def _stay_open(self) -> None:
        attempt = 0
        while True:
            try:
                await self._serve()
            except EchoError as error:
                if self._fault is None or self._fault.what != error.what:
                    log.error("there is no page: %s", error)
                self._fault = error
            await asyncio.sleep(BACK_OFF[min(attempt, len(BACK_OFF) - 1)])
            attempt += 1

    async def _serve(self) -> None:
        """Until cancelled. Raises EchoError where it cannot."""
        settings = self.parts.loaded().settings
        files = tls.files(settings)
        context = await asyncio.to_thread(tls.context, files) if files else None
        async with contextlib.AsyncExitStack() as stack:
            application = web.Application(client_max_size=LONGEST_BODY)
            runner = web.AppRunner(application, access_log=None, shutdown_timeout=SECONDS_TO_CLOSE)
            # The port names the cookie, so it is taken before the application is made.
            door = Door(settings.web, context)
            door.listen()
            stack.push_async_callback(door.close)
            secure = context is not None
            self._address = page_address(settings, secure=secure, port=door.port) or ""
            self._furnish(application, door.port, secure=secure)
            await runner.setup()
            stack.push_async_callback(runner.cleanup)
            server = runner.server
            assert server is not None  # noqa: S101 - setup makes it
            self.streams.open()
            stack.push_async_callback(self.streams.close)
            stack.push_async_callback(door.shut)
            door.open(server)
            self._door, self._fault = door, None
            self._listening.set()
            log.info("the page: %s", self._address)
            try:
                await asyncio.Event().wait()
            finally:
                self._door = self._address = None

    def _furnish(self, application: web.Application, port: int, *, secure: bool) -> None:
        cookies = security.Cookies(port, secure=secure)
        guard = security.Guard(self.parts, self.pairings, cookies)
        application.middlewares.extend(
            [problems.middleware, Limits().middleware, guard.host, guard.origin, guard.session]
        )
        application.on_response_prepare.extend([security.add_headers, cookies.renew])
        parts = self.parts
        self.routes = [
            *Static().routes(),
            *Plain(parts).routes(),
            *PairingRoutes(parts, self.pairings, self.codes, cookies, self._address or "").routes(),
            *Chats(parts).routes(),
            *Voice(parts).routes(),
            *SettingsRoutes(parts).routes(),
            *LiveRoutes(self.streams).routes(),
            *OpenApi().routes(),
        ]
        application.router.add_routes(self.routes)
