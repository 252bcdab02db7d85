"""Whether the service runs and hears, and if not why."""

from firmware_app.doctor import Area, Check, Finding, failed, failed_by, passed, warned
from firmware_app.doctor.context import Context
from firmware_app.doctor.units import unit

LOG = "See what it logged: journalctl -u hey-echo -n 50"


def run(context: Context) -> Finding:
    if context.vitals:
        return _running(context)
    if context.refused:
        return failed_by(context.refused)
    facts = unit(context)
    match facts.get("ActiveState"):
        case "failed":
            return failed(f"The service has failed ({facts.get('Result', 'unknown')}).", LOG)
        case "active" | "activating":
            said = facts.get("StatusText") or "It says nothing."
            return failed(f"The service was started, and cannot be called. {said}", LOG)
        case "inactive":
            return warned(
                "The service is not running.", "Start it with: sudo systemctl start hey-echo"
            )
    return warned(
        "Echo is not running, and is not installed as a service here.",
        "Install it: sudo ./scripts/install; for a try in a terminal: hey-echo run",
    )


def _running(context: Context) -> Finding:
    assert context.vitals  # noqa: S101 - the caller has looked
    vitals = context.vitals
    if fault := vitals["fault"]:
        return failed(
            f"It runs, and cannot listen: {fault['what']} [{fault['code']}]", fault["mend"]
        )
    minutes = vitals["running_for_seconds"] // 60
    if not vitals["awake"]:
        return warned("It runs, and is still waking up.", "Run this again in a minute.")
    if vitals["model"].startswith("error"):
        return failed(
            f"It runs, and cannot think ({vitals['model'].removeprefix('error: ')}).",
            "See the check language-model.",
        )
    return passed(f"It has been running for {minutes} min.")


CHECK = Check("service", Area.SERVICE, "whether the service runs", run)
