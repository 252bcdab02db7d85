"""Room on the disks that Echo writes to."""

import os
from pathlib import Path

from firmware_app import models
from firmware_app.doctor import Area, Check, Finding, failed, passed, warned
from firmware_app.doctor.context import Context, existing

NEARLY_FULL = 0.90  # of the card, as the history promises to warn
LEAST = 50e6  # bytes; below it a back-up or an update has no room, and soon no answer is saved
MEND = (
    "Remove what is not needed (`sudo apt clean`, `sudo journalctl --vacuum-size=100M`, old "
    "back-ups: `hey-echo backup list`, then rm FILE), or use a larger card."
)


def run(context: Context) -> Finding:
    places = {existing(p) for p in (context.state, context.data, models.folder(context.settings))}
    return min((judge(place) for place in sorted(places)), key=_badness)


def judge(place: Path) -> Finding:
    disk = os.statvfs(place)
    left = disk.f_bavail * disk.f_frsize
    used = 1 - disk.f_bavail / max(1, disk.f_blocks - disk.f_bfree + disk.f_bavail)
    what = f"{left / 1e6:,.0f} MB are left where {place} is ({used:.0%} used)"
    if left < LEAST:
        return failed(f"{what}.", MEND)
    if disk.f_files and disk.f_favail < 100:
        return failed(f"No more files can be made where {place} is.", MEND)
    if used >= NEARLY_FULL:
        return warned(f"{what}.", MEND)
    return passed(f"{what}.")


def _badness(finding: Finding) -> int:
    return ["fail", "warn", "pass"].index(finding.status)


CHECK = Check("disk-space", Area.STORAGE, "room on the disk", run)
