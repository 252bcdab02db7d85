"""From what was heard to the use of a tool: for certain, with a doubt to ask about, or none."""

import datetime
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from firmware_app.skills.grammar import Match, Utterance
from firmware_app.skills.language import NOT_FOR_SKILLS, Language
from firmware_app.skills.moments import MORNING, Day, TimeOfDay

# Up to this cost a sentence is taken as meant; the shorter, the less may be wrong with it.
SURE, SURE_A_WORD = 0.62, 0.13
SURE_OF_CHANGE, SURE_OF_CHANGE_A_WORD = 0.4, 0.1
NEAR, NEAR_A_WORD = 1.1, 0.2  # up to this one, Echo asks before it changes anything
FREE_TEXT = 0.3  # beside the words that a template leaves open, the others must be nearly right
DOUBTFUL_VALUE = 0.3  # what a value may cost and still be the one that was said
TOO_CLOSE = 0.12  # two meanings whose costs differ less are one as likely as the other
LEAST_CONFIDENCE = 0.7  # below it numbers that sound alike are asked about
SURE_OF_VALUES = 0.8  # below it values are doubtful that look like what is left of others
AS_WRITTEN = 0.05  # up to this cost a sentence is one of the language's own
SURE_OF_TEXT = 0.75  # below it a text that is kept with a time is
UNSURE = 0.5  # below it everything is that changes anything
ROUND_MINUTES = 5  # of which times of day that people name are made
REMEMBERED = 2  # sentences whose meaning is kept at hand
WHEN = frozenset({"time", "seconds"})
FREE = frozenset({"name", "text", "about", "place"})
_CLAUSE_END = re.compile(r"[.,;:!]\s+")

Arguments = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a sentence says: a tool, its arguments, and how far it is from a sentence as written.

    doubtful: whether what it changes is asked about first. other: arguments that may have been
    meant as well.
    """

    tool: str
    arguments: Arguments
    doubtful: bool = False
    other: Arguments | None = None


class Understanding:
    """changes: the tools that change something. slight: those of which are done unasked."""

    def __init__(
        self, language: Language, *, changes: frozenset[str], slight: frozenset[str]
    ) -> None:
        self._language = language
        self._sentences = language.sentences  # laid now: it takes too long for the first question
        self._around = language.around
        self._changes = changes
        self._slight = slight
        self._worked_out = lru_cache(REMEMBERED)(self._work_out)

    def meaning(self, text: str, today: datetime.date, confidence: float = 1.0) -> Meaning | None:
        """What is meant; None where it is nothing that a skill does.

        confidence: of the recogniser, 0 to 1. What changes something is doubtful where something
        else was said before it ("The eggs are in, set a timer for six minutes"). Worked out once
        for the same sentence: it is asked for before a question is committed and after that.
        """
        return self._worked_out(text, today, confidence)

    def _work_out(self, text: str, today: datetime.date, confidence: float) -> Meaning | None:
        text = said_once(text)
        if meaning := self._whole(text, today, confidence):
            return meaning
        first, *others = _CLAUSE_END.split(text.strip())
        if not others or "?" in first:
            return None
        meaning = self._whole(others[-1], today, confidence)
        if meaning and meaning.tool in self._changes and not meaning.doubtful:
            return replace(meaning, doubtful=True)
        return None

    def _whole(self, text: str, today: datetime.date, confidence: float) -> Meaning | None:
        heard = self._language.utterance(text, today)
        count = len(heard.words)
        if not 0 < count <= 40:
            return None
        ways = [way for way in heard.whole(self._sentences, self._around) if self._near(way, count)]
        if not ways:
            return None
        best, arguments = ways[0], plain(ways[0].values)
        if best.meaning == NOT_FOR_SKILLS:
            return None
        if best.meaning not in self._changes:
            return Meaning(best.meaning, arguments)
        other: Arguments | None = next(
            (
                plain(way.values)
                for way in ways[1:]
                if way.cost - best.cost < TOO_CLOSE
                and way.meaning == best.meaning
                and _differ_in_value(plain(way.values), arguments)
            ),
            None,
        )
        if confidence < LEAST_CONFIDENCE and best.meaning not in self._slight:
            other = other or self._mistakable(heard, best, today)
        doubtful = other is not None or self._is_doubtful(best, count, confidence)
        return Meaning(best.meaning, arguments, doubtful, other)

    def _is_doubtful(self, best: Match, count: int, confidence: float) -> bool:
        """Whether this change is asked about: it may not be meant, or not with these values."""
        if best.cost > min(SURE_OF_CHANGE, SURE_OF_CHANGE_A_WORD * count):
            return True
        if best.loose >= DOUBTFUL_VALUE:
            return True
        if confidence < UNSURE and not (best.cost <= AS_WRITTEN and best.meaning in self._slight):
            return True
        if confidence < SURE_OF_TEXT and "text" in best.values and best.values.keys() & WHEN:
            return True  # what was misheard may have been part of the time
        return confidence < SURE_OF_VALUES and self._may_be_misheard(best.values)

    def _may_be_misheard(self, values: Mapping[str, Any]) -> bool:
        """Whether part of a time was taken for a name, or the hour of a time got lost."""
        if "name" in values and self._language.sounds_like_a_value(values["name"]):
            return bool(values.keys() & {"seconds", "minutes", "time"})
        time = values.get("time")
        return isinstance(time, TimeOfDay) and time.bare

    def _near(self, way: Match, count: int) -> bool:
        if FREE & way.values.keys() and way.cost - way.loose > FREE_TEXT:
            return False
        if way.meaning in self._changes:
            return way.cost <= min(NEAR, NEAR_A_WORD * count)
        return way.cost <= min(SURE, SURE_A_WORD * count)

    def _mistakable(self, heard: Utterance, best: Match, today: datetime.date) -> Arguments | None:
        """The same with the number that sounds like the one heard: fifty for fifteen."""
        of_the_clock = isinstance(best.values.get("time"), TimeOfDay)
        for at in range(len(heard.words)):
            for other, end in self._others(heard, at, of_the_clock):
                swapped = (*heard.words[:at], other, *heard.words[end:])
                again = self._language.utterance(" ".join(swapped), today)
                for way in again.whole(self._sentences, self._around):
                    if way.meaning == best.meaning:
                        return plain(way.values)
        return None

    def _others(self, heard: Utterance, at: int, of_the_clock: bool) -> Iterator[tuple[str, int]]:
        """What sounds like the number or the time of day that begins there, and where it ends.

        of_the_clock: nobody gets up at thirteen minutes past seven.
        """
        pairs = self._language.confusable
        swap = {one: other for pair in pairs for one, other in (pair, pair[::-1])}
        if of_the_clock:
            swap = {one: other for one, other in swap.items() if other % ROUND_MINUTES == 0}
        for number in self._language.numbers.read(heard.words, at):
            if number.value in swap:
                yield str(swap[int(number.value)]), number.end
        for time in heard.slot("clock", at):
            hour, minute = time.value
            if minute in swap and swap[minute] < 60:
                yield f"{hour}:{swap[minute]:02d}", time.end


def said_once(text: str) -> str:
    """Without what recognisers add to short sentences: the same again, or its beginning."""
    words = text.split()
    plain_words = [word.strip(".,;:?!").lower() for word in words]
    for length in range(2, len(words) // 2 + 1):
        if plain_words[length:] == plain_words[:-length]:
            return " ".join(words[:length])
    return text


def _differ_in_value(one: Arguments, other: Arguments) -> bool:
    """Whether the same was named, and another value: seven or eleven, not the pasta or pasta."""
    return one.keys() == other.keys() and any(
        one[name] != other[name] for name in one.keys() - FREE
    )


def plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values as arguments: JSON, and no more than tools know."""
    arguments: dict[str, Any] = {}
    half = values["repeat"]["half"] if "repeat" in values else ""
    if isinstance(day := values.get("date"), Day):
        half = half or day.half
    time_of_day = values.get("time")
    if "wakes" in values and isinstance(time_of_day, TimeOfDay) and time_of_day.hour in MORNING:
        half = half or "am"
    for name, value in values.items():
        match value:
            case TimeOfDay():
                time = value.choices()[half == "pm" and value.ambiguous]
                arguments[name] = f"{time:%H:%M}"
                if value.ambiguous and not half:
                    arguments["twelve_hour"] = True
            case Day(date=date):
                arguments[name] = date.isoformat()
            case float() if value.is_integer():
                arguments[name] = int(value)
            case float():
                arguments[name] = round(value, 10)
            case _ if name == "wakes":
                pass
            case _ if name == "repeat":
                arguments["days"] = value["days"]
            case _:
                arguments[name] = value
    return arguments
