"""How fast the disk takes what Echo saves."""

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from firmware_app.doctor import Area, Check, Finding, passed, warned
from firmware_app.doctor.context import Context, existing

SIZE = 4 << 20  # bytes
SYNCS = 5
SLOW = 2.0  # MB/s: speed class 2, the slowest that the SD Association names
LATE = 1.0  # seconds for one answer to be saved
MEND = "Replace the card by one marked A1 or A2, or keep Echo's data on a USB disk (paths.data)."


def run(context: Context) -> Finding:
    place = existing(context.data)
    if not os.access(place, os.W_OK):
        return passed(f"Not measured: you may not write to {place}.")
    try:
        return judge(*measure(place))
    except OSError as fault:
        return passed(f"Not measured: {(fault.strerror or str(fault)).lower()}.")


def measure(place: Path, clock: Callable[[], float] = time.monotonic) -> tuple[float, float]:
    """Megabytes a second, and the seconds that the slowest of some small synced writes took."""
    block = os.urandom(SIZE)
    with tempfile.TemporaryFile(dir=place) as file:
        began = clock()
        file.write(block)
        file.flush()
        os.fsync(file.fileno())
        speed = SIZE / 1e6 / max(clock() - began, 1e-6)
        slowest = 0.0
        for _ in range(SYNCS):
            began = clock()
            file.write(block[:4096])
            file.flush()
            os.fsync(file.fileno())
            slowest = max(slowest, clock() - began)
    return speed, slowest


def judge(speed: float, slowest: float) -> Finding:
    what = f"It writes {speed:.0f} MB/s, and saves an answer within {slowest * 1000:.0f} ms"
    if speed < SLOW or slowest > LATE:
        return warned(f"{what}: the card is slow or worn.", MEND)
    return passed(f"{what}.")


CHECK = Check("write-speed", Area.STORAGE, "how fast the disk is", run, seconds=60, heavy=True)
