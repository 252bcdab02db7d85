"""How fast a language model reads and writes on this box, measured in its child process."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from statistics import median
from typing import TypeAlias

from firmware_app.engines import Message
from firmware_app.engines.llama import LlamaModel
from firmware_app.errors import EngineError
from firmware_app.settings import ModelSettings

SECONDS = 10.0  # that reading, and then writing, are measured
READY_SECONDS = 120.0
WORDS = 80  # of each prompt that is read
LONG_ANSWER = "Write the numbers from one to one hundred as words, separated by commas."
LEAST_TOKENS = 8  # an answer shorter than that measures nothing
LEAST_RUNS = 2

Run: TypeAlias = Callable[[int], Awaitable[float]]  # number of the run; tokens a second


@dataclass(frozen=True, slots=True)
class Speed:
    """Tokens a second, read and written, as medians of so many runs, and MB of the process."""

    prompt: float
    generated: float
    memory: float
    prompt_runs: int
    generated_runs: int


async def measure(
    path: Path, settings: ModelSettings, say: Callable[[str], None], seconds: float = SECONDS
) -> Speed:
    """Takes about twice the seconds. Raises EngineError where the model does not work."""
    model = LlamaModel(path.stem, path, settings)
    try:
        async with asyncio.timeout(READY_SECONDS):
            await model.ready()
        say(f"measuring how fast {path.stem} reads")
        read = await _repeat(partial(_read, model), seconds)
        say(f"measuring how fast {path.stem} writes")
        written = await _repeat(partial(_write, model), seconds)
        if not read or not written:
            raise EngineError(
                "model-answers-nothing",
                f"{path.stem} gave no answer that could be measured.",
                "Read its files through with: hey-echo models verify",
            )
        return Speed(median(read), median(written), _memory(model), len(read), len(written))
    finally:
        await model.close()


async def _repeat(run: Run, seconds: float) -> list[float]:
    """The figures of as many runs as fit into the seconds, two at least; 0 is no figure."""
    figures: list[float] = []
    began = time.monotonic()
    for number in count():
        if number >= LEAST_RUNS and time.monotonic() - began > seconds:
            break
        if figure := await run(number):
            figures.append(figure)
    return figures


async def _read(model: LlamaModel, number: int) -> float:
    """Tokens a second of a prompt that the cache has never seen."""
    text = " ".join(f"{number * WORDS + word}" for word in range(WORDS))
    before, began = model.usage.prompt_tokens - model.usage.cached_tokens, time.monotonic()
    await model.prefill([Message("user", text)])
    tokens = model.usage.prompt_tokens - model.usage.cached_tokens - before
    return tokens / (time.monotonic() - began)


async def _write(model: LlamaModel, number: int) -> float:
    """Tokens a second from the first to the last of an answer; 0 for too short a one."""
    before, first, last = model.usage.generated_tokens, 0.0, 0.0
    async with aclosing(model.reply([Message("user", LONG_ANSWER)])) as pieces:
        async for _ in pieces:
            last = time.monotonic()
            first = first or last
    tokens = model.usage.generated_tokens - before
    return (tokens - 1) / (last - first) if tokens >= LEAST_TOKENS and last > first else 0.0


def _memory(model: LlamaModel) -> float:
    """MB that its process takes."""
    with Path(f"/proc/{model.pid}/status").open() as status:
        kb = next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))
    return kb * 1024 / 1e6
