"""The skill that calculates, converts units, and counts the days between dates."""

import asyncio
import datetime
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from firmware_app.skills import Arguments, Call, SkillError, SkillTool, ToolResult, parameters
from firmware_app.skills.clock import DATE
from firmware_app.skills.language import Language
from firmware_app.skills.local_time import LocalTime
from firmware_app.skills.sums.arithmetic import LONGEST, Number, evaluate
from firmware_app.skills.sums.dates import apart
from firmware_app.skills.sums.reading import SumReader
from firmware_app.skills.sums.units import convert, registry

EXACT_DECIMALS = 6  # a number with no more than these is said as it is
ABOUT_DECIMALS, ABOUT_DIGITS = 2, 4  # else so many, or so many that count
MOST_DECIMALS = 12
LARGEST_SPOKEN = 10**15

_SAID = {"no-division": "no_division", "too-large": "too_large", "no-real": "no_real"}


class SumsSkill:
    name = "sums"

    def __init__(self, language: Language, time: LocalTime) -> None:
        words = language.skills[self.name]
        self._words: Mapping[str, Any] = words.responses
        self._say = language.say
        self._time = time
        self._unit_names: Mapping[str, Sequence[str]] = words.raw["unit_names"]
        self._units: Mapping[str, str] = words.raw["lists"]["unit"]
        language.add_reader(
            "expression", SumReader(words.raw["operators"], language.numbers).slot()
        )
        unit = {"type": "string", "description": "a unit in the singular, such as mile or cup"}
        self.tools: Sequence[SkillTool] = (
            SkillTool(
                "calculate",
                "Works out a sum exactly.",
                parameters(
                    {
                        "expression": {
                            "type": "string",
                            "maxLength": LONGEST,
                            "description": "numbers, + - * / ** ( ), sqrt(), cbrt(), factorial()",
                        },
                        "percent": {"type": "boolean", "description": "the result is a percentage"},
                    },
                    ["expression"],
                ),
            ),
            SkillTool(
                "convert",
                "Converts an amount into another unit.",
                parameters(
                    {"amount": {"type": "number"}, "from": unit, "to": unit},
                    ["amount", "from", "to"],
                ),
            ),
            SkillTool(
                "days_between",
                "Counts the time between two dates; from today, where `from` is left out.",
                parameters(
                    {
                        "from": DATE,
                        "to": DATE,
                        "unit": {"type": "string", "enum": ["days", "weeks", "months", "years"]},
                    }
                ),
            ),
        )

    async def warm_up(self) -> None:
        await asyncio.to_thread(registry)

    def heard(self, tool: str, arguments: Arguments) -> Call:
        """Bring the ways of asking for the same into one."""
        a = arguments
        match tool:
            case "calculate" if "part" in a:
                return Call(
                    tool,
                    {"expression": f"({a['part']}) / ({a['whole']}) * 100", "percent": True},
                )
            case "calculate" if "percent" in a:
                return Call(tool, {"expression": f"({a['percent']}/100) * ({a['of']})"})
            case "calculate" if "more" in a:
                return Call(tool, {"expression": f"({a['of']}) * (100 + ({a['more']})) / 100"})
            case "calculate" if "less" in a:
                return Call(tool, {"expression": f"({a['of']}) * (100 - ({a['less']})) / 100"})
            case "convert" if "feet" in a:
                inches = a["feet"] * 12 + a["inches"]
                return Call(tool, {"amount": inches, "from": "inch", "to": a["to"]})
            case "convert" if a.get("half"):
                amount = a["amount"] + 0.5
                return Call(tool, {"amount": amount, "from": a["from"], "to": a["to"]})
            case "days_between" if a.get("past"):
                return Call(tool, {**_without(a, "past"), "from": self._last(a["from"])})
            case "days_between" if "from" in a and "to" in a:
                return Call(tool, {**a, "to": self._after(a["from"], a["to"])})
        return Call(tool, a)

    def _after(self, first: str, last: str) -> str:
        """From January to December: of the same year, though December comes before January."""
        one, other = datetime.date.fromisoformat(first), datetime.date.fromisoformat(last)
        today = self._time.guess().date()
        if today <= other < one <= today + datetime.timedelta(days=366):
            other = other.replace(
                year=other.year + 1, day=min(other.day, 28 if other.month == 2 else 31)
            )
        return other.isoformat()

    def _last(self, date: str) -> str:
        """The date is meant as one that is over: last year's, where it has not come yet."""
        found, today = datetime.date.fromisoformat(date), self._time.guess().date()
        if found > today:
            day = 28 if (found.month, found.day) == (2, 29) else found.day
            found = found.replace(year=found.year - 1, day=day)
        return found.isoformat()

    async def run(self, call: Call) -> ToolResult:
        match call.tool:
            case "calculate":
                return ToolResult(self._calculate(call.arguments))
            case "convert":
                return ToolResult(await asyncio.to_thread(self._convert, call.arguments))
            case _:
                return ToolResult(self._days_between(call.arguments))

    def _calculate(self, arguments: Arguments) -> str:
        try:
            result = evaluate(arguments["expression"])
        except SkillError as error:
            if error.code in _SAID:
                return str(self._words[_SAID[error.code]])
            raise
        value, exact = self._number(result)
        if arguments.get("percent"):
            value = self._words["percent"].format(value=value).rstrip(".")
        return str(self._words["result" if exact else "about"].format(value=value))

    def _convert(self, arguments: Arguments) -> str:
        source, target = self._unit(arguments["from"]), self._unit(arguments["to"])
        amount = float(arguments["amount"])
        try:
            result, source, target = convert(amount, source, target)
        except SkillError:
            return str(
                self._words["not_alike"].format(
                    **{"from": self._called(source, 2).capitalize(), "to": self._called(target, 2)}
                )
            )
        value, exact = self._number(Fraction(f"{result:.12g}"))
        spoken_amount, _ = self._number(Fraction(repr(amount)))
        form = "converted" if amount == 1 else "converted_many"
        return str(
            self._words[form if exact else f"{form}_about"].format(
                amount=spoken_amount,
                value=value,
                **{"from": self._called(source, amount), "to": self._called(target, result)},
            )
        )

    def _days_between(self, arguments: Arguments) -> str:
        now = self._time.now()
        if not now and not ("from" in arguments and "to" in arguments):
            raise SkillError(
                "time-unknown",
                "I do not know today's date yet.",
                "Wait until this device has reached a time server.",
            )
        today = (now or self._time.guess()).date()
        first = _date(arguments.get("from"), today)
        last = _date(arguments.get("to"), today)
        if first == last:
            return str(self._words["is_today"])
        unit = arguments.get("unit", "days")
        whole, rest = apart(first, last, unit)
        left = self._count(whole, unit)
        if rest and unit != "days":
            days = self._count(rest, "days")
            left = self._words["and_days"].format(whole=left, rest=days) if whole else days
        form, date = "between", last
        if "from" not in arguments:
            form = "until" if last > today else "since"
        elif "to" not in arguments:
            form, date = ("since" if first < today else "until"), first
        return str(self._words[form].format(left=left, date=self._say.date(date, today)))

    def _count(self, number: int, unit: str) -> str:
        one, many = self._words["units"][unit]
        return f"{self._say.digits(f'{number:,}')} {one if number == 1 else many}"

    def _unit(self, name: str) -> str:
        """pint's name for what a model or a sentence calls a unit."""
        if name in self._unit_names:
            return name
        if found := self._units.get(name.lower().replace("_", " ")):
            return found
        raise SkillError(
            "no-such-unit", f"I do not know the unit {name[:40]}.", "Ask for another unit."
        )

    def _called(self, unit: str, amount: float) -> str:
        one, many = self._unit_names[unit]
        return one if amount == 1 else many

    def _number(self, number: Number) -> tuple[str, bool]:
        """As it is said, and whether it is that exactly."""
        digits, exact = self._digits(number)
        return self._say.digits(digits), exact

    def _digits(self, number: Number) -> tuple[str, bool]:
        size = -number if number < 0 else number
        if size >= LARGEST_SPOKEN:
            exponent = math.floor(math.log10(size))
            mantissa = float(number / Fraction(10) ** exponent)
            return f"{mantissa:.3g} {self._words['to_the']} {exponent}", False
        scaled = number * 10**EXACT_DECIMALS
        if abs(float(scaled) - round(scaled)) < (1e-6 if isinstance(number, float) else 1e-12):
            return _trimmed(f"{float(number):,.{EXACT_DECIMALS}f}"), True
        if size >= 1:
            return _trimmed(f"{float(number):,.{ABOUT_DECIMALS}f}"), False
        decimals = ABOUT_DIGITS - 1 - math.floor(math.log10(size))
        if decimals > MOST_DECIMALS:
            return f"{float(number):.2e}", False
        return _trimmed(f"{float(number):.{decimals}f}"), False


def _trimmed(digits: str) -> str:
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


def _date(text: str | None, today: datetime.date) -> datetime.date:
    if text is None:
        return today
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise SkillError("no-such-date", "There is no such date.", "Say another one.") from None


def _without(arguments: Arguments, name: str) -> dict[str, Any]:
    return {key: value for key, value in arguments.items() if key != name}
