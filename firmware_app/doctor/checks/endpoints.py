"""Settings by which Echo cuts people off, or keeps them waiting."""

from firmware_app.doctor import Area, Check, Finding, passed, warned
from firmware_app.doctor.context import Context
from firmware_app.settings import EndpointSettings

USUAL = EndpointSettings()


def run(context: Context) -> Finding:
    endpoint = context.settings.endpoint
    if endpoint.shortest_ms < USUAL.shortest_ms or endpoint.longest_ms < USUAL.longest_ms:
        return warned(
            f"Echo takes {endpoint.shortest_ms} to {endpoint.longest_ms} ms of silence for the end "
            "of a question, less than usual: it cuts people off who pause.",
            "hey-echo config unset endpoint.shortest_ms; hey-echo config unset endpoint.longest_ms",
        )
    if endpoint.longest_ms > 2 * USUAL.longest_ms:
        return warned(
            f"Echo may wait {endpoint.longest_ms} ms after a question before it answers.",
            "hey-echo config unset endpoint.longest_ms",
        )
    if endpoint.nothing_said_seconds > 2 * USUAL.nothing_said_seconds:
        return warned(
            f"After the wake word Echo waits {endpoint.nothing_said_seconds:g} s for a question "
            "before it rests again.",
            "hey-echo config unset endpoint.nothing_said_seconds",
        )
    return passed(f"A question ends after {endpoint.shortest_ms} to {endpoint.longest_ms} ms.")


CHECK = Check("endpoints", Area.SETTINGS, "how soon a question counts as ended", run)
