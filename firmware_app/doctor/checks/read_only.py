"""Whether the disk can be written: a failing card turns itself read-only."""

import contextlib
import errno
import tempfile
from pathlib import Path

from firmware_app.doctor import Area, Check, Finding, failed, passed
from firmware_app.doctor.context import Context, existing


def run(context: Context) -> Finding:
    for place in (context.state, context.data):
        finding = judge(existing(place))
        if finding:
            return finding
    return passed("The disk takes what is written.")


def judge(place: Path) -> Finding | None:
    try:
        with contextlib.suppress(PermissionError), tempfile.TemporaryFile(dir=place) as file:
            file.write(b"Echo")  # what may not be written is the matter of another check
    except OSError as fault:
        if fault.errno == errno.EROFS:
            return failed(
                f"The disk with {place} is read-only.",
                f"sudo mount -o remount,rw {_mount_point(place)}; if it turns read-only again, the "
                "card is dying: copy what is on it and replace it.",
            )
        if fault.errno != errno.ENOSPC:
            return failed(
                f"{place} cannot be written: {(fault.strerror or str(fault)).lower()}.",
                "Look at the kernel's messages (`sudo dmesg | tail`); the card may be dying.",
            )
    return None


def _mount_point(place: Path) -> Path:
    place = place.resolve()
    while not place.is_mount():
        place = place.parent
    return place


CHECK = Check("read-only", Area.STORAGE, "whether the disk can be written", run)
