"""A simulated room: someone talks to a circle of microphones while something beside them hisses."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from math import cos, radians, sin

import numpy as np
import pyroomacoustics  # type: ignore[import-untyped]
from numpy.typing import NDArray

from firmware_app.audio.dsp import to_int16
from firmware_app.frames import BLOCK, SAMPLE_RATE, Frame, Samples, seconds

ROOM = (7.0, 6.0, 2.7)  # metres
REVERBERATION = 0.4  # seconds
RADIUS = 0.032  # metres
MIDDLE = (3.4, 2.9, 0.8)
TALKER_AWAY, NOISE_AWAY = 2.5, 1.8  # metres
TALKER_HIGH, NOISE_HIGH = 1.4, 1.0  # metres
LEVEL = 0.05  # of the speech as root mean square, full scale 1
OWN_NOISE_DB = -35.0  # of each microphone, against the speech
UNLIKE_DB = 1.0  # by which the microphones' gains may differ from each other
LEAD = 1.5  # seconds of noise before the talker begins

POSITIONS = ((-RADIUS, 0.0), (0.0, RADIUS), (RADIUS, 0.0), (0.0, -RADIUS))


@dataclass(frozen=True, slots=True)
class Scene:
    """Speech and noise as each microphone hears them, float, shapes (channels, samples).

    begins: sample at which the talker begins.
    """

    speech: NDArray[np.float64]
    noise: NDArray[np.float64]
    begins: int

    @property
    def raw(self) -> Samples:
        return to_int16(self.speech + self.noise)


def scene(said: Samples, *, talker: float, noise_at: float, snr_db: float, seed: int = 0) -> Scene:
    """Places in degrees clockwise from the front. snr_db: at the first microphone."""
    random = np.random.default_rng(seed)
    begins = round(LEAD * SAMPLE_RATE)
    dry = np.concatenate([np.zeros(begins), said / 32768.0])
    speech = _heard(dry, responses(talker, TALKER_AWAY, TALKER_HIGH))
    hiss = pink(len(dry) + SAMPLE_RATE, random)
    noise = _heard(hiss, responses(noise_at, NOISE_AWAY, NOISE_HIGH))[:, SAMPLE_RATE:]
    gains = 10 ** (random.uniform(-UNLIKE_DB, UNLIKE_DB, (len(POSITIONS), 1)) / 20)
    speech *= LEVEL / np.sqrt(np.mean(speech[0, begins:] ** 2))
    noise *= LEVEL * 10 ** (-snr_db / 20) / np.sqrt(np.mean(noise[0] ** 2))
    own = random.normal(0, LEVEL * 10 ** (OWN_NOISE_DB / 20), noise.shape)
    return Scene(speech * gains, noise * gains + own, begins)


@cache
def responses(degrees: float, away: float, high: float) -> tuple[NDArray[np.float64], ...]:
    """From a place to each microphone."""
    absorption, order = pyroomacoustics.inverse_sabine(REVERBERATION, ROOM)
    room = pyroomacoustics.ShoeBox(
        ROOM, fs=SAMPLE_RATE, materials=pyroomacoustics.Material(absorption), max_order=order
    )
    x, y, z = MIDDLE
    angle = radians(degrees)
    room.add_source((x + away * sin(angle), y + away * cos(angle), high))
    room.add_microphone_array(np.array([(x + right, y + front, z) for right, front in POSITIONS]).T)
    room.compute_rir()
    return tuple(np.asarray(of_one[0]) for of_one in room.rir)


def pink(length: int, random: np.random.Generator) -> NDArray[np.float64]:
    spectrum = np.fft.rfft(random.normal(0, 1, length))
    frequencies = np.maximum(np.fft.rfftfreq(length, 1 / SAMPLE_RATE), 20.0)
    return np.fft.irfft(spectrum / np.sqrt(frequencies), length)


def _heard(dry: NDArray[np.float64], ways: tuple[NDArray[np.float64], ...]) -> NDArray[np.float64]:
    size = len(dry) + max(len(way) for way in ways) - 1
    spectrum = np.fft.rfft(dry, size)
    return np.stack([np.fft.irfft(spectrum * np.fft.rfft(w, size), size)[: len(dry)] for w in ways])


def frames_of_array(raw: Samples, heard: int = 0, begin: int = 0) -> Iterator[Frame]:
    """Whole frames, whose mono sound is that of one channel."""
    for index in range(0, raw.shape[1] - BLOCK + 1, BLOCK):
        part = raw[:, index : index + BLOCK]
        yield Frame(part[heard], begin + index, seconds(begin + index + BLOCK), raw=part)
