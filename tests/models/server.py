"""A server of files that misbehaves as the world does: one fault for each path."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

from aiohttp import web

Answer: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class Server:
    """Serves what is put into files; answers may take the place of a file, once or for good.

    pace: bytes between two pauses of pause seconds; 0 sends all at once.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    answers: dict[str, list[Answer]] = field(default_factory=dict)
    etags: dict[str, str] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)  # path, Range
    sent: int = 0  # bytes of files
    pace: int = 0
    pause: float = 0.02
    port: int = 0

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}/{path}"

    def once(self, path: str, *answers: Answer) -> None:
        self.answers[path] = list(answers)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        path = request.path.lstrip("/")
        self.asked.append((path, request.headers.get("Range", "")))
        if waiting := self.answers.get(path):
            return await waiting.pop(0)(request)
        if path not in self.files:
            raise web.HTTPNotFound
        return await self.send(request, self.files[path])

    async def send(self, request: web.Request, data: bytes) -> web.StreamResponse:
        """The file, from where it was asked for on, when it is still the same version."""
        etag = self.etags.get(request.path.lstrip("/"), "")
        start = 0
        wanted = request.headers.get("Range", "")
        if wanted and request.headers.get("If-Range", etag) == etag:
            start = int(wanted.removeprefix("bytes=").rstrip("-"))
            if start >= len(data):
                raise web.HTTPRequestRangeNotSatisfiable
        response = web.StreamResponse(status=206 if start else 200)
        response.content_length = len(data) - start
        response.content_type = "application/octet-stream"
        if start:
            response.headers["Content-Range"] = f"bytes {start}-{len(data) - 1}/{len(data)}"
        if etag:
            response.headers["ETag"] = etag
        await response.prepare(request)
        step = self.pace or len(data) or 1
        for at in range(start, len(data), step):
            piece = data[at : at + step]
            await response.write(piece)
            self.sent += len(piece)
            if self.pace:
                await asyncio.sleep(self.pause)
        await response.write_eof()
        return response


@contextmanager
def serving() -> Iterator[Server]:
    server = Server()
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    async def begin() -> web.AppRunner:
        application = web.Application()
        application.router.add_get("/{path:.*}", server.handle)
        runner = web.AppRunner(application, handler_cancellation=True, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        server.port = runner.addresses[0][1]
        return runner

    runner = asyncio.run_coroutine_threadsafe(begin(), loop).result(10)
    try:
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


# --- faults


def page(text: str = "<!DOCTYPE html><title>Log in</title>", kind: str = "text/html") -> Answer:
    async def answer(request: web.Request) -> web.StreamResponse:
        return web.Response(body=text.encode(), content_type=kind)

    return answer


def status(code: int) -> Answer:
    async def answer(request: web.Request) -> web.StreamResponse:
        return web.Response(status=code)

    return answer


def redirect(to: str) -> Answer:
    async def answer(request: web.Request) -> web.StreamResponse:
        return web.Response(status=302, headers={"Location": to})

    return answer


def breaks_after(count: int, data: bytes, announce: int | None = None) -> Answer:
    """Sends so many bytes of the data, from where it was asked, and hangs up."""

    async def answer(request: web.Request) -> web.StreamResponse:
        start = int(request.headers.get("Range", "bytes=0-").removeprefix("bytes=").rstrip("-"))
        response = web.StreamResponse(status=206 if start else 200)
        response.content_length = len(data) - start if announce is None else announce
        if start:
            response.headers["Content-Range"] = f"bytes {start}-{len(data) - 1}/{len(data)}"
        await response.prepare(request)
        await response.write(data[start : start + count])
        await asyncio.sleep(0.05)
        assert request.transport
        request.transport.abort()
        return response

    return answer


def stalls_after(count: int, data: bytes) -> Answer:
    """Sends so many bytes, and then nothing, without hanging up."""

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        response.content_length = len(data)
        await response.prepare(request)
        await response.write(data[:count])
        await asyncio.sleep(30)
        return response

    return answer


def endless(data: bytes) -> Answer:
    """Says nothing of its length, and does not stop."""

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        response.enable_chunked_encoding()
        await response.prepare(request)
        while True:
            await response.write(data)
            await asyncio.sleep(0)

    return answer


def whole(data: bytes, *, length: int | None = None) -> Answer:
    """All of the data, without regard for a range; length: what is announced, none for -1."""

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        if length == -1:
            response.enable_chunked_encoding()
        else:
            response.content_length = len(data) if length is None else length
        await response.prepare(request)
        await response.write(data)
        await response.write_eof()
        return response

    return answer
