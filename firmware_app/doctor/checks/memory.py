"""Memory that is left."""

import re

from firmware_app.doctor import Area, Check, Finding, failed, passed, warned
from firmware_app.doctor.context import Context

MB = 1024  # kB
LISTENING = 660 * MB  # measured at their peaks: the service 456, its language model's process 207
SPARE = 150 * MB  # below it the kernel drops the pages of programs, and everything stutters
MEND = (
    "End other programs, choose smaller models, or let another machine think "
    "(model.backend = openai)."
)


def run(context: Context) -> Finding:
    kb = {
        name: int(value)
        for name, value in re.findall(
            r"^(\w+):\s+(\d+)", context.read("/proc/meminfo"), re.MULTILINE
        )
    }
    if "MemAvailable" not in kb:
        return passed("How much memory is left cannot be read here.")
    total, left = kb["MemTotal"], kb["MemAvailable"]
    what = f"{left // MB} of {total // MB} MB are left"
    if left < SPARE:
        return failed(f"{what}.", MEND)
    if context.vitals is None and left < LISTENING:
        return warned(f"{what}; Echo takes about {LISTENING // MB} MB.", MEND)
    return passed(f"{what}.")


CHECK = Check("memory", Area.SYSTEM, "memory that is left", run)
