"""Says durations, times and dates in a language's own manner; numbers stay digits for the voice."""

import contextlib
import datetime
from collections.abc import Mapping, Sequence
from typing import Any

_SWAPPED = str.maketrans(".,", ",.")


class Saying:
    """words: of the language's file, its part `say` and the names of days and months."""

    def __init__(self, words: Mapping[str, Any]) -> None:
        self._say = words["say"]
        self._weekdays: Sequence[str] = words["weekday_names"]
        self._months: Sequence[str] = words["month_names"]
        self._decimal: str = words["numbers"]["decimal"]

    def duration(self, seconds: float) -> str:
        """The two or three parts that there are: 1 hour and 5 minutes."""
        rest = round(seconds)
        parts = []
        for unit, size in (("day", 86_400), ("hour", 3600), ("minute", 60), ("second", 1)):
            count, rest = divmod(rest, size)
            if count:
                parts.append(self.count(count, unit))
        return self.all_of(parts) or self.count(0, "second")

    def roughly(self, seconds: float) -> str:
        """Without seconds where hours are left, without minutes where days are."""
        if seconds >= 2 * 86_400:
            return self.duration(seconds // 3600 * 3600)
        return self.duration(seconds // 60 * 60 if seconds >= 3600 else seconds)

    def count(self, number: float, unit: str) -> str:
        one, many = self._say["units"][unit]
        return f"{number:g} {one if number == 1 else many}"

    def digits(self, number: str) -> str:
        """1,234.5 as this language writes it."""
        return number.translate(_SWAPPED) if self._decimal == "," else number

    def time(self, time: datetime.time) -> str:
        if (time.hour, time.minute) in ((12, 0), (0, 0)):
            return str(self._say["noon" if time.hour else "midnight"])
        return self.clock(time)

    def clock(self, time: datetime.time) -> str:
        begun = [half for hour, half in self._say["halves"].items() if hour <= time.hour]
        return self.at_hour(self._say, "time", time).format(
            hour=(time.hour - 1) % 12 + 1, minute=time.minute, half=begun[-1]
        )

    def when(self, arguments: Mapping[str, Any], today: datetime.date) -> str:
        """When a tool's arguments mean: a duration, or a time of day with its date or days."""
        if seconds := arguments.get("seconds"):
            return self.duration(seconds)
        said = str(arguments.get("time", ""))
        parts = [said.removeprefix("0")]
        with contextlib.suppress(ValueError):  # a model may write anything
            if not arguments.get("twelve_hour"):
                parts = [self.time(datetime.time.fromisoformat(said))]
            if date := arguments.get("date"):
                parts.append(self.day(datetime.date.fromisoformat(str(date)), today))
        if days := arguments.get("days"):
            parts.append(self.days(days))
        return str(self._say["comma"]).join(part for part in parts if part)

    @staticmethod
    def at_hour(forms: Mapping[str, Any], form: str, time: datetime.time) -> str:
        """The form for this time: some languages count one o'clock as one, all others as many."""
        at_one = forms.get(f"{form}_at_one") if time.hour % 12 == 1 else None
        return str(at_one or forms[form])

    def date(self, date: datetime.date, today: datetime.date | None = None) -> str:
        """With its year, unless that is this one."""
        this_year = today is not None and date.year == today.year
        return str(
            self._say["date" if this_year else "date_and_year"].format(
                weekday=self.weekday(date.weekday()),
                month=self._months[date.month - 1],
                day=date.day,
                year=date.year,
            )
        )

    def day(self, date: datetime.date, today: datetime.date) -> str:
        """When: today and tomorrow by that name, a day of the coming week by its own."""
        ahead = (date - today).days
        if ahead in (-1, 0, 1):
            return str(self._say[("yesterday", "today", "tomorrow")[ahead + 1]])
        named = self.weekday(date.weekday()) if 0 < ahead < 7 else self.date(date, today)
        return str(self._say["on"].format(date=named))

    def moment(self, moment: datetime.datetime, now: datetime.datetime) -> str:
        return str(
            self._say["at"].format(
                day=self.day(moment.date(), now.date()), time=self.time(moment.time())
            )
        )

    def days(self, days: Sequence[int]) -> str:
        """Every day, every weekday, every Monday and Friday."""
        known = {tuple(range(7)): "every_day", tuple(range(5)): "weekdays", (5, 6): "weekends"}
        if name := known.get(tuple(days)):
            return str(self._say[name])
        named = self.all_of([self.weekday(day) for day in days])
        return str(self._say["every"].format(days=named))

    def weekday(self, day: int) -> str:
        return self._weekdays[day]

    def all_of(self, parts: Sequence[str]) -> str:
        if len(parts) < 2:
            return "".join(parts)
        return str(self._say["comma"].join(parts[:-1]) + self._say["joint"] + parts[-1])

    def either(self, one: str, other: str) -> str:
        return str(self._say["or"].format(one=one, other=other))
