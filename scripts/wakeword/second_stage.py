"""The second stage's likelihoods on judged recordings, computed when asked for and kept."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from firmware_app.engines import Detection
from firmware_app.engines.wake import STEP
from firmware_app.engines.wake_verifier import PhraseModel, likelihood, phrase_sound
from firmware_app.errors import EngineError
from firmware_app.frames import Samples

SCORING = 2  # raise it when the likelihood changes, so that kept ones are computed anew


def whisper_texts(phrase: str) -> tuple[str, ...]:
    """The phrase as Whisper may write it."""
    words = phrase.title()
    return (f" {words}.", f" {words.replace(' ', ', ', 1)}.", f" {phrase.capitalize()}")


class Likelihoods:
    """One file of likelihoods for a run; phrase_samples: the typical length of the phrase."""

    def __init__(self, whisper: PhraseModel, phrase: str, phrase_samples: int, path: Path) -> None:
        self._whisper = whisper
        self._texts = whisper_texts(phrase)
        self._length = phrase_samples
        self._path = path
        kept: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
        self.seconds: float = kept.get("seconds", 0.0)  # that all of these took
        self._known: dict[str, float] = kept.get("scores", {})

    def of(self, name: str, samples: Callable[[], Samples]) -> Callable[[int], float]:
        """For one recording: the likelihood of the phrase in what led to a detection in a step."""

        def fit(step: int) -> float:
            key = f"{name}/{step}/{self._length}"
            if key not in self._known:
                began = time.monotonic()
                end = (step + 1) * STEP
                detection = Detection("", 0.0, end - self._length, end, 0.0)
                sound = phrase_sound(samples()[:end], detection)
                self._known[key] = likelihood(self._whisper, sound, self._texts)
                self.seconds += time.monotonic() - began
            return self._known[key]

        return fit

    def keep(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(json.dumps({"seconds": self.seconds, "scores": self._known}))


def load_whisper() -> PhraseModel | None:
    """The recogniser that verifies, None where its model is not there."""
    from firmware_app import models
    from firmware_app.engines.whisper import WhisperRecogniser
    from firmware_app.settings import Settings

    try:
        return WhisperRecogniser(models.find("whisper", "", Settings()))
    except EngineError:
        return None
