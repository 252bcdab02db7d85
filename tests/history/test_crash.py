"""Killed at any moment, or without power: nothing acknowledged is lost, no number is used twice."""

import asyncio
import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import apsw
import pytest

from firmware_app.history.statements import RESTARTED
from firmware_app.history.store import Store
from tests.history.cards import power_cut
from tests.history.conftest import FULL, FakeClock, say
from tests.history.talker import Acknowledged, talk

TIMES = 200 if FULL else 20


async def check(history: Path, acknowledged: Acknowledged) -> None:
    """What must hold after a crash, whatever was going on."""
    store = await Store.open(history, clock=FakeClock(boot_id="after"))
    try:
        for uuid, entries in acknowledged.entries.items():
            page = await store.page(None, uuid, limit=1000)
            there = {entry.number: entry.text for entry in page.entries}
            assert entries.items() <= there.items()
            restarts = [e.number for e in page.entries if e.text == RESTARTED]
            assert page.conversation.next_entry > max(there, default=0)
            assert page.conversation.state == "interrupted" or not restarts
        uuids = {c.uuid for c in await store.conversations(None, limit=1000)}
        assert not uuids & acknowledged.deleted
        again = say(store, "and on it goes", "yes")
        await store.end(again)
    finally:
        await store.close()
    connection = apsw.Connection(str(history))
    assert connection.pragma("integrity_check") == "ok"
    connection.execute("INSERT INTO search (search, rank) VALUES ('integrity-check', 1)")
    connection.close()


@pytest.mark.timeout(900)
async def test_killed_at_random_moments(history: Path) -> None:
    chance = random.Random(5)
    acknowledged = Acknowledged()
    for turn in range(TIMES):
        moment = chance.uniform(0.0, 0.2)
        lines = await asyncio.to_thread(killed_talk, history, turn, moment)
        for line in lines:
            acknowledged.take(line)
        await check(history, acknowledged)
    assert sum(map(len, acknowledged.entries.values())) > TIMES
    assert acknowledged.deleted


def killed_talk(history: Path, seed: int, moment: float) -> list[str]:
    """What a process acknowledged before it was killed, some time after it began to talk."""
    command = [sys.executable, "-m", "tests.history.talker", str(history), str(seed)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        time.sleep(moment)
        process.send_signal(signal.SIGKILL)
        rest = process.stdout.read()
    lines = (first + rest).split("\n")
    return lines[:-1]  # what has no end may be half a line


@pytest.mark.timeout(900)
async def test_power_lost_at_random_moments(tmp_path: Path) -> None:
    with power_cut(None) as whole:
        store = await Store.open(tmp_path / "whole" / "history.db", clock=FakeClock())
        await talk(store, 1, Acknowledged())
        await store.close()
    chance = random.Random(6)
    lost = 0
    for turn in range(TIMES):
        at = chance.randrange(1, whole.changes)
        acknowledged = Acknowledged()
        folder = tmp_path / f"cut-{turn}"
        with power_cut(at) as cut:
            store = await Store.open(folder / "history.db", clock=FakeClock())
            talking = asyncio.ensure_future(talk(store, 1, acknowledged))
            while not (cut.happened or talking.done()):
                await asyncio.sleep(0.001)
            talking.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await talking
            acknowledged.stop()
            await store.close(0.0)
        lost += cut.happened
        left = tmp_path / f"left-{turn}"
        left.mkdir(mode=0o700)
        cut.leave_behind(left, seed=turn)
        await check(left / "history.db", acknowledged)
    assert lost > TIMES // 2


def test_the_talker_ends_by_itself_when_it_is_not_killed(history: Path) -> None:
    command = [sys.executable, "-m", "tests.history.talker", str(history), "1", "--once"]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=True, env=dict(os.environ)
    )
    acknowledged = Acknowledged()
    for line in done.stdout.splitlines():
        acknowledged.take(line)
    assert acknowledged.entries
    asyncio.run(check(history, acknowledged))
