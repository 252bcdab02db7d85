"""Which language model fits this box, and what to expect of it: the arithmetic, shown."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from firmware_app.models import Model

OTHERS = 300  # MB that Echo itself, its wake word and the system's caches need besides
PACE = 5.0  # tokens a second that keep ahead of a voice: 150 words a minute are about 3.3
FIRST_SOUND = 2.5  # seconds from the end of a question to the first clause that people wait gladly
QUESTION = 20  # tokens of a question, which alone are new to the cache
CLAUSE = 8  # tokens of a first clause
ANSWER = 40  # tokens of a usual answer


@dataclass(frozen=True, slots=True)
class Box:
    """memory in MB, of which available is free for programs; load: of the last minute."""

    memory: float
    available: float
    cores: int
    load: float

    @property
    def busy(self) -> bool:
        """Whether other work takes so much that what is measured is too low."""
        return self.load > 0.5 * self.cores


def this_box(meminfo: Path = Path("/proc/meminfo")) -> Box:
    lines = (line.split() for line in meminfo.read_text().splitlines())
    kb = {words[0].rstrip(":"): int(words[1]) for words in lines if len(words) > 1}
    return Box(
        kb["MemTotal"] * 1024 / 1e6,
        kb["MemAvailable"] * 1024 / 1e6,
        len(os.sched_getaffinity(0)),
        os.getloadavg()[0],
    )


@dataclass(frozen=True, slots=True)
class Measured:
    """The model that was measured: tokens a second read and written, and MB."""

    model: Model
    prompt: float
    generated: float
    memory: float


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a model would need and do here, computed from what another one did."""

    model: Model
    memory: float
    prompt: float
    generated: float
    room: float

    @property
    def fits(self) -> bool:
        return self.memory <= self.room

    @property
    def first_sound(self) -> float:
        """Seconds from the question to a first clause, without the voice's own time."""
        return QUESTION / self.prompt + CLAUSE / self.generated

    @property
    def answer(self) -> float:
        """Seconds to a whole answer."""
        return QUESTION / self.prompt + ANSWER / self.generated

    @property
    def quick(self) -> bool:
        return self.generated >= PACE and self.first_sound <= FIRST_SOUND


def room(box: Box, beside: float, freed: float) -> float:
    """MB for a language model. beside: what else is to be loaded; freed: what goes for it."""
    return box.available + freed - beside - OTHERS


def estimate(model: Model, measured: Measured, context: int, room: float) -> Estimate:
    """Reading costs by parameter, writing by byte of the file that each token passes through.

    Memory is the file, the cache of so many tokens of context, and what the measured model took
    beyond those two.
    """
    base = measured.model
    beyond = measured.memory - (base.bytes + base.kv_bytes * context) / 1e6
    return Estimate(
        model,
        (model.bytes + model.kv_bytes * context) / 1e6 + max(beyond, 0.0),
        measured.prompt * base.parameters / model.parameters,
        measured.generated * base.bytes / model.bytes,
        room,
    )


def best(estimates: Iterable[Estimate], language: str) -> Estimate | None:
    """The largest that fits, is quick enough, and speaks the language."""
    good = [
        each
        for each in estimates
        if each.fits and each.quick and each.model.language in (language, "multilingual")
    ]
    return max(good, key=lambda each: each.model.parameters, default=None)
