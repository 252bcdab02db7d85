"""A scripted conversation, and what of it was acknowledged: for the tests that kill it.

Run as a program it talks until it is killed, and prints a line for each acknowledgement.
"""

import asyncio
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from firmware_app.history.records import NewConversation, NewEntry
from firmware_app.history.store import Store


@dataclass
class Acknowledged:
    """Entries by conversation and number, and conversations that were deleted for good."""

    entries: dict[str, dict[int, str]] = field(default_factory=dict)
    deleted: set[str] = field(default_factory=set)
    tell: Callable[[str], None] = lambda line: None
    stopped: bool = False

    def stop(self) -> None:
        """From now on nothing counts: the power is off."""
        self.stopped = True

    def entry(self, uuid: str, number: int, text: str) -> None:
        self._note(f"entry {uuid} {number} {text}")

    def asked_to_delete(self, uuid: str) -> None:
        """From here on it may be there or not."""
        self._note(f"deleting {uuid} 0 x")

    def deletion(self, uuid: str) -> None:
        self._note(f"deleted {uuid} 0 x")

    def take(self, line: str) -> None:
        what, uuid, number, text = line.split(" ", 3)
        if what == "entry" and uuid not in self.deleted:
            self.entries.setdefault(uuid, {})[int(number)] = text
        elif what == "deleting":
            self.entries.pop(uuid, None)
        elif what == "deleted":
            self.deleted.add(uuid)

    def _note(self, line: str) -> None:
        if not self.stopped:
            self.take(line)
            self.tell(line)


async def talk(store: Store, seed: int, acknowledged: Acknowledged, turns: int = 12) -> None:
    """Conversations with everything that is done to one, awaiting now and then."""
    chance = random.Random(seed)
    kept: list[str] = []
    for turn in range(turns):
        new = NewConversation("voice", "ann", f"talk {turn}")
        store.start(new)
        for number in range(1, chance.randint(2, 6)):
            text = f"entry {number} of {turn} " + "x" * chance.randint(0, 3000)
            kind = "user" if number % 2 else "assistant"
            writing = store.write(NewEntry(new.uuid, number, kind, (text,)))  # type: ignore[arg-type]
            store.set_usage(new.uuid, {"entries": number})
            if chance.random() < 0.6:
                await writing
                acknowledged.entry(new.uuid, number, text)
        kept.append(new.uuid)
        if chance.random() < 0.5:
            await store.end(new.uuid)
        if chance.random() < 0.3:
            uuid = kept.pop(chance.randrange(len(kept)))
            acknowledged.asked_to_delete(uuid)
            await store.delete(None, uuid)
            acknowledged.deletion(uuid)


async def _main(history: Path, seed: int, *, once: bool) -> None:
    acknowledged = Acknowledged(tell=lambda line: print(line, flush=True))
    store = await Store.open(history)
    while True:
        await talk(store, seed, acknowledged)
        seed += 1000
        if once:
            break
    await store.close()


if __name__ == "__main__":
    asyncio.run(_main(Path(sys.argv[1]), int(sys.argv[2]), once="--once" in sys.argv))
