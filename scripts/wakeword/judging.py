"""From scored recordings to figures: recall, false accepts, near phrases, delay; and the choice.

A figure is computed through the product's own Decider, so refractory time and the step that a
doubtful detection waits are in it.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median, quantiles
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from firmware_app.engines.wake import LONGEST_WAIT, STEP, Bounds, Decider
from firmware_app.frames import SAMPLE_RATE
from wakeword.evaluation import HEARD_WITHIN, REFRACTORY, upper_bound

Floats = NDArray[np.float32]
Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Scored:
    """A recording's scores. start, end: the phrase in samples, or -1.

    group: "positives", "seen", "unseen", "real", "synthetic", "music", "television" or "noise".
    fit: the second stage's log odds for a detection that came in that step.
    """

    group: str
    condition: str
    voice: str
    start: int
    end: int
    scores: Floats
    fit: Callable[[int], float]
    known: dict[tuple[float, float], list["Hit"]] = field(default_factory=dict, repr=False)

    def hits(self, rule: "Rule") -> list["Hit"]:
        """Detections before the second stage; computed once for each pair of thresholds."""
        key = (rule.wakes, rule.certain)
        if key not in self.known:
            self.known[key] = hits(self.scores, rule)
        return self.known[key]


@dataclass(frozen=True, slots=True)
class Rule:
    """When to wake: as firmware_app.engines.wake.OperatingPoint, with the second stage's part."""

    wakes: float
    certain: float = 0.0
    accept: float = 0.0
    weight: float = 0.0

    @property
    def two_stages(self) -> bool:
        return self.certain > self.wakes


@dataclass(frozen=True, slots=True)
class Hit:
    """A detection: the step it came in, the step that first woke, whether it was let through."""

    step: int
    first: int
    score: float
    certain: bool


def hits(scores: Floats, rule: Rule) -> list[Hit]:
    """Detections before the second stage."""
    bounds = [Bounds(rule.wakes, rule.certain if rule.two_stages else rule.wakes)]
    found: list[Hit] = []
    busy = np.flatnonzero(scores >= rule.wakes)
    # Where nothing was heard for a while, the decider is as new.
    apart = np.flatnonzero(np.diff(busy) > REFRACTORY * SAMPLE_RATE / STEP + 3) + 1
    for part in np.split(busy, apart):
        decider = Decider(1, 1, REFRACTORY)
        last = min(len(scores), int(part[-1]) + 1 + LONGEST_WAIT) if len(part) else 0
        for step in range(int(part[0]) if len(part) else 0, last):
            choice = decider.step([float(scores[step])], bounds)
            if choice:
                found.append(Hit(step, step - choice.ago, choice.score, choice.certain))
    return found


def accepted(found: Iterable[Hit], scored: Scored, rule: Rule) -> list[Hit]:
    """Those that the second stage lets through."""
    kept = []
    for hit in found:
        if hit.certain or not rule.two_stages:
            kept.append(hit)
            continue
        inside = min(max(hit.score, 1e-4), 1 - 1e-4)
        total = scored.fit(hit.step) + rule.weight * np.log(inside / (1 - inside))
        if total >= rule.accept:
            kept.append(hit)
    return kept


def right(found: Sequence[Hit], scored: Scored) -> Hit | None:
    """The detection that belongs to the phrase, if any."""
    latest = scored.end + HEARD_WITHIN * SAMPLE_RATE
    for hit in found:
        end = (hit.step + 1) * STEP
        if scored.start < end <= latest:
            return hit
    return None


@dataclass(frozen=True)
class Figures:
    """What a rule does on a set. recall by condition; near by (group, condition).

    alarms: events and hours by group; looks: how often the second stage was asked, by group.
    """

    recall: dict[str, tuple[int, int]]
    near: dict[tuple[str, str], tuple[int, int]]
    alarms: dict[str, tuple[int, float]]
    looks: dict[str, int]
    delays_ms: list[float]

    def rate(self, group: str) -> float:
        count, hours = self.alarms.get(group, (0, 0.0))
        return count / hours if hours else 0.0

    def looks_an_hour(self, group: str) -> float:
        return self.looks.get(group, 0) / self.alarms[group][1] if group in self.alarms else 0.0

    def bound(self, group: str) -> float:
        count, hours = self.alarms.get(group, (0, 0.0))
        return upper_bound(count, hours) if hours else float("nan")

    def recalled(self, condition: str) -> float:
        return share(self.recall.get(condition, (0, 0)))

    def near_share(self, *conditions: str) -> float:
        """Of near phrases seen and unseen together, in all of these conditions."""
        rows = [v for (_, name), v in self.near.items() if name in conditions]
        return share((sum(a for a, _ in rows), sum(b for _, b in rows)))

    @property
    def delay_median_ms(self) -> float:
        return median(self.delays_ms) if self.delays_ms else float("nan")

    @property
    def delay_p95_ms(self) -> float:
        if len(self.delays_ms) < 2:
            return self.delay_median_ms
        return quantiles(self.delays_ms, n=20, method="inclusive")[-1]


def share(counts: tuple[int, int]) -> float:
    return counts[0] / counts[1] if counts[1] else float("nan")


def figures(everything: Sequence[Scored], rule: Rule) -> Figures:
    recall: dict[str, tuple[int, int]] = {}
    near: dict[tuple[str, str], tuple[int, int]] = {}
    alarms: dict[str, tuple[int, float]] = {}
    looks: dict[str, int] = {}
    delays = []
    for scored in everything:
        heard = scored.hits(rule)
        found = accepted(heard, scored, rule)
        if scored.group == "positives":
            hit = right(found, scored)
            _count(recall, scored.condition, hit is not None)
            if hit and scored.condition == "clean":
                delays.append(((hit.step + 1) * STEP - scored.end) / SAMPLE_RATE * 1000)
        elif scored.group in ("seen", "unseen"):
            _count(near, (scored.group, scored.condition), bool(found))
        else:
            events, hours = alarms.get(scored.group, (0, 0.0))
            length = len(scored.scores) * STEP / SAMPLE_RATE / 3600
            alarms[scored.group] = (events + len(found), hours + length)
            doubted = sum(not hit.certain for hit in heard) if rule.two_stages else 0
            looks[scored.group] = looks.get(scored.group, 0) + doubted
    return Figures(recall, near, alarms, looks, delays)


def _count(into: dict[Key, tuple[int, int]], key: Key, yes: bool) -> None:
    good, all_ = into.get(key, (0, 0))
    into[key] = (good + yes, all_ + 1)
