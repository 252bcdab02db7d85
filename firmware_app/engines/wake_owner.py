"""The owner's own wake word: a small correction to a head, learnt from ten examples.

The head's hidden layer is looked at once more: a linear layer on it is fitted so that the owner's
examples score higher while the hard negatives that training left beside the head do not. The head
itself stays as it is, and without the correction all is as before.
"""

import hashlib
import shutil
import wave
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from firmware_app.engines.wake import STEP, FeatureModels, FeatureStream, Floats, Head
from firmware_app.errors import EngineError
from firmware_app.frames import SAMPLE_RATE, Samples

EXAMPLES = 10  # spoken by the owner
STEPS_AN_EXAMPLE = 3  # the ones in which the head is surest, taken as the phrase
PENALTY = 3.0  # on the squared correction, in spreads of the hidden values: ten examples are few
NEGATIVE_WEIGHT = 0.5  # of all negatives together, beside all examples together
ROUNDS = 12  # of Newton's method; it settles in six or so
LEVELS = (1.0, 0.3)  # each example is learnt at these levels
NOISE = 0.02  # of the loudest sample, added to the second


@dataclass(frozen=True, slots=True)
class Correction:
    """Added to the head's log odds: weights * hidden + bias.

    head: fingerprint of the head that it was learnt on; it fits no other.
    """

    weights: Floats
    bias: float
    head: str = ""

    def of(self, hidden: Floats) -> float:
        return float(hidden @ self.weights) + self.bias

    def save(self, path: Path) -> None:
        np.savez(path, weights=self.weights, bias=np.float32(self.bias), head=np.array(self.head))

    @staticmethod
    def load(path: Path) -> "Correction":
        """Raises EngineError when the file is missing or damaged."""
        try:
            with np.load(path) as file:
                head = str(file["head"]) if "head" in file else ""
                return Correction(file["weights"].astype(np.float32), float(file["bias"]), head)
        except (OSError, ValueError, KeyError) as error:
            raise EngineError(
                "model-damaged",
                f"The owner's wake word {path} cannot be read.",
                "Record it anew with `hey-echo wake record`, or remove it with "
                "`hey-echo wake forget`.",
            ) from error


def learn(head: Head, features: FeatureModels, examples: Sequence[Samples]) -> Correction:
    """Fit a correction to examples: sound in which the phrase is said once, 16 kHz.

    Raises EngineError when the head has no negatives beside it to be held against.
    """
    seen = [_surest(head, features, sound) for sound in _varied(examples)]
    hidden = np.concatenate([h for h, _ in seen])
    odds = np.concatenate([o for _, o in seen])
    return replace(fit(hidden, odds, *negatives(head)), head=fingerprint(head))


def fingerprint(head: Head) -> str:
    return hashlib.sha256(head.path.read_bytes()).hexdigest()


def negatives(head: Head) -> tuple[Floats, Floats]:
    """Hidden values and log odds of the hard negatives of the head's training."""
    path = negatives_path(head.path)
    try:
        with np.load(path) as file:
            return file["hidden"].astype(np.float32), file["odds"].astype(np.float32)
    except (OSError, ValueError, KeyError) as error:
        raise EngineError(
            "model-missing",
            f"The head {head.path.name} has no examples of other sound beside it ({path.name}), "
            "so it cannot be adapted.",
            "Use a head that scripts/train_wakeword.py made.",
        ) from error


def negatives_path(head: Path) -> Path:
    return head.with_suffix(".negatives.npz")


def fit(hidden: Floats, odds: Floats, other: Floats, other_odds: Floats) -> Correction:
    """Penalised logistic regression with the head's log odds as a fixed offset.

    hidden, other: (n, width) of the owner's examples and of negatives; odds: (n,).
    """
    values = np.concatenate((hidden, other)).astype(np.float64)
    mean, spread = other.mean(0), values.std(0)
    spread = np.maximum(spread, spread.mean() / 5)  # a value that hardly moves tells little
    inputs = np.column_stack(((values - mean) / spread, np.ones(len(values))))
    offset = np.concatenate((odds, other_odds)).astype(np.float64)
    wanted = np.concatenate((np.ones(len(hidden)), np.zeros(len(other))))
    share = np.concatenate(
        (
            np.full(len(hidden), EXAMPLES / len(hidden)),
            np.full(len(other), NEGATIVE_WEIGHT * EXAMPLES / len(other)),
        )
    )

    def cost(solution: NDArray[np.float64]) -> float:
        total = offset + inputs @ solution
        entropy = np.logaddexp(0, total) - wanted * total
        return float(share @ entropy + PENALTY / 2 * solution @ solution)

    solution = np.zeros(inputs.shape[1])
    for _ in range(ROUNDS):
        chance = 1 / (1 + np.exp(-np.clip(offset + inputs @ solution, -30, 30)))
        slope = inputs.T @ (share * (chance - wanted)) + PENALTY * solution
        curve = (inputs * (share * chance * (1 - chance))[:, None]).T @ inputs
        curve += PENALTY * np.eye(len(solution))
        step = np.linalg.solve(curve, slope)
        while cost(solution - step) > cost(solution) and np.abs(step).max() > 1e-6:
            step /= 2
        solution -= step
    weights = (solution[:-1] / spread).astype(np.float32)
    return Correction(weights, float(solution[-1] - mean @ weights))


def _varied(examples: Sequence[Samples]) -> list[Samples]:
    """The examples as they are, and quieter with a little noise."""
    rng = np.random.default_rng(0)
    found = []
    for sound in examples:
        loudest = float(np.abs(sound.astype(np.int32)).max())
        for i, level in enumerate(LEVELS):
            noise = rng.standard_normal(len(sound)) * NOISE * loudest * i
            changed = np.round(sound * level + noise * level)
            found.append(np.clip(changed, -32768, 32767).astype(np.int16))
    return found


def _surest(
    head: Head, features: FeatureModels, sound: Samples
) -> tuple[Floats, NDArray[np.float32]]:
    """Hidden values and log odds of the steps in which the head is surest."""
    stream = FeatureStream(features, gated=False)
    padded = np.concatenate((sound, np.zeros(-len(sound) % STEP + 3 * STEP, np.int16)))
    seen: list[Any] = []
    for begin in range(0, len(padded), STEP):
        embeddings = stream.feed(padded[begin : begin + STEP])
        if embeddings is not None:
            seen.append(head.look(embeddings))
    seen.sort(key=lambda pair: -pair[0])
    best = seen[:STEPS_AN_EXAMPLE]
    return (
        np.stack([hidden for _, hidden in best]),
        np.array([odds for odds, _ in best], np.float32),
    )


class OwnerStore:
    """Where owners' examples and corrections are kept: <state>/wake/<name>/, for Echo alone.

    The examples are the only sound that Echo ever stores; they serve this and nothing else.
    """

    def __init__(self, state: Path) -> None:
        self.folder = state / "wake"

    def names(self) -> list[str]:
        if not self.folder.is_dir():
            return []
        return sorted(p.name for p in self.folder.iterdir() if not p.name.endswith(".part"))

    def keep(
        self, name: str, word: str, examples: Sequence[Samples], correction: Correction
    ) -> Path:
        """Write an owner's folder anew, whole or not at all."""
        folder = self.folder / name
        part = self.folder / f"{name}.part"
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(mode=0o700)
        for number, sound in enumerate(examples, 1):
            with wave.open(str(part / f"{number:02d}.wav"), "wb") as file:
                file.setnchannels(1)
                file.setsampwidth(2)
                file.setframerate(SAMPLE_RATE)
                file.writeframes(sound.tobytes())
        correction.save(part / f"{word}.npz")
        shutil.rmtree(folder, ignore_errors=True)
        part.rename(folder)
        return folder

    def forget(self, name: str) -> bool:
        """Delete an owner's examples and correction; False where there is nobody of that name."""
        if name not in self.names():
            return False
        shutil.rmtree(self.folder / name)
        return True

    def corrections(self, head: Head, features: FeatureModels) -> list[Correction]:
        """Every owner's correction to the head. Raises EngineError for a damaged one.

        One that was learnt on an earlier head is learnt anew from the kept examples, and left out
        where there are none.
        """
        found = []
        paths = [self.folder / name / f"{head.word}.npz" for name in self.names()]
        for path in filter(Path.exists, paths):
            correction = Correction.load(path)
            is_own = correction.head == fingerprint(head)
            examples = [] if is_own else sorted(path.parent.glob("*.wav"))
            if examples:
                correction = learn(head, features, [_read(example) for example in examples])
                correction.save(path)
            if is_own or examples:
                found.append(correction)
        return found


def _read(path: Path) -> Samples:
    """What `keep` wrote."""
    with wave.open(str(path)) as file:
        return np.frombuffer(file.readframes(file.getnframes()), np.int16)


def with_owners(head: Head, store: OwnerStore, features: FeatureModels) -> list[Head]:
    """The head as it is, and once more for each owner who has recorded examples for it."""
    return [head, *(Head(head.path, owner) for owner in store.corrections(head, features))]
