"""Figures of a sound check: how loud speech and room are, where the echo lies, what channels are.

A chirp is played and looked for in what the microphone heard.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from firmware_app.audio import Sink, Source
from firmware_app.audio.dsp import fade_in, fade_out, milliseconds, to_int16
from firmware_app.audio.level import FULL
from firmware_app.frames import BLOCK, SAMPLE_RATE, Frame, Samples, dbfs

CHIRP_SECONDS = 0.3
CHIRP_HERTZ = (300.0, 6000.0)
CHIRP_PEAK = 0.25  # of full scale
SILENT = 3  # swing in steps, of a channel that is not connected
FOUND = 8.0  # times the root mean square of the likeness, at which the chirp counts as heard
ALIKE = 0.9  # correlation of a channel that carries the chirp itself and not a room's answer to it
LONGEST_DELAY = 1.0  # seconds
LISTENED = CHIRP_SECONDS + LONGEST_DELAY + 0.5  # seconds


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


@dataclass(frozen=True, slots=True)
class EchoPath:
    """From the loudspeaker to the microphone.

    delay: seconds by which it is heard later than the devices tell. db: its level against what
    was played.
    """

    delay: float
    db: float


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


async def echo_path(source: Source, sink: Sink) -> EchoPath | None:
    """Play a chirp and listen for it; None where it is not heard. Takes about two seconds."""
    played, frames = chirp(), list[Frame]()
    before = sink.reference.end
    async for frame in source:
        if not frames:
            await sink.write(played)
        frames.append(frame)
        if frame.end - frames[0].index > LISTENED * SAMPLE_RATE:
            break
    if not frames or sink.reference.end == before:
        return None
    recording = np.concatenate([frame.samples for frame in frames])
    found = find_chirp(recording)
    if found is None:
        return None
    heard_at = frames[-1].heard_at - (len(recording) - found.at) / SAMPLE_RATE
    later = sink.reference.position_at(heard_at) - sink.reference.run
    echo = recording[found.at : found.at + len(played)]
    return EchoPath(later / SAMPLE_RATE, dbfs(echo) - dbfs(played))


def channel_kinds(recording: NDArray[np.int16]) -> list[str]:
    """Of each channel, shape (n, channels): "silent", "loop-back" or "microphone".

    recording: made while the chirp was played. A loop-back carries what is played, unchanged.
    """
    return [_kind(np.ascontiguousarray(recording[:, n])) for n in range(recording.shape[1])]


def _kind(channel: Samples) -> str:
    if int(channel.max()) - int(channel.min()) <= SILENT:
        return "silent"
    found = find_chirp(channel)
    return "loop-back" if found and found.alike > ALIKE else "microphone"
