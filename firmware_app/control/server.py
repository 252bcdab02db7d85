"""The service's end of the control socket."""

import asyncio
import contextlib
import logging
import shutil
import socket
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from firmware_app.control.peers import Peer, may_call, peer_of
from firmware_app.control.protocol import (
    LONGEST_LINE,
    Json,
    decode_request,
    describe,
    encode,
    socket_path,
)
from firmware_app.errors import EchoError, ServiceError, UsageError
from firmware_app.folders import GROUP

log = logging.getLogger(__name__)

CLIENTS = 32  # at once
SECONDS_TO_ASK = 10.0  # for a client to send its line
SECONDS_TO_TAKE = 10.0  # for a client to take in what it is sent


@dataclass(frozen=True, slots=True)
class Call:
    """What a client asks for. args: as sent, unchecked."""

    name: str
    args: Mapping[str, Any]
    peer: Peer
    _send: Callable[[dict[str, Json]], Awaitable[None]]

    async def event(self, event: dict[str, Json]) -> None:
        """Send something before the result. Waits for a slow client, though not for ever."""
        await self._send({"event": event})

    def text(self, name: str) -> str:
        """An argument that must be there and be text. Raises UsageError."""
        value = self.args.get(name)
        if not isinstance(value, str):
            raise UsageError(
                "malformed-call", f'{self.name} needs "{name}" as text.', "Send it as a string."
            )
        return value


Handler: TypeAlias = Callable[[Call], Awaitable[Json]]


class ControlServer:
    """Answers calls by the handlers that are registered; to be opened while holding the lock.

    A handler returns the result, or raises an EchoError, which the client gets. It is cancelled
    when its client hangs up or the server closes.
    """

    def __init__(self, runtime: Path) -> None:
        self.path = socket_path(runtime)
        self._handlers: dict[str, Handler] = {}
        self._server: asyncio.Server | None = None
        self._clients: set[asyncio.Task[None]] = set()

    def handle(self, name: str, handler: Handler) -> None:
        self._handlers[name] = handler

    async def open(self) -> None:
        """Raises ServiceError when the socket cannot be made."""
        listening = _listen(self.path)
        self._server = await asyncio.start_unix_server(
            self._client, sock=listening, limit=LONGEST_LINE
        )

    async def close(self) -> None:
        """End all calls and take the socket away."""
        if self._server is None:
            return
        self._server.close()
        for client in self._clients:
            client.cancel()
        await asyncio.gather(*self._clients, return_exceptions=True)
        await self._server.wait_closed()
        self._server = None
        self.path.unlink(missing_ok=True)

    async def _client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - streams run this in a task of its own
        self._clients.add(task)
        try:
            with contextlib.suppress(_ClientGoneError):
                await self._serve(reader, writer)
                writer.close()
                await _taken(writer.wait_closed())
        except asyncio.CancelledError:
            # Not raised again: it is the task's end, and streams log a cancelled one as a fault.
            writer.write(encode({"error": describe(_stopping())}))  # goes at once or not at all
        finally:
            self._clients.discard(task)
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async def send(message: dict[str, Json]) -> None:
            writer.write(encode(message))
            await _taken(writer.drain())

        name = ""
        try:
            peer = self._admit(writer.get_extra_info("socket"))
            name, args = decode_request(await _line(reader))
            handler = self._handler(name)
            result = await _unless_gone(reader, handler(Call(name, args, peer, send)))
            await send({"result": result})
        except EchoError as error:
            await send({"error": describe(error)})
        except _ClientGoneError:
            raise
        except Exception:
            log.exception("the call %s failed", name)
            await send({"error": describe(_internal(name))})

    def _admit(self, connection: socket.socket) -> Peer:
        peer = peer_of(connection)
        if not may_call(peer):
            log.warning("user %d was refused at the control socket", peer.uid)
            raise ServiceError(
                "not-allowed",
                "You may not call the running Echo.",
                f"Join its group, then log in again: sudo usermod -aG {GROUP} $USER",
            )
        if len(self._clients) > CLIENTS:
            raise ServiceError(
                "busy", f"More than {CLIENTS} commands call Echo at once.", "Try again in a moment."
            )
        return peer

    def _handler(self, name: str) -> Handler:
        if name in self._handlers:
            return self._handlers[name]
        raise UsageError(
            "unknown-call",
            f"The running Echo knows no call {name[:40]!r}.",
            "Is it of the same version as this command? hey-echo --version",
        )


class _ClientGoneError(Exception):
    """The client hung up, or takes nothing in."""


async def _taken(done: Awaitable[None]) -> None:
    try:
        async with asyncio.timeout(SECONDS_TO_TAKE):
            await done
    except (OSError, TimeoutError) as fault:
        raise _ClientGoneError from fault


async def _line(reader: asyncio.StreamReader) -> bytes:
    try:
        async with asyncio.timeout(SECONDS_TO_ASK):
            return await reader.readuntil(b"\n")
    except asyncio.LimitOverrunError:
        what = f"The request is longer than {LONGEST_LINE // 1024} KB."
    except asyncio.IncompleteReadError:
        what = "The request broke off."
    except TimeoutError:
        what = f"No request came within {SECONDS_TO_ASK:g} seconds."
    except OSError as fault:
        raise _ClientGoneError from fault
    raise UsageError("malformed-call", what, "Send one short line of JSON.")


async def _unless_gone(reader: asyncio.StreamReader, work: Awaitable[Json]) -> Json:
    """The result of the work, which is cancelled when the client hangs up or says more."""
    working = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(reader.read(1))
    try:
        await asyncio.wait({working, gone}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        if gone.result():
            raise UsageError(
                "malformed-call", "A connection carries one call.", "Open another for the next."
            )
        raise _ClientGoneError
    finally:
        working.cancel()
        gone.cancel()
        await asyncio.gather(working, gone, return_exceptions=True)


def _listen(path: Path) -> socket.socket:
    """A listening socket for the owner and the group alone, in place of one left behind."""
    new = path.with_name(path.name + ".new")
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        if path.exists() and not path.is_socket():
            raise FileExistsError(0, "another file is in its place")
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        new.unlink(missing_ok=True)
        listening.bind(str(new))
        with contextlib.suppress(LookupError, PermissionError):
            shutil.chown(new, group=GROUP)
        new.chmod(0o660)
        listening.listen()
        new.replace(path)
    except OSError as fault:
        listening.close()
        raise ServiceError(
            "no-socket",
            f"{path} cannot be made: {(fault.strerror or str(fault)).lower()}.",
            "Run it as the user of the service, or name a folder of your own in paths.runtime.",
        ) from fault
    return listening


def _stopping() -> ServiceError:
    return ServiceError("stopping", "Echo is stopping.", "Call again when it is back.")


def _internal(name: str) -> ServiceError:
    return ServiceError(
        "internal",
        f"Echo failed at the call {name}.",
        "See what it logged: journalctl -u hey-echo",
    )
