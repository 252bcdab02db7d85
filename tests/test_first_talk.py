"""On a new box Echo says once that talks are kept."""

import asyncio
from pathlib import Path

from firmware_app.errors import ServiceError
from firmware_app.events import Events, ReplyEnded, Saved, Status
from firmware_app.first_talk import FLAG, tell_once
from tests.conftest import PATIENCE

ANSWERED = ReplyEnded(Status.COMPLETE, "Tokyo.")


async def settled() -> None:
    for _ in range(20):
        await asyncio.sleep(0.005)


async def test_it_is_said_after_the_first_answer_that_is_kept(tmp_path: Path) -> None:
    (tmp_path / FLAG).touch()
    events, said = Events(), 0
    saved = Saved.NOT_SAVED
    failing = True

    async def say() -> None:
        nonlocal said
        if failing:
            raise ServiceError("not-awake", "Echo is still waking up.", "Try again.")
        said += 1

    telling = asyncio.create_task(tell_once(tmp_path, events, lambda: saved, say))
    await settled()
    events.publish(ANSWERED)  # nothing is kept, so nothing is to be told
    await settled()
    saved = Saved.SAVED
    events.publish(ReplyEnded(Status.INTERRUPTED, ""))  # someone has no patience now
    events.publish(ANSWERED)  # the voice fails
    await settled()
    assert (said, (tmp_path / FLAG).exists()) == (0, True)
    failing = False
    events.publish(ANSWERED)
    async with asyncio.timeout(PATIENCE):
        await telling
    assert (said, (tmp_path / FLAG).exists()) == (1, False)


async def test_on_a_box_that_has_said_it_nothing_waits(tmp_path: Path) -> None:
    async def say() -> None:
        raise AssertionError

    async with asyncio.timeout(PATIENCE):
        await tell_once(tmp_path, Events(), lambda: Saved.SAVED, say)
