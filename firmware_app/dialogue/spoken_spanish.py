"""Spanish numbers, times, dates, money, units and abbreviations as people say them.

A rule is a pattern and what is said for it. The order matters: what is longer or more special
comes first, and a rule leaves nothing that a later one could take for its own.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable
from typing import TypeAlias

from firmware_app.dialogue.spanish_words import (
    COUNTED,
    FRACTIONS,
    MONEY_BEFORE,
    MONTHS,
    ROMAN,
    SHORT,
    UNITS,
    cardinal,
    decimal,
    form_before,
    one_by_one,
    ordinal,
)

Match: TypeAlias = re.Match[str]
Said: TypeAlias = str | Callable[[Match], str]


def spoken(text: str) -> str:
    """The text as it is said; no digit remains."""
    if not text.isascii():
        text = "".join(_plain(c) for c in text)
    for pattern, said in WORDS:
        text = pattern.sub(said, text)
    if any(c.isdigit() for c in text):
        for pattern, said in NUMBERS:
            text = pattern.sub(said, text)
        text = re.sub(r"(?<=\S) {2,}", " ", text).strip(" ")
    return text


def _plain(c: str) -> str:
    """Minus, fractions and raised digits as they are typed; ² and ³ of units stay."""
    if c in "\u2212\u2013":
        return "-"
    if not c.isnumeric() or c.isascii() or c in "²³":
        return c
    simple = unicodedata.normalize("NFKC", c)
    if "\u2044" in simple:
        return f" {simple.replace(chr(0x2044), '/')}"
    return str(unicodedata.digit(c)) if c.isdigit() and not simple.isascii() else simple


def _time(match: Match) -> str:
    """Las siete y media; las diecisiete treinta."""
    hour, minute = int(match["hour"]), int(match["minute"])
    if hour > 24 or minute > 59:
        return f"{cardinal(match['hour'])} {cardinal(match['minute'])}"
    said = cardinal(str(hour), "feminine")
    if not minute:
        return said
    if hour <= 12 and minute in (15, 30):
        return f"{said} y {'cuarto' if minute == 15 else 'media'}"
    joint = " y " if minute < 30 and hour <= 12 else " "
    return said + joint + cardinal(str(minute))


def _date(day: str, month: str, year: str) -> str:
    number = int(month)
    if not (1 <= number <= 12 and 1 <= int(day) <= 31):
        return " ".join(cardinal(part) for part in (day, month, year))
    return f"{cardinal(day)} de {MONTHS[number - 1]} de {cardinal(year)}"


def _unit(match: Match) -> str:
    sign = match["before"] or match["unit"]
    one, many = UNITS[sign]
    name = one if match["number"] == "1" else many
    minus = "menos " if match["minus"] else ""
    form = "alone" if sign == "%" else form_before(name.split()[0])
    number = decimal(match["number"], form)
    to = f" a {decimal(match['to'], form)}" if match["to"] else ""
    return f"{minus}{number}{to} {name}"


def _ordinal(match: Match) -> str:
    return ordinal(int(match["number"]), match["sign"] == "ª", match["sign"] == "er")


def _fraction(match: Match) -> str:
    top, bottom = int(match["top"]), int(match["bottom"])
    whole = f"{cardinal(match['whole'])} y " if match["whole"] else ""
    if bottom in FRACTIONS and 0 < top < bottom:
        name = FRACTIONS[bottom] + ("" if top == 1 else "s")
        half = (top, bottom) == (1, 2)  # medio litro, dos y medio
        return whole + (name if half else f"{cardinal(str(top), 'masculine')} {name}")
    return f"{whole}{cardinal(match['top'])} entre {cardinal(match['bottom'])}"


def _counted(match: Match) -> str:
    """A number, in the form that the word behind it asks for."""
    word = match["word"] or ""
    return decimal(match["number"], form_before(word)) + (match["space"] or "") + word


def _roman(match: Match) -> str:
    values = [ROMAN[c] for c in match[2]]
    following = [*values[1:], 0]
    number = sum(-v if v < n else v for v, n in zip(values, following, strict=True))
    return f"{match[1]} {cardinal(str(number))}"


def _rule(pattern: str, said: Said) -> tuple[re.Pattern[str], Said]:
    return re.compile(pattern), said


def _any(names: Iterable[str]) -> str:
    return "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))


_N = r"(?:\d{1,3}(?:\.\d{3})+(?!\d)|\d+)(?:[.,]\d+)?"
_BEGIN = r"(?<![\w.,])"
_MONTH = rf"(?:{'|'.join(MONTHS)})"

WORDS = (
    _rule(r"\bp\.\s?ej\.,?", "por ejemplo,"),
    _rule(r"\bEE\.\s?UU\.", "Estados Unidos"),
    _rule(rf"\b({_any(SHORT)})\.(?=\s*$)", lambda m: f"{SHORT[m[1]]}."),
    _rule(rf"\b({_any(SHORT)})\.(?!\w)", lambda m: SHORT[m[1]]),
    _rule(r"\b[Nn]\.?º\s?(?=\d)|#(?=\d)", "número "),
    _rule(r"\s*&\s*", " y "),
    _rule(r"(?<=\w)@(?=\w)", " arroba "),
    _rule(rf"\b({COUNTED}) ([IVXLC]+)\b", _roman),
)

NUMBERS = (
    _rule(
        r"(?<![\w-])(\d{4})-(\d\d)-(\d\d)(?![\w-])",
        lambda m: _date(m[3], m[2], m[1]),
    ),
    _rule(r"(?<![\w/])(\d{1,2})/(\d{1,2})/(\d{4})(?![\w/])", lambda m: _date(m[1], m[2], m[3])),
    _rule(
        rf"{_BEGIN}(\d{{1,2}}) de ({_MONTH})\b(?: del? (\d{{4}})\b)?",
        lambda m: f"{cardinal(m[1])} de {m[2]}" + (f" de {cardinal(m[3])}" if m[3] else ""),
    ),
    _rule(r"(?<![\w:.])(?P<hour>\d{1,2}):(?P<minute>\d\d)(?!:?\d)(?:\s?h\b)?", _time),
    _rule(
        r"(?P<minus>(?<![\w.)])-)?"
        rf"(?:(?P<before>[{re.escape(MONEY_BEFORE)}])\s?|{_BEGIN})(?P<number>{_N})"
        rf"(?:\s?-\s?(?P<to>{_N}))?(?(before)(?P<none>)|\s?(?P<unit>{_any(UNITS)})(?![\w/]))",
        _unit,
    ),
    _rule(rf"{_BEGIN}(?P<number>\d{{1,9}})\.?(?P<sign>º|ª|er)(?!\w)", _ordinal),
    _rule(
        r"(?<![\w/.,])(?:(?P<whole>\d{1,3}) )?(?P<top>\d{1,3})/(?P<bottom>\d{1,3})(?![\w/]|[.,]\d)",
        _fraction,
    ),
    _rule(r"(?<![\w.,])\d+(?:\.\d+){2,}(?!\w)", lambda m: _points(m.group())),
    _rule(r"(?<![\w.,])0\d+(?!\w|[.,]\d)", lambda m: one_by_one(m.group())),
    _rule(r"(?<![\w.,])\d{8,}(?!\w|[.,]\d)", lambda m: _long(m.group())),
    # sums
    _rule(r"(?<=\d)\s?[\u00d7\u2715]\s?(?=\d)|(?<=\d) [xX*] (?=\d)", " por "),
    _rule(r"(?<=\d) - (?=\d)", " menos "),
    _rule(r"(?<=\d)\s?\+\s?(?=\d)", " más "),
    _rule(r"(?<=\d)\s?=\s?(?=-?\d)", " es igual a "),
    _rule(r"(?<=\d)\s?\u00f7\s?(?=\d)|(?<=\d) / (?=\d)", " entre "),
    _rule(r"(?<=\d):(?=\d)", " a "),
    _rule(rf"{_BEGIN}({_N})\s?-\s?({_N})(?![\w-])", lambda m: f"{m[1]} a {m[2]}"),
    _rule("²", " al cuadrado"),
    _rule("³", " al cubo"),
    # plain numbers
    _rule(r"(?<![\w.)-])-(?=[.,]?\d)", "menos "),
    _rule(r"(?<=[A-Za-z])-(?=\d)", " "),
    _rule(r"(?<=[^\W\d])(?=\d)|(?<=\d)(?=[^\W\d])", " "),
    _rule(rf"(?P<number>{_N})(?:(?P<space> )(?P<word>[^\W\d_]+))?", _counted),
)


def _points(number: str) -> str:
    if re.fullmatch(r"\d{1,3}(?:\.\d{3})+", number):
        return decimal(number)
    return " punto ".join(cardinal(part) for part in number.split("."))


def _long(digits: str) -> str:
    return cardinal(digits) if digits.endswith("000") else one_by_one(digits)
