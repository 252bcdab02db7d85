"""Who gets a connection, how many, and how long a slow client is borne."""

import asyncio
import contextlib
import errno
import logging
import socket
import ssl
from collections import Counter
from collections.abc import Callable
from typing import Any

from aiohttp import web

from firmware_app.errors import ServiceError, SettingsError
from firmware_app.settings import WebSettings
from firmware_app.web.addresses import address_of, is_at_home
from firmware_app.web.problems import WebError, response

log = logging.getLogger(__name__)

CONNECTIONS = 400  # at once
CONNECTIONS_OF_ONE = 40  # address
BACKLOG = 64
IDLE_SECONDS = 20.0  # between requests, and for the head of one to arrive
LINGER_SECONDS = 2.0  # for the rest of a body that is not wanted
STALLED_SECONDS = 15.0  # in which a client takes in less than PROGRESS bytes
PROGRESS = 4096
LONGEST_BUFFER = 128 * 1024  # bytes that wait for a client that follows the live events
SEND_BUFFER = 64 * 1024  # bytes in the kernel, which doubles it: socket(7)
HANDSHAKE_SECONDS = 10.0
_FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nContent-Length: 0\r\n"
    b"Connection: close\r\n\r\n"
)


class Connection(web.RequestHandler):
    """One client's connection. It is dropped when the client does not take in what it asked for."""

    __slots__ = ("_at_pause", "_on_lost", "_stall")

    def __init__(self, server: web.Server, **options: Any) -> None:  # noqa: ANN401
        super().__init__(server, **options)
        self._stall: asyncio.TimerHandle | None = None
        self._at_pause = 0
        self._on_lost: list[Callable[[], None]] = []

    def when_lost(self, act: Callable[[], None]) -> None:
        """Called once, when the connection is gone."""
        self._on_lost.append(act)

    def send_now(self, data: bytes) -> bool:
        """Write without waiting; False, and the connection dropped, where too much waits."""
        transport = self.transport
        if transport is None or transport.is_closing():
            return False
        if transport.get_write_buffer_size() > LONGEST_BUFFER:
            transport.abort()
            return False
        transport.write(data)
        return True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        if self.transport:
            self.transport.set_write_buffer_limits(high=0)  # pauses as soon as anything waits

    def connection_lost(self, exc: BaseException | None) -> None:
        if self._stall:
            self._stall.cancel()
        for act in self._on_lost:
            act()
        self._on_lost.clear()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        # force_close forgets the transport while what waits in it still has to go.
        if self.transport:
            self._watch(self.transport)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._stall:
            self._stall.cancel()
            self._stall = None

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """What is no HTTP at all; nothing of it is logged, for it may hold anything."""
        if request.writer.output_size > 0:
            raise ConnectionError
        log.debug("no HTTP: %s", type(exc).__name__)
        refused = response(
            WebError(
                "bad-request", "The request makes no sense.", "Load the page anew.", status=status
            )
        )
        refused.force_close()
        return refused

    def log_exception(self, *args: Any, **kw: Any) -> None:  # noqa: ANN401
        """Without a traceback: what the client sent may be in it."""
        fault = kw.get("exc_info")
        log.error("a connection failed: %s", type(fault).__name__)

    def _watch(self, transport: asyncio.Transport) -> None:
        self._at_pause = transport.get_write_buffer_size()
        self._stall = self._loop.call_later(STALLED_SECONDS, self._look, transport)

    def _look(self, transport: asyncio.Transport) -> None:
        """The response may have added to what waits; then its own bound holds."""
        if transport.get_write_buffer_size() > self._at_pause - PROGRESS:
            transport.abort()
        else:
            self._watch(transport)


class Door:
    """Listens, and lets in whom the settings allow. context: TLS, or None."""

    def __init__(self, settings: WebSettings, context: ssl.SSLContext | None) -> None:
        self._settings = settings
        self._context = context
        self._server: web.Server | None = None
        self._listening: socket.socket | None = None
        self._accepting: asyncio.Task[None] | None = None
        self._greeting: set[asyncio.Task[None]] = set()
        self._of: Counter[str] = Counter()

    @property
    def port(self) -> int:
        return int(self._listening.getsockname()[1]) if self._listening else 0

    def listen(self) -> None:
        """Take the port. Raises ServiceError "port-taken", SettingsError for no address."""
        self._listening = listen(self._settings)

    def open(self, server: web.Server) -> None:
        """Let clients in. server: of aiohttp's runner."""
        assert self._listening is not None  # noqa: S101 - listen comes first
        self._server = server
        self._accepting = asyncio.create_task(self._accept(self._listening), name="web door")

    async def shut(self) -> None:
        """Let nobody in any more; those inside stay."""
        tasks = [task for task in (self._accepting, *self._greeting) if task]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def close(self) -> None:
        if self._listening:
            self._listening.close()

    async def _accept(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                client, _ = await loop.sock_accept(listening)
            except OSError as fault:
                if fault.errno != errno.ECONNABORTED:  # that client went before it was let in
                    log.warning("no more connections: %s", fault.strerror)
                    await asyncio.sleep(1)
                continue
            try:
                self._admit(client)
            except OSError:  # it is gone again
                client.close()

    def _admit(self, client: socket.socket) -> None:
        peer, own = address_of(client.getpeername()[0]), address_of(client.getsockname()[0])
        home_only = self._settings.address == "private"
        if peer is None or own is None or (home_only and not is_at_home(peer, own)):
            client.close()
            return
        who = str(peer)
        if self._of.total() >= CONNECTIONS or self._of[who] >= CONNECTIONS_OF_ONE:
            if self._context is None:
                with contextlib.suppress(OSError):
                    client.send(_FULL)
            client.close()
            return
        self._of[who] += 1
        client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
        unacknowledged = int(2 * STALLED_SECONDS * 1000)  # of a phone that is gone: tcp(7)
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, unacknowledged)
        greeting = asyncio.create_task(self._greet(client, who))
        self._greeting.add(greeting)
        greeting.add_done_callback(self._greeting.discard)

    async def _greet(self, client: socket.socket, who: str) -> None:
        """Hand the connection to the server, after the handshake where there is one."""
        loop = asyncio.get_running_loop()

        def lost() -> None:
            self._of[who] -= 1
            if not self._of[who]:
                del self._of[who]

        server = self._server
        assert server is not None  # noqa: S101 - open has set it

        def protocol() -> Connection:
            made = Connection(
                server,
                loop=loop,
                keepalive_timeout=IDLE_SECONDS,
                lingering_time=LINGER_SECONDS,
                auto_decompress=False,
                access_log=None,
                logger=log,
            )
            made.when_lost(lost)
            return made

        try:
            timeout = HANDSHAKE_SECONDS if self._context else None
            await loop.connect_accepted_socket(
                protocol, client, ssl=self._context, ssl_handshake_timeout=timeout
            )
        except (OSError, TimeoutError):
            client.close()
            lost()


def listen(web: WebSettings) -> socket.socket:
    """Raises ServiceError, SettingsError."""
    at: list[tuple[socket.AddressFamily, str]]
    if web.address in ("private", "all"):
        at = [(socket.AF_INET6, "::"), (socket.AF_INET, "0.0.0.0")]  # noqa: S104 - see Door._admit
    elif found := address_of(web.address):
        at = [(socket.AF_INET6 if found.version == 6 else socket.AF_INET, web.address)]
    else:
        raise SettingsError(
            "bad-address",
            f"web.address cannot be {web.address!r}.",
            "Set it to private, all, or an address of this box.",
        )
    for n, (family, host) in enumerate(at, 1):
        try:
            return _listen(family, host, web.port)
        except OSError as fault:
            without_ipv6 = fault.errno in (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL)
            if n < len(at) and without_ipv6:
                continue
            raise _cannot_listen(web, fault) from fault
    raise AssertionError  # the last one returns or raises


def _listen(family: socket.AddressFamily, host: str, port: int) -> socket.socket:
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family is socket.AF_INET6:
            only = 0 if host == "::" else 1
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, only)
        listening.bind((host, port))
        listening.listen(BACKLOG)
        listening.setblocking(False)
    except BaseException:
        listening.close()
        raise
    return listening


def _cannot_listen(web: WebSettings, fault: OSError) -> ServiceError:
    if fault.errno == errno.EADDRINUSE:
        return ServiceError(
            "port-taken",
            f"The page has no port: another program listens on {web.port}.",
            "Stop that program, or choose another: sudo hey-echo config set web.port PORT",
        )
    why = (fault.strerror or str(fault)).lower()
    return ServiceError(
        "no-port",
        f"The page cannot listen on port {web.port} of {web.address}: {why}.",
        "Set web.address to private, or web.port to a number above 1023.",
    )
