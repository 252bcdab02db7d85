"""The server's own life: a port that is taken, a page that is off, and the address people type."""

import asyncio
import logging
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from firmware_app.control.client import call
from firmware_app.control.pair_calls import register
from firmware_app.control.protocol import RemoteError
from firmware_app.control.server import ControlServer
from firmware_app.settings import Settings, WebSettings
from firmware_app.web import addresses, server
from firmware_app.web.addresses import page_address
from firmware_app.web.parts import Parts
from firmware_app.web.server import WebServer
from tests.conftest import PATIENCE, until
from tests.web.phone import Phone
from tests.web.stand import Stand


def beside(there: Stand, web: WebSettings) -> WebServer:
    """Another server of the same box, with these settings."""
    settings = replace(there.loaded.settings, web=web)
    parts = Parts(
        loaded=lambda: replace(there.loaded, settings=settings),
        change=there.change,
        live=there.live,
        history=there.store,
        events=there.events,
        rates=there.server.parts.rates,
        announce=there.live.announce,
    )
    return WebServer(parts, there.state)


async def test_a_taken_port_is_told_once_and_tried_again(
    there: Stand, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(server, "BACK_OFF", (0.02,))
    with socket.create_server(("0.0.0.0", 0)) as taken:  # noqa: S104
        port = taken.getsockname()[1]
        second = beside(there, WebSettings(port=port))
        await second.open()
        await until(lambda: bool(second.fault))
        await asyncio.sleep(0.2)  # some tries
        assert second.fault
        assert second.fault.code == "port-taken"
        assert str(port) in second.condition
        assert second.address is None
        told = [r for r in caplog.records if r.levelno >= logging.ERROR]
        assert len(told) == 1
    async with asyncio.timeout(PATIENCE):
        await second.listening()
    assert second.fault is None
    assert second.port == port
    await second.close()


async def test_a_page_that_is_off_listens_nowhere(there: Stand) -> None:
    off = beside(there, WebSettings(enabled=False))
    await off.open()
    assert (off.condition, off.port) == ("off", 0)
    await off.close()


async def test_what_cannot_be_an_address_is_told(
    there: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = beside(there, WebSettings(port=0, address="the kitchen"))
    await wrong.open()
    await until(lambda: bool(wrong.fault))
    assert wrong.fault
    assert wrong.fault.code == "bad-address"
    await wrong.close()


async def test_closing_ends_all_streams_at_once(there: Stand, phone: Phone) -> None:
    async with phone.follow() as events:
        await events.until("ready")
        async with asyncio.timeout(20):
            await there.server.close()
        assert await events.ended()


def test_the_address_is_one_that_can_be_typed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(addresses, "lan_address", lambda: "192.168.1.20")
    monkeypatch.setattr(addresses, "hostname", lambda: "kitchen")
    monkeypatch.setattr(addresses, "_AVAHI", tmp_path / "socket")
    assert page_address(Settings(), secure=False) == "http://192.168.1.20:8080"
    assert page_address(Settings(web=WebSettings(port=443)), secure=True) == "https://192.168.1.20"
    fixed = Settings(web=WebSettings(address="fd00::1"))
    assert page_address(fixed, secure=True) == "https://[fd00::1]:8080"
    assert page_address(Settings(web=WebSettings(enabled=False)), secure=False) is None
    (tmp_path / "socket").touch()
    assert page_address(Settings(), secure=False) == "http://kitchen.local:8080"


# The calls of the command line.


async def test_the_command_line_pairs_lists_and_revokes(
    there: Stand, stranger: Phone, tmp_path: Path
) -> None:
    control = ControlServer(tmp_path)
    register(control, there.server)
    await control.open()

    async def ask(name: str, **args: object) -> object:
        return await asyncio.to_thread(lambda: call(tmp_path, name, **args))  # type: ignore[arg-type]

    made = await ask("pair.new", owner="ann")
    assert isinstance(made, dict)
    assert made["url"] == f"{made['address']}/#pair={made['code']}"
    paired = await stranger.post("/api/pair", {"code": made["code"], "name": "hers"})
    assert paired.status == 204
    phones = await ask("pair.list")
    assert isinstance(phones, list)
    assert [(p["owner"], p["name"]) for p in phones] == [("ann", "hers")]
    async with stranger.follow() as events:
        await events.until("ready")
        began = asyncio.get_running_loop().time()
        await ask("pair.revoke", id=phones[0]["id"])
        assert await events.ended()
        assert events.seen[-1].name == "revoked"
        assert asyncio.get_running_loop().time() - began < 1
    assert (await stranger.get("/api/chats")).status == 401
    for name, args, code in (
        ("pair.revoke", {"id": phones[0]["id"]}, "no-such-phone"),
        ("pair.revoke", {"id": "1"}, "malformed-call"),
        ("pair.new", {"owner": " "}, "bad-owner"),
        ("pair.new", {"owner": "a\nb"}, "bad-owner"),
    ):
        with pytest.raises(RemoteError) as refused:
            await ask(name, **args)
        assert refused.value.code == code
    await there.server.close()
    with pytest.raises(RemoteError) as refused:
        await ask("pair.new", owner="ann")
    assert refused.value.code == "no-page"
    await control.close()
