"""The second stage's likelihoods on judged recordings, computed when asked for and kept."""

import json
from collections.abc import Callable
from pathlib import Path

from firmware_app.engines import Detection
from firmware_app.engines.wake import STEP
from firmware_app.engines.wake_verifier import PhraseModel, likelihood, phrase_sound
from firmware_app.errors import EngineError
from firmware_app.frames import Samples


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
        self._known: dict[str, float] = json.loads(path.read_text()) if path.exists() else {}

    def of(self, name: str, samples: Callable[[], Samples]) -> Callable[[int], float]:
        """For one recording: the likelihood of the phrase in what led to a detection in a step."""

        def fit(step: int) -> float:
            key = f"{name}/{step}/{self._length}"
            if key not in self._known:
                end = (step + 1) * STEP
                detection = Detection("", 0.0, end - self._length, end, 0.0)
                sound = phrase_sound(samples()[:end], detection)
                self._known[key] = likelihood(self._whisper, sound, self._texts)
            return self._known[key]

        return fit

    def keep(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(json.dumps(self._known))


def load_whisper() -> PhraseModel | None:
    """The recogniser that verifies, None where its model is not there."""
    from firmware_app import models
    from firmware_app.engines.whisper import WhisperRecogniser
    from firmware_app.settings import Settings

    try:
        return WhisperRecogniser(models.find("whisper", "", Settings()))
    except EngineError:
        return None
