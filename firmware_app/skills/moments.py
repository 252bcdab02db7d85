"""Durations, times of day and dates, as people name them, and when they are.

A time of day is "HH:MM" once it is known which half of the day is meant; a date is ISO 8601.
"""

import datetime
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Half = Literal["am", "pm", ""]

MONDAY_TO_SUNDAY = tuple(range(7))
LONGEST_SECONDS = 366 * 24 * 3600
MORNING = range(4, 12)  # hours at which people are woken, and what is daily begins
EVENING_FROM = 6  # "7 at night" is 19:00, "2 at night" is 02:00


@dataclass(frozen=True, slots=True)
class TimeOfDay:
    """hour: 0 to 23 where the half is known, else 1 to 12 and either half may be meant.

    bare: whether an hour above twelve was said alone: the "20" that is left of "8:20".
    """

    hour: int
    minute: int
    ambiguous: bool
    bare: bool = False

    def choices(self) -> tuple[datetime.time, ...]:
        if not self.ambiguous:
            return (datetime.time(self.hour, self.minute),)
        hour = self.hour % 12
        return (datetime.time(hour, self.minute), datetime.time(hour + 12, self.minute))


@dataclass(frozen=True, slots=True)
class Day:
    """A date, and the half of the day that was named with it: tomorrow morning."""

    date: datetime.date
    half: Half = ""


def seconds(values: Mapping[str, Any]) -> int | None:
    """Of a duration in weeks, days, hours, minutes and seconds; None for a senseless one."""
    sizes = {"weeks": 604_800, "days": 86_400, "hours": 3600, "minutes": 60, "seconds": 1}
    total = sum(float(values.get(unit, 0)) * size for unit, size in sizes.items())
    whole = round(total)
    return whole if 0 < whole <= LONGEST_SECONDS and abs(whole - total) < 0.01 else None


def time_of_day(values: Mapping[str, Any]) -> TimeOfDay | None:
    """Of what was said of a clock; None where no clock shows it."""
    certain = False
    if "clock" in values:
        hour, minute = values["clock"]
    else:
        spoken_hour = float(values["hour"])
        spoken_minute = float(values.get("minute", 0))
        if not (spoken_hour.is_integer() and spoken_minute.is_integer()):
            return None
        hour, minute = int(spoken_hour), int(spoken_minute)
    if values.get("before"):
        minute = -minute
    if not (0 <= hour <= 24 and -59 <= minute <= 59):
        return None
    if minute < 0:
        hour, minute = hour - 1, minute + 60
        if hour <= 0:
            hour += 12
    half = values.get("half", "")
    if half == "night":
        half = "pm" if EVENING_FROM <= hour < 12 else "am"
    if hour > 12 or hour == 0:
        certain = True
        hour %= 24
    elif half:
        certain = True
        hour = hour % 12 + (12 if half == "pm" else 0)
    bare = hour > 12 and not half and not values.keys() & {"clock", "minute"}
    return TimeOfDay(hour, minute, not certain, bare)


def once_a_day(time: TimeOfDay) -> TimeOfDay:
    """Where either half is meant: the morning from four o'clock on, else the afternoon."""
    chosen = time.choices()[time.ambiguous and time.hour not in MORNING]
    return TimeOfDay(chosen.hour, chosen.minute, ambiguous=False)


def date(values: Mapping[str, Any], today: datetime.date) -> datetime.date | None:
    """Of what was said of a calendar; the next such day, today at the earliest, where no year is.

    None where the calendar has no such day.
    """
    try:
        return _date(values, today)
    except (ValueError, OverflowError):
        return None


def _date(values: Mapping[str, Any], today: datetime.date) -> datetime.date | None:
    year = int(values["year"]) if "year" in values else None
    if "in_days" in values:
        return today + datetime.timedelta(days=_whole(values["in_days"]))
    if "days_ago" in values:
        return today - datetime.timedelta(days=_whole(values["days_ago"]))
    if "in_weeks" in values:
        return today + datetime.timedelta(weeks=_whole(values["in_weeks"]))
    if "weekday" in values:
        weeks = values.get("weeks")
        ahead = (values["weekday"] - today.weekday()) % 7
        if weeks == -1:
            return today + datetime.timedelta(days=ahead - 7)
        if weeks == 0:
            ahead = ahead or 7
        return today + datetime.timedelta(days=ahead, weeks=weeks or 0)
    if "holiday" in values:
        return _coming(lambda y: holiday(values["holiday"], y), today, year)
    if "month" in values:
        month, day = values["month"], _whole(values["day"])
        if (month, day) == (2, 29) and year is None:
            return next(
                found
                for y in range(today.year, today.year + 9)
                if y % 4 == 0 and (y % 100 or y % 400 == 0)
                for found in [datetime.date(y, 2, 29)]
                if found >= today
            )
        return _coming(lambda y: datetime.date(y, month, day), today, year)
    return _day_of_month(_whole(values["day"]), today)


def _coming(
    in_year: Callable[[int], datetime.date], today: datetime.date, year: int | None
) -> datetime.date:
    found = in_year(year or today.year)
    return found if year is not None or found >= today else in_year(today.year + 1)


def _day_of_month(day: int, today: datetime.date) -> datetime.date:
    if not 1 <= day <= 31:
        raise ValueError(day)
    first = today.replace(day=1)
    while True:
        try:
            found = first.replace(day=day)
        except ValueError:  # a short month
            found = today - datetime.timedelta(days=1)
        if found >= today:
            return found
        first = (first + datetime.timedelta(days=32)).replace(day=1)


def _whole(number: float) -> int:
    if not float(number).is_integer():
        raise ValueError(number)
    return int(number)


def holiday(name: str, year: int) -> datetime.date:
    """Of a name in the language file: MM-DD, or one that moves, as the United States keep it."""
    moving = {
        "thanksgiving": lambda: _nth(year, 11, 3, 4),
        "mothers": lambda: _nth(year, 5, 6, 2),
        "fathers": lambda: _nth(year, 6, 6, 3),
        "labor": lambda: _nth(year, 9, 0, 1),
        "memorial": lambda: _last(year, 5, 0),
        "easter": lambda: easter(year),
        "good friday": lambda: easter(year) - datetime.timedelta(days=2),
        "easter monday": lambda: easter(year) + datetime.timedelta(days=1),
    }
    if name in moving:
        return moving[name]()
    month, day = name.split("-")
    return datetime.date(year, int(month), int(day))


def easter(year: int) -> datetime.date:
    """Western Easter, by the anonymous Gregorian algorithm (Meeus, Astronomical Algorithms, 8)."""
    a, (b, c) = year % 19, divmod(year, 100)
    d, e = divmod(b, 4)
    g = (8 * b + 13) // 25
    h = (19 * a + b - d - g + 15) % 30
    i, k = divmod(c, 4)
    m = (32 + 2 * e + 2 * i - h - k) % 7
    n = (a + 11 * h + 22 * m) // 451
    month, day = divmod(h + m - 7 * n + 114, 31)
    return datetime.date(year, month, day + 1)


def _nth(year: int, month: int, weekday: int, count: int) -> datetime.date:
    first = datetime.date(year, month, 1)
    return first + datetime.timedelta(days=(weekday - first.weekday()) % 7 + 7 * (count - 1))


def _last(year: int, month: int, weekday: int) -> datetime.date:
    end = (datetime.date(year, month, 28) + datetime.timedelta(days=4)).replace(day=1)
    end -= datetime.timedelta(days=1)
    return end - datetime.timedelta(days=(end.weekday() - weekday) % 7)
