"""The databases: the history, and the state with its figures."""

import contextlib
from pathlib import Path

from firmware_app.doctor import Area, Check, Finding, failed, passed, warned
from firmware_app.doctor.context import Context
from firmware_app.errors import StorageError
from firmware_app.history.commands import history_path
from firmware_app.history.copies import BACKUPS
from firmware_app.sqlite import damage
from firmware_app.state import state_file


def run(context: Context) -> Finding:
    history = history_path(context.data, context.settings.history.workspace)
    sound = []
    for path, mend in (
        (history, _restore(history)),
        (state_file(context.state), f"mv {state_file(context.state)} /tmp"),
    ):
        if not _is_there(path):
            continue
        if finding := judge(path, mend):
            return finding
        sound.append(path.name)
    if aside := sorted(f for folder in (history.parent, context.state) for f in _broken(folder)):
        return warned(
            f"A damaged database was set aside as {aside[0]}.",
            f"Check the card. Once you need nothing from it: rm {aside[0]}",
        )
    if not sound:
        return passed("There are none yet.")
    return passed(f"{' and '.join(sound)} {'is' if len(sound) == 1 else 'are'} sound.")


def judge(path: Path, mend: str) -> Finding | None:
    """None where it is sound. mend: what to do where it is not."""
    try:
        found = damage(path)
    except StorageError as error:
        if error.code != "database-damaged":
            return warned(f"{path} cannot be looked at.", "Run it as root: sudo hey-echo doctor")
        found = "it cannot be read"
    return failed(f"{path} is damaged ({found}).", mend) if found else None


def _restore(history: Path) -> str:
    back_ups: list[Path] = []
    with contextlib.suppress(OSError):  # in a folder that may not be looked into
        back_ups = sorted((history.parent / BACKUPS).glob("*.db"))
    if back_ups:
        return f"Take the newest back-up: hey-echo backup restore {back_ups[-1]}"
    return f"There is no back-up. To begin a new history: mv {history} {history}.damaged"


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # in a folder that may not be looked into
        return True


def _broken(folder: Path) -> list[Path]:
    with contextlib.suppress(OSError):
        return [*folder.glob("*.broken"), *folder.glob("*.damaged*")]
    return []


CHECK = Check("databases", Area.STORAGE, "whether the databases are sound", run, seconds=60)
