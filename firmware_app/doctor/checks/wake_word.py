"""Whether the wake word is heard in a recording, and not in silence."""

from pathlib import Path

import numpy as np

from firmware_app.audio.dsp import blocks
from firmware_app.audio.wav import read_wav
from firmware_app.doctor import Area, Check, Finding, failed, passed, warned
from firmware_app.doctor.context import Context
from firmware_app.engines import WakeWord
from firmware_app.engines.loading import load_wake_word
from firmware_app.frames import BLOCK, SAMPLE_RATE, Frame, Samples

RECORDING = Path(__file__).resolve().parents[3] / "recordings" / "demo" / "question.wav"
OWN = "hey_echo"  # the head that the recording is for


def run(context: Context) -> Finding:
    wake = load_wake_word(context.settings, False)
    silence = scores(wake, np.zeros(2 * SAMPLE_RATE, np.int16))
    if silence:
        return failed(
            "Echo wakes up in silence.", "hey-echo config unset wake.threshold (or raise it)"
        )
    if context.settings.wake.models != OWN:
        return passed(f"Loaded: {context.settings.wake.models}; it does not wake in silence.")
    wake.reset()
    found = scores(wake, np.concatenate((np.zeros(SAMPLE_RATE, np.int16), read_wav(RECORDING))))
    if not found:
        return warned(
            "“Hey Echo” is not heard in a clear recording.",
            "hey-echo config unset wake.threshold; hey-echo config unset wake.blocks_in_a_row",
        )
    return passed(f"“Hey Echo” is heard in a recording (score {max(found):.2f}).")


def scores(wake: WakeWord, sound: Samples) -> list[float]:
    """Of the detections in the sound."""
    found = (
        wake.process(Frame(block, number * BLOCK, 0.0))
        for number, block in enumerate(blocks(sound))
    )
    return [detection.score for detection in found if detection]


CHECK = Check("wake-word", Area.ENGINES, "the wake word", run, seconds=60, heavy=True)
