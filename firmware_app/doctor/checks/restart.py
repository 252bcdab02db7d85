"""Whether settings were changed that the running service takes up only with a restart."""

from firmware_app.doctor import Area, Check, Finding, passed, warned
from firmware_app.doctor.context import Context


def run(context: Context) -> Finding:
    waiting = context.vitals["needs_restart"] if context.vitals else []
    if not waiting:
        return passed("No changed setting waits for a restart.")
    return warned(
        f"Changed, and not in force before a restart: {', '.join(waiting)}.",
        "sudo systemctl restart hey-echo",
    )


CHECK = Check("restart", Area.SETTINGS, "whether changed settings wait for a restart", run)
