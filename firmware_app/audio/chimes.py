"""Chimes: a few soft notes each, made by rule, shorter than 400 ms."""

from functools import cache
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from firmware_app.audio.dsp import FULL_SCALE, milliseconds
from firmware_app.frames import SAMPLE_RATE, Samples

Name: TypeAlias = Literal["wake", "done", "error", "mute", "unmute", "timer"]

PEAK = 0.1  # of full scale, -20 dB: softer than speech, which the canceller must leave audible
ATTACK = milliseconds(8)
RELEASE = milliseconds(30)
OVERTONE = 0.15  # of the second partial: a bare sine sounds like a test
DECAY = 9.0  # a second: a note falls to a third in an eighth of a second

# Notes in Hz, and how long each lasts in ms. Up means open, down means closed. All lie above the
# pitch of voices: a chime of 330 and 247 Hz passed for speech (tests/audio/test_chimes.py).
NOTES: dict[Name, tuple[tuple[float, int], ...]] = {
    "wake": ((659.3, 90), (880.0, 150)),  # e'' a''
    "done": ((880.0, 90), (880.0, 150)),  # a'' a''
    "error": ((784.0, 110), (622.3, 110), (523.3, 160)),  # g'' es'' c''
    "mute": ((659.3, 110), (440.0, 180)),  # e'' a'
    "unmute": ((440.0, 110), (659.3, 180)),  # a' e''
    "timer": ((784.0, 110), (987.8, 110), (1174.7, 160)),  # g'' b'' d'''
}


@cache
def chime(name: Name) -> Samples:
    """The chime as 16 kHz mono int16; the same array each time, not to be written to."""
    sound = np.concatenate([_note(hertz, milliseconds(ms)) for hertz, ms in NOTES[name]])
    scaled: Samples = np.rint(sound / np.abs(sound).max() * PEAK * FULL_SCALE).astype(np.int16)
    scaled.flags.writeable = False
    return scaled


def _note(hertz: float, length: int) -> NDArray[np.float64]:
    t = np.arange(length) / SAMPLE_RATE
    tone = np.sin(2 * np.pi * hertz * t) + OVERTONE * np.sin(4 * np.pi * hertz * t)
    rise = np.minimum(1, np.arange(length) / ATTACK)
    fall = np.minimum(1, np.arange(length)[::-1] / RELEASE)
    return tone * np.exp(-DECAY * t) * rise * fall
