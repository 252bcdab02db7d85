"""Whether the service's user may write where Echo keeps things, and nobody else may read them."""

import contextlib
import re
import stat
from pathlib import Path

from firmware_app.doctor import Area, Check, Finding, failed, passed, warned
from firmware_app.doctor.context import Context, existing
from firmware_app.history.commands import history_path
from firmware_app.state import state_file

READ, WRITE, ENTER = 4, 2, 1


def run(context: Context) -> Finding:
    uid, groups = _user(context)
    for folder in (context.state, context.data, context.runtime):
        place = existing(folder)
        if not may(place, uid, groups, WRITE | ENTER):
            return failed(
                f"User {uid}, as whom Echo runs, may not write to {place}.",
                f"sudo chown -R {uid} {place}, or name other folders in paths.state and paths.data",
            )
    for private in _private(context):
        if private.stat().st_mode & (stat.S_IROTH | stat.S_IWOTH):
            return warned(
                f"{private}, which is private, may be read by every user of this box.",
                f"sudo chmod go= {private}",
            )
    return passed("Echo may write where it must, and others may not read it.")


def _private(context: Context) -> list[Path]:
    """What people said and what Echo remembers, as far as this user may see the files."""
    history = history_path(context.data, context.settings.history.workspace).parent
    with contextlib.suppress(OSError):  # in a folder that may not be looked into
        return [path for path in (history, state_file(context.state)) if path.exists()]
    return []


def may(path: Path, uid: int, groups: set[int], wanted: int) -> bool:
    """Whether a user has these rights on a file, as its mode says."""
    if uid == 0:
        return True
    try:
        facts = path.stat()
    except OSError:
        return False
    shift = 6 if facts.st_uid == uid else 3 if facts.st_gid in groups else 0
    return (facts.st_mode >> shift) & wanted == wanted


def _user(context: Context) -> tuple[int, set[int]]:
    """The user of the running service, else whoever asks, with the groups."""
    if context.vitals:
        status = context.read(f"/proc/{context.vitals['process']}/status")
        uid = re.search(r"^Uid:\s+(\d+)", status, re.MULTILINE)
        groups = re.search(r"^Groups:([ \t\d]*)", status, re.MULTILINE)
        gid = re.search(r"^Gid:\s+(\d+)", status, re.MULTILINE)
        if uid and gid and groups:
            return int(uid[1]), {int(gid[1]), *map(int, groups[1].split())}
    return context.uid, set(context.groups)


CHECK = Check("permissions", Area.STORAGE, "who may write and read Echo's folders", run)
