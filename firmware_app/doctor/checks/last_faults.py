"""What the service complained of in the last day. Its log holds no words of conversations."""

from firmware_app.doctor import Area, Check, Finding, passed, warned
from firmware_app.doctor.context import Context
from firmware_app.doctor.units import UNIT


def run(context: Context) -> Finding:
    told = context.command(
        "journalctl",
        f"--unit={UNIT}",
        "--since=-24h",
        "--priority=err",
        "--output=cat",
        "--no-pager",
        "--quiet",
    )
    if told is None:
        return passed("The journal cannot be read here.")
    lines = [line for line in told.splitlines() if line.strip()]
    if not lines:
        return passed("No error was logged in the last day.")
    return warned(
        f"{len(lines)} errors were logged in the last day, the last: {lines[-1][:300]}",
        f"If it goes on: journalctl -u {UNIT} --priority=err --since=-24h",
    )


CHECK = Check("last-faults", Area.SERVICE, "errors of the last day", run)
