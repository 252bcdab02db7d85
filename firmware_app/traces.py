"""The times of a turn: numbers and names from a fixed list, never words."""

from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from datetime import datetime
from enum import StrEnum
from statistics import median, quantiles
from typing import Any

KEPT = 1000  # traces


class Stage(StrEnum):
    """Moments of a turn, in the order in which they usually come."""

    DETECTION = "detection"
    SPEECH_START = "speech_start"
    SPEECH_END = "speech_end"
    PROVISIONAL_ENDPOINT = "provisional_endpoint"
    FINAL_ENDPOINT = "final_endpoint"
    TRANSCRIPT = "transcript"
    FIRST_TOKEN = "first_token"  # noqa: S105 - a token of the model's
    FIRST_CLAUSE = "first_clause"
    FIRST_AUDIO = "first_audio"
    REPLY_END = "reply_end"


class Outcome(StrEnum):
    """What became of the turn."""

    ANSWERED = "answered"
    INTERRUPTED = "interrupted"
    FAILED = "failed"
    NOTHING_SAID = "nothing_said"
    REJECTED = "rejected"  # by the wake word's second stage
    NOT_ADDRESSED = "not_addressed"  # a follow-up that the guard turned down


@dataclass(slots=True)
class Trace:
    """Monotonic times in seconds, by stage. A stage that did not happen is absent."""

    started: float  # wall clock, for the reader's orientation only
    times: dict[Stage, float] = field(default_factory=dict)
    spoken: bool = True
    outcome: Outcome | None = None
    wake_score: float | None = None
    second_stage_score: float | None = None
    second_stage_ms: float | None = None
    second_stage_accepted: bool | None = None
    false_wake: bool = False  # somebody said so

    def mark(self, stage: Stage, at: float) -> None:
        """Keep the first time a stage was reached."""
        self.times.setdefault(stage, at)

    def forget(self, *stages: Stage) -> None:
        """Take marks back: what was prepared came to nothing, and will be reached anew."""
        for stage in stages:
            self.times.pop(stage, None)

    def span_ms(self, first: Stage, last: Stage) -> float | None:
        if first not in self.times or last not in self.times:
            return None
        return (self.times[last] - self.times[first]) * 1000

    def relative_ms(self) -> dict[Stage, float]:
        """Times after the end of speech (or after the first stage there is), in order."""
        if not self.times:
            return {}
        zero = self.times.get(Stage.SPEECH_END, min(self.times.values()))
        return {
            s: (t - zero) * 1000 for s, t in sorted(self.times.items(), key=lambda item: item[1])
        }


# What `hey-echo stats` and the benchmark print: name, from, to.
SPANS: tuple[tuple[str, Stage, Stage], ...] = (
    ("provisional endpoint", Stage.SPEECH_END, Stage.PROVISIONAL_ENDPOINT),
    ("final endpoint", Stage.SPEECH_END, Stage.FINAL_ENDPOINT),
    ("transcript", Stage.SPEECH_END, Stage.TRANSCRIPT),
    ("first token", Stage.TRANSCRIPT, Stage.FIRST_TOKEN),
    ("first clause", Stage.FIRST_TOKEN, Stage.FIRST_CLAUSE),
    ("first sound", Stage.FIRST_CLAUSE, Stage.FIRST_AUDIO),
    ("end of speech to first audio", Stage.SPEECH_END, Stage.FIRST_AUDIO),
)


@dataclass(frozen=True, slots=True)
class Spread:
    name: str
    count: int
    median_ms: float
    p95_ms: float


def spread(name: str, values: Iterable[float]) -> Spread | None:
    """Median and 95th percentile; None where there is no value."""
    ordered = sorted(values)
    if not ordered:
        return None
    p95 = quantiles(ordered, n=20, method="inclusive")[-1] if len(ordered) > 1 else ordered[0]
    return Spread(name, len(ordered), median(ordered), p95)


def summarise(traces: Iterable[Trace]) -> list[Spread]:
    """One row for each span that any of the traces has."""
    kept = list(traces)
    rows = (
        spread(name, [ms for t in kept if (ms := t.span_ms(first, last)) is not None])
        for name, first, last in SPANS
    )
    return [row for row in rows if row]


def report(traces: Iterable[Trace]) -> dict[str, Any]:
    """What `hey-echo stats` shows, as JSON: turns, outcomes by name, and a row for each span."""
    kept = list(traces)
    return {
        "turns": len(kept),
        "outcomes": dict(Counter(t.outcome.value for t in kept if t.outcome)),
        "spans": [asdict(row) for row in summarise(kept)],
    }


def wake_report(traces: Iterable[Trace]) -> dict[str, Any]:
    """What `hey-echo stats wake` shows, as JSON: each wake-up, and counts by local day."""
    woken = [trace for trace in traces if trace.wake_score is not None]
    days: dict[str, Counter[str]] = {}
    for trace in woken:
        day = days.setdefault(datetime.fromtimestamp(trace.started).date().isoformat(), Counter())
        day.update(["wakes", trace.outcome or "unfinished", *["false"] * trace.false_wake])
    return {
        "wakes": [
            {
                "time": datetime.fromtimestamp(trace.started).isoformat(" ", "seconds"),
                "score": trace.wake_score,
                "second_stage": trace.second_stage_accepted,
                "second_stage_score": trace.second_stage_score,
                "second_stage_ms": trace.second_stage_ms,
                "outcome": trace.outcome,
                "false": trace.false_wake,
            }
            for trace in woken
        ],
        "days": {day: dict(counts) for day, counts in days.items()},
    }


class Traces:
    """The last traces, newest last."""

    def __init__(self) -> None:
        self._kept: deque[Trace] = deque(maxlen=KEPT)

    def add(self, trace: Trace) -> None:
        self._kept.append(trace)

    def recent(self, count: int = KEPT) -> list[Trace]:
        return list(self._kept)[max(0, len(self._kept) - count) :]
