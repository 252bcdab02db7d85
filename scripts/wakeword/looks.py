"""What the second stage learns from: the sound before moments at which the head may wake."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from firmware_app.engines.phrase_network import Encoder, Floats, encoder_frames
from firmware_app.engines.wake import CONTEXT, STEP
from firmware_app.frames import SAMPLE_RATE
from wakeword.dataset import Job, Workshop
from wakeword.evaluation import ScoredHead
from wakeword.scenes import Scene

LOOKING = 1  # raise it when windows are chosen anew, so that kept ones are made anew
APART = 8  # steps at least between two moments of a scene
EARLIEST, LATEST = -0.05, 0.42  # seconds from the phrase's end to the moment of its detection
# Of a scene without the phrase, by its source: the least score of the head, and how many moments.
DOUBTED = {
    "nears": (0.0005, 3),
    "stranger_nears": (0.0005, 3),
    "cheap_negatives": (0.001, 2),
    "sentences": (0.0005, 3),
    "real": (0.002, 12),
    "noise": (0.01, 1),
}


@dataclass(frozen=True, slots=True)
class Moment:
    """A window's end in samples, whether the phrase was said by then, and the head's score."""

    end: int
    said: bool
    score: float


@dataclass(frozen=True, slots=True)
class Looking:
    """Makes a job's windows. The head that is there at the time chooses; later ones keep them."""

    workshop: Workshop
    head: ScoredHead
    whisper: Encoder
    out: Path

    def do(self, job: Job) -> bool:
        """Write the encoder's frames, unless they are there already (then False)."""
        path = self.out / f"{job.name}.npz"
        if path.exists():
            return False
        rng = np.random.default_rng(len(job.name) + job.number * 100 + job.turn)
        with np.load(self.workshop.out / f"{job.name}.npz") as file:
            rows = file["rows"].astype(np.float32)
        frames: list[Floats] = []
        moments: list[Moment] = []
        for scene in self.workshop.scenes(job):
            count = CONTEXT - 1 + len(scene.samples) // STEP
            scores, rows = self.head(rows[:count]), rows[count:]
            for moment in _moments(rng, job, scene, scores):
                if SAMPLE_RATE // 2 <= moment.end <= len(scene.samples):
                    moments.append(moment)
                    frames.append(encoder_frames(self.whisper, scene.samples[: moment.end]))
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part.npz")
        save(part, frames, moments)
        part.replace(path)
        return True


def save(path: Path, frames: list[Floats], moments: list[Moment]) -> None:
    np.savez(
        path,
        frames=np.array(frames, np.float16),
        said=np.array([m.said for m in moments], bool),
        scores=np.array([m.score for m in moments], np.float32),
    )


def _moments(rng: np.random.Generator, job: Job, scene: Scene, scores: Floats) -> Iterator[Moment]:
    """Where the head may wake in a scene, rightly or not."""
    if scene.end < 0:
        least, most = DOUBTED[job.source]
        for step, score in peaks(scores, least, most):
            yield Moment((step + 1 + int(rng.integers(0, 3))) * STEP, False, score)
        real = job.source == "real"
        for _ in range(2 if real else int(rng.random() < 0.15)):
            last = max(SAMPLE_RATE + 1, len(scene.samples))
            yield Moment(int(rng.uniform(SAMPLE_RATE, last)), False, 0.0)
        return
    after = int(rng.uniform(EARLIEST, LATEST) * SAMPLE_RATE)
    end = min(scene.end + after, len(scene.samples))
    step = min(max(end // STEP - 1, 0), len(scores) - 1)
    yield Moment(end, True, float(scores[max(0, step - 2) : step + 1].max()))
    middle = (scene.start + scene.end) / 2
    if rng.random() < 0.12:  # the phrase's beginning alone
        begun = rng.uniform(0.7, 0.98) * (middle - scene.start)
        yield Moment(int(scene.start + begun), False, 0.0)
    ends = (np.arange(len(scores)) + 1) * STEP
    around = (ends > middle - 0.1 * SAMPLE_RATE) & (ends < scene.end + 1.2 * SAMPLE_RATE)
    for step, score in peaks(np.where(around, -1, scores), 0.01, 1):
        yield Moment((step + 1) * STEP, False, score)


def counted(paths: Sequence[Path]) -> tuple[int, int, int]:
    """Windows with the phrase, of near phrases, and other."""
    counts = Counter[str]()
    for path in paths:
        with np.load(path) as file:
            said = int(np.count_nonzero(file["said"]))
            counts["said"] += said
            counts["near" if is_near(path) else "other"] += len(file["said"]) - said
    return counts["said"], counts["near"], counts["other"]


def is_near(path: Path) -> bool:
    """Whether what is not the phrase in a file is near it."""
    return path.stem.startswith(("nears", "stranger_nears", "cheap_negatives"))


def peaks(scores: NDArray[np.floating], least: float, most: int) -> Iterator[tuple[int, float]]:
    """Steps of the highest scores, apart from each other."""
    left = scores.copy()
    for _ in range(most):
        step = int(left.argmax())
        if left[step] < least:
            return
        yield step, float(left[step])
        left[max(0, step - APART) : step + APART + 1] = -1
