"""The wake word's second stage: a doubtful wake-up is looked at through the recogniser's model.

A free transcript throws right wake-ups away, because short far phrases come out as something else.
Here two others are asked: a small network that was trained for the phrase looks at what Whisper's
encoder makes of the sound, and the phrase's own tokens are scored against it (forced likelihood).
The network knows far voices better, the likelihood near phrases; the head's score counts as well.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast

import numpy as np

from firmware_app.engines import Detection, Recogniser, Verdict
from firmware_app.engines.phrase_network import PhraseNetwork, encoder_frames
from firmware_app.engines.wake import head_facts
from firmware_app.frames import SAMPLE_RATE, Samples

T = TypeVar("T")

WINDOW_SECONDS = 5  # of the encoder; shorter ones make the likelihoods less certain
LEAD = SAMPLE_RATE * 4 // 10  # samples kept before the phrase's likely start
FRAMES_A_SECOND = 100  # of Whisper's spectrogram
LEAST = -15.0  # log probability that stands for "impossible"
LIKELIHOOD_WEIGHT = 1.0  # beside the network's odds; see docs/decisions.md


class PhraseModel(Protocol):
    """What is needed of a recogniser: Whisper's model and the thread that owns it."""

    name: str
    model: Any
    tokenizer: Any

    def encode(self, samples: Samples, window_seconds: int) -> Any: ...  # noqa: ANN401

    async def on_worker(self, work: Callable[[], T]) -> T: ...


@dataclass(frozen=True, slots=True)
class SecondStage:
    """How one phrase is verified, from the figures beside its head.

    texts: the phrase as the recogniser may write it. accept: the least score that passes; weight:
    how much the head's own score (as log odds) counts beside the network's.
    """

    texts: tuple[str, ...]
    network: PhraseNetwork
    accept: float
    weight: float = 0.0


def network_path(head: Path, recogniser: str) -> Path:
    """Where the networks of a head's second stage are, for a recogniser of that name."""
    return head.with_suffix(f".{recogniser.replace(' ', '-')}.npz")


def verifier_for(recogniser: Recogniser, heads: Iterable[Path]) -> "WhisperWakeVerifier | None":
    """The second stage where the recogniser is the model that the heads' networks were trained on.

    heads: their .onnx files. None for any other recogniser: then each head decides alone, at its
    own higher threshold. Raises EngineError when a network is missing or damaged.
    """
    stages = {}
    for head in heads:
        facts = head_facts(head).get("second_stage")
        if facts and facts.get("model") == recogniser.name:
            network = PhraseNetwork(network_path(head, recogniser.name))
            stages[head.stem] = SecondStage(
                tuple(facts["texts"]), network, facts["accept"], facts["weight"]
            )
    if not stages:
        return None
    return WhisperWakeVerifier(cast("PhraseModel", recogniser), stages)


class WhisperWakeVerifier:
    """Judges doubtful detections; satisfies engines.WakeVerifier.

    stages: by word. A word without one is accepted, as its head alone is to decide.
    """

    def __init__(self, whisper: PhraseModel, stages: Mapping[str, SecondStage]) -> None:
        self._whisper = whisper
        self._stages = stages

    async def verify(self, samples: Samples, detection: Detection) -> Verdict:
        """Judge the sound that led to the detection, on the recogniser's thread.

        samples: 16 kHz mono, the last one the newest heard. Raises what the recogniser raises.
        """
        return await self._whisper.on_worker(lambda: self.judge(samples, detection))

    def judge(self, samples: Samples, detection: Detection) -> Verdict:
        """As verify; blocks for about 0.1 s."""
        stage = self._stages.get(detection.word)
        if stage is None:
            return Verdict(score=0.0, accepted=True)
        heard = look(self._whisper, stage.network, stage.texts, samples, detection)
        score = heard + stage.weight * log_odds(detection.score)
        return Verdict(score=score, accepted=score >= stage.accept)


def look(
    whisper: PhraseModel,
    network: PhraseNetwork,
    texts: Sequence[str],
    samples: Samples,
    detection: Detection,
) -> float:
    """What network and likelihood together say about the sound that led to a detection."""
    odds = network.odds(encoder_frames(whisper, samples))
    fits = likelihood(whisper, phrase_sound(samples, detection), texts)
    return odds + LIKELIHOOD_WEIGHT * fits


def likelihood(whisper: PhraseModel, samples: Samples, texts: Sequence[str]) -> float:
    """Log probability of the least likely token of the best of the texts, given the sound.

    A near phrase shares all but one sound with the phrase, which a mean over the tokens hides.
    """
    encoded = whisper.encode(samples, WINDOW_SECONDS)
    start = list(whisper.tokenizer.sot_sequence)
    frames = max(1, len(samples) * FRAMES_A_SECOND // SAMPLE_RATE)
    scores = []
    for text in texts:
        tokens = whisper.tokenizer.encode(text)
        (result,) = whisper.model.align(encoded, start, [tokens], num_frames=frames)
        scores.append(max(log(max(min(result.text_token_probs), 1e-9)), LEAST))
    return max(scores)


def phrase_sound(samples: Samples, detection: Detection) -> Samples:
    """The end of the samples, from a little before the phrase: what was said earlier confuses."""
    wanted = detection.end - detection.start + LEAD + SAMPLE_RATE // 4
    return np.ascontiguousarray(samples[-wanted:])


def log_odds(score: float) -> float:
    inside = min(max(score, 1e-4), 1 - 1e-4)
    return log(inside / (1 - inside))
