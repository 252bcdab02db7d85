"""How far back the voice may reach in what was kept: the setting voice.history, in one place."""

from typing import Literal, TypeAlias

from firmware_app.skills.local_time import LocalTime

Reach: TypeAlias = Literal["off", "today", "all"]


def within_reach(reach: Reach, created: float | None, time: LocalTime) -> bool:
    """Whether the voice may tell, continue or delete what was said then.

    created: wall clock in seconds; None where the clock was not trusted, which counts as another
    day. So does everything as long as it is not trusted now.
    """
    if reach != "today":
        return reach == "all"
    now = time.now()
    if created is None or now is None:
        return False
    return time.at(created).date() == now.date()
