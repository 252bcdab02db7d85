"""Whether a phrase is in a sound, by a small network on what Whisper's encoder makes of it.

The encoder has heard many people in many rooms, so its output says more about far and strange
voices than the wake word's own features do.
"""

from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from firmware_app.errors import EngineError
from firmware_app.frames import SAMPLE_RATE, Samples

Floats: TypeAlias = NDArray[np.float32]

SOUND = 2 * SAMPLE_RATE  # samples before the detection that are looked at
WINDOW_SECONDS = 3  # of the encoder
FRAMES = 50  # of SOUND, 40 ms each: two of the encoder's
KERNEL = 5  # frames that a convolution sees; it takes every second step
MARGIN = 2  # frames left out at either end; training shifts windows by as many
BOUND = 6.0  # deviations from the mean to which the input is clipped


class Encoder(Protocol):
    """What the network needs of a recogniser."""

    def encode(self, samples: Samples, window_seconds: int) -> Any: ...  # noqa: ANN401


def encoder_frames(whisper: Encoder, samples: Samples) -> Floats:
    """What the encoder makes of the last SOUND samples, silence before them: (FRAMES, width)."""
    sound = samples[-SOUND:]
    sound = np.concatenate((np.zeros(SOUND - len(sound), np.int16), sound))
    encoded = np.array(whisper.encode(sound, WINDOW_SECONDS))[0, : 2 * FRAMES]
    frames: Floats = encoded.reshape(FRAMES, 2, -1).mean(axis=1, dtype=np.float32)
    return frames


class PhraseNetwork:
    """The networks of one phrase, for the encoder that they were trained on."""

    def __init__(self, path: Path) -> None:
        """Load the file that scripts/train_wakeword.py wrote.

        Raises EngineError when it is missing or damaged.
        """
        try:
            with path.open("rb") as opened, np.load(opened) as file:
                self._weights = {name: file[name].astype(np.float32) for name in file.files}
            self.odds(np.zeros((FRAMES, len(self._weights["mean"])), np.float32))
        except Exception as error:  # of a damaged file numpy, zipfile and zlib each raise their own
            raise EngineError(
                "model-damaged",
                f"The wake word's second stage {path} is missing or damaged.",
                "Put back the file that came with the head.",
            ) from error

    def odds(self, frames: Floats) -> float:
        """Log odds that the phrase is at the end of the sound with those encoder frames."""
        w = self._weights
        x = np.clip((frames[MARGIN:-MARGIN] - w["mean"]) * w["scale"], -BOUND, BOUND)
        x = np.maximum(x @ w["reduce"] + w["reduce_bias"], 0)  # (members, frames, channels)
        for name in ("first", "second"):
            x = np.maximum(_neighbours(x) @ w[name] + w[f"{name}_bias"], 0)
        x = x.reshape(len(x), 1, -1)
        x = np.maximum(x @ w["hidden"] + w["hidden_bias"], 0)
        return float((x @ w["out"] + w["out_bias"]).mean())


def _neighbours(x: Floats) -> Floats:
    """Each second frame with those after it that the convolution sees."""
    last = x.shape[1] - KERNEL + 1
    return np.concatenate([x[:, i : last + i : 2] for i in range(KERNEL)], axis=-1)
