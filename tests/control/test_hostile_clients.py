"""What a client may do to the socket without anyone else noticing."""

import asyncio
import json
import os
import socket
import stat

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from firmware_app.control import server as server_module
from firmware_app.control.client import call
from firmware_app.control.peers import Peer, may_call
from firmware_app.control.protocol import Json, decode_request
from firmware_app.control.server import CLIENTS, Call, ControlServer
from firmware_app.errors import UsageError
from tests.conftest import PATIENCE


@pytest.fixture(autouse=True)
def _ping(server: ControlServer) -> None:
    async def ping(call: Call) -> Json:
        return "pong"

    server.handle("ping", ping)


async def still_serves(server: ControlServer) -> bool:
    pong: str = await asyncio.to_thread(lambda: call(server.path.parent, "ping"))
    return pong == "pong"


async def answer_to(server: ControlServer, sent: bytes, *, hang_up: bool = False) -> str:
    """What the service says to these bytes: the error's sentence, or nothing."""
    reader, writer = await asyncio.open_unix_connection(str(server.path), limit=2**20)
    try:
        writer.write(sent)
        if hang_up:
            writer.write_eof()
        async with asyncio.timeout(PATIENCE):
            line = await reader.readline()
    except OSError:
        line = b""
    finally:
        writer.transport.abort()
    return str(json.loads(line)["error"]["what"]) if line else ""


@pytest.mark.parametrize(
    ("sent", "says"),
    [
        (b"hello\n", "is not JSON"),
        (b"\n", "is not JSON"),
        (b"\x00\xff\xfe\x80\n", "is not JSON"),
        (b"[1, 2]\n", "is not a JSON object"),
        (b"7\n", "is not a JSON object"),
        (b"{}\n", 'has no "call"'),
        (b'{"call": 7}\n', 'has no "call"'),
        (b'{"call": "ping"\n', "is not JSON"),
        (b"[" * 50_000 + b"\n", "is not JSON"),
        (b'{"call": "' + b"x" * 30_000 + b'"}\n', "knows no call"),
    ],
)
async def test_malformed_input_is_answered(server: ControlServer, sent: bytes, says: str) -> None:
    said = await answer_to(server, sent)
    assert says in said
    assert len(said) < 200
    assert await still_serves(server)


async def test_a_huge_line_is_cut_off(server: ControlServer) -> None:
    """The answer may be lost to a client that goes on sending, the service may not."""
    assert await answer_to(server, b"x" * 50_000_000) in ("", "The request is longer than 64 KB.")
    assert await answer_to(server, b"x" * 70_000) in ("", "The request is longer than 64 KB.")
    assert await still_serves(server)


async def test_half_a_line_is_told_so(server: ControlServer) -> None:
    assert await answer_to(server, b'{"call": "pi', hang_up=True) == "The request broke off."
    assert await answer_to(server, b"", hang_up=True) == "The request broke off."
    assert await still_serves(server)


async def test_a_silent_client_is_dropped(
    server: ControlServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "SECONDS_TO_ASK", 0.05)
    assert "No request came" in await answer_to(server, b'{"call"')


async def test_a_client_that_takes_nothing_in_is_dropped(
    server: ControlServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "SECONDS_TO_TAKE", 0.05)
    ended = asyncio.Event()

    async def flood(call: Call) -> Json:
        try:
            while True:
                await call.event({"clause": "x" * 10_000})
        finally:
            ended.set()

    server.handle("flood", flood)
    reader, writer = await asyncio.open_unix_connection(str(server.path), limit=1024)
    writer.write(b'{"call": "flood"}\n')
    async with asyncio.timeout(PATIENCE):
        await ended.wait()
    assert await still_serves(server)
    writer.transport.abort()
    del reader


async def test_a_second_call_on_one_connection_ends_the_first(server: ControlServer) -> None:
    async def wait(call: Call) -> Json:
        await asyncio.Event().wait()
        return None

    server.handle("wait", wait)
    said = await answer_to(server, b'{"call": "wait"}\n{"call": "ping"}\n')
    assert said == "A connection carries one call."


async def test_a_hundred_connections_at_once(server: ControlServer) -> None:
    """Those beyond the bound are told to come back; when the idle ones go, all is well."""
    idle = [await asyncio.open_unix_connection(str(server.path)) for _ in range(CLIENTS)]
    answers = await asyncio.gather(
        *(answer_to(server, b'{"call": "ping"}\n') for _ in range(100 - CLIENTS))
    )
    assert set(answers) == {f"More than {CLIENTS} commands call Echo at once."}
    for _, writer in idle:
        writer.close()
        await writer.wait_closed()
    async with asyncio.timeout(PATIENCE):
        while await answer_to(server, b'{"call": "pong"}\n') == answers[0]:
            await asyncio.sleep(0.01)
    assert await still_serves(server)


async def test_many_clients_are_served_at_once(server: ControlServer) -> None:
    together = asyncio.Barrier(CLIENTS)

    async def meet(call: Call) -> Json:
        async with together:
            return "met"

    server.handle("meet", meet)

    async def ask() -> bytes:
        reader, writer = await asyncio.open_unix_connection(str(server.path))
        writer.write(b'{"call": "meet"}\n')
        line = await reader.readline()
        writer.close()
        await writer.wait_closed()
        return line

    async with asyncio.timeout(PATIENCE):
        lines = await asyncio.gather(*(ask() for _ in range(CLIENTS)))
    assert set(lines) == {b'{"result":"met"}\n'}


@hypothesis_settings(max_examples=300, suppress_health_check=list(HealthCheck), deadline=None)
@given(st.binary(max_size=300) | st.text(max_size=100).map(str.encode))
def test_no_bytes_decode_into_anything_but_a_call_or_a_refusal(line: bytes) -> None:
    refusal = None
    try:
        name, args = decode_request(line)
    except UsageError as refused:
        refusal = refused
    if refusal:
        assert refusal.code == "malformed-call"
    else:
        assert isinstance(name, str)
        assert "call" not in args


class TestWhoMayCall:
    def test_root_and_the_services_own_user_may(self) -> None:
        assert may_call(Peer(1, 0, 0))
        assert may_call(Peer(1, os.geteuid(), 12345))

    def test_members_of_the_group_may(self) -> None:
        daemon = Peer(1, 1, 1)  # as Debian and the LSB have it
        assert not may_call(daemon, "adm")
        assert may_call(daemon, "daemon")

    def test_others_may_not(self) -> None:
        assert not may_call(Peer(1, 65534, 65534), "no-such-group")
        assert not may_call(Peer(1, 4_000_000, 4_000_000), "adm")

    def test_the_socket_is_closed_to_others(self, server: ControlServer) -> None:
        assert stat.S_IMODE(server.path.stat().st_mode) == 0o660

    @pytest.mark.skipif(os.geteuid() != 0, reason="another user can be played by root only")
    async def test_a_stranger_who_gets_past_the_mode_is_refused_by_name(
        self, server: ControlServer, caplog: pytest.LogCaptureFixture
    ) -> None:
        server.path.chmod(0o666)

        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as stranger:
            os.seteuid(65534)
            try:
                stranger.connect(str(server.path))
            finally:
                os.seteuid(0)
            stranger.setblocking(False)
            answer = json.loads(await asyncio.get_running_loop().sock_recv(stranger, 10_000))
        assert answer["error"]["what"] == "You may not call the running Echo."
        assert "usermod -aG hey-echo" in answer["error"]["mend"]
        assert "user 65534 was refused" in caplog.text
        assert await still_serves(server)
