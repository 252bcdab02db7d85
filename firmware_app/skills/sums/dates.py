"""How far dates are apart."""

import calendar
import datetime
from typing import Literal

Span = Literal["days", "weeks", "months", "years"]


def apart(first: datetime.date, last: datetime.date, unit: Span) -> tuple[int, int]:
    """Whole units between two dates, in whatever order, and the days that remain."""
    first, last = sorted((first, last))
    days = (last - first).days
    if unit == "days":
        return days, 0
    if unit == "weeks":
        return divmod(days, 7)
    months = (last.year - first.year) * 12 + last.month - first.month
    if _later(first, months) > last:
        months -= 1
    if unit == "months":
        return months, (last - _later(first, months)).days
    years = months // 12
    return years, (last - _later(first, years * 12)).days


def _later(date: datetime.date, months: int) -> datetime.date:
    """So many months later; the last day of a month that is too short."""
    year, month = divmod(date.year * 12 + date.month - 1 + months, 12)
    day = min(date.day, calendar.monthrange(year, month + 1)[1])
    return datetime.date(year, month + 1, day)
