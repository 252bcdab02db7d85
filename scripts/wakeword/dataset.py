"""From clips to labelled windows, in small jobs whose results are kept on disk."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from firmware_app.engines.wake import CONTEXT, STEP
from firmware_app.frames import SAMPLE_RATE
from wakeword import rooms, scenes, voices
from wakeword.features import LongFeatures
from wakeword.scenes import Scene, World

Floats = NDArray[np.float32]

AUGMENTATION = 2  # raise it when scenes change, so that kept features are made anew
USED = 10  # of the embeddings, the last (1.5 s): more shows what came before the phrase
TOO_EARLY = 0.16  # seconds before the phrase's end in which half of it is no phrase yet
POSITIVE_UNTIL = 0.30  # seconds after the phrase's end in which a window is a positive
NEGATIVE_FROM = 0.9  # seconds after it from which a window is a negative again


class Kind(IntEnum):
    """What a row of embeddings is, taken as the end of a window."""

    START = 0  # no whole window ends here
    POSITIVE = 1
    NEAR = 2
    OTHER = 3
    IGNORED = 4


@dataclass(frozen=True)
class Bank:
    """Windows by reference: embeddings end to end, and the index of each window's last row.

    positive, near, other: indices. weight of a batch is shared between the three.
    """

    embeddings: NDArray[np.float16]
    positive: NDArray[np.int64]
    near: NDArray[np.int64]
    other: NDArray[np.int64]

    def windows(self, index: NDArray[np.int64]) -> Floats:
        rows = index[:, None] + np.arange(1 - CONTEXT, 1)[None]
        windows: Floats = self.embeddings[rows].astype(np.float32)
        return windows


@dataclass(frozen=True, slots=True)
class Job:
    """One file of features: a unit of clips (or a piece of a recording) in scenes, once."""

    source: str  # a unit's kind, "real" or "noise"
    number: int
    turn: int

    @property
    def name(self) -> str:
        return f"{self.source}-{self.number:04d}-{self.turn}"


@dataclass(frozen=True, slots=True)
class Workshop:
    """What jobs need. clips: folder of units; out: folder of features."""

    clips: Path
    out: Path
    world: World
    real: Sequence[rooms.Sound]
    features: LongFeatures

    def do(self, job: Job) -> bool:
        """Make the job's features, unless they are there already (then False)."""
        path = self.out / f"{job.name}.npz"
        if path.exists():
            return False
        rows, kinds = [], []
        for scene in self.scenes(job):
            embeddings = self.features(scene.samples)
            rows.append(embeddings.astype(np.float16))
            kinds.append(
                labels(scene, len(embeddings) - CONTEXT + 1, near=job.source.endswith("nears"))
            )
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part.npz")
        np.savez(part, rows=np.concatenate(rows), kinds=np.concatenate(kinds))
        part.replace(path)
        return True

    def scenes(self, job: Job) -> list[Scene]:
        """What the job's features are of; the same each time."""
        name = f"{AUGMENTATION}/{job.name}".encode()
        rng = np.random.default_rng(int.from_bytes(hashlib.sha256(name).digest()[:8]))
        if job.source == "noise":
            return [scenes.only_noise(rng, 10, self.world) for _ in range(12)]
        if job.source == "real":
            sound = self.real[job.number]
            if job.turn == 0:
                return [Scene(scenes.to_int16(sound), -1, -1)]
            clip = voices.Clip(sound, -1, -1, "", "")
            return [scenes.negative(rng, clip, self.world)]
        clips = voices.load(self.clips / voices.Unit(job.source, job.number).file_name)
        if job.source.endswith("positives"):
            crowded = job.turn % 2 == 1  # else silence before the phrase would be half the phrase
            world = replace(self.world, beside=1.0) if job.turn % 3 == 2 else self.world
            return [scenes.positive(rng, clip, world, crowded=crowded) for clip in clips]
        return [scenes.negative(rng, clip, self.world) for clip in clips]


def labels(scene: Scene, steps: int, *, near: bool) -> NDArray[np.int8]:
    """A Kind for each row of the scene's embeddings; the step's end decides."""
    kinds = np.full(CONTEXT - 1 + steps, Kind.NEAR if near else Kind.OTHER, np.int8)
    kinds[: CONTEXT - 1] = Kind.START
    if scene.end < 0:
        return kinds
    ends = (np.arange(steps) + 1) * STEP
    middle = (scene.start + scene.end) / 2
    after = (ends - scene.end) / SAMPLE_RATE
    window = kinds[CONTEXT - 1 :]
    window[(ends > middle) & (after < NEGATIVE_FROM)] = Kind.IGNORED
    window[(ends > middle) & (after <= -TOO_EARLY)] = Kind.NEAR
    window[(after >= 0) & (after <= POSITIVE_UNTIL)] = Kind.POSITIVE
    return kinds


def bank(paths: Sequence[Path]) -> Bank:
    """All files' windows in one."""
    rows, kinds = [], []
    for path in paths:
        with np.load(path) as file:
            # Kept as the model gives them, band by band; a window is read row by row.
            rows.append(np.ascontiguousarray(file["rows"]))
            kinds.append(file["kinds"])
    kind = np.concatenate(kinds)
    found = {k: np.flatnonzero(kind == k) for k in Kind}
    return Bank(np.concatenate(rows), found[Kind.POSITIVE], found[Kind.NEAR], found[Kind.OTHER])


def world(seed: int, rooms_count: int, speech: list[rooms.Sound]) -> World:
    """Rooms of that seed, half of each kind, with that speech around."""
    rng = np.random.default_rng(seed)
    half = rooms_count // 2
    furnished = [rooms.living_room(rng, (0.15, 0.75), (0.4, 5.0)) for _ in range(half)]
    return World(furnished + [rooms.room(rng) for _ in range(rooms_count - half)], speech)
