"""After the first answer on a new box Echo says once that talks are kept, and how to stop that."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from pathlib import Path

from firmware_app.errors import EchoError
from firmware_app.events import Events, ReplyEnded, Saved, Status

FLAG = "first-talk"  # in the state folder; scripts/install puts it there


async def tell_once(
    state: Path, events: Events, saved: Callable[[], Saved], say: Callable[[], Awaitable[None]]
) -> None:
    """Wait for the first answer that is kept, say it, and never again."""
    flag = state / FLAG
    if not await asyncio.to_thread(flag.exists):
        return
    listener = events.listen()
    try:
        async for event in listener:
            if isinstance(event, ReplyEnded) and event.status is Status.COMPLETE:
                if saved() is not Saved.SAVED:
                    continue
                with contextlib.suppress(EchoError):  # then after the next answer
                    await say()
                    await asyncio.to_thread(flag.unlink, missing_ok=True)
                    return
    finally:
        events.unlisten(listener)
