"""Logs that fill the card."""

import os
from pathlib import Path

from firmware_app.doctor import Area, Check, Finding, passed, warned
from firmware_app.doctor.context import Context

MUCH = 1e9  # bytes
FILES = 20_000  # looked at, at most


def run(context: Context) -> Finding:
    size = size_of(context.path("/var/log"))
    if size > MUCH:
        return warned(
            f"The logs in /var/log take {size / 1e6:,.0f} MB.",
            "sudo journalctl --vacuum-size=100M; and see what is logged again and again: "
            "journalctl -u hey-echo -n 50",
        )
    if context.settings.log.level == "debug":
        return warned(
            "log.level is debug, which writes much.", "hey-echo config set log.level info"
        )
    return passed(f"The logs take {size / 1e6:,.0f} MB.")


def size_of(folder: Path) -> int:
    """Bytes on the disk; of a file with holes only what is there."""
    total = seen = 0
    for place, _, names in os.walk(folder):
        for name in names:
            seen += 1
            try:
                total += os.lstat(f"{place}/{name}").st_blocks * 512
            except OSError:
                continue
        if seen > FILES:
            break
    return total


CHECK = Check("logs", Area.STORAGE, "how much the logs take", run)
