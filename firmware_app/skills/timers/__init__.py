"""The skill of timers, alarms and reminders."""

import datetime
from collections.abc import Sequence
from typing import Any

from firmware_app.skills import (
    Arguments,
    Asking,
    Call,
    Schema,
    SkillError,
    SkillTool,
    ToolResult,
    parameters,
)
from firmware_app.skills.clock import DATE
from firmware_app.skills.language import Language
from firmware_app.skills.likeness import names_alike
from firmware_app.skills.moments import LONGEST_SECONDS, TimeOfDay, once_a_day
from firmware_app.skills.timers.schedule import MOST, Alert, Due, Kind, Schedule
from firmware_app.skills.timers.store import Alerts

SNOOZE_SECONDS = 600
SNOOZE_WITHIN = 1800.0  # seconds after the ringing
SAME_NAME = 0.75  # likeness of a name and what it was called
LATE = 60.0  # seconds from which a ring says that it is late

_SECONDS: Schema = {"type": "integer", "minimum": 1, "maximum": LONGEST_SECONDS}
_NAME: Schema = {"type": "string", "maxLength": 80}
_WHEN: dict[str, Schema] = {
    "time": {"type": "string", "description": "HH:MM, 24 hours"},
    "twelve_hour": {"type": "boolean", "description": "either half of the day is meant"},
    "date": DATE,
    "days": {
        "type": "array",
        "items": {"type": "integer", "minimum": 0, "maximum": 6},
        "maxItems": 7,
        "description": "repeated on these days of the week; 0 is Monday",
    },
}
_KIND: Schema = {"type": "string", "enum": ["timer", "alarm", "reminder"]}
_WHICH: dict[str, Schema] = {"kind": _KIND, "name": _NAME, "seconds": _SECONDS, **_WHEN}


class TimersSkill:
    """alerts: where the schedule is kept; None where it is not."""

    name = "timers"
    tools: Sequence[SkillTool] = (
        SkillTool(
            "set_timer",
            "Starts a timer.",
            parameters({"seconds": _SECONDS, "name": _NAME}, ["seconds"]),
            changes=True,
        ),
        SkillTool(
            "set_alarm",
            "Sets an alarm for a time of day, once or repeated.",
            parameters({"name": _NAME, **_WHEN}, ["time"]),
            changes=True,
        ),
        SkillTool(
            "set_reminder",
            "Reminds of something in some seconds, or at a time of day.",
            parameters({"text": _NAME, "seconds": _SECONDS, **_WHEN}, ["text"]),
            changes=True,
        ),
        SkillTool("time_left", "Tells how much is left on a timer.", parameters({"name": _NAME})),
        SkillTool(
            "list_timers",
            "Lists timers, alarms or reminders.",
            parameters({"kind": _KIND, "date": DATE}),
        ),
        SkillTool(
            "cancel",
            "Cancels a timer, alarm or reminder, or all of them.",
            parameters({"all": {"type": "boolean"}, **_WHICH}),
            changes=True,
        ),
        SkillTool(
            "snooze",
            "Lets what has rung ring again later.",
            parameters({"seconds": _SECONDS}),
            changes=True,
        ),
        SkillTool(
            "change_timer",
            "Lengthens a running timer, or shortens it.",
            parameters(
                {"seconds": _SECONDS, "name": _NAME, "less": {"type": "boolean"}}, ["seconds"]
            ),
            changes=True,
        ),
    )

    def __init__(
        self, language: Language, schedule: Schedule, alerts: Alerts | None = None
    ) -> None:
        words = language.skills[self.name]
        self._words = words.responses
        self._answers: dict[str, tuple[str, ...]] = {
            name: tuple(templates) for name, templates in words.raw["answers"].items()
        }
        self._say = language.say
        self.schedule = schedule
        self._alerts = alerts

    def heard(self, tool: str, arguments: Arguments) -> Call | None:
        if arguments.get("only_known"):  # it does not say that it is about a timer
            known = self._called(self.schedule.alerts("timer"), arguments["name"])
            return Call(tool, {"name": arguments["name"]}) if known else None
        if "minutes" in arguments:
            seconds = round(arguments["minutes"] * 60)
            arguments = {k: v for k, v in arguments.items() if k != "minutes"}
            return Call(tool, {**arguments, "seconds": seconds})
        return Call(tool, arguments)

    async def run(self, call: Call) -> ToolResult:
        arguments = call.arguments
        match call.tool:
            case "set_timer":
                return await self._set_timer(arguments)
            case "set_alarm":
                return await self._set_alarm(arguments)
            case "set_reminder":
                return await self._set_reminder(arguments)
            case "time_left":
                return self._time_left(arguments)
            case "list_timers":
                return ToolResult(self._list(arguments))
            case "cancel":
                return self._cancel(arguments)
            case "snooze":
                return await self._snooze(arguments)
            case _:
                return await self._change(arguments)

    # What is set.

    async def _set_timer(self, arguments: Arguments) -> ToolResult:
        if "seconds" not in arguments:
            return self._ask("how_long", Call("set_timer", arguments))
        seconds, name = arguments["seconds"], arguments.get("name", "")
        if not 0 < seconds <= LONGEST_SECONDS:
            return ToolResult(self._words["too_long"])
        self._room_for_one()
        self.schedule.count_down("timer", seconds, name)
        form = "named_timer_set" if name else "timer_set"
        said = self._words[form].format(duration=self._say.duration(seconds), name=name)
        return ToolResult(said + await self._unkept())

    async def _set_alarm(self, arguments: Arguments) -> ToolResult:
        if "seconds" in arguments:  # "in ten minutes", said when asked for the time
            return await self._set_timer(arguments)
        if "time" not in arguments:
            return self._ask("what_time", Call("set_alarm", arguments))
        alert = self._at_time("alarm", arguments.get("name", ""), arguments)
        if not alert:
            return ToolResult(self._words["past"])
        return ToolResult(
            self._when(alert, "alarm_set", "alarm_repeated", "alarm_waiting", "")
            + await self._unkept()
        )

    async def _set_reminder(self, arguments: Arguments) -> ToolResult:
        if not arguments.get("text"):
            return self._ask("remind_what", Call("set_reminder", arguments))
        text = arguments["text"]
        if "seconds" in arguments:
            self._room_for_one()
            self.schedule.count_down("reminder", arguments["seconds"], text)
            said = self._words["reminder_in"].format(
                duration=self._say.duration(arguments["seconds"]), text=text
            )
            return ToolResult(said + await self._unkept())
        if "time" not in arguments:
            question = "remind_what_time" if "date" in arguments else "remind_when"
            return self._ask(question, Call("set_reminder", arguments))
        alert = self._at_time("reminder", text, arguments)
        if not alert:
            return ToolResult(self._words["past"])
        said = self._when(alert, "reminder_set", "reminder_repeated", "reminder_waiting", text)
        return ToolResult(said + await self._unkept())

    def _at_time(self, kind: Kind, name: str, arguments: Arguments) -> Alert | None:
        self._room_for_one()
        date = arguments.get("date")
        if date and not self.schedule.time.now():
            raise SkillError(
                "time-unknown",
                "I do not know today's date yet.",
                "Wait until this device has reached a time server.",
            )
        days = arguments.get("days", ())
        time = _time_of(arguments)
        return self.schedule.at_time(
            kind,
            once_a_day(time) if days else time,
            name,
            _date_of(date) if date else None,
            days,
        )

    def _when(self, alert: Alert, once: str, repeated: str, waiting: str, text: str) -> str:
        moment, now = self.schedule.moment_of(alert), self.schedule.time.now()
        values = {"text": text, "time": self._clock(alert)}
        if not moment or not now:
            return self._words[waiting].format(**values)
        values["moment"] = self._say.moment(moment, now)
        if alert.days:
            values["time"] = self._say.time(moment.time())
            return self._words[repeated].format(days=self._say.days(alert.days), **values)
        return self._words[once].format(**values)

    async def _unkept(self) -> str:
        kept = self._alerts is not None and await self._alerts.written()
        return "" if kept else f" {self._words['unkept']}"

    def _room_for_one(self) -> None:
        if len(self.schedule.alerts()) >= MOST:
            raise SkillError(
                "too-many-timers",
                f"There are {MOST} timers, alarms and reminders already.",
                "Cancel some of them first.",
            )

    # What is there.

    def _time_left(self, arguments: Arguments) -> ToolResult:
        running = self.schedule.alerts("timer")
        if name := arguments.get("name"):
            running = self._called(running, name)
            if not running:
                return ToolResult(self._words["no_such_timer"])
        if not running:
            return ToolResult(self._words["none_timer"])
        if len(running) == 1 and not running[0].name:
            return ToolResult(self._left(running[0], "left"))
        return ToolResult(" ".join(self._left(alert, "left_on") for alert in running))

    def _left(self, alert: Alert, form: str) -> str:
        left = self.schedule.left(alert)
        if left is None:
            return self._words["left_waiting"].format(name=self._name(alert))
        duration = self._say.roughly(max(1.0, left))
        return self._words[form].format(left=duration, name=self._name(alert))

    def _list(self, arguments: Arguments) -> str:
        kind: Kind | None = arguments.get("kind")
        alerts = self.schedule.alerts(kind)
        if day := arguments.get("date"):
            alerts = [a for a in alerts if self._is_on(a, _date_of(day))]
        if not alerts:
            return self._words[f"none_{kind or 'any'}"]
        kinds: list[Kind] = ["timer", "alarm", "reminder"]
        parts = []
        for one in kinds:
            of_kind = [alert for alert in alerts if alert.kind == one]
            if of_kind:
                form = f"one_{one}" if len(of_kind) == 1 else f"many_{one}s"
                items = self._say.all_of([self._item(alert) for alert in of_kind])
                parts.append(self._words[form].format(count=len(of_kind), list=items))
        return " ".join(parts)

    def _item(self, alert: Alert) -> str:
        moment, now = self.schedule.moment_of(alert), self.schedule.time.now()
        left = self.schedule.left(alert)
        name = self._name(alert)
        if alert.kind == "timer" and left is not None:
            return self._words["item_timer"].format(name=name, left=self._say.roughly(left))
        if not moment or not now:
            waiting = self._words["item_waiting" if alert.name else "item_waiting_unnamed"]
            return waiting.format(name=alert.name, time=self._clock(alert))
        when = self._say.moment(moment, now)
        if alert.days:
            when = f"{self._say.time(moment.time())}, {self._say.days(alert.days)}"
        form = "item_reminder" if alert.kind == "reminder" else "item_alarm"
        if form == "item_alarm" and alert.name:
            form = "item_alarm_named"
        return self._words[form].format(name=alert.name, moment=when)

    # What is changed.

    def _cancel(self, arguments: Arguments) -> ToolResult:
        kind: Kind | None = arguments.get("kind")
        alerts = self.schedule.alerts(kind)
        if not alerts:
            return ToolResult(self._words[f"none_{kind or 'any'}"])
        if arguments.get("all"):
            for alert in alerts:
                self.schedule.remove(alert)
            return ToolResult(self._words["cancelled_all"])
        wanted = self._wanted(alerts, arguments)
        if not wanted:
            return ToolResult(self._words[f"no_such_{kind or 'timer'}"])
        if len(wanted) > 1:
            return self._ask_which(wanted, {"kind": kind} if kind else {})
        name = self._name(wanted[0])
        self.schedule.remove(wanted[0])
        return ToolResult(_capital(self._words["cancelled"].format(name=name)))

    def _ask_which(self, alerts: list[Alert], only: Arguments) -> ToolResult:
        names = [self._name(alert) for alert in alerts]
        if len(set(names)) < len(names):
            names = [self._full_name(alert) for alert in alerts]
        everything = Call("cancel", {**only, "all": True})
        return ToolResult(
            self._words["which"].format(list=self._say.all_of(names)),
            Asking(
                Call("cancel", only),
                answers=self._answers["which"],
                others={
                    **dict.fromkeys(self._answers["which_all"], everything),
                    **{
                        place: Call("cancel", {**only, "number": alert.id})
                        for place, alert in zip(("first", "second"), alerts, strict=False)
                    },
                },
                yes_is_one=False,
            ),
        )

    def _wanted(self, alerts: list[Alert], arguments: Arguments) -> list[Alert]:
        if "number" in arguments:
            return [alert for alert in alerts if alert.id == arguments["number"]]
        if name := arguments.get("name"):
            alerts = self._called(alerts, name)
        if "seconds" in arguments:
            alerts = [alert for alert in alerts if alert.seconds == arguments["seconds"]]
        if "time" in arguments:
            times = {f"{time:%H:%M}" for time in _time_of(arguments).choices()}
            alerts = [alert for alert in alerts if self._rings_at(alert) & times]
        if "date" in arguments:
            day = _date_of(arguments["date"])
            alerts = [alert for alert in alerts if self._is_on(alert, day)]
        return alerts

    async def _snooze(self, arguments: Arguments) -> ToolResult:
        alert = self.schedule.last_rung
        if not alert or self.schedule.since_rung() > SNOOZE_WITHIN:
            return ToolResult(self._words["nothing_rings"])
        seconds = arguments.get("seconds", SNOOZE_SECONDS)
        self._room_for_one()
        self.schedule.count_down(alert.kind, seconds, alert.name)
        said = self._words["snoozed"].format(duration=self._say.duration(seconds))
        return ToolResult(said + await self._unkept())

    async def _change(self, arguments: Arguments) -> ToolResult:
        running = self.schedule.alerts("timer")
        if name := arguments.get("name"):
            running = self._called(running, name)
        if not running:
            return ToolResult(self._words["no_such_timer" if name else "none_timer"])
        seconds = arguments["seconds"] * (-1 if arguments.get("less") else 1)
        changed = self.schedule.change(running[0], seconds)
        if not changed:
            return ToolResult(self._words["ends_now"])
        left = self._say.roughly(self.schedule.left(changed) or 1.0)
        said = self._words["changed"].format(left=left)
        return ToolResult(said + await self._unkept())

    # What is said when it rings.

    def ring_name(self, due: Due) -> str:
        """What rings, as the page shows it."""
        return _capital(self._name(due.alert))

    def ring_text(self, due: Due) -> str:
        """What rings, as it is said."""
        alert, now = due.alert, self.schedule.time.now()
        form = f"rings_{alert.kind}"
        if alert.name and alert.kind != "reminder":
            form += "_named"
        time = self._say.clock(now.time()) if now else ""
        duration = self._say.duration(alert.seconds) if alert.seconds else ""
        if alert.kind == "alarm" and not now:
            said = _capital(self._name(alert))
        else:
            at = now.time() if now else datetime.time()
            said = self._say.at_hour(self._words, form, at).format(
                name=_capital(alert.name) if form == "rings_alarm_named" else alert.name,
                time=time,
                duration=duration,
            )
        if due.lost:
            said += f" {self._words['rings_lost']}"
        elif due.late > LATE and now:
            then = now - datetime.timedelta(seconds=due.late)
            said += f" {self._words['rings_late'].format(moment=self._say.moment(then, now))}"
        return _capital(said)

    # Behind it.

    def _ask(self, question: str, call: Call) -> ToolResult:
        return ToolResult(
            self._words[question], Asking(call, answers=self._answers[question], yes_is_one=False)
        )

    def _name(self, alert: Alert) -> str:
        """The pasta timer; the 10 minutes timer; the alarm for tomorrow at 7:00 AM."""
        if alert.name:
            form = "reminder_name" if alert.kind == "reminder" else f"{alert.kind}_named"
            return self._words[form].format(name=alert.name)
        if alert.seconds is not None and alert.kind == "timer":
            return self._words["timer_name"].format(duration=self._say.duration(alert.seconds))
        moment, now = self.schedule.moment_of(alert), self.schedule.time.now()
        said = self._say.moment(moment, now) if moment and now else self._clock(alert)
        return self._words["alarm_name"].format(moment=said)

    def _full_name(self, alert: Alert) -> str:
        """With what tells it from another one of the same name."""
        if alert.kind != "timer" or not alert.name or alert.seconds is None:
            return self._item(alert)
        duration = self._say.duration(alert.seconds)
        return self._words["timer_named_of"].format(name=alert.name, duration=duration)

    def _clock(self, alert: Alert) -> str:
        return alert.time.lstrip("0") if alert.twelve_hour else alert.time

    def _rings_at(self, alert: Alert) -> set[str]:
        moment = self.schedule.moment_of(alert)
        return {f"{moment:%H:%M}"} if moment else {alert.time}

    def _is_on(self, alert: Alert, day: datetime.date) -> bool:
        moment = self.schedule.moment_of(alert)
        return bool(moment and (moment.date() == day or day.weekday() in alert.days))

    @staticmethod
    def _called(alerts: list[Alert], name: str) -> list[Alert]:
        likeness = {alert.id: names_alike(alert.name, name) for alert in alerts if alert.name}
        best = max(likeness.values(), default=0.0)
        return [a for a in alerts if likeness.get(a.id, 0.0) >= max(SAME_NAME, best)]


def _time_of(arguments: Arguments) -> TimeOfDay:
    try:
        hour, minute = (int(part) for part in str(arguments["time"]).split(":")[:2])
        datetime.time(hour, minute)
    except ValueError:
        raise SkillError("no-such-time", "There is no such time.", "Say another one.") from None
    return TimeOfDay(hour, minute, bool(arguments.get("twelve_hour")))


def _date_of(text: Any) -> datetime.date:  # noqa: ANN401 - of JSON
    try:
        return datetime.date.fromisoformat(str(text))
    except ValueError:
        raise SkillError("no-such-date", "There is no such date.", "Say another one.") from None


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
