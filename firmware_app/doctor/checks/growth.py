"""Whether the service's memory grows."""

from firmware_app.doctor import Area, Check, Finding, passed, warned
from firmware_app.doctor.context import Context

MB = 1024  # kB
GROWN = 200 * MB  # more than the recogniser's and the voice's peaks together leave behind


def run(context: Context) -> Finding:
    if not context.vitals:
        return passed("Echo is not running.")
    at_first, now = context.vitals["memory_awake_kb"], context.vitals["memory_kb"]
    if not at_first:
        return passed("Echo is still waking up.")
    if now - at_first > GROWN:
        return warned(
            f"The service takes {now // MB} MB, {(now - at_first) // MB} MB more than at first.",
            "sudo systemctl restart hey-echo; and report it, with: hey-echo doctor --report",
        )
    return passed(f"The service takes {now // MB} MB, and took {at_first // MB} MB at first.")


CHECK = Check("growth", Area.SERVICE, "whether the service's memory grows", run)
