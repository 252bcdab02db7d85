"""What the history costs: reading, searching, writing, starting, deleting, and room on the card.

Builds a small and a large history out of made-up talk, so that growth shows, and drives both
through the store as Echo does. Times are wall times; bytes written are the kernel's count for this
process.
"""

import argparse
import asyncio
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles

from firmware_app.history.clock import SystemClock
from firmware_app.history.records import Moment, NewConversation, NewEntry, title_of
from firmware_app.history.schema import LAST_ENTRY, open_history
from firmware_app.history.store import Store
from firmware_app.history.writer import Job
from firmware_app.sqlite import Connection, checkpoint

SMALL, LARGE = 1_000, 100_000  # conversations
ENTRIES = 20  # in each
STALL = 5.0  # seconds
TICK = 0.02  # seconds, a block of sound
OWNER = "ann"


@dataclass
class Figures:
    """Milliseconds by what was done, and single numbers with their unit."""

    times: dict[str, list[float]] = field(default_factory=dict)
    numbers: dict[str, str] = field(default_factory=dict)

    async def measure(self, name: str, count: int, act: Callable[[], Awaitable[object]]) -> None:
        spent = self.times.setdefault(name, [])
        for _ in range(count):
            began = time.perf_counter()
            await act()
            spent.append((time.perf_counter() - began) * 1000)


class Talk:
    """Made-up sentences whose words are as unevenly common as those of a language."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)  # noqa: S311
        letters = "aeiou", "bcdfghklmnprstvw"
        words = {
            "".join(self._chance.choice(letters[(n + at) % 2]) for at in range(length))
            for n in range(40_000)
            for length in (self._chance.randint(2, 9),)
        }
        self.words = sorted(words, key=lambda word: (len(word), word))
        self._weights = [1 / (rank + 3) for rank in range(len(self.words))]
        self._drawn: list[str] = []

    def sentence(self, words: int) -> str:
        if len(self._drawn) < words:
            self._drawn = self._chance.choices(self.words, self._weights, k=200_000)
        said = [self._drawn.pop() for _ in range(words)]
        return " ".join(said)

    def question(self) -> str:
        return self.sentence(self._chance.randint(3, 12))

    def answer(self) -> str:
        return self.sentence(self._chance.randint(8, 40))


def build(path: Path, conversations: int, talk: Talk) -> list[str]:
    """Fill a history in large transactions; the uuids, oldest first."""
    now = SystemClock().now()
    connection = open_history(path, "bench", now.created)
    connection.pragma("synchronous", "OFF")
    uuids: list[str] = []
    identity = 0
    for first in range(0, conversations, 500):
        with connection:
            for _ in range(first, min(first + 500, conversations)):
                identity = _add(connection, talk, now, identity, uuids)
        checkpoint(connection)
        if first % 10_000 == 0 and conversations > SMALL:
            print(f"  built {first} of {conversations} conversations", flush=True)
    connection.execute(LAST_ENTRY)
    connection.close()
    return uuids


def _add(connection: Connection, talk: Talk, now: Moment, identity: int, uuids: list[str]) -> int:
    first = talk.question()
    new = NewConversation("voice", OWNER, title_of(first))
    connection.execute(
        "INSERT INTO conversations (uuid, kind, owner, title, state, created, updated, next_entry)"
        " VALUES (?, 'voice', ?, ?, 'ended', ?, ?, ?)",
        (new.uuid, OWNER, new.title, now.created, now.created, ENTRIES + 1),
    )
    said = [first] + [talk.answer() if n % 2 else talk.question() for n in range(1, ENTRIES)]
    connection.executemany(
        "INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, NULL)",
        [
            (
                identity + n,
                new.uuid,
                n,
                "user" if n % 2 else "assistant",
                now.created,
                now.boot_id,
                now.monotonic,
                f'[{{"type":"text","text":"{text}"}}]',
                text,
                '{"status":"complete","input_mode":"voice","engines":{"model":"llama/smollm2"}}',
            )
            for n, text in enumerate(said, 1)
        ],
    )
    connection.executemany(
        "INSERT INTO search (rowid, text) VALUES (?, ?)",
        [(identity + n, text) for n, text in enumerate(said, 1)],
    )
    uuids.append(new.uuid)
    return identity + ENTRIES


async def drive(path: Path, uuids: list[str], talk: Talk) -> Figures:
    """All that is measured of one history."""
    figures = Figures()
    chance = random.Random(4)  # noqa: S311
    figures.numbers["size of an exchange"] = f"{file_size(path) / len(uuids) / (ENTRIES / 2):.0f} B"
    for _ in range(20):
        began = time.perf_counter()
        store = await Store.open(path, "bench")
        figures.times.setdefault("start-up", []).append((time.perf_counter() - began) * 1000)
        await store.close()
    store = await Store.open(path, "bench")
    newest = (await store.conversations(OWNER, limit=1))[0].seq

    await figures.measure(
        "list page",
        1000,
        lambda: store.conversations(OWNER, before=chance.randint(2, newest), limit=20),
    )
    await figures.measure("the eight latest", 1000, lambda: store.latest(OWNER, 8))
    await figures.measure(
        "open conversation", 1000, lambda: store.page(OWNER, chance.choice(uuids), limit=10)
    )
    await figures.measure(
        "load older",
        1000,
        lambda: store.page(OWNER, chance.choice(uuids), before=ENTRIES // 2, limit=10),
    )
    for name, asked in searches(talk, chance).items():
        await figures.measure(
            f"search: {name}",
            100,
            lambda asked=asked: store.find(OWNER, chance.choice(asked)),  # type: ignore[misc]
        )
    await write_exchanges(store, figures, talk)
    await figures.measure("delete a conversation", 30, lambda: delete_one(store, uuids))
    await figures.measure("delete and erase", 3, lambda: erase_one(store, uuids))
    await measure_lag(store, figures, talk)
    await store.close()
    return figures


def searches(talk: Talk, chance: random.Random) -> dict[str, list[str]]:
    """Queries by what they ask of the index. Ranks are by how common a word is."""
    words = talk.words
    common, usual, rare = words[:20], words[200:2000], words[10_000:]
    return {
        "common word": common,
        "usual word": usual,
        "rare word": rare,
        "beginning": [word[:3] + "*" for word in usual if len(word) > 3],
        "two words": [f"{chance.choice(common)} {chance.choice(usual)}" for _ in range(200)],
        "phrase": [f'"{chance.choice(common)} {chance.choice(common)}"' for _ in range(200)],
        "nothing": ["zzzqqqxxx"],
    }


async def write_exchanges(store: Store, figures: Figures, talk: Talk, count: int = 200) -> None:
    new = NewConversation("voice", OWNER, "bench")
    await store.start(new)
    number = 1

    async def exchange() -> None:
        nonlocal number
        store.write(NewEntry(new.uuid, number, "user", (talk.question(),), input_mode="voice"))
        await store.write(NewEntry(new.uuid, number + 1, "assistant", (talk.answer(),)))
        number += 2

    before = bytes_written()
    await figures.measure("write an exchange", count, exchange)
    figures.numbers["written to the card for an exchange"] = (
        f"{(bytes_written() - before) / count / 1024:.1f} KiB"
    )
    await store.end(new.uuid)


async def delete_one(store: Store, uuids: list[str]) -> None:
    await store.delete(OWNER, uuids.pop(len(uuids) // 2))


async def erase_one(store: Store, uuids: list[str]) -> None:
    await delete_one(store, uuids)
    if not await store.erased():
        raise RuntimeError("a reader stood in the way of erasing")


async def measure_lag(store: Store, figures: Figures, talk: Talk) -> None:
    """How late the loop wakes, idle, and while the writer is stalled and entries are queued."""
    await store.erased()
    figures.times["loop lag, idle"] = await lags(lambda: None)
    new = NewConversation("voice", OWNER, "stall")
    await store.start(new)
    numbers = iter(range(1, 100_000))

    def write() -> None:
        store.write(NewEntry(new.uuid, next(numbers), "user", (talk.question(),)))

    stalled = store._submit(Job(lambda connection: time.sleep(STALL)))
    figures.times["loop lag, writer stalled"] = await lags(write)
    await stalled
    await store.end(new.uuid)


async def lags(act: Callable[[], None]) -> list[float]:
    late = []
    until = time.perf_counter() + STALL - 0.2
    while (began := time.perf_counter()) < until:
        act()
        await asyncio.sleep(TICK)
        late.append((time.perf_counter() - began - TICK) * 1000)
    return late


def bytes_written() -> int:
    """What this process has sent to a block device: proc(5), write_bytes."""
    lines = Path("/proc/self/io").read_text().splitlines()
    return int(dict(line.split(": ") for line in lines)["write_bytes"])


def file_size(path: Path) -> int:
    return path.stat().st_size


def show(small: Figures, large: Figures, sizes: tuple[int, int]) -> None:
    heads = [f"{size:,} conversations" for size in sizes]
    print(f"\n{'milliseconds':32}{heads[0]:>24}{heads[1]:>26}")
    print(f"{'':32}{'median':>12}{'99 %':>12}{'median':>14}{'99 %':>12}{'growth, 99 %':>15}")
    for name, spent in large.times.items():
        before = small.times[name]
        print(
            f"{name:32}{median(before):12.2f}{p99(before):12.2f}"
            f"{median(spent):14.2f}{p99(spent):12.2f}{p99(spent) / max(p99(before), 0.01):15.2f}"
        )
    for name, number in large.numbers.items():
        print(f"{name:44}{small.numbers[name]:>12}{number:>26}")


def p99(values: list[float]) -> float:
    return quantiles(values, n=100, method="inclusive")[-1] if len(values) > 1 else values[0]


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--conversations", type=int, default=LARGE, help="in the large history")
    parser.add_argument("--folder", type=Path, default=Path("/var/tmp"), help="on the card")  # noqa: S108
    arguments = parser.parse_args(argv)
    folder = Path(tempfile.mkdtemp(prefix="hey-echo-bench-", dir=arguments.folder))
    try:
        figures = []
        for conversations in (SMALL, arguments.conversations):
            talk = Talk(1)
            path = folder / str(conversations) / "history.db"
            began = time.perf_counter()
            uuids = build(path, conversations, talk)
            print(
                f"{conversations:,} conversations, {conversations * ENTRIES:,} entries,"
                f" {path.stat().st_size / 1e6:.0f} MB,"
                f" built in {time.perf_counter() - began:.0f} s",
                flush=True,
            )
            figures.append(asyncio.run(drive(path, uuids, talk)))
        show(figures[0], figures[1], (SMALL, arguments.conversations))
    finally:
        shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
