"""The owner's adaptation: what it needs beside a head, and what it does to stand-ins for owners."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnxruntime as ort  # type: ignore[import-untyped]
from numpy.typing import NDArray

from firmware_app.engines.wake import STEP, FeatureModels, Head
from firmware_app.engines.wake_owner import EXAMPLES, Correction, learn, negatives_path
from firmware_app.frames import SAMPLE_RATE
from wakeword.dataset import Bank
from wakeword.evaluation import Case, first_crossing
from wakeword.features import feature_folder, windows
from wakeword.judging import Rule, hits

Floats = NDArray[np.float32]
LOOKED_AT = 60_000  # negatives of which the hardest are kept
HARDEST, RANDOM = 700, 300  # negatives kept beside a head
RUN = 4000  # windows a run
ENROLLED = ("clean", "quiet", "loud")  # conditions in which a stand-in speaks the examples
JUDGED = ("clean", "fast", "slow", "far 10 dB", "far 5 dB")


@dataclass(frozen=True)
class Looked:
    """A head's log odds (n,) and hidden layer (n, width) over a recording."""

    odds: Floats
    hidden: Floats

    def scores(self, correction: Correction | None) -> Floats:
        odds = self.odds
        if correction:  # the head itself listens on beside its corrected copy
            added = self.hidden @ correction.weights + np.float32(correction.bias)
            odds = odds + np.maximum(added, 0)
        return np.asarray(1 / (1 + np.exp(-np.clip(odds, -30, 30))), np.float32)


def look(head: Path, batches: Iterable[Floats]) -> Looked:
    """batches: arrays (n, CONTEXT, EMBEDDING)."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = ort.InferenceSession(str(head), options, providers=["CPUExecutionProvider"])
    scores, hidden = [], []
    for batch in batches:
        score, seen = session.run(None, {"embeddings": np.ascontiguousarray(batch, np.float32)})
        scores.append(np.clip(score[:, 0], 1e-6, 1 - 1e-6))
        hidden.append(seen)
    score = np.concatenate(scores)
    return Looked(np.log(score / (1 - score)), np.concatenate(hidden))


def keep_negatives(bank: Bank, head: Path, seed: int) -> None:
    """Write the hidden layer of hard and of random negatives beside the head."""
    rng = np.random.default_rng(seed)
    pool = np.concatenate((bank.other, bank.near))
    index = rng.choice(pool, min(LOOKED_AT, len(pool)), replace=False)
    seen = look(head, (bank.windows(index[i : i + RUN]) for i in range(0, len(index), RUN)))
    order = np.argsort(seen.odds)
    kept = np.concatenate((order[-HARDEST:], rng.choice(order[:-HARDEST], RANDOM, replace=False)))
    np.savez_compressed(
        negatives_path(head),
        hidden=seen.hidden[kept].astype(np.float16),
        odds=seen.odds[kept].astype(np.float16),
    )


@dataclass
class Counts:
    """Before and after: of how many."""

    all_: int = 0
    before: int = 0
    after: int = 0

    def add(self, before: bool, after: bool) -> None:
        self.all_ += 1
        self.before += before
        self.after += after


@dataclass(frozen=True)
class Adaptation:
    """What adapting to stand-ins does at a threshold. alarms: events before, after, hours."""

    owners: int
    heard: dict[str, Counts]
    near: Counts
    alarms: tuple[int, int, float]


def measure(
    head: Path,
    threshold: float,
    people: Mapping[str, tuple[Sequence[Case], Sequence[Case]]],
    real: Sequence[Floats],
) -> Adaptation | None:
    """people: by voice, the cases with the phrase and the near phrases; real: embeddings.

    Each voice speaks its examples in a few conditions; other clips of it judge.
    """
    features, plain = FeatureModels(feature_folder()), Head(head)
    speech = [look(head, [windows(e)]) for e in real]
    heard = {name: Counts() for name in JUDGED}
    near, before_alarms, after_alarms, owners = Counts(), 0, 0, 0
    rule = Rule(threshold)
    for said, others in people.values():
        clean = [c for c in said if c.condition == ENROLLED[0]]
        half = len(clean) // 2
        if half * len(ENROLLED) < EXAMPLES:
            continue
        owners += 1
        examples = [c for name in ENROLLED for c in _of(said, name)[:half]][:EXAMPLES]
        correction = learn(plain, features, [c.samples for c in examples])
        for name in JUDGED:
            for case in _of(said, name)[half:]:
                seen = look(head, [windows(case.embeddings)])
                heard[name].add(
                    *(
                        first_crossing(seen.scores(c), case, threshold) is not None
                        for c in (None, correction)
                    )
                )
        for case in _of(others, "clean"):
            seen = look(head, [windows(case.embeddings)])
            near.add(*(bool(hits(seen.scores(c), rule)) for c in (None, correction)))
        before_alarms += sum(len(hits(s.scores(None), rule)) for s in speech)
        after_alarms += sum(len(hits(s.scores(correction), rule)) for s in speech)
    if not owners:
        return None
    hours = sum(len(s.odds) for s in speech) * STEP / SAMPLE_RATE / 3600 * owners
    return Adaptation(owners, heard, near, (before_alarms, after_alarms, hours))


def _of(cases: Sequence[Case], condition: str) -> list[Case]:
    return [c for c in cases if c.condition == condition]
