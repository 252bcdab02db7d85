"""How good a head is, on voices, rooms, noises and recordings that it never saw."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp, factorial
from pathlib import Path
from typing import Protocol

import numpy as np
import onnxruntime as ort  # type: ignore[import-untyped]
from numpy.typing import NDArray

from firmware_app.engines.wake import STEP
from firmware_app.frames import SAMPLE_RATE, Samples
from wakeword import rooms, scenes
from wakeword.features import LongFeatures, windows
from wakeword.rooms import Sound
from wakeword.voices import Clip

Floats = NDArray[np.float32]
Rooms = Mapping[str, Sequence[Sound]]  # responses by kind of room
HEARD_WITHIN = 0.8  # seconds after the phrase's end in which a detection counts as right
REFRACTORY = 1.5  # seconds; as the detector's default
JUDGING = 3  # raised when conditions change, so that kept recordings are made anew
LEVEL = -26.0  # dBFS, RMS of speech unless a condition says otherwise


@dataclass(frozen=True)
class Case:
    """A recording with or without the phrase, and its embeddings."""

    samples: Samples
    start: int
    end: int
    condition: str
    voice: str
    embeddings: Floats


@dataclass(frozen=True)
class Condition:
    """How a clip reaches the microphone.

    rooms: the kind of room, none where the talker is near; snr None: a quiet room; talker: what
    sounds beside is one person speaking, as Echo itself does; level: RMS of speech, as reverberant
    as it arrives, dBFS.
    """

    name: str
    rooms: str = ""
    snr: float | None = None
    talker: bool = False
    speed: float = 1.0
    level: float = LEVEL


# "living": 2 to 4 m away in a room with an RT60 of 0.3 to 0.6 s; "any": anywhere in a box of any
# size and damping up to 0.95 s.
CONDITIONS = (
    Condition("clean"),
    Condition("far 10 dB", rooms="living", snr=10),
    Condition("far 5 dB", rooms="living", snr=5),
    Condition("any room 10 dB", rooms="any", snr=10),
    Condition("over speech 10 dB", snr=10, talker=True),
    Condition("far over speech 10 dB", rooms="living", snr=10, talker=True),
    Condition("fast", speed=1.25),
    Condition("slow", speed=0.8),
    Condition("loud", level=-9),
    Condition("quiet", level=-54),
)


def stage(
    rng: np.random.Generator, clip: Clip, condition: Condition, responses: Rooms, noise: Sound
) -> tuple[Samples, int, int]:
    """The clip under a condition, with a second before and after it; its phrase's place."""
    clip = scenes.at_speed(clip, condition.speed)
    before = np.zeros(int(SAMPLE_RATE * rng.uniform(0.8, 1.4)), np.float32)
    after = np.zeros(SAMPLE_RATE, np.float32)
    sound = np.concatenate((before, clip.sound, after))
    gain = 10 ** (condition.level / 20) / (np.sqrt(np.mean(clip.sound**2)) + 1e-9)
    if condition.rooms:
        kind = responses[condition.rooms]
        sound = rooms.reverberate(sound, kind[int(rng.integers(len(kind)))])
        inside = sound[len(before) : len(before) + len(clip.sound)]
        gain = 10 ** (condition.level / 20) / (np.sqrt(np.mean(inside**2)) + 1e-9)
    sound = sound * gain
    if condition.snr is not None:
        at = int(rng.integers(0, len(noise) - len(sound)))
        piece = noise[at : at + len(sound)]
        piece = piece / (np.sqrt(np.mean(piece**2)) + 1e-9)
        sound = sound + piece * 10 ** ((condition.level - condition.snr) / 20)
    hiss = rng.standard_normal(len(sound)) * 10 ** (-78 / 20)
    shift = len(before) if clip.end >= 0 else 0
    return scenes.to_int16(sound + hiss), clip.start + shift, clip.end + shift


def cases(
    clips: Sequence[Clip],
    conditions: Sequence[Condition],
    responses: Rooms,
    noises: Sequence[Sound],
    talkers: Sequence[Sound],
    features: LongFeatures,
    seed: int,
) -> Iterator[Case]:
    """Each clip under each condition, always in the same way."""
    rng = np.random.default_rng(seed)
    for condition in conditions:
        for clip in clips:
            beside = talkers if condition.talker else noises
            noise = beside[int(rng.integers(len(beside)))]
            samples, start, end = stage(rng, clip, condition, responses, noise)
            yield Case(samples, start, end, condition.name, clip.voice, features(samples))


class ScoredHead:
    """A head run over whole recordings."""

    def __init__(self, path: Path) -> None:
        options = ort.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        self._session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self._input = self._session.get_inputs()[0]
        self._single = self._input.shape[0] == 1

    def __call__(self, embeddings: Floats) -> Floats:
        """A score for each step of a recording whose embeddings these are."""
        view = np.ascontiguousarray(windows(embeddings), np.float32)
        if self._single:  # openWakeWord's own heads take one window a run
            each = [self._session.run(None, {self._input.name: w[None]})[0] for w in view]
            return np.asarray(each, np.float32).reshape(-1)
        out = self._session.run(None, {self._input.name: view})[0]
        return np.asarray(out, np.float32).reshape(-1)


class Placed(Protocol):
    """Anything that knows where its phrase is, in samples."""

    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...


def first_crossing(scores: Floats, case: Placed, threshold: float) -> int | None:
    """Step at which the phrase of the case is heard, None where it is missed."""
    begin = max(0, case.start // STEP)
    last = min(len(scores), int((case.end + HEARD_WITHIN * SAMPLE_RATE) // STEP))
    hits = np.flatnonzero(scores[begin:last] >= threshold)
    return int(hits[0]) + begin if len(hits) else None


def upper_bound(count: int, hours: float) -> float:
    """Rate an hour that the true one is below with 95 % confidence (exact Poisson)."""
    low, high = 0.0, 20.0 + 3 * count
    for _ in range(60):
        middle = (low + high) / 2
        chance = sum(exp(-middle) * middle**k / factorial(k) for k in range(count + 1))
        low, high = (middle, high) if chance > 0.05 else (low, middle)
    return high / hours
