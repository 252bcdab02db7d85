"""Timers, alarms and reminders, and when each is due.

What counts down runs on the time since boot, which no clock setting touches; after a restart of the
device it goes on by the wall clock. What names a time of day waits until the wall clock is trusted,
and follows the local zone: a time that a daylight-saving night leaves out is taken by the offset
before it (RFC 5545, 3.3.5), one that comes twice counts the first time.
"""

import datetime
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from firmware_app.history.records import Moment
from firmware_app.skills.local_time import LocalTime
from firmware_app.skills.moments import TimeOfDay

Kind = Literal["timer", "alarm", "reminder"]

MOST = 50  # alerts that are kept
LATEST = {"timer": float("inf"), "alarm": 15 * 60.0, "reminder": 24 * 3600.0}  # seconds
SET_BACK = 12 * 3600.0  # a wall clock set back further than this was wrong before
DRIFT = 2.0  # seconds by which a kept wall time may be off before it is written anew


@dataclass(frozen=True, slots=True)
class Alert:
    """One timer, alarm or reminder.

    seconds: what a countdown was set to; None for a time of day. boot_id, due_boot: the boot in
    which a countdown ends, and the seconds since boot. due: wall clock at which it is due once;
    None while unknown. time: "HH:MM"; twelve_hour: either half of the day may be meant. days: on
    which it is repeated, 0 for Monday. anchor: wall clock after which a repeated one is next due.
    """

    id: int
    kind: Kind
    name: str = ""
    seconds: int | None = None
    boot_id: str = ""
    due_boot: float = 0.0
    due: float | None = None
    time: str = ""
    twelve_hour: bool = False
    days: tuple[int, ...] = ()
    anchor: float | None = None


@dataclass(frozen=True, slots=True)
class Due:
    """An alert whose time has come. late: seconds; lost: how late it is cannot be known.

    missed: too late to ring.
    """

    alert: Alert
    late: float
    lost: bool = False
    missed: bool = False


class Keep:
    """Where alerts are kept: nowhere. `Alerts` in store.py keeps them in the state database."""

    def put(self, alert: Alert) -> None:
        return

    def remove(self, number: int) -> None:
        return


class Schedule:
    """All alerts. Whoever rings asks `due` whenever `next_in` has passed or `on_change` is called.

    For one thread; nothing here waits.
    """

    def __init__(
        self, time: LocalTime, kept: Sequence[Alert] = (), keep: Keep | None = None
    ) -> None:
        self.time = time
        self._keep = keep or Keep()
        self._alerts = {alert.id: alert for alert in kept}
        self._next_id = max(self._alerts, default=0) + 1
        self.on_change: Callable[[], None] = lambda: None
        self.last_rung: Alert | None = None
        self._rung_at = 0.0  # since boot

    def alerts(self, kind: Kind | None = None) -> list[Alert]:
        """Those of a kind, the next first; what waits for the clock comes last."""
        moment = self.time.moment()

        def order(alert: Alert) -> tuple[bool, float]:
            left = self._left(alert, moment)
            return left is None, left or 0.0

        return sorted((a for a in self._alerts.values() if kind in (None, a.kind)), key=order)

    def left(self, alert: Alert) -> float | None:
        """Seconds until it is due; None while that is unknown."""
        return self._left(alert, self.time.moment())

    def moment_of(self, alert: Alert) -> datetime.datetime | None:
        """The local time at which it is due; None while that is unknown."""
        moment = self.time.moment()
        left = self._left(alert, moment)
        if left is None or moment.created is None:
            return None
        return self.time.at(moment.created + left)

    def count_down(self, kind: Kind, seconds: float, name: str = "") -> Alert:
        moment = self.time.moment()
        due = None if moment.created is None else moment.created + seconds
        return self._add(
            Alert(
                self._next_id,
                kind,
                name,
                round(seconds),
                moment.boot_id,
                moment.monotonic + seconds,
                due,
            )
        )

    def at_time(
        self,
        kind: Kind,
        time: TimeOfDay,
        name: str = "",
        date: datetime.date | None = None,
        days: Sequence[int] = (),
    ) -> Alert | None:
        """An alert at a time of day: once, or on days of the week. None where it is over."""
        now = self.time.now()
        due = None
        if now and not days:
            due = _once(now, time, date)
            if due is None:
                return None
        return self._add(
            Alert(
                self._next_id,
                kind,
                name,
                due=due,
                time=f"{time.hour:02d}:{time.minute:02d}",
                twelve_hour=time.ambiguous,
                days=tuple(days),
                anchor=now.timestamp() if now and days else None,
            )
        )

    def remove(self, alert: Alert) -> None:
        if self._alerts.pop(alert.id, None):
            self._keep.remove(alert.id)
            self.on_change()

    def change(self, alert: Alert, seconds: float) -> Alert | None:
        """Lengthen a countdown, or shorten it; None where less than that is left."""
        left = self.left(alert)
        if left is None or left + seconds <= 0:
            return None
        due = None if alert.due is None else alert.due + seconds
        return self._put(replace(alert, due_boot=alert.due_boot + seconds, due=due))

    def next_in(self) -> float | None:
        """Seconds until something is due; None where nothing is that is known of."""
        moment = self.time.moment()
        followed = [self._follow_clock(alert, moment) for alert in list(self._alerts.values())]
        lefts = [self._left(alert, moment) for alert in followed]
        return min((left for left in lefts if left is not None), default=None)

    def due(self) -> list[Due]:
        """Take what is due now; what is repeated stays for its next time."""
        moment = self.time.moment()
        found = []
        for alert in list(self._alerts.values()):
            alert = self._follow_clock(alert, moment)
            left = self._left(alert, moment)
            if left is None or left > 0:
                continue
            lost = alert.seconds is not None and self._is_lost(alert, moment)
            late = 0.0 if lost else -left
            found.append(Due(alert, late, lost, late > LATEST[alert.kind]))
            if alert.days:
                self._put(replace(alert, anchor=moment.created))
            else:
                self.remove(alert)
        return found

    def rang(self, alert: Alert) -> None:
        """Remember what rang last, for "snooze"."""
        self.last_rung, self._rung_at = alert, self.time.moment().monotonic

    def since_rung(self) -> float:
        """Seconds since something rang last."""
        return self.time.moment().monotonic - self._rung_at

    # Behind it.

    def _add(self, alert: Alert) -> Alert:
        self._next_id += 1
        return self._put(alert)

    def _put(self, alert: Alert) -> Alert:
        self._alerts[alert.id] = alert
        self._keep.put(alert)
        self.on_change()
        return alert

    def _left(self, alert: Alert, moment: Moment) -> float | None:
        if alert.seconds is not None and alert.boot_id == moment.boot_id:
            return alert.due_boot - moment.monotonic
        if alert.seconds is not None and self._is_lost(alert, moment):
            return 0.0
        if moment.created is None:
            return None
        if alert.days:
            due = self._next_repeated(alert, moment.created)
            return None if due is None else due - moment.created
        due = alert.due
        if due is None:  # it was set before the clock was trusted
            due = _once(self.time.at(moment.created), _time_of(alert), None)
        return None if due is None else due - moment.created

    @staticmethod
    def _is_lost(alert: Alert, moment: Moment) -> bool:
        """Whether the device was off for a time that nobody knows."""
        return alert.boot_id != moment.boot_id and alert.due is None

    def _follow_clock(self, alert: Alert, moment: Moment) -> Alert:
        """Note the wall time of what runs on another one, once it is known or was corrected."""
        if moment.created is None:
            return alert
        if alert.seconds is not None and alert.boot_id == moment.boot_id:
            due = moment.created + alert.due_boot - moment.monotonic
            if alert.due is None or abs(alert.due - due) > DRIFT:
                return self._put(replace(alert, due=due))
        elif alert.days:
            anchor = alert.anchor
            if anchor is None or anchor > moment.created + SET_BACK:
                return self._put(replace(alert, anchor=moment.created))
        elif alert.seconds is None and alert.due is None:
            due_once = _once(self.time.at(moment.created), _time_of(alert), None)
            return self._put(replace(alert, due=due_once))
        return alert

    def _next_repeated(self, alert: Alert, now: float) -> float | None:
        anchor = now if alert.anchor is None else alert.anchor
        if anchor > now + SET_BACK:
            anchor = now
        after = self.time.at(anchor)
        for ahead in range(9):
            day = after.date() + datetime.timedelta(days=ahead)
            if day.weekday() not in alert.days:
                continue
            for time in _time_of(alert).choices():
                due = _timestamp(day, time, after.tzinfo)
                if due > anchor:
                    return due
        return None


def _time_of(alert: Alert) -> TimeOfDay:
    hour, minute = alert.time.split(":")
    return TimeOfDay(int(hour), int(minute), alert.twelve_hour)


def _once(now: datetime.datetime, time: TimeOfDay, date: datetime.date | None) -> float | None:
    """When the time comes next, or on the date; None where that is over."""
    today = now.date()
    days = [date] if date else [today, today + datetime.timedelta(days=1)]
    moments = [_timestamp(day, one, now.tzinfo) for day in days for one in time.choices()]
    return min((m for m in moments if m > now.timestamp()), default=None)


def _timestamp(day: datetime.date, time: datetime.time, zone: datetime.tzinfo | None) -> float:
    return datetime.datetime.combine(day, time, zone).timestamp()
