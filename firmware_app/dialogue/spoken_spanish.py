"""Spanish numbers, times, dates, money, units and abbreviations as people say them."""

import re
import unicodedata

from firmware_app.dialogue.spanish_words import (
    COUNTED,
    FRACTIONS,
    MONEY_BEFORE,
    MONTHS,
    SHORT,
    UNITS,
    cardinal,
    decimal,
    form_before,
    one_by_one,
    ordinal,
)
from firmware_app.dialogue.spoken_rules import Match, any_of, roman, rule, said_by


def spoken(text: str) -> str:
    """The text as it is said; no digit remains."""
    if not text.isascii():
        text = "".join(_plain(c) for c in text)
    return said_by(WORDS, NUMBERS, text)


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
    return f"{match[1]} {cardinal(str(roman(match[2])))}"


_N = r"(?:\d{1,3}(?:\.\d{3})+(?!\d)|\d+)(?:[.,]\d+)?"
_BEGIN = r"(?<![\w.,])"
_MONTH = rf"(?:{'|'.join(MONTHS)})"

WORDS = (
    rule(r"\bp\.\s?ej\.,?", "por ejemplo,"),
    rule(r"\bEE\.\s?UU\.", "Estados Unidos"),
    rule(rf"\b({any_of(SHORT)})\.(?=\s*$)", lambda m: f"{SHORT[m[1]]}."),
    rule(rf"\b({any_of(SHORT)})\.(?!\w)", lambda m: SHORT[m[1]]),
    rule(r"\b[Nn]\.?º\s?(?=\d)|#(?=\d)", "número "),
    rule(r"\s*&\s*", " y "),
    rule(r"(?<=\w)@(?=\w)", " arroba "),
    rule(rf"\b({COUNTED}) ([IVXLC]+)\b", _roman),
)

NUMBERS = (
    rule(
        r"(?<![\w-])(\d{4})-(\d\d)-(\d\d)(?![\w-])",
        lambda m: _date(m[3], m[2], m[1]),
    ),
    rule(r"(?<![\w/])(\d{1,2})/(\d{1,2})/(\d{4})(?![\w/])", lambda m: _date(m[1], m[2], m[3])),
    rule(
        rf"{_BEGIN}(\d{{1,2}}) de ({_MONTH})\b(?: del? (\d{{4}})\b)?",
        lambda m: f"{cardinal(m[1])} de {m[2]}" + (f" de {cardinal(m[3])}" if m[3] else ""),
    ),
    rule(r"(?<![\w:.])(?P<hour>\d{1,2}):(?P<minute>\d\d)(?!:?\d)(?:\s?h\b)?", _time),
    rule(
        r"(?P<minus>(?<![\w.)])-)?"
        rf"(?:(?P<before>[{re.escape(MONEY_BEFORE)}])\s?|{_BEGIN})(?P<number>{_N})"
        rf"(?:\s?-\s?(?P<to>{_N}))?(?(before)(?P<none>)|\s?(?P<unit>{any_of(UNITS)})(?![\w/]))",
        _unit,
    ),
    rule(rf"{_BEGIN}(?P<number>\d{{1,9}})\.?(?P<sign>º|ª|er)(?!\w)", _ordinal),
    rule(
        r"(?<![\w/.,])(?:(?P<whole>\d{1,3}) )?(?P<top>\d{1,3})/(?P<bottom>\d{1,3})(?![\w/]|[.,]\d)",
        _fraction,
    ),
    rule(r"(?<![\w.,])\d+(?:\.\d+){2,}(?!\w)", lambda m: _points(m.group())),
    rule(r"(?<![\w.,])0\d+(?!\w|[.,]\d)", lambda m: one_by_one(m.group())),
    rule(r"(?<![\w.,])\d{8,}(?!\w|[.,]\d)", lambda m: _long(m.group())),
    # sums
    rule(r"(?<=\d)\s?[\u00d7\u2715]\s?(?=\d)|(?<=\d) [xX*] (?=\d)", " por "),
    rule(r"(?<=\d) - (?=\d)", " menos "),
    rule(r"(?<=\d)\s?\+\s?(?=\d)", " más "),
    rule(r"(?<=\d)\s?=\s?(?=-?\d)", " es igual a "),
    rule(r"(?<=\d)\s?\u00f7\s?(?=\d)|(?<=\d) / (?=\d)", " entre "),
    rule(r"(?<=\d):(?=\d)", " a "),
    rule(rf"{_BEGIN}({_N})\s?-\s?({_N})(?![\w-])", lambda m: f"{m[1]} a {m[2]}"),
    rule("²", " al cuadrado"),
    rule("³", " al cubo"),
    # plain numbers
    rule(r"(?<![\w.)-])-(?=[.,]?\d)", "menos "),
    rule(r"(?<=[A-Za-z])-(?=\d)", " "),
    rule(r"(?<=[^\W\d])(?=\d)|(?<=\d)(?=[^\W\d])", " "),
    rule(rf"(?P<number>{_N})(?:(?P<space> )(?P<word>[^\W\d_]+))?", _counted),
)


def _points(number: str) -> str:
    if re.fullmatch(r"\d{1,3}(?:\.\d{3})+", number):
        return decimal(number)
    return " punto ".join(cardinal(part) for part in number.split("."))


def _long(digits: str) -> str:
    return cardinal(digits) if digits.endswith("000") else one_by_one(digits)
