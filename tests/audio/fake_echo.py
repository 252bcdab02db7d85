"""A fake loudspeaker and a fake microphone near it, faster than time, each with its own clock.

They tell times as devices do: roughly, and as their own clocks run.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from firmware_app.audio.dsp import FULL_SCALE
from firmware_app.audio.reference import Reference
from firmware_app.frames import BLOCK, SAMPLE_RATE, Frame, Samples

OPENED = 100.0  # monotonic time at which both were opened
PERIOD = 160  # samples that the loudspeaker takes at once
AHEAD = 0.05  # seconds before it is heard
TIMES_ROUGH = 0.001  # seconds, standard deviation of the time told of each period
ROOM_DBFS = -70.0
REVERBERATION = 0.4  # seconds until it is 60 dB quieter

Runs: TypeAlias = Sequence[tuple[float, Samples]]


@dataclass
class FakeHardware:
    """A source that hears `near` and the echo of what is played.

    runs: when each thing that is played begins, and its sound. ppm: how much faster the
    loudspeaker's clock is. delay: seconds from there to the microphone that no clock tells.
    rough: standard deviation in seconds of the time at which a run is said to begin.
    response: of the room, from loudspeaker to microphone; None: one with a 0.4 s reverberation.
    """

    runs: Runs
    near: Samples
    ppm: float = 0.0
    delay: float = 0.06
    echo_db: float = -12.0
    rough: float = 0.0
    response: NDArray[np.floating] | None = None
    seed: int = 0
    reference: Reference = field(default_factory=lambda: Reference(OPENED))
    heard: list[Samples] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._random = np.random.default_rng(self.seed)
        self._ratio = 1 + self.ppm * 1e-6
        self._periods: list[tuple[float, Samples]] = []  # when each is played, by its clock
        played = np.zeros(round(len(self.near) * self._ratio) + 2 * SAMPLE_RATE)
        for start, samples in self.runs:
            at = round(start * SAMPLE_RATE * self._ratio)
            played[at : at + len(samples)] += samples
            begins = at / SAMPLE_RATE / self._ratio + self._random.normal(0, self.rough)
            self._periods += [
                (begins + n / SAMPLE_RATE / self._ratio, samples[n : n + PERIOD])
                for n in range(0, len(samples), PERIOD)
            ]
        self.sound = self._mixed(played)

    def _mixed(self, played: NDArray[np.floating]) -> Samples:
        response = _response(self._random) if self.response is None else self.response
        size = len(played) + len(response) - 1
        echo = np.fft.irfft(np.fft.rfft(played, size) * np.fft.rfft(response, size), size)
        places = np.arange(len(self.near)) * self._ratio - self.delay * SAMPLE_RATE
        heard = between(echo, places) * 10 ** (self.echo_db / 20)
        noise = self._random.normal(0, FULL_SCALE * 10 ** (ROOM_DBFS / 20), len(self.near))
        mixed = np.clip(np.rint(self.near + heard + noise), -FULL_SCALE, FULL_SCALE - 1)
        return mixed.astype(np.int16)

    async def __aiter__(self) -> AsyncIterator[Frame]:
        waiting = list(self._periods)
        for index in range(0, len(self.sound) - BLOCK + 1, BLOCK):
            now = OPENED + (index + BLOCK) / SAMPLE_RATE
            while waiting and OPENED + waiting[0][0] < now + AHEAD:
                begins, samples = waiting.pop(0)
                rough = self._random.normal(0, TIMES_ROUGH)
                self.reference.add(OPENED + begins + rough, samples)
            yield Frame(self.sound[index : index + BLOCK], index, now)

    async def close(self) -> None: ...


def between(sound: NDArray[np.floating], places: NDArray[np.floating]) -> NDArray[np.float64]:
    """The sound read at places between its samples; silence outside of it."""
    reach = 16
    whole = np.floor(places).astype(np.int64)
    padded = np.pad(sound, (reach, reach))
    read = np.zeros(len(places))
    for step in range(1 - reach, reach + 1):
        distance = places - whole - step
        weights = np.sinc(distance) * np.cos(np.pi * distance / (2 * reach + 2)) ** 2
        at = whole + step + reach
        inside = (at >= 0) & (at < len(padded))
        read += np.where(inside, padded[np.where(inside, at, 0)], 0.0) * weights
    return read


def _response(random: np.random.Generator) -> NDArray[np.floating]:
    time = np.arange(round(0.25 * SAMPLE_RATE)) / SAMPLE_RATE
    tail = 0.05 * random.normal(0, 1, len(time)) * 10 ** (-3 * time / REVERBERATION)
    tail[time < 0.002] = 0  # nothing is nearer than the loudspeaker itself
    tail[0] = 1.0
    return tail
