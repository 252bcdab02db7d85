"""Whether Echo wakes by itself, or wakes and then hears nothing."""

import contextlib
from typing import Any

from firmware_app.doctor import Area, Check, Finding, passed, warned
from firmware_app.doctor.context import Context
from firmware_app.errors import EchoError, StorageError
from firmware_app.state import read_traces, state_file
from firmware_app.traces import wake_report

FEW = 5  # wake-ups on a day from which they tell something


def run(context: Context) -> Finding:
    return judge(_days(context))


def judge(days: dict[str, dict[str, int]]) -> Finding:
    """days: for each day the number of wake-ups by outcome, as `hey-echo stats wake` has it."""
    for day, counts in sorted(days.items(), reverse=True)[:2]:
        answered, empty = counts.get("answered", 0), counts.get("nothing_said", 0)
        by_itself = counts.get("false", 0) + counts.get("rejected", 0)
        if by_itself >= FEW and by_itself > answered:
            return warned(
                f"On {day} Echo woke {by_itself} times when nobody had called it.",
                "Move it away from the television, or: hey-echo config set wake.sensitivity low",
            )
        if empty >= FEW and empty > answered:
            return warned(
                f"On {day} Echo woke {empty} times and heard nothing after it.",
                "Say the question in one breath with the wake word; a television nearby does this "
                "too: hey-echo config set wake.sensitivity low",
            )
    wakes = sum(counts.get("wakes", 0) for counts in days.values())
    return passed(f"{wakes} wake-ups on record, and no day on which most were for nothing.")


def _days(context: Context) -> dict[str, dict[str, int]]:
    with contextlib.suppress(EchoError):
        report: dict[str, Any] = context.ask("stats.wake")
        return dict(report["days"])
    with contextlib.suppress(StorageError):
        return dict(wake_report(read_traces(state_file(context.state)))["days"])
    return {}


CHECK = Check("wakes", Area.SERVICE, "whether Echo wakes by itself", run)
