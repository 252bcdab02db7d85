"""The skill that tells the time and the date."""

import datetime
from collections.abc import Mapping, Sequence
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from firmware_app.skills import (
    Arguments,
    Call,
    SkillError,
    SkillTool,
    ToolResult,
    parameters,
)
from firmware_app.skills.language import Language
from firmware_app.skills.local_time import LocalTime
from firmware_app.skills.moments import TimeOfDay

DATE = {"type": "string", "format": "date", "description": "YYYY-MM-DD"}


class ClockSkill:
    name = "clock"
    tools: Sequence[SkillTool] = (
        SkillTool(
            "time",
            "Tells the time now, here or in another time zone.",
            parameters(
                {
                    "zone": {"type": "string", "description": "IANA name, such as Asia/Tokyo"},
                    "city": {"type": "string", "description": "what is said for it"},
                    "place": {"type": "string", "description": "a place whose zone is not known"},
                }
            ),
        ),
        SkillTool("date", "Tells today's date and day of the week.", parameters()),
        SkillTool(
            "day_of", "Tells the day of the week of a date.", parameters({"date": DATE}, ["date"])
        ),
        SkillTool(
            "time_until",
            "Tells how long it is until a time of day.",
            parameters(
                {
                    "time": {"type": "string", "description": "HH:MM"},
                    "twelve_hour": {
                        "type": "boolean",
                        "description": "either half of the day is meant",
                    },
                    "date": DATE,
                },
                ["time"],
            ),
        ),
    )

    def __init__(self, language: Language, time: LocalTime) -> None:
        self._say = language.say
        self._words = language.skills[self.name].responses
        self._zones: Mapping[str, str] = language.skills[self.name].raw["cities"]
        language.add_list("city", {city: city for city in self._zones})
        self._time = time

    def heard(self, tool: str, arguments: Arguments) -> Call:
        if city := arguments.get("city"):
            return Call(tool, {"zone": self._zones[city], "city": city})
        return Call(tool, arguments)

    async def run(self, call: Call) -> ToolResult:
        if "place" in call.arguments:
            return ToolResult(
                self._words["unknown_place"].format(place=_name(call.arguments["place"]))
            )
        now = self._time.now()
        if not now:
            return ToolResult(self._words["untrusted"])
        match call.tool:
            case "time":
                return ToolResult(self._tell_time(now, call.arguments))
            case "date":
                return ToolResult(self._words["date"].format(date=self._say.date(now.date())))
            case "day_of":
                day = datetime.date.fromisoformat(call.arguments["date"])
                form = "day_of_past" if day < now.date() else "day_of_plain"
                said = self._say.date(day, now.date())
                return ToolResult(self._words[form].format(date=said))
            case _:
                return ToolResult(self._until(now, call.arguments))

    def _tell_time(self, now: datetime.datetime, arguments: Arguments) -> str:
        if not (name := arguments.get("zone")):
            return self._say.at_hour(self._words, "time", now.time()).format(
                time=self._say.clock(now.time())
            )
        place = _name(arguments.get("city") or name.rpartition("/")[2])
        try:
            there = now.astimezone(ZoneInfo(name))
        except (ZoneInfoNotFoundError, ValueError):
            return self._words["unknown_place"].format(place=place)
        form = "time_in" if there.date() == now.date() else "time_in_other_day"
        return self._say.at_hour(self._words, form, there.time()).format(
            time=self._say.clock(there.time()),
            place=place,
            day=self._say.day(there.date(), now.date()),
        )

    def _until(self, now: datetime.datetime, arguments: Arguments) -> str:
        moment = next_time(now, arguments)
        if not moment:
            raise SkillError("no-such-time", "There is no such time.", "Say another one.")
        left = (moment - now).total_seconds()
        return self._words["until"].format(
            left=self._say.roughly(max(60, left // 60 * 60)).capitalize(),
            moment=self._say.moment(moment, now),
        )


def next_time(now: datetime.datetime, arguments: Arguments) -> datetime.datetime | None:
    """When the time of day (and date) of the arguments is next; None where it is no time."""
    try:
        hour, minute = (int(part) for part in str(arguments["time"]).split(":")[:2])
        date = arguments.get("date")
        days = (
            [datetime.date.fromisoformat(date)]
            if date
            else [now.date() + datetime.timedelta(days=ahead) for ahead in (0, 1)]
        )
        times = TimeOfDay(hour, minute, bool(arguments.get("twelve_hour"))).choices()
    except (ValueError, TypeError):
        return None
    moments = [datetime.datetime.combine(day, time, now.tzinfo) for day in days for time in times]
    return min((m for m in moments if m.timestamp() > now.timestamp()), default=None)


def _name(place: str) -> str:
    return place.replace("_", " ").title() if place.islower() or "_" in place else place
