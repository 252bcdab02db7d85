"""Who is the service, and whether its socket is its own."""

import fcntl
import os
from pathlib import Path

from firmware_app.doctor import Area, Check, Finding, failed, passed
from firmware_app.doctor.context import Context


def run(context: Context) -> Finding:
    socket, lock = context.runtime / "control.sock", context.runtime / "lock"
    try:
        if socket.exists() and not socket.is_socket():
            return failed(f"{socket} is in the place of Echo's socket.", f"rm {socket}")
        holder = holder_of(lock)
    except PermissionError:
        return passed(f"You may not look into {context.runtime}.")
    if holder is None:
        return passed("Nobody holds Echo's lock: no service runs.")
    who = _name(context, holder)
    if context.vitals is None and context.refused is None:
        return failed(
            f"{who} holds Echo's lock, and does not answer at its socket.",
            f"If it is no back-up or other command of Echo's that will end: kill {holder}",
        )
    return passed(f"{who} holds Echo's lock and socket.")


def holder_of(lock: Path) -> int | None:
    """Process id of whoever holds the lock, 0 where it has not written it down; None: nobody."""
    try:
        descriptor = os.open(lock, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        text = os.pread(descriptor, 20, 0).strip()
        return int(text) if text.isdigit() else 0
    finally:
        os.close(descriptor)
    return None


def _name(context: Context, process: int) -> str:
    name = context.read(f"/proc/{process}/comm")
    return f"Process {process} ({name})" if name else f"Process {process}"


CHECK = Check("socket", Area.SERVICE, "who holds Echo's lock and socket", run)
