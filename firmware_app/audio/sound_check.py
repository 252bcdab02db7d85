"""Figures of a sound check: how loud speech and room are, where the echo lies, what channels are.

A chirp is played and looked for in what the microphone heard.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from firmware_app.audio.dsp import fade_in, fade_out, milliseconds, to_int16
from firmware_app.audio.level import FULL
from firmware_app.frames import BLOCK, SAMPLE_RATE, Samples, dbfs

CHIRP_SECONDS = 0.3
CHIRP_HERTZ = (300.0, 6000.0)
CHIRP_PEAK = 0.25  # of full scale
SILENT = 3  # swing in steps, of a channel that is not connected
FOUND = 8.0  # times the root mean square of the likeness, at which the chirp counts as heard
ALIKE = 0.9  # correlation of a channel that carries the chirp itself and not a room's answer to it
UNPLAYED_DB = -66.0  # of a loop-back at most while nothing is played; rooms and talkers are louder


@dataclass(frozen=True, slots=True)
class Levels:
    """Of a recording in which somebody spoke; dBFS. clipped: share of samples at full scale."""

    speech_db: float
    noise_db: float
    clipped: float


@dataclass(frozen=True, slots=True)
class Heard:
    """The chirp in a recording. at: sample of its beginning. alike: correlation, up to 1."""

    at: int
    alike: float


def levels(recording: Samples) -> Levels:
    """The loudest twentieth of the blocks is taken for speech, the quietest tenth for the room.

    recording: at least a second.
    """
    whole = recording[: len(recording) // BLOCK * BLOCK].reshape(-1, BLOCK)
    loudness = np.sort([dbfs(block) for block in whole])
    clipped = np.count_nonzero((recording >= FULL) | (recording <= -FULL)) / len(recording)
    return Levels(
        float(loudness[len(loudness) * 19 // 20]), float(loudness[len(loudness) // 10]), clipped
    )


def chirp() -> Samples:
    """A rising tone, soft at both ends."""
    time = np.arange(round(CHIRP_SECONDS * SAMPLE_RATE)) / SAMPLE_RATE
    low, high = CHIRP_HERTZ
    phase = 2 * np.pi * (low * time + (high - low) * time**2 / (2 * CHIRP_SECONDS))
    edge = milliseconds(20)
    return fade_out(fade_in(to_int16(np.sin(phase) * CHIRP_PEAK), edge), edge)


def find_chirp(recording: Samples) -> Heard | None:
    """Where the chirp stands out in a recording, and None where it does not."""
    sound, wanted = recording.astype(np.float64), chirp().astype(np.float64)
    if len(sound) < len(wanted):
        return None
    size = len(sound) + len(wanted)
    likeness = np.fft.irfft(np.fft.rfft(sound, size) * np.conj(np.fft.rfft(wanted, size)), size)
    likeness = np.abs(likeness[: len(sound) - len(wanted) + 1])
    at = int(np.argmax(likeness))
    if likeness[at] <= FOUND * math.sqrt(float(np.mean(np.square(likeness)))):
        return None
    part = sound[at : at + len(wanted)]
    strength = math.sqrt(float(part @ part) * float(wanted @ wanted))
    return Heard(at, float(likeness[at]) / strength)


def channel_kinds(played: NDArray[np.int16], unplayed: NDArray[np.int16]) -> list[str]:
    """Of each channel: "silent", "loop-back" or "microphone".

    Recordings of shape (n, channels): while the chirp was played, and while nothing was. A
    loop-back carries what is played, unchanged, and nothing else.
    """
    pairs = zip(played.T, unplayed.T, strict=True)
    return [_kind(*map(np.ascontiguousarray, pair)) for pair in pairs]


def _kind(played: Samples, unplayed: Samples) -> str:
    if int(played.max()) - int(played.min()) <= SILENT:
        return "silent"
    found = find_chirp(played)
    copied = found is not None and found.alike > ALIKE and dbfs(unplayed) < UNPLAYED_DB
    return "loop-back" if copied else "microphone"
