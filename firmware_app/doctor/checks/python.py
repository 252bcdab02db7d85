"""The Python that runs Echo, and the system under it."""

import platform
import struct
import sys

from firmware_app.doctor import Area, Check, Finding, failed, passed
from firmware_app.doctor.context import Context

OLDEST, NEWEST = (3, 11), (3, 13)
MACHINES = ("x86_64", "aarch64")
MEND = "Set it up again with a Python that fits: PYTHON=python3.12 ./scripts/setup"


def run(context: Context) -> Finding:
    system = next(
        (
            line.partition("=")[2].strip('"')
            for line in context.read("/etc/os-release").splitlines()
            if line.startswith("PRETTY_NAME=")
        ),
        platform.system(),
    )
    return judge(sys.version_info[:3], 8 * struct.calcsize("P"), platform.machine(), system)


def judge(version: tuple[int, ...], bits: int, machine: str, system: str) -> Finding:
    what = f"Python {'.'.join(map(str, version))}, {bits}-bit, {machine}, {system}"
    if bits != 64 or machine not in MACHINES:
        return failed(
            f"{what}: Echo runs on 64-bit x86-64 and aarch64 only.",
            "Install the 64-bit Raspberry Pi OS or Debian, if the processor can.",
        )
    if not OLDEST <= version[:2] <= NEWEST:
        return failed(f"{what}: Echo runs on Python 3.11 to 3.13.", MEND)
    return passed(f"{what}.")


CHECK = Check("python", Area.SYSTEM, "Python and the system", run)
