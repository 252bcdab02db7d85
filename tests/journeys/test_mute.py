"""Mute and text mode on the running service: its process holds no microphone."""

import contextlib
import json
from pathlib import Path

import pytest

from tests.journeys.conftest import Service

pytestmark = pytest.mark.journey


def captures(service: Service) -> int:
    """How often the service has the microphone open."""
    fifo, found = Path(service.microphone.name.partition("FIFO=")[2]), 0
    for descriptor in Path(f"/proc/{service.process.pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            found += descriptor.readlink() == fifo
    return found


def test_muted_it_answers_what_is_typed_and_holds_no_microphone_after_a_restart_either(
    service: Service,
) -> None:
    service.until("idle")
    service.until_true(lambda: captures(service) == 1)
    assert "is muted" in service.command("mute").stdout
    service.until("muted")
    assert captures(service) == 0
    assert "Tokyo" in service.command("ask", "What is the capital of Japan?").stdout

    service.end()
    service.start()
    service.until("muted")
    assert captures(service) == 0
    assert "Tokyo" in service.command("ask", "What is the capital of Japan?").stdout
    assert captures(service) == 0

    assert "hears again" in service.command("unmute").stdout
    service.until("idle")
    service.until_true(lambda: captures(service) == 1)
    talks = json.loads(service.command("chats", "list", "--json").stdout)
    assert len(talks) == 2
