"""The service manager hears that Echo is ready, alive, reloading and stopping."""

import asyncio
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from firmware_app.device.manager import ServiceManager
from tests.conftest import PATIENCE


@pytest.fixture
def fake_manager(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as bound:
        bound.bind(str(tmp_path / "notify"))
        bound.settimeout(5)
        yield bound


def told(manager: socket.socket) -> list[str]:
    return manager.recv(4096).decode().split("\n")


def test_each_message_is_one_datagram(fake_manager: socket.socket) -> None:
    echo = ServiceManager({"NOTIFY_SOCKET": str(fake_manager.getsockname())})
    echo.ready("Listening.")
    assert told(fake_manager) == ["READY=1", "STATUS=Listening."]
    echo.reloading()
    reloading, when = told(fake_manager)
    assert reloading == "RELOADING=1"
    assert int(when.removeprefix("MONOTONIC_USEC=")) > 0
    echo.status("It has\ntwo lines.")
    assert told(fake_manager) == ["STATUS=It has two lines."]
    echo.stopping()
    assert told(fake_manager)[0] == "STOPPING=1"


def test_a_manager_may_listen_at_an_abstract_address() -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as bound:
        bound.bind("")  # the kernel gives it a free abstract address
        bound.settimeout(5)
        address = "@" + bound.getsockname()[1:].decode()
        ServiceManager({"NOTIFY_SOCKET": address}).ready("Listening.")
        assert told(bound)[0] == "READY=1"


def test_without_a_manager_or_with_one_that_is_gone_nothing_happens(tmp_path: Path) -> None:
    alone = ServiceManager({})
    assert not alone.there
    alone.ready("Listening.")
    ServiceManager({"NOTIFY_SOCKET": str(tmp_path / "gone")}).ready("Listening.")


async def test_the_watchdog_is_fed_only_while_echo_is_alive(fake_manager: socket.socket) -> None:
    environ = {"NOTIFY_SOCKET": str(fake_manager.getsockname()), "WATCHDOG_USEC": "40000"}
    answers = iter([True, False, True])
    asked = asyncio.Event()

    def alive() -> bool:
        try:
            return next(answers)
        except StopIteration:
            asked.set()
            return False

    feeding = asyncio.create_task(ServiceManager(environ).feed(alive))
    async with asyncio.timeout(PATIENCE):
        await asked.wait()
    feeding.cancel()
    fake_manager.setblocking(False)
    assert [told(fake_manager), told(fake_manager)] == [["WATCHDOG=1"]] * 2
    with pytest.raises(BlockingIOError):
        told(fake_manager)


@pytest.mark.parametrize(
    ("environ", "seconds"),
    [
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": str(os.getpid())}, 30.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "1"}, 0.0),  # of another process
        ({}, 0.0),
    ],
)
async def test_a_watchdog_that_is_not_asked_for_is_not_fed(
    environ: dict[str, str], seconds: float
) -> None:
    manager = ServiceManager(environ)
    assert manager.watchdog_seconds == seconds
    asked = 0

    def alive() -> bool:
        nonlocal asked
        asked += 1
        return True

    feeding = asyncio.create_task(manager.feed(alive))
    await asyncio.sleep(0.01)
    assert not feeding.done()
    assert asked == (1 if seconds else 0)
    feeding.cancel()
