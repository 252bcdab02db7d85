"""The wake word: openWakeWord's features, computed once, and one small head for each phrase.

The features are two ONNX models (a mel spectrogram and Google's speech embedding) run as
openWakeWord runs them: each 80 ms gives eight mel frames, and the last 76 give one embedding of
96 numbers. A head looks at the last 16 embeddings and says how likely its phrase just ended.

While nobody speaks only the mel spectrogram is computed; the embeddings are made up for when
something is heard, so that no score is lost by it.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import exp, log
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from firmware_app.engines import Detection, Sensitivity
from firmware_app.errors import EngineError
from firmware_app.frames import SAMPLE_RATE, Frame, Samples
from firmware_app.settings import WakeSettings

Floats: TypeAlias = NDArray[np.float32]

STEP = 1280  # samples between two scores (80 ms)
OVERLAP = 480  # samples of the block before that the mel frames reach back to
MEL_FRAMES = 8  # mel frames a step
MEL_BANDS = 32
WINDOW = 76  # mel frames an embedding
EMBEDDING = 96
CONTEXT = 16  # embeddings a head looks at
HISTORY = WINDOW + (CONTEXT - 1) * MEL_FRAMES  # mel frames all of these need

LOST = SAMPLE_RATE // 10  # a gap longer than this starts the features anew

LONGEST_WAIT = 3  # steps that a doubtful detection whose score rises is held back

GATE_DB = 5.0  # a mel band this far above its floor is heard
GATE_BANDS = 4  # this many of the 32 open the gate
GATE_STEPS = 15  # steps it stays open after the last sound
FLOOR_RISE_DB = 0.1  # a step; 1.25 dB a second: a fan that starts is forgotten in seconds
FLOOR_FOLLOW = 0.05  # share of the way to the level that the floor takes a step
FLOOR_DROP = 0.3  # the same where the level is 6 dB below: a sound has ended
LEAST_FLOOR = 3.0  # in 10 dB: noise at -84 dB of full scale; no microphone is quieter, zeros are


def onnx_session(path: Path) -> Any:  # noqa: ANN401 - the runtime has no types
    """An ONNX Runtime session with one thread that sleeps when idle.

    Raises EngineError when the runtime or the file is missing, or the file is damaged.
    """
    try:
        import onnxruntime  # type: ignore[import-untyped]
    except ImportError as error:
        raise EngineError(
            "engine-missing", "The package onnxruntime is not installed.", "Run ./scripts/setup."
        ) from error
    if not path.is_file():
        raise EngineError(
            "model-missing", f"The wake word's model {path} is missing.", "Run ./scripts/setup."
        )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 4
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the runtime's own exceptions share no base class
        raise EngineError(
            "model-damaged", f"The wake word's model {path} is damaged.", "Run ./scripts/setup."
        ) from error


class FeatureModels:
    """The two feature models, loaded once for any number of streams."""

    def __init__(self, folder: Path) -> None:
        self._mel = onnx_session(folder / "melspectrogram.onnx")
        self._embedding = onnx_session(folder / "embedding_model.onnx")

    def mel(self, samples: Samples) -> Floats:
        """Mel frames (MEL_FRAMES, MEL_BANDS) of STEP samples and the OVERLAP before them."""
        (out,) = self._mel.run(None, {"input": samples.astype(np.float32)[None]})
        return np.asarray(out.reshape(-1, MEL_BANDS) / 10 + 2, np.float32)

    def embeddings(self, mel: Floats, steps: int) -> Floats:
        """Embeddings (steps, EMBEDDING) of the last steps windows of the mel frames."""
        ends = [len(mel) - MEL_FRAMES * i for i in reversed(range(steps))]
        windows = np.stack([mel[end - WINDOW : end] for end in ends])[..., None]
        (out,) = self._embedding.run(None, {"input_1": windows})
        return np.asarray(out, np.float32).reshape(steps, EMBEDDING)

    @cached_property
    def quiet_mel(self) -> Floats:
        """Mel frames (HISTORY, MEL_BANDS) of a room in which nothing was heard yet."""
        rng = np.random.default_rng(0)
        steps = HISTORY // MEL_FRAMES + 1
        noise = rng.integers(-3, 4, OVERLAP + steps * STEP).astype(np.int16)
        frames = [self.mel(noise[i * STEP : i * STEP + STEP + OVERLAP]) for i in range(steps)]
        return np.concatenate(frames)[-HISTORY:]

    @cached_property
    def quiet_embeddings(self) -> Floats:
        return self.embeddings(self.quiet_mel, CONTEXT)


class Gate:
    """Tells steps in which something may be heard from the room's steady noise."""

    def __init__(self) -> None:
        self._floor: NDArray[np.floating] | None = None
        self._open = GATE_STEPS
        self._first = True

    def hear(self, mel: Floats) -> bool:
        """mel: the step's frames, in units of 10 dB. Return whether the gate is open."""
        level = mel.mean(axis=0)
        if self._first:  # the first step's frames reach back to before there was sound
            self._first = False
            return True
        if self._floor is None:
            self._floor = np.maximum(level, LEAST_FLOOR)
        above = level - self._floor
        loud = int(np.count_nonzero(above > GATE_DB / 10))
        follow = np.where(above < -0.6, FLOOR_DROP, FLOOR_FOLLOW)
        floor = self._floor + np.minimum(above * follow, FLOOR_RISE_DB / 10)
        self._floor = np.maximum(floor, LEAST_FLOOR)
        self._open = GATE_STEPS if loud >= GATE_BANDS else max(0, self._open - 1)
        return self._open > 0


class FeatureStream:
    """Features of one stream of sound. gated: leave out embeddings while nothing is heard."""

    def __init__(self, models: FeatureModels, *, gated: bool = True) -> None:
        self._models = models
        self._gated = gated
        self.reset()

    def reset(self) -> None:
        """Begin as in a quiet room: the first second after a start is heard like any other."""
        self._mel = self._models.quiet_mel.copy()
        self._embeddings = self._models.quiet_embeddings.copy()
        self._tail = np.zeros(OVERLAP, np.int16)
        self._behind = 0  # steps whose embedding was left out
        self._gate = Gate()

    def feed(self, samples: Samples) -> Floats | None:
        """Take in STEP samples; return the embeddings (CONTEXT, EMBEDDING), None in silence."""
        mel = self._models.mel(np.concatenate((self._tail, samples)))
        self._tail = samples[-OVERLAP:]
        self._mel = np.concatenate((self._mel[MEL_FRAMES:], mel))
        self._behind = min(self._behind + 1, CONTEXT)
        if self._gated and not self._gate.hear(mel):
            return None
        fresh = self._models.embeddings(self._mel, self._behind)
        self._embeddings = np.concatenate((self._embeddings, fresh))[-CONTEXT:]
        self._behind = 0
        return self._embeddings


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """Scores of one sensitivity.

    doubtful: wakes if the second stage agrees. certain: wakes at once.
    alone: wakes where there is no second stage.
    """

    doubtful: float
    certain: float
    alone: float


class Correction(Protocol):
    """What an owner's examples add to a head; see wake_owner."""

    def of(self, hidden: Floats) -> float: ...


class Head:
    """One phrase: its ONNX head, and what training measured about it (the JSON beside it).

    owner: a correction learnt from the owner's own examples, where there is one.
    """

    def __init__(self, path: Path, owner: Correction | None = None) -> None:
        self._session = onnx_session(path)
        self._input = self._session.get_inputs()[0].name
        self.path = path
        self.owner = owner
        self.word = path.stem
        facts = head_facts(path)
        self.phrase: str = facts.get("phrase", self.word.replace("_", " "))
        points = {name: OperatingPoint(**p) for name, p in facts["operating_points"].items()}
        if "model" not in facts.get("second_stage", {}):  # nobody can look at it twice
            points = {n: replace(p, doubtful=p.alone, certain=p.alone) for n, p in points.items()}
        self.points = points
        self.end_after = int(facts["detection_after_end_ms"] * SAMPLE_RATE / 1000)
        self.length = int(facts["phrase_ms"] * SAMPLE_RATE / 1000)

    def score(self, embeddings: Floats) -> float:
        """How likely the phrase has just ended, 0 to 1."""
        if self.owner is None:
            return float(self._run(embeddings)[0].reshape(-1)[0])
        odds, hidden = self.look(embeddings)
        return 1 / (1 + exp(-max(-30.0, min(30.0, odds + self.owner.of(hidden)))))

    def look(self, embeddings: Floats) -> tuple[float, Floats]:
        """The head's own log odds, and its hidden layer.

        Raises EngineError when the head shows none, as one that was trained elsewhere.
        """
        outputs = self._run(embeddings)
        if len(outputs) < 2:
            raise EngineError(
                "model-missing",
                f"The head {self.path.name} has no hidden layer to look at.",
                "Use a head that scripts/train_wakeword.py made.",
            )
        score = min(max(float(outputs[0].reshape(-1)[0]), 1e-6), 1 - 1e-6)
        return log(score / (1 - score)), outputs[1].reshape(-1)

    def _run(self, embeddings: Floats) -> list[Floats]:
        outputs: list[Floats] = self._session.run(None, {self._input: embeddings[None]})
        return outputs


# For a head that comes without its JSON, such as one of openWakeWord's own.
PLAIN_FACTS: Mapping[str, Any] = {
    "operating_points": {
        "low": {"doubtful": 0.7, "certain": 0.7, "alone": 0.7},
        "normal": {"doubtful": 0.5, "certain": 0.5, "alone": 0.5},
        "high": {"doubtful": 0.3, "certain": 0.3, "alone": 0.3},
    },
    "detection_after_end_ms": 80,
    "phrase_ms": 700,
}


def head_facts(path: Path) -> dict[str, Any]:
    """What training measured about a head. Raises EngineError when it cannot be read."""
    beside = path.with_suffix(".json")
    if not beside.exists():
        return dict(PLAIN_FACTS)
    try:
        facts = json.loads(beside.read_text(encoding="utf-8"))
        return {**PLAIN_FACTS, **facts}
    except (OSError, ValueError, TypeError) as error:
        raise EngineError(
            "model-damaged",
            f"The wake word's figures {beside} cannot be read.",
            "Put back the file that came with the head, or delete it to use plain thresholds.",
        ) from error


def head_paths(names: str, folders: Sequence[Path]) -> list[Path]:
    """Files of the heads that the setting wake.models names: names in the folders, or paths.

    Raises EngineError when there is none, or one is missing.
    """
    found = []
    for name in filter(None, (part.strip() for part in names.split(","))):
        candidates = [Path(name).expanduser()] if "/" in name else []
        candidates += [folder / f"{name.removesuffix('.onnx')}.onnx" for folder in folders]
        path = next((c for c in candidates if c.is_file()), None)
        if path is None:
            raise EngineError(
                "model-missing",
                f"wake.models names {name!r}, and there is no such head.",
                "Put its .onnx file into the models folder, or correct wake.models.",
            )
        found.append(path)
    if not found:
        raise EngineError(
            "model-missing", "wake.models names no head.", "Set it to hey_echo, or to a path."
        )
    return found


@dataclass(frozen=True, slots=True)
class Bounds:
    """Scores of one head at this moment: from the first on it may wake, from the other surely."""

    wakes: float
    certain: float


@dataclass(frozen=True, slots=True)
class Choice:
    """A detection before it has a place: which head, its score, steps since it first wakes."""

    head: int
    score: float
    certain: bool
    ago: int


class Decider:
    """From scores, a step at a time, to detections.

    A certain one comes at once. A doubtful one waits until its score no longer rises: it may yet
    become certain, and the second stage then hears the whole phrase.
    """

    def __init__(self, heads: int, blocks_in_a_row: int, refractory_seconds: float) -> None:
        self._blocks = blocks_in_a_row
        self._rest = round(refractory_seconds * SAMPLE_RATE / STEP)
        self._in_a_row = [0] * heads
        self._resting = 0
        self._waiting: Choice | None = None

    def step(self, scores: Sequence[float], bounds: Sequence[Bounds]) -> Choice | None:
        """scores, bounds: one for each head."""
        above = any(s >= b.wakes for s, b in zip(scores, bounds, strict=True))
        if self._resting > 1 or not above:  # what is still heard is no second call
            self._resting = max(0, self._resting - 1)
        best: Choice | None = None
        for i, (score, bound) in enumerate(zip(scores, bounds, strict=True)):
            self._in_a_row[i] = self._in_a_row[i] + 1 if score >= bound.wakes else 0
            if self._resting or self._in_a_row[i] < self._blocks:
                continue
            if best is None or score > best.score:
                best = Choice(i, score, score >= bound.certain, 0)
        return self._settled(best)

    def _settled(self, found: Choice | None) -> Choice | None:
        waiting, self._waiting = self._waiting, None
        if waiting:
            rising = found is not None and found.score > waiting.score
            best = found if found and rising else waiting
            found = replace(best, ago=waiting.ago + 1)
            if rising and not found.certain and found.ago < LONGEST_WAIT:
                self._waiting = found
                return None
        elif found and not found.certain:
            self._waiting = found
            return None
        if found:
            self._resting = self._rest
            self._in_a_row = [0] * len(self._in_a_row)
        return found


class OpenWakeWord:
    """Listens for every head's phrase at once; satisfies engines.WakeWord.

    second_stage: whether somebody verifies doubtful detections; without one the head alone
    decides, at its own higher threshold. score: the highest of the last step, 0 to 1. All methods
    belong to one thread.
    """

    def __init__(
        self,
        models: FeatureModels,
        heads: Iterable[Head],
        settings: WakeSettings,
        *,
        second_stage: bool | None = None,
        gated: bool = True,
    ) -> None:
        self._heads = tuple(heads)
        self._settings = settings
        self.second_stage = settings.second_stage if second_stage is None else second_stage
        self._models = models
        self._features = FeatureStream(models, gated=gated)
        self.raised = False
        self.score = 0.0
        self.sensitivity: Sensitivity = settings.sensitivity
        self.reset()

    def reset(self) -> None:
        self._features.reset()
        settings = self._settings
        self._decider = Decider(
            len(self._heads), settings.blocks_in_a_row, settings.refractory_seconds
        )
        self._block = np.empty(0, np.int16)
        self._next: int | None = None  # index that the next frame should have

    def process(self, frame: Frame) -> Detection | None:
        """Take in one frame; a score is computed with every fourth."""
        if self._next is not None and not 0 <= frame.index - self._next <= LOST:
            self.reset()
        self._next = frame.end
        self._block = np.concatenate((self._block, frame.samples))
        if len(self._block) < STEP:
            return None
        step, self._block = self._block[:STEP], self._block[STEP:]
        embeddings = self._features.feed(step)
        scores = [0.0 if embeddings is None else head.score(embeddings) for head in self._heads]
        self.score = max(scores)
        choice = self._decider.step(scores, [self.bounds(head) for head in self._heads])
        return self._detection(self._heads[choice.head], choice, frame) if choice else None

    def says(self, word: str, samples: Samples) -> bool:
        """By the lower of the head's thresholds; what goes on with `process` is not touched."""
        head = next(head for head in self._heads if head.word == word)
        point, stream = head.points[self.sensitivity], FeatureStream(self._models)
        for start in range(0, len(samples) - STEP + 1, STEP):
            embeddings = stream.feed(samples[start : start + STEP])
            if embeddings is not None and head.score(embeddings) >= point.doubtful:
                return True
        return False

    def _detection(self, head: Head, choice: Choice, frame: Frame) -> Detection:
        end = frame.end - len(self._block) - choice.ago * STEP - head.end_after
        return Detection(
            head.word, choice.score, end - head.length, end, frame.heard_at, choice.certain
        )

    def bounds(self, head: Head) -> Bounds:
        """The head's thresholds under the settings in force."""
        point = head.points[self.sensitivity]
        own = self._settings.threshold
        wakes = own or (point.doubtful if self.second_stage else point.alone)
        certain = max(own, point.certain) if self.second_stage else wakes
        up = self._settings.speaking_threshold_raise if self.raised else 0.0
        return Bounds(min(wakes + up, 0.99), min(certain + up, 0.99))
