"""Whether the page can be reached."""

import socket

from firmware_app.doctor import Area, Check, Finding, failed, passed
from firmware_app.doctor.context import Context

_SECONDS = 3.0


def run(context: Context) -> Finding:
    web = context.settings.web
    if not web.enabled:
        return passed("The page is turned off.")
    if not context.vitals:
        return passed("Echo is not running, so there is no page.")
    said = str(context.vitals.get("page", ""))
    if not said.startswith("http"):
        return failed(f"There is no page: {said}", "Mend that, or: hey-echo explain port-taken")
    host = "127.0.0.1" if web.address in ("private", "all") else web.address
    try:
        socket.create_connection((host, web.port), _SECONDS).close()
    except OSError as fault:
        why = (fault.strerror or str(fault)).lower()
        return failed(
            f"The page does not answer on port {web.port}: {why}.",
            "sudo systemctl restart hey-echo",
        )
    return passed(f"The page is at {said}.")


CHECK = Check("page", Area.SERVICE, "whether the page can be reached", run)
