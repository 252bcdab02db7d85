"""Whether the service starts over and over."""

from firmware_app.doctor import Area, Check, Finding, failed, passed, warned
from firmware_app.doctor.context import Context
from firmware_app.doctor.units import UNIT, unit

OFTEN = 3
LOG = f"journalctl -u {UNIT} -n 50"


def run(context: Context) -> Finding:
    facts = unit(context)
    restarts = int(facts.get("NRestarts") or 0)
    if facts.get("Result") == "start-limit-hit":
        return failed(
            "The service failed so often that it is no longer started.",
            f"Mend what it logged ({LOG}), then: sudo systemctl reset-failed {UNIT}; "
            f"sudo systemctl start {UNIT}",
        )
    if restarts >= OFTEN:
        return warned(
            f"The service has been started anew {restarts} times.", f"See what it logged: {LOG}"
        )
    if not facts:
        return passed("Echo is not installed as a service here.")
    return passed(f"The service has been started anew {restarts} times.")


CHECK = Check("crash-loop", Area.SERVICE, "whether the service starts over and over", run)
