"""The local time of this device, where its clock can be trusted."""

import datetime
import os
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from firmware_app.history.clock import Clock, SystemClock
from firmware_app.history.records import Moment

LOCAL = Path("/etc/localtime")


class LocalTime:
    """Wall clock and time since boot, in one time zone. zone: that of the device, unless given."""

    def __init__(self, clock: Clock | None = None, zone: datetime.tzinfo | None = None) -> None:
        self._clock = clock or SystemClock()
        self.zone = zone or system_zone()

    def moment(self) -> Moment:
        return self._clock.now()

    def now(self) -> datetime.datetime | None:
        """None while the clock is not to be trusted."""
        created = self._clock.now().created
        return None if created is None else self.at(created)

    def at(self, timestamp: float) -> datetime.datetime:
        return datetime.datetime.fromtimestamp(timestamp, self.zone)

    def guess(self) -> datetime.datetime:
        """The time, trusted or not: to read "tomorrow" by before it is looked at again."""
        return self.now() or datetime.datetime.now(self.zone)


def system_zone() -> datetime.tzinfo:
    """Of TZ, else of /etc/localtime, else UTC."""
    name = os.environ.get("TZ", "").lstrip(":")
    try:
        if name:
            return ZoneInfo(name)
        if LOCAL.is_symlink() and "zoneinfo/" in (target := str(LOCAL.resolve())):
            return ZoneInfo(target.rpartition("zoneinfo/")[2])
        if LOCAL.exists():
            with LOCAL.open("rb") as file:
                return ZoneInfo.from_file(file)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        pass
    return datetime.UTC
