"""Clients that are slow, endless, many, or no browsers at all; with real sockets."""

import asyncio
import contextlib
import logging
import re
import socket
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from uuid import UUID

import pytest

from firmware_app.events import PartialTranscript
from firmware_app.history.records import NewConversation, NewEntry
from firmware_app.settings import WebSettings
from firmware_app.web import asked, door
from firmware_app.web.openapi import DOCUMENT
from tests.conftest import PATIENCE, until
from tests.web.phone import Phone
from tests.web.stand import OWNER, Stand, stand


class Wire:
    """A raw connection, and all that came back on it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @classmethod
    async def to(cls, there: Stand, source: str = "127.0.0.1") -> "Wire":
        return cls(
            *await asyncio.open_connection("127.0.0.1", there.server.port, local_addr=(source, 0))
        )

    async def say(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def all(self, seconds: float = PATIENCE) -> bytes:
        """Until the server hangs up. Raises TimeoutError where it does not."""
        answer = b""
        try:
            async with asyncio.timeout(seconds):
                with contextlib.suppress(ConnectionError):
                    while some := await self.reader.read(65_536):
                        answer += some
        finally:
            self.writer.transport.abort()
        return answer

    def close(self) -> None:
        self.writer.transport.abort()


def head(there: Stand, method: str, path: str, *lines: str) -> bytes:
    host = f"127.0.0.1:{there.server.port}"
    return "\r\n".join(
        (f"{method} {path} HTTP/1.1", f"Host: {host}", f"Origin: http://{host}", *lines, "", "")
    ).encode()


async def test_a_head_that_never_ends_is_cut_off(
    there: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "IDLE_SECONDS", 0.3)
    wire = await Wire.to(there)
    await wire.say(b"GET / HTTP/1.1\r\n")

    async def trickle() -> None:
        while True:
            await wire.say(b"X-A: b\r\n")
            await asyncio.sleep(0.02)

    trickling = asyncio.create_task(trickle())
    await wire.all()
    trickling.cancel()
    await asyncio.gather(trickling, return_exceptions=True)


async def test_whoever_connects_and_says_nothing_is_cut_off(
    there: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "IDLE_SECONDS", 0.2)
    assert await (await Wire.to(there)).all() == b""


async def test_whoever_asked_once_and_says_no_more_is_cut_off(
    there: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "IDLE_SECONDS", 0.3)
    wire = await Wire.to(there)
    await wire.say(head(there, "GET", "/healthz"))
    answer = await wire.all()
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b"connection: close" not in answer.lower()


async def test_a_handshake_that_is_never_finished_is_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "HANDSHAKE_SECONDS", 0.3)
    async with stand(tmp_path, secure=True, filled=False) as there:
        silent, halfway = [await Wire.to(there) for _ in range(2)]
        await halfway.say(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
        assert await silent.all() == await halfway.all() == b""
        await wait_until_gone(there)


async def test_plain_http_where_tls_is_spoken_is_hung_up_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with stand(tmp_path, secure=True, filled=False) as there:
        wire = await Wire.to(there)
        await wire.say(head(there, "GET", "/"))
        assert b"Echo" not in await wire.all()
        await wait_until_gone(there)
    assert [r for r in caplog.records if r.levelno >= logging.WARNING] == []


def connections(there: Stand) -> Counter[str]:
    """As they are counted, by address."""
    assert there.server._door
    return there.server._door._of


async def wait_until_gone(there: Stand) -> None:
    """Until no connection is counted any more: what is not taken off is never let in again."""
    await until(lambda: not connections(there))


async def test_a_body_that_trickles_is_given_up(
    there: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asked, "SECONDS_TO_SEND", 0.2)
    wire = await Wire.to(there)
    await wire.say(
        head(there, "POST", "/api/pair", "Content-Type: application/json", "Content-Length: 50")
    )
    await wire.say(b'{"code')
    answer = await wire.all()
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b'"code": "too-slow"' in answer


async def test_ten_megabytes_are_refused_before_they_are_read(there: Stand) -> None:
    wire = await Wire.to(there)
    await wire.say(
        head(
            there, "POST", "/api/pair", "Content-Type: application/json", "Content-Length: 10000000"
        )
    )
    answer = await wire.all()
    assert answer.startswith(b"HTTP/1.1 413 ")


def path_of_nothing(template: str) -> str:
    """A path that is well made, and leads to nothing."""
    return re.sub(r"{\w+}", "0", template.replace("{uuid}", str(UUID(int=0))))


async def test_ten_megabytes_are_taken_in_by_nothing(
    there: Stand, phone: Phone, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By no endpoint, a body or none; whoever goes on sending is hung up on."""
    monkeypatch.setattr(door, "LINGER_SECONDS", 0.05)
    cookies = "; ".join(f"{c.key}={c.value}" for c in phone.session.cookie_jar)
    lines = (
        f"Cookie: {cookies}",
        "Content-Type: application/json",
        "Accept: text/event-stream",
        "Content-Length: 10000000",
    )
    for path, methods in DOCUMENT["paths"].items():
        for method in methods:
            if path == "/api/live":  # has no end of its own
                continue
            wire = await Wire.to(there)
            await wire.say(head(there, method.upper(), path_of_nothing(path), *lines))
            await wire.say(b" " * 100_000)
            answer = await wire.all()
            fitting = (b"200", b"404", b"422") if method == "get" else (b"404", b"413")
            assert answer[9:12] in fitting, (method, path)


async def test_a_body_without_an_end_is_refused_at_its_bound(there: Stand) -> None:
    wire = await Wire.to(there)
    await wire.say(
        head(
            there,
            "POST",
            "/api/pair",
            "Content-Type: application/json",
            "Transfer-Encoding: chunked",
        )
    )
    chunk = b"1000\r\n" + b" " * 4096 + b"\r\n"

    async def pour() -> None:
        while True:
            await wire.say(chunk)

    pouring = asyncio.create_task(pour())
    answer = await wire.all(10)
    assert answer.startswith(b"HTTP/1.1 413 ")
    pouring.cancel()
    await asyncio.gather(pouring, return_exceptions=True)


@pytest.mark.parametrize(
    "data",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"A: " + b"b" * 20_000 + b"\r\n\r\n",
        b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -5\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"".join(b"A%d: b\r\n" % n for n in range(500)) + b"\r\n",
        b"\x00" * 100 + b"\r\n\r\n",
    ],
)
async def test_what_is_no_http_gets_a_short_answer_and_no_line_in_the_log(
    there: Stand, data: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    wire = await Wire.to(there)
    await wire.say(data)
    wire.writer.write_eof()
    answer = await wire.all()
    assert answer == b"" or answer.startswith((b"HTTP/1.0 400 ", b"HTTP/1.1 400 ", b"HTTP/1.1 421"))
    assert b"Traceback" not in answer
    assert caplog.records == []


async def test_one_address_gets_so_many_connections_and_others_still_get_in(
    there: Stand, phone: Phone
) -> None:
    wires = [await Wire.to(there, "127.0.0.9") for _ in range(door.CONNECTIONS_OF_ONE)]
    await until(lambda: connections(there)["127.0.0.9"] == len(wires))
    refused = await Wire.to(there, "127.0.0.9")
    assert (await refused.all()).startswith(b"HTTP/1.1 503 ")
    assert (await phone.get("/healthz")).status == 200
    for wire in wires:
        wire.close()
    await until(lambda: not connections(there)["127.0.0.9"])
    again = await Wire.to(there, "127.0.0.9")
    await again.say(head(there, "GET", "/healthz", "Connection: close"))
    assert (await again.all()).startswith(b"HTTP/1.1 200 ")


async def test_all_connections_together_are_bounded(
    there: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "CONNECTIONS", 6)
    wires = [await Wire.to(there, f"127.0.0.{n}") for n in range(10, 16)]
    await until(lambda: connections(there).total() == 6)
    assert (await (await Wire.to(there, "127.0.0.99")).all()).startswith(b"HTTP/1.1 503 ")
    for wire in wires:
        wire.close()


async def test_who_follows_and_reads_nothing_is_dropped(
    there: Stand, phone: Phone, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "STALLED_SECONDS", 0.3)
    cookies = "; ".join(f"{c.key}={c.value}" for c in phone.session.cookie_jar)
    with ExitStack() as stack:
        deaf = stack.enter_context(socket.create_connection(("127.0.0.1", there.server.port)))
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        lines = ("Accept: text/event-stream", f"Cookie: {cookies}")
        deaf.sendall(head(there, "GET", "/api/live", *lines))
        async with phone.follow() as events:
            await events.until("ready")
            async with asyncio.timeout(PATIENCE):
                while there.server.streams.followers == 2:
                    there.events.publish(PartialTranscript("word " * 2000))
                    await events.until("partial")
            there.events.publish(PartialTranscript("still here"))
            await events.until("partial", text="still here")


async def test_who_asks_much_and_reads_nothing_is_dropped(
    there: Stand, phone: Phone, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pipelined requests whose answers nobody takes."""
    monkeypatch.setattr(door, "STALLED_SECONDS", 0.3)
    with ExitStack() as stack:
        deaf = stack.enter_context(socket.create_connection(("127.0.0.1", there.server.port)))
        deaf.setblocking(False)
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        request = head(there, "GET", "/static/style.css", "Accept-Encoding: identity")
        loop = asyncio.get_running_loop()

        async def ask_on() -> None:
            while True:
                await loop.sock_sendall(deaf, request)
                await asyncio.sleep(0.05)

        with pytest.raises(ConnectionError):
            await asyncio.wait_for(ask_on(), PATIENCE)
    assert (await phone.get("/healthz")).status == 200


async def test_who_takes_in_a_few_bytes_at_a_time_is_dropped(
    there: Stand, phone: Phone, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An export that is read as slowly as can be holds its reader no longer than silence would."""
    monkeypatch.setattr(door, "STALLED_SECONDS", 0.3)
    new = NewConversation("chat", OWNER, "Long")
    await there.store.start(new)
    for number in range(1, 41):
        await there.store.write(NewEntry(new.uuid, number, "user", ("word " * 20_000,)))
    cookies = "; ".join(f"{c.key}={c.value}" for c in phone.session.cookie_jar)
    loop, address = asyncio.get_running_loop(), "127.0.0.9"
    to = ("127.0.0.1", there.server.port)
    with ExitStack() as stack:
        slow = stack.enter_context(socket.create_connection(to, source_address=(address, 0)))
        slow.setblocking(False)
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        path = f"/api/chats/{new.uuid}/export?format=txt"
        await loop.sock_sendall(slow, head(there, "GET", path, f"Cookie: {cookies}"))
        assert (await loop.sock_recv(slow, 16)).startswith(b"HTTP/1.1 200 ")
        assert connections(there)[address] == 1
        async with asyncio.timeout(PATIENCE):
            while connections(there)[address]:
                await loop.sock_recv(slow, 16)
                await asyncio.sleep(0.02)
    assert (await phone.get("/healthz")).status == 200


async def test_the_page_is_for_the_home_network_alone(tmp_path: Path) -> None:
    from firmware_app.web.addresses import address_of, is_at_home

    own = address_of("2001:db8:1:2::1")
    assert own
    for peer, home in (
        ("192.168.1.7", True),
        ("10.0.0.1", True),
        ("172.31.255.255", True),
        ("172.32.0.1", False),
        ("8.8.8.8", False),
        ("::ffff:192.168.1.7", True),
        ("::ffff:8.8.8.8", False),
        ("fe80::1%eth0", True),
        ("fd12::1", True),
        ("2001:db8:1:2:ffff::9", True),
        ("2001:db8:1:3::9", False),
    ):
        address = address_of(peer)
        assert address
        assert is_at_home(address, own) is home, peer


async def test_who_is_not_at_home_is_shown_the_door(
    there: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "is_at_home", lambda peer, own: False)
    wire = await Wire.to(there)
    await wire.say(head(there, "GET", "/healthz"))
    assert await wire.all() == b""


async def test_an_address_of_its_own_is_all_it_listens_on(tmp_path: Path) -> None:
    async with stand(tmp_path, WebSettings(port=0, address="127.0.0.5"), filled=False) as there:
        with pytest.raises(ConnectionError):
            await Wire.to(there)
        reader, writer = await asyncio.open_connection("127.0.0.5", there.server.port)
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.5\r\nConnection: close\r\n\r\n")
        assert (await reader.read()).startswith(b"HTTP/1.1 200 ")
        writer.transport.abort()
