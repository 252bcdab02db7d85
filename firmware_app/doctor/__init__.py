"""What may be wrong with a box, and the mend: one check a file in doctor/checks/."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from firmware_app.errors import EchoError

if TYPE_CHECKING:
    from firmware_app.doctor.context import Context


class Status(StrEnum):
    PASS = "pass"  # noqa: S105 - no password
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found: one line, and the mend where it does not pass."""

    status: Status
    line: str
    mend: str = ""


class Area(StrEnum):
    """In the order in which findings are shown."""

    SYSTEM = "system"
    STORAGE = "storage"
    SETTINGS = "settings"
    SERVICE = "service"
    SOUND = "sound"
    ENGINES = "engines"


@dataclass(frozen=True, slots=True)
class Check:
    """One thing to look at.

    looks_at: what it looks at, in a few words. run: blocks; an EchoError that it raises is a
    failure with its sentence and mend. seconds: what it may take. heavy: it computes, or makes a
    sound; such checks wait until the others are through, which would be disturbed.
    """

    name: str
    area: Area
    looks_at: str
    run: Callable[["Context"], Finding]
    seconds: float = 10.0
    heavy: bool = False


def passed(line: str) -> Finding:
    return Finding(Status.PASS, line)


def warned(line: str, mend: str) -> Finding:
    return Finding(Status.WARN, line, mend)


def failed(line: str, mend: str) -> Finding:
    return Finding(Status.FAIL, line, mend)


def failed_by(error: EchoError) -> Finding:
    return failed(f"{error.what} [{error.code}]", error.mend)


def all_checks() -> list[Check]:
    """The checks in doctor/checks/, by area."""
    from firmware_app.doctor import checks

    order = list(Area)
    found: list[Check] = [
        import_module(f"{checks.__name__}.{module.name}").CHECK
        for module in iter_modules(checks.__path__)
    ]
    return sorted(found, key=lambda check: (order.index(check.area), check.name))
