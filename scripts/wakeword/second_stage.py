"""What the second stage says about judged recordings, computed when asked for and kept."""

import hashlib
import json
import time
from collections.abc import Callable
from pathlib import Path

from firmware_app.engines import Detection
from firmware_app.engines.phrase_network import PhraseNetwork
from firmware_app.engines.wake import STEP
from firmware_app.engines.wake_verifier import LIKELIHOOD_WEIGHT, PhraseModel, look
from firmware_app.errors import EngineError
from firmware_app.frames import Samples

LOOKS = 20  # that are timed


def whisper_texts(phrase: str) -> tuple[str, ...]:
    """The phrase as Whisper may write it."""
    words = phrase.title()
    return (f" {words}.", f" {words.replace(' ', ', ', 1)}.", f" {phrase.capitalize()}")


class Opinions:
    """What network and likelihood say, in a file of a folder.

    phrase_samples: the typical length of the phrase, to be set before anything is asked; model: the
    recogniser's name; windows: with the phrase, near and other, that the network learnt from.
    """

    def __init__(
        self,
        whisper: PhraseModel,
        phrase: str,
        network: Path,
        folder: Path,
        windows: tuple[int, int, int],
    ) -> None:
        self.texts = whisper_texts(phrase)
        self.phrase_samples = 0
        self.model = whisper.name
        self.windows = windows
        self._whisper = whisper
        self._network = PhraseNetwork(network)
        said_by = network.read_bytes() + str(LIKELIHOOD_WEIGHT).encode()
        digest = hashlib.sha256(said_by).hexdigest()[:8]
        self._path = folder / f"looks-{digest}.json"
        known = json.loads(self._path.read_text()) if self._path.exists() else {}
        self._known: dict[str, float] = known

    def of(self, name: str, samples: Callable[[], Samples]) -> Callable[[int], float]:
        """For one recording: the odds of the phrase in what led to a detection in a step."""

        def fit(step: int) -> float:
            key = f"{name}/{step}/{self.phrase_samples}"
            if key not in self._known:
                sound = samples()[: (step + 1) * STEP]
                self._known[key] = self._look(sound)
            return self._known[key]

        return fit

    def _look(self, samples: Samples) -> float:
        end = len(samples)
        detection = Detection("", 0.0, end - self.phrase_samples, end, 0.0)
        return look(self._whisper, self._network, self.texts, samples, detection)

    def cost_ms(self, samples: Samples) -> float:
        """CPU milliseconds that a look at the end of the samples takes."""
        began = time.process_time()
        for _ in range(LOOKS):
            self._look(samples)
        return (time.process_time() - began) / LOOKS * 1000

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
