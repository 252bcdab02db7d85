"""Mute and text mode on the running service: its process holds no microphone."""

import contextlib
import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.journeys.conftest import Service

pytestmark = pytest.mark.journey

SECONDS = 180.0  # for a busy machine to load the engines


def captures(service: Service) -> int:
    """How often the service has the microphone open."""
    fifo, found = Path(service.microphone.name.partition("FIFO=")[2]), 0
    for descriptor in Path(f"/proc/{service.process.pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            found += descriptor.readlink() == fifo
    return found


def until(condition: Callable[[], bool]) -> None:
    give_up = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < give_up
        time.sleep(0.05)


def test_muted_it_answers_what_is_typed_and_holds_no_microphone_after_a_restart_either(
    service: Service,
) -> None:
    service.until("idle", SECONDS)
    until(lambda: captures(service) == 1)
    assert "is muted" in service.command("mute").stdout
    service.until("muted")
    assert captures(service) == 0
    assert "Tokyo" in service.command("ask", "What is the capital of Japan?").stdout

    service.end()
    service.start()
    service.until("muted", SECONDS)
    assert captures(service) == 0
    assert "Tokyo" in service.command("ask", "What is the capital of Japan?").stdout
    assert captures(service) == 0

    assert "hears again" in service.command("unmute").stdout
    service.until("idle")
    until(lambda: captures(service) == 1)
    talks = json.loads(service.command("chats", "list", "--json").stdout)
    assert len(talks) == 2
