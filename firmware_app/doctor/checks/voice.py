"""Whether Echo's voice says something."""

from firmware_app.doctor import Area, Check, Finding, failed, passed
from firmware_app.doctor.context import Context
from firmware_app.frames import dbfs, seconds
from firmware_app.models import voice_engine

SILENT_DB = -60.0
SHORTEST = 0.5  # seconds; the sentence takes about one and a half


def run(context: Context) -> Finding:
    sound = context.trial.sound()  # beside the service too: the voice's file is what may be broken
    engine = voice_engine(context.settings)
    if seconds(len(sound)) < SHORTEST or dbfs(sound) < SILENT_DB:
        return failed(
            f"The voice ({engine}) says nothing.",
            "Run ./scripts/setup, which checks it, or set voice.model to another voice.",
        )
    return passed(f"It says a sentence of {seconds(len(sound)):.1f} s ({engine}).")


CHECK = Check("voice", Area.ENGINES, "whether the voice speaks", run, seconds=90, heavy=True)
