"""The calls stats and stats.wake of the running service."""

from firmware_app.control.protocol import Json
from firmware_app.control.server import Call, ControlServer
from firmware_app.errors import UsageError
from firmware_app.traces import KEPT, Traces, report, wake_report


def register(server: ControlServer, traces: Traces) -> None:
    async def stats(call: Call) -> Json:
        return report(traces.recent(_last(call)))

    async def stats_wake(call: Call) -> Json:
        return wake_report(traces.recent(_last(call)))

    server.handle("stats", stats)
    server.handle("stats.wake", stats_wake)


def _last(call: Call) -> int:
    last = call.args.get("last", KEPT)
    if type(last) is not int or not 1 <= last <= KEPT:
        raise UsageError(
            "malformed-call", f"stats can show from 1 to {KEPT} turns.", "Ask for fewer."
        )
    return last
