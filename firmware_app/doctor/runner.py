"""Runs the checks side by side, each within its time."""

import queue
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from firmware_app.doctor import Check, Finding, Status, failed, failed_by
from firmware_app.doctor.context import Context
from firmware_app.errors import EchoError


@dataclass(frozen=True, slots=True)
class Result:
    check: Check
    finding: Finding
    seconds: float


def run(checks: Sequence[Check], context: Context) -> Iterator[Result]:
    """Yield the results in the order of the checks, each as soon as those before it are there."""
    results: dict[str, Result] = {}
    waiting = list(checks)
    for heavy in (False, True):
        for result in _side_by_side([c for c in checks if c.heavy is heavy], context):
            results[result.check.name] = result
            while waiting and waiting[0].name in results:
                yield results[waiting.pop(0).name]


def worst(results: Sequence[Result]) -> Status:
    found = {result.finding.status for result in results}
    return next((s for s in (Status.FAIL, Status.WARN) if s in found), Status.PASS)


def _side_by_side(checks: Sequence[Check], context: Context) -> Iterator[Result]:
    done: queue.SimpleQueue[Result] = queue.SimpleQueue()
    began = time.monotonic()
    for check in checks:
        # A daemon: one that hangs in a driver must not keep the command from ending.
        threading.Thread(
            target=lambda check=check: done.put(_run(check, context)), name=check.name, daemon=True
        ).start()
    running = {check.name: check for check in checks}
    while running:
        due = min(running.values(), key=lambda check: check.seconds)
        try:
            result = done.get(timeout=max(0.0, began + due.seconds - time.monotonic()))
        except queue.Empty:
            result = Result(due, _too_slow(due), due.seconds)
        if running.pop(result.check.name, None):
            yield result


def _run(check: Check, context: Context) -> Result:
    began = time.monotonic()
    try:
        finding = check.run(context)
    except EchoError as error:
        finding = failed_by(error)
    except Exception as error:
        finding = failed(
            f"The check itself failed: {type(error).__name__}.",
            "Report it, with the output of: hey-echo doctor --report",
        )
    return Result(check, finding, time.monotonic() - began)


def _too_slow(check: Check) -> Finding:
    return failed(
        f"It took more than {check.seconds:g} s to look at {check.looks_at}.",
        "Run it again while the box is idle; if it stays so, restart the box and check its card.",
    )
