"""Reads the values of slots out of what was heard: numbers, times, names, and lists of words."""

import datetime
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from firmware_app.skills import moments
from firmware_app.skills.grammar import Found, Net, SlotReader, Utterance
from firmware_app.skills.numbers import Numbers

Values: TypeAlias = Mapping[str, Any]

SLACK = 0.65  # a value that costs more is none
NAME_WORDS, TEXT_WORDS = 4, 14
PER_NAME_WORD, PER_TEXT_WORD = 0.04, 0.02  # so that what is known is preferred to free text


def number(numbers: Numbers) -> SlotReader:
    def read(heard: Utterance, at: int) -> Iterable[Found]:
        for found in numbers.read(heard.words, at):
            yield Found(found.value, found.end, found.cost)

    return read


def ordinal(numbers: Numbers) -> SlotReader:
    def read(heard: Utterance, at: int) -> Iterable[Found]:
        for found in numbers.ordinal(heard.words, at):
            yield Found(found.value, found.end, found.cost)

    return read


def year(numbers: Numbers) -> SlotReader:
    """2027; twenty twenty seven; nineteen ninety."""

    def read(heard: Utterance, at: int) -> Iterable[Found]:
        for first in numbers.read(heard.words, at):
            if 1000 <= first.value <= 2999:
                yield Found(int(first.value), first.end)
            elif 10 <= first.value <= 29 and float(first.value).is_integer():
                for second in numbers.read(heard.words, first.end):
                    if 0 <= second.value <= 99:
                        value = first.value * 100 + second.value
                        yield Found(int(value), second.end, second.cost)

    return read


def clock(heard: Utterance, at: int) -> Iterable[Found]:
    """7:05; also 705 and 1930, as recognisers write it."""
    word = heard.words[at]
    if ":" in word:
        hour, _, minute = word.partition(":")
        if int(minute) < 60:
            yield Found((int(hour), int(minute)), at + 1)
    elif word.isdigit() and len(word) in (3, 4) and int(word[-2:]) < 60:
        yield Found((int(word[:-2]), int(word[-2:])), at + 1, 0.05)
    elif "." in word and not word.startswith(".") and len(word.partition(".")[2]) == 2:
        hour, _, minute = word.partition(".")
        if int(minute) < 60:
            yield Found((int(hour), int(minute)), at + 1, 0.1)


def text(heard: Utterance, at: int) -> Iterable[Found]:
    """Any words."""
    for end in range(at + 1, min(len(heard.words), at + TEXT_WORDS) + 1):
        yield Found(" ".join(heard.spelled[at:end]), end, PER_TEXT_WORD * (end - at))


def name(numbers: Numbers, barred: frozenset[str]) -> SlotReader:
    """A few words without a number; barred: words that it neither begins nor ends with."""

    def read(heard: Utterance, at: int) -> Iterable[Found]:
        if heard.words[at] in barred:
            return
        for end in range(at + 1, min(len(heard.words), at + NAME_WORDS) + 1):
            word = heard.words[end - 1]
            if numbers.is_number(word):
                return
            if word not in barred:
                yield Found(" ".join(heard.spelled[at:end]), end, PER_NAME_WORD * (end - at))

    return read


def one_of(net: Net) -> SlotReader:
    """A list: the ending's values hold `value`."""

    def read(heard: Utterance, at: int) -> Iterable[Found]:
        for way in heard.ways(net, at, SLACK):
            if way.end > at:
                yield Found(way.values["value"], way.end, way.cost)

    return read


def made_of(net: Net, make: Callable[[Values], Any]) -> SlotReader:
    """A value made of several slots; `make` gives None where there is no such thing."""

    def read(heard: Utterance, at: int) -> Iterable[Found]:
        for way in heard.ways(net, at, SLACK):
            if way.end > at and (value := make(way.values)) is not None:
                yield Found(value, way.end, way.cost)

    return read


def repeat(values: Values) -> Values:
    """The days on which something is repeated, 0 for Monday."""
    days = set(values.get("days", ()))
    days |= {values[name] for name in ("one_day", "another_day") if name in values}
    return {"days": sorted(days), "half": values.get("half", "")}


def day(values: Values, today: datetime.date) -> moments.Day | None:
    date = moments.date(values, today)
    return None if date is None else moments.Day(date, values.get("half", ""))
