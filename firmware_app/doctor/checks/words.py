"""Whether what is said leaves this device."""

from firmware_app.doctor import Area, Check, Finding, passed, warned
from firmware_app.doctor.context import Context


def run(context: Context) -> Finding:
    model = context.settings.model
    if model.backend == "llama":
        return passed("What is said stays on this device.")
    if model.send_words_off_the_home_network:
        return warned(
            f"What is said is sent to {model.send_words_to}, which may be outside this home.",
            "If that is not wanted: hey-echo config unset model.send_words_off_the_home_network",
        )
    return passed(f"What is said is sent to {model.send_words_to}, as the owner chose.")


CHECK = Check("words", Area.SETTINGS, "whether what is said leaves this device", run)
