"""The installed packages against the lock."""

import re
import sys
from collections.abc import Mapping
from importlib.metadata import distributions
from pathlib import Path

from firmware_app.doctor import Area, Check, Finding, failed, passed, warned
from firmware_app.doctor.context import Context

LOCK = Path(__file__).resolve().parents[3] / "requirements" / "runtime.lock"
_PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)( ;)?", re.MULTILINE)
SHOWN = 3


def run(context: Context) -> Finding:
    try:
        lock = LOCK.read_text(encoding="utf-8")
    except OSError:
        return warned(
            f"{LOCK} is not there, so the packages cannot be compared with it.",
            "Run Echo from a whole clone of its repository, set up with ./scripts/setup.",
        )
    return judge(lock, installed(sys.path))


def installed(path: list[str]) -> dict[str, str]:
    """Version of each package in the folders; where there are two, the one that is imported."""
    found: dict[str, str] = {}
    for distribution in distributions(path=path):
        if distribution.name:
            found.setdefault(_plain(distribution.name), distribution.version)
    return found


def judge(lock: str, versions: Mapping[str, str]) -> Finding:
    wanted: dict[str, set[str]] = {}
    needed = set()  # on every system: a line with a marker counts where it happens to be installed
    for name, version, marker in _PIN.findall(lock):
        wanted.setdefault(_plain(name), set()).add(version)
        if not marker:
            needed.add(_plain(name))
    missing = sorted(name for name in needed if name not in versions)
    other = sorted(
        f"{name} {versions[name]} instead of {' or '.join(sorted(right))}"
        for name, right in wanted.items()
        if name in versions and versions[name] not in right
    )
    if missing:
        return failed(f"Packages are missing: {_listed(missing)}.", "Run ./scripts/setup.")
    if other:
        return warned(
            f"Packages differ from the lock: {_listed(other)}.",
            "Run ./scripts/setup, which installs the versions that were tested.",
        )
    return passed(f"{len(needed)} packages, as the lock says.")


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


CHECK = Check("packages", Area.SYSTEM, "the packages, against the lock", run)
