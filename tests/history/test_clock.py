"""A moment is dated only while the clock is to be trusted."""

import time
from pathlib import Path

import pytest

from firmware_app.history import clock
from firmware_app.history.clock import SystemClock


def test_a_machine_with_a_clock_of_its_own_is_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SystemClock, "_starts_without", False)

    moment = SystemClock().now()

    assert moment.created == pytest.approx(time.time(), abs=60)
    assert moment.boot_id == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert moment.monotonic == pytest.approx(time.clock_gettime(time.CLOCK_BOOTTIME), abs=60)


def test_a_board_without_one_is_trusted_once_its_time_was_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(SystemClock, "_starts_without", True)
    is_set = False
    monkeypatch.setattr(clock, "_synchronised", lambda: is_set)
    board = SystemClock()

    assert board.now().created is None
    is_set = True
    assert board.now().created is not None
    is_set = False
    assert board.now().created is not None
