"""Whether Echo's own voice may wake it."""

from firmware_app.doctor import Area, Check, Finding, passed, warned
from firmware_app.doctor.context import Context
from firmware_app.settings import WakeSettings

USUAL = WakeSettings()


def run(context: Context) -> Finding:
    raised = context.settings.wake.speaking_threshold_raise
    if raised < USUAL.speaking_threshold_raise / 2:
        return warned(
            "The wake word's threshold is hardly raised while Echo speaks: its own voice may wake "
            "it.",
            "hey-echo config unset wake.speaking_threshold_raise",
        )
    return passed(f"The wake word's threshold is raised by {raised:g} while Echo speaks.")


CHECK = Check("own-voice", Area.SETTINGS, "whether Echo's own voice may wake it", run)
