"""Whether Echo takes its own voice out of what the microphone hears."""

from firmware_app.audio.speex import available
from firmware_app.doctor import Area, Check, Finding, passed, warned
from firmware_app.doctor.context import Context
from firmware_app.errors import EngineError


def run(context: Context) -> Finding:
    if not context.settings.audio.echo_cancellation:
        return warned(
            "It is off: only the button stops Echo surely while it speaks.",
            "hey-echo config set audio.echo_cancellation true",
        )
    try:
        available()
    except EngineError as error:
        return warned(f"{error.what} [{error.code}]", error.mend)
    if context.vitals:
        return passed(f"It is {context.vitals.get('echo_cancellation', 'on')}.")
    return passed("Its library is there.")


CHECK = Check("echo-cancellation", Area.SOUND, "whether Echo is deaf to its own voice", run)
