"""What the page costs: its first load, lists and threads, and the live events of many phones.

The web server runs in a process of its own, over a history out of made-up talk; the phones are
connections from this one, so both share the processor. Times of events are from the moment a room
tells one until a phone has its bytes.
"""

import argparse
import asyncio
import contextlib
import json
import os
import random
import re
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import urljoin

from bench_history import LARGE, OWNER, TICK, Talk, build, p99

from firmware_app.dialogue import talk as dialogue_talk
from firmware_app.dialogue.keeping import Keeper
from firmware_app.events import Events, PartialTranscript
from firmware_app.history.store import Store
from firmware_app.history.usage import Rates
from firmware_app.settings import Settings, WebSettings
from firmware_app.settings_checks import Value
from firmware_app.settings_layers import Loaded
from firmware_app.state import StateStore, state_file
from firmware_app.web.parts import Parts
from firmware_app.web.server import WebServer

CLIENTS = 50  # that ask for lists and threads at once
ASKED = 40  # times each
STREAMS = 200
SLOW = 20
PHONES = 40  # that are paired; a phone follows a dozen times at most
EVENTS_A_SECOND = 5  # as a recogniser hears words
SECONDS = 60.0
ALONE_SECONDS = 15.0


# The server, in a process of its own.


async def serve(folder: Path) -> None:
    """Serve until standard input ends; each line on it is answered with what was seen since."""
    settings = Settings(web=WebSettings(port=0, address="127.0.0.1"))
    settings = replace(settings, dialogue=replace(settings.dialogue, owner=OWNER))
    store = await Store.open(folder / "history.db", "bench")
    state = StateStore(state_file(folder))
    events = Events()
    keeper = Keeper(settings, events.publish)
    keeper.keep_in(store)

    async def refuse(name: str, value: Value) -> Loaded:
        raise NotImplementedError

    live = dialogue_talk.Talk(keeper, events, lambda is_open: None)
    parts = Parts(
        loaded=lambda: Loaded(settings, {}),
        change=refuse,
        live=live,
        history=store,
        events=events,
        rates=Rates(),
        announce=live.announce,
    )
    server = WebServer(parts, state)
    await server.open()
    await server.listening()
    tokens = [await server.pairings.add(OWNER, str(n)) for n in range(PHONES)]
    print(json.dumps({"port": server.port, "tokens": tokens}), flush=True)
    late: list[float] = []
    tasks = [asyncio.create_task(tell(events)), asyncio.create_task(tick(late))]
    while await asyncio.to_thread(sys.stdin.readline):
        seen = {"kb": memory_kb(), "late": late[:], "followers": server.streams.followers}
        late.clear()
        print(json.dumps(seen), flush=True)
    for task in tasks:
        task.cancel()
    await server.close()
    await store.close()
    await keeper.close()
    state.close()


async def tell(events: Events) -> None:
    """What somebody says, word by word, without a pause."""
    while True:
        await asyncio.sleep(1 / EVENTS_A_SECOND)
        events.publish(PartialTranscript(f"what somebody says {time.monotonic()}"))


async def tick(late: list[float]) -> None:
    """How late the loop wakes for a block of sound, milliseconds."""
    while True:
        began = time.monotonic()
        await asyncio.sleep(TICK)
        late.append((time.monotonic() - began - TICK) * 1000)


def memory_kb() -> int:
    text = Path("/proc/self/status").read_text()
    return int(re.findall(r"VmRSS:\s+(\d+)", text)[0])


# The phones.


@dataclass(frozen=True, slots=True)
class Server:
    port: int
    tokens: list[str]
    process: asyncio.subprocess.Process

    async def seen(self) -> dict[str, Any]:
        """What the server saw since the last time."""
        assert self.process.stdin  # noqa: S101 - it was made with pipes
        assert self.process.stdout  # noqa: S101
        self.process.stdin.write(b"\n")
        line: dict[str, Any] = json.loads(await self.process.stdout.readline())
        return line

    def head(self, path: str, phone: int, *lines: str) -> bytes:
        cookie = f"hey-echo-{self.port}={self.tokens[phone % PHONES]}"
        host = f"127.0.0.1:{self.port}"
        wanted = (f"GET {path} HTTP/1.1", f"Host: {host}", f"Cookie: {cookie}", *lines, "", "")
        return "\r\n".join(wanted).encode()

    async def connect(self, n: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """From an address of its own, as a phone has."""
        return await asyncio.open_connection("127.0.0.1", self.port, local_addr=(address(n), 0))


@asynccontextmanager
async def server_in(folder: Path) -> AsyncIterator[Server]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        __file__,
        "--serve",
        str(folder),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=1 << 24,
    )
    try:
        assert process.stdout  # noqa: S101 - it was made with pipes
        told = json.loads(await process.stdout.readline())
        yield Server(told["port"], told["tokens"], process)
    finally:
        if process.stdin:
            process.stdin.close()
        await process.wait()


class RefusedError(Exception):
    """The server would not, or could not."""


async def fetch(
    server: Server, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, path: str, n: int
) -> tuple[int, bytes]:
    """Bytes on the wire, and the body as it came."""
    writer.write(server.head(path, n, "Accept-Encoding: gzip"))
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(re.findall(rb"(?i)content-length: (\d+)", head)[0])
    body = await reader.readexactly(length)
    if b" 200 " not in head.partition(b"\r\n")[0]:
        raise RefusedError(body.decode())
    return len(head) + length, body


async def first_load(server: Server) -> tuple[int, int]:
    """Requests and bytes on the wire until the page with all its modules is there."""
    reader, writer = await server.connect(0)
    wanted, seen, total = ["/"], {"/"}, 0
    while wanted:
        path = wanted.pop()
        size, body = await fetch(server, reader, writer, path, 0)
        total += size
        for found in links(path, body):
            if found not in seen:
                seen.add(found)
                wanted.append(found)
    writer.transport.abort()
    return len(seen), total


def links(path: str, body: bytes) -> Iterator[str]:
    """What a browser fetches for this file by itself: no icons for home screens."""
    import gzip

    text = (gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body).decode(errors="replace")
    if path == "/":
        kept = "".join(tag for tag in re.findall(r"<[^>]+>", text) if "apple-touch" not in tag)
        yield from re.findall(r'(?:src|href)="(/static/[^"]+)"', kept)
    elif path.endswith(".js"):
        for found in re.findall(r'^(?:import|export)\b[^;]*?"(\.[^"]+)"', text, re.MULTILINE):
            yield urljoin(path, found)


async def ask_at_once(server: Server, paths: list[str]) -> tuple[list[float], float, int]:
    """Milliseconds of each answer, answers in a second, and refusals, with all clients at once."""
    spent: list[float] = []
    refused: list[str] = []

    async def client(n: int) -> None:
        chance = random.Random(n)  # noqa: S311
        reader, writer = await server.connect(n)
        for _ in range(ASKED):
            began = time.monotonic()
            try:
                await fetch(server, reader, writer, chance.choice(paths), n)
            except RefusedError as error:
                refused.append(str(error))
            spent.append((time.monotonic() - began) * 1000)
        writer.transport.abort()

    began = time.monotonic()
    await asyncio.gather(*map(client, range(CLIENTS)))
    for why in set(refused):
        print(f"  refused: {why}")
    return spent, len(spent) / (time.monotonic() - began), len(refused)


async def follow(server: Server, n: int, spent: list[float]) -> None:
    """Note how long each event took, milliseconds."""
    reader, writer = await server.connect(n)
    try:
        writer.write(server.head("/api/live", n, "Accept: text/event-stream"))
        while line := await reader.readline():
            if line.startswith(b'data: {"text":"what'):
                told = float(line.rpartition(b" ")[2].partition(b'"')[0])
                spent.append((time.monotonic() - told) * 1000)
    finally:
        writer.transport.abort()


async def read_slowly(server: Server, n: int, rate: int) -> None:
    """So many bytes a second, or none at all; when dropped, begin again."""
    loop = asyncio.get_running_loop()
    while True:
        with contextlib.suppress(OSError), socket.socket() as slow:
            slow.setblocking(False)
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            slow.bind((address(n), 0))
            await loop.sock_connect(slow, ("127.0.0.1", server.port))
            await loop.sock_sendall(slow, server.head("/api/live", n, "Accept: text/event-stream"))
            while not slow.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                await asyncio.sleep(1)
                if rate and not await loop.sock_recv(slow, rate):
                    break
        await asyncio.sleep(1)


def address(n: int) -> str:
    """One of its own for each phone."""
    return f"127.0.{1 + n // 200}.{1 + n % 200}"


async def measure(server: Server, streams: int, slow: int, seconds: float) -> None:
    spent: list[float] = []
    await server.seen()
    following = [asyncio.create_task(follow(server, n, spent)) for n in range(streams)]
    reading = [
        asyncio.create_task(read_slowly(server, streams + n, 100 * (n % 2))) for n in range(slow)
    ]
    await asyncio.sleep(3)
    spent.clear()
    before = await server.seen()
    await asyncio.sleep(seconds)
    after = await server.seen()
    for task in (*following, *reading):
        task.cancel()
    await asyncio.gather(*following, *reading, return_exceptions=True)
    name = f"{streams} streams, {slow} slow readers" if streams else "nobody follows"
    row(f"loop's lag, {name}", after["late"])
    if streams:
        row(f"event to phone, {name}", spent)
        print(
            f"  {before['followers']} followers; memory {before['kb'] / 1024:.1f} MB,"
            f" after {seconds:.0f} s {after['kb'] / 1024:.1f} MB"
        )


def row(name: str, spent: list[float]) -> None:
    print(
        f"{name:52}{median(spent):10.2f}{p99(spent):10.2f}{max(spent):10.2f}{len(spent):10}",
        flush=True,
    )


async def drive(folder: Path, uuids: list[str], seconds: float) -> None:
    async with server_in(folder) as server:
        requests, size = await first_load(server)
        print(f"first load: {requests} requests, {size / 1024:.1f} KB on the wire")
        print(f"\n{'milliseconds':52}{'median':>10}{'99 %':>10}{'most':>10}{'of':>10}")
        newest = len(uuids)
        chance = random.Random(5)  # noqa: S311
        lists = [f"/api/chats?limit=20&before={chance.randint(30, newest)}" for _ in range(500)]
        threads = [f"/api/chats/{uuid}?limit=20" for uuid in chance.choices(uuids, k=500)]
        for name, paths in (("list", lists), ("thread", threads)):
            spent, rate, refused = await ask_at_once(server, paths)
            row(f"{name} page, {CLIENTS} clients, {rate:.0f} a second, {refused} refused", spent)
        await measure(server, 0, 0, min(seconds, ALONE_SECONDS))
        await measure(server, 1, 0, min(seconds, ALONE_SECONDS))
        await measure(server, STREAMS, SLOW, seconds)
        await measure(server, 0, 0, min(seconds, ALONE_SECONDS))


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--conversations", type=int, default=LARGE)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of many streams")
    parser.add_argument("--folder", type=Path, default=Path("/var/tmp"), help="on the card")  # noqa: S108
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    if arguments.serve:
        asyncio.run(serve(arguments.serve))
        return 0
    folder = Path(tempfile.mkdtemp(prefix="hey-echo-bench-", dir=arguments.folder))
    try:
        print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
        uuids = build(folder / "history.db", arguments.conversations, Talk(1))
        print(f"{arguments.conversations:,} conversations")
        asyncio.run(drive(folder, uuids, arguments.seconds))
        print(f"load average {os.getloadavg()[0]:.1f}")
    finally:
        shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
