"""English numbers, times, dates, money, units and abbreviations as people say them."""

import re
import unicodedata

from firmware_app.dialogue.english_words import (
    COUNTED,
    DAYS,
    FRACTIONS,
    LONGEST,
    MONEY,
    MONTH_NAMES,
    MONTHS,
    MULTIPLES,
    POWERS,
    REIGNS,
    SHORT,
    STREETS,
    TITLES,
    UNITS,
    cardinal,
    counted,
    decimal,
    is_one,
    one_by_one,
    ordinal,
    year,
)
from firmware_app.dialogue.spoken_rules import Match, any_of, roman, rule, said_by


def spoken(text: str) -> str:
    """The text as it is said; no digit remains."""
    if not text.isascii():
        text = _plain(text)
    return said_by(WORDS, NUMBERS, text)


def _plain(text: str) -> str:
    """Raised digits as ^2, small fractions as 1/2, and one kind of hyphen, minus and apostrophe."""
    text = _RAISED.sub(lambda m: f"^{unicodedata.normalize('NFKC', m.group())}", text)
    return re.sub(r"(?<=\d)\s?\u2013\s?(?=\d)", "-", "".join(_plain_character(c) for c in text))


def _plain_character(c: str) -> str:
    if c in _ALIKE:
        return _ALIKE[c]
    if not c.isnumeric():
        return c
    simple = unicodedata.normalize("NFKC", c)
    if "\u2044" in simple:
        return f" {simple.replace(_FRACTION_SLASH, '/')}"
    if c.isdigit() and not simple.isascii():
        return str(unicodedata.digit(c))
    return simple


_FRACTION_SLASH = "\u2044"
_RAISED = re.compile("[\u2070\u00b9\u00b2\u00b3\u2074-\u2079]+")
_ALIKE = {
    "\u2212": "-",  # minus
    "\u2010": "-",
    "\u2011": "-",  # that does not break
    "\u2019": "'",
    "\u2103": "°C",
    "\u2109": "°F",
    "\u2116": "No. ",
    _FRACTION_SLASH: "/",
}


def _clock(hour: int, minute: int, half: str) -> str:
    """Seven oh five, twelve noon, two thirty PM; half is "AM", "PM" or empty."""
    if not half and (hour == 0 or hour > 12):
        half = "AM" if hour % 24 < 12 else "PM"
    twelve = (hour - 1) % 12 + 1
    said = cardinal(str(twelve))
    if minute:
        said += f" {'oh ' if minute < 10 else ''}{cardinal(str(minute))}"
    elif not half:
        said += " o'clock"
    return f"{said} {half}".rstrip()


def _half(match: Match) -> str:
    return f"{match['half'].upper()}M" if match["half"] else ""


def _time(match: Match) -> str:
    hour, minute = int(match["hour"]), int(match["minute"])
    if hour > 24 or minute > 59:
        return f"{cardinal(match['hour'])} {cardinal(match['minute'])}"
    said = _clock(hour, minute, _half(match))
    if match["second"]:
        return f"{said} and {counted(match['second'].lstrip('0') or '0', 'second', 'seconds')}"
    return said


def _day(number: str) -> str:
    return ordinal(int(number))


def _date(month: int, day: str, number: str) -> str:
    return f"{MONTH_NAMES[month - 1]} {_day(day)}" + (f", {year(int(number))}" if number else "")


def _iso_date(match: Match) -> str:
    month = int(match["month"])
    if not (1 <= month <= 12 and 1 <= int(match["day"]) <= 31):
        return one_by_one(match.group())
    return _date(month, match["day"], match["year"]) + (" at " if match["at"] else "")


def _slashed_date(match: Match) -> str:
    first, second, number = int(match[1]), int(match[2]), match[3]
    if len(number) == 2:
        number = f"20{number}"
    month, day = (first, second) if first <= 12 else (second, first)
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return " over ".join(cardinal(part) for part in match.groups())
    return _date(month, str(day), number)


def _month_day(match: Match) -> str:
    said = f"{MONTHS[match['month'][:3]]} {_day(match['day'])}"
    return said + (f", {year(int(match['year']))}" if match["year"] else "")


def _day_month(match: Match) -> str:
    article = match["article"] or "the "
    said = f"{article}{_day(match['day'])} of {MONTHS[match['month'][:3]]}"
    return said + (f" {year(int(match['year']))}" if match["year"] else "")


def _money(match: Match) -> str:
    one, many, small, smalls = MONEY[match["sign"] or match["code"]]
    amount = match["before"] or match["after"]
    multiple = (match["multiple"] or match["multiple2"] or "").strip()
    minus = "minus " if match["minus"] else ""
    if match["article"]:
        many = one  # a twenty dollar bill
        minus = match["article"]
    if multiple:
        word = MULTIPLES.get(multiple.lower(), multiple.lower())
        return f"{minus}{decimal(amount)} {word} {many}"
    whole, _, rest = amount.partition(".")
    if len(rest) != 2:
        return minus + counted(amount, one, many)
    parts = []
    if whole.strip("0,") or not rest.strip("0"):
        parts.append(counted(whole, one, many))
    if rest.strip("0"):
        parts.append(counted(str(int(rest)), small, smalls))
    return minus + " and ".join(parts)


def _unit(match: Match) -> str:
    one, many = UNITS[match["unit"]]
    said = ("minus " if match["minus"] else "") + decimal(match["number"])
    if match["to"]:
        said += f" to {decimal(match['to'])}"
    said += match["multiple"] or ""
    single = match["hyphen"] == "-" or is_one(said)
    return f"{said} {POWERS[match['power']]}{one if single else many}"


def _range(match: Match) -> str:
    first, last = match[1], match[2]
    if len(first) == len(last) == 4 and 1000 <= int(first) < int(last) <= 2100:
        return f"{year(int(first))} to {year(int(last))}"
    return f"{decimal(first)} to {decimal(last)}"


def _ordinal(match: Match) -> str:
    digits = match[1].replace(",", "")
    return ordinal(int(digits)) if len(digits) <= LONGEST else f"{one_by_one(digits)}th"


def _fraction(match: Match) -> str:
    whole, top, bottom = match["whole"], int(match["top"]), int(match["bottom"])
    if (
        (top, bottom) in {(24, 7), (9, 11)}
        or top == bottom
        or not 2 <= bottom <= 20
        or top > bottom
    ):
        between = " over " if (top, bottom) not in {(24, 7), (9, 11)} else " "
        said = f"{cardinal(match['top'])}{between}{cardinal(match['bottom'])}"
    else:
        one, many = FRACTIONS.get(bottom, (ordinal(bottom), f"{ordinal(bottom)}s"))
        said = f"{'a' if whole and top == 1 else cardinal(str(top))} {one if top == 1 else many}"
    return f"{cardinal(whole)} and {said}" if whole else said


def _decade(match: Match) -> str:
    tens = year(int(match[1])) if len(match[1]) == 4 else cardinal(match[1])
    return tens[:-1] + "ies" if tens.endswith("y") else tens + "s"


def _points(match: Match) -> str:
    parts = match.group().split(".")
    between = " dot " if len(parts) == 4 else " point "
    return between.join(cardinal(part) for part in parts)


def _phone(match: Match) -> str:
    years = re.fullmatch(r"(\d{4})-(\d{4})", match.group())
    if years and years[1] < years[2] <= "2100":
        return _range(years)
    groups = re.findall(r"\d+", match.group())
    plus = "plus " if match.group().startswith("+") else ""
    return plus + ", ".join(one_by_one(group) for group in groups)


def _long(match: Match) -> str:
    digits = match.group()
    return cardinal(digits) if digits.endswith("000") else one_by_one(digits)


_N = r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?"  # a number with or without commas and a fraction
_BEGIN = r"(?<![\w.,])"
_END = r"(?![\w/]|[.,]\d)"
_MONTH = rf"(?P<month>(?:{'|'.join(MONTH_NAMES)})|(?:{'|'.join(MONTHS)}|Sept)\.?)"
_DAY = r"(?P<day>[12]?\d|3[01])"
_TH = r"(?:st|nd|rd|th)"
_AM_PM = r"(?:\s?(?P<half>[AaPp])(?:\.\s?[Mm]\b(?:\.(?!\s*$))?|\s?[Mm]\b))"
_MULTIPLE = r"(?:\s?(?:million|billion|trillion|thousand)\b|(?:[KkMmBb]|[mb]n)\b)"
_BEFORE_YEAR = (
    "in|since|by|until|till|year|before|after|during|around|circa|early|late|mid|from|of|"
    + "|".join(MONTH_NAMES)
)

WORDS = (
    rule(r"\be\.\s?g\.,?", "for example,"),
    rule(r"\bi\.\s?e\.,?", "that is,"),
    rule(r"\ba\.k\.a\.", "also known as"),
    rule(rf"\b({any_of(TITLES)})\.(?=\s+[A-Z])", lambda m: TITLES[m[1]]),
    rule(r"\b(Mr|Mrs|Ms|Dr)(?=\s+[A-Z])", lambda m: TITLES[m[1]]),
    rule(rf"(?<=[a-z] )({any_of(STREETS)})\.(?!\w)", lambda m: STREETS[m[1]]),
    rule(rf"\b({any_of(SHORT)})\.(?=\s*$)", lambda m: f"{SHORT[m[1]]}."),
    rule(rf"\b({any_of(SHORT)})\.(?!\w)", lambda m: SHORT[m[1]]),
    rule(r"\bvs\b", "versus"),
    rule(r"\bNos?\.\s?(?=\d)|#(?=\d)", "number "),
    rule(r"\b([A-Z](?:\.[A-Z])+)\.(?=\s*$)", lambda m: m[1].replace(".", "") + "."),
    rule(r"\b([A-Z](?:\.[A-Z])+)\.?(?!\w)", lambda m: m[1].replace(".", "")),
    rule(rf"\b({any_of(DAYS)})\.(?=\s\S|,)", lambda m: DAYS[m[1]]),
    rule(r"\s*&\s*", " and "),
    rule(r"\bw/(?=\s|\w)", "with "),
    rule(r"(?<=\w)@(?=\w)", " at "),
    rule(r"(?<=\w)\.(?=(?:com|org|net|edu|gov|io|uk|de)\b)", " dot "),
    rule(rf"\b({COUNTED}) ([IVX]+)\b", lambda m: f"{m[1]} {cardinal(str(roman(m[2])))}"),
    rule(  # "I" alone is safe only where no verb can follow
        rf"\b({REIGNS}) ([IVX]{{2,}}|[IVX](?=[.,;:!?)]|'s|$| of | was | and ))(?!\w)",
        lambda m: f"{m[1]} the {ordinal(roman(m[2]))}",
    ),
)

NUMBERS = (
    # dates and times
    rule(
        r"(?<![\w-])(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)(?:(?P<at>T)(?=\d)|(?![\w-]))",
        _iso_date,
    ),
    rule(r"(?<![\w/])(\d{1,2})/(\d{1,2})/(\d{4}|\d\d)(?![\w/])", _slashed_date),
    rule(
        rf"\b{_MONTH} {_DAY}{_TH}?(?![\w:]|[.,]\d)(?:,? (?P<year>[12]\d{{3}})\b)?",
        _month_day,
    ),
    rule(
        rf"(?P<article>\b[Tt]he )?\b{_DAY}{_TH}? (?:of )?{_MONTH}(?!\w)"
        r"(?:,? (?P<year>[12]\d{3})\b)?",
        _day_month,
    ),
    rule(
        r"(?<![\w:.])(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:\.\d+)?)?(?!:?\d)"
        rf"Z?{_AM_PM}?(?P<to>\s?-\s?(?=\d{{1,2}}:\d\d))?",
        lambda m: _time(m) + (" to " if m["to"] else ""),
    ),
    rule(
        rf"(?<![\w:.,])(?P<first>\d{{1,2}})\s?-\s?(?P<hour>1[0-2]|\d){_AM_PM}",
        lambda m: f"{cardinal(m['first'])} to {_clock(int(m['hour']), 0, _half(m))}",
    ),
    rule(
        rf"(?<![\w:.,])(?P<hour>1[0-2]|0?\d){_AM_PM}",
        lambda m: _clock(int(m["hour"]), 0, _half(m)),
    ),
    # money, and all else that is counted
    rule(
        r"(?:(?P<minus>(?<!\w)-)|(?P<article>\b[Aa] ))?"
        rf"(?:(?P<sign>{any_of(s for s in MONEY if not s.isalpha())})\s?"
        rf"(?P<before>{_N})(?P<multiple>{_MULTIPLE})?|{_BEGIN}(?P<after>{_N})"
        rf"(?P<multiple2>{_MULTIPLE})?\s?(?P<code>{any_of(s for s in MONEY if s != '$')})(?!\w))",
        _money,
    ),
    rule(rf"{_BEGIN}'?(\d{{4}}|\d0)'?s\b", _decade),
    rule(
        rf"(?P<minus>(?<![\w.)])-)?{_BEGIN}(?P<number>{_N})(?:\s?-\s?(?P<to>{_N}))?"
        r"(?P<multiple> (?:[mb]illion|thousand))?(?P<hyphen>[-\s]?)"
        rf"(?P<unit>{any_of(UNITS)})(?P<power>(?:\^[23])?)(?![\w^/'])",
        _unit,
    ),
    rule(
        r"(?<![\w.,])(\d)'(?:(\d{1,2})\"?)?(?!\w)",
        lambda m: f"{cardinal(m[1])} foot {cardinal(m[2])}" if m[2] else f"{cardinal(m[1])} feet",
    ),
    # things that look like numbers and are names
    rule(r"(?<![\w.])\d+(?:\.\d+){2,}(?!\w)", _points),
    rule(
        rf"{_BEGIN}(?:\+\d{{1,3}}[ -]?)?(?:\(\d{{2,4}}\)[ -]?|\d{{3,4}}[ -])"
        r"(?:\d{3,4}[ -])?\d{4}(?![\w-]|[.,]\d)"
        r"|(?<!\w)\+\d{1,3}(?:[ -]?\d{2,4}){2,4}(?!\w)",
        _phone,
    ),
    rule(r"(?<=\b[Cc]all )\d{3}\b|(?<=\b[Dd]ial )\d{3}\b", _phone),
    rule(rf"(?<![\w.,/])0\d+{_END}", _phone),
    rule(r"(?<![\w.,])\d{7,}(?!\w|[.,]\d)", _long),
    # kinds of number
    rule(rf"{_BEGIN}(\d{{1,3}}(?:,\d{{3}})+|\d+){_TH}\b", _ordinal),
    rule(
        r"(?<![\w/.,])(?:(?P<whole>\d{1,3})[ -])?"
        rf"(?P<top>\d{{1,3}})/(?P<bottom>\d{{1,3}}){_END}",
        _fraction,
    ),
    rule(
        rf"(?i:\b(?P<before>{_BEFORE_YEAR}) )(?P<year>1\d{{3}}|20\d\d)(?![\w%]|[.,:]\d|-\d)",
        lambda m: f"{m['before']} {year(int(m['year']))}",
    ),
    rule(
        r"(?<![\w.,-])(?:19|20)\d\d(?=\s*(?:[.,;:!?)]|$|and\b|to\b|or\b|was\b))(?![.,]\d)",
        lambda m: year(int(m.group())),
    ),
    # sums
    rule(r"(?<=\d)\s?[\u00d7\u2715]\s?(?=\d)|(?<=\d) [xX*] (?=\d)", " times "),
    rule(r"(?<=\d)[xX](?=\d)", " by "),
    rule(r"(?<=\d)[x\u00d7](?!\w)", " times"),
    rule(r"(?<=\d) - (?=\d)", " minus "),
    rule(r"(?<=\d)\s?\+\s?(?=\d)", " plus "),
    rule(r"(?<=\d)\s?=\s?(?=-?\d)", " equals "),
    rule(r"(?<=\d)\s?\u00f7\s?(?=\d)|(?<=\d) / (?=\d)", " divided by "),
    rule(r"\^2(?!\d)", " squared"),
    rule(r"\^3(?!\d)", " cubed"),
    rule(r"\^(?=\d)", " to the power of "),
    rule(r"(?<=\d):(?=\d)", " to "),
    rule(rf"{_BEGIN}({_N})\s?-\s?({_N})(?![\w-]|[.,]\d)", _range),
    rule(r"±(?=\d)", "plus or minus "),
    rule(r"(?<=\d)\+", " plus"),
    rule(r"(?<![\w.)])~\s?(?=\d)", "about "),
    # plain numbers
    rule(r"(?<![\w.)-])-(?=\.?\d)", "minus "),
    rule(r"(?<=[A-Za-z])-(?=\d)", " "),
    rule(r"(?<=[^\W\d])(?=\d)|(?<=\d)(?=[^\W\d])", " "),
    rule(rf"{_N}|\.\d+", lambda m: decimal(m.group())),
)
