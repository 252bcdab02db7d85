"""From what was heard to the use of a tool: for certain, with a doubt to ask about, or none."""

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from firmware_app.skills.grammar import Match, Utterance
from firmware_app.skills.language import Language
from firmware_app.skills.moments import Day, TimeOfDay

# Up to this cost a sentence is taken as meant; the shorter, the less may be wrong with it.
SURE, SURE_A_WORD = 0.62, 0.13
SURE_OF_CHANGE, SURE_OF_CHANGE_A_WORD = 0.4, 0.1
NEAR, NEAR_A_WORD = 1.1, 0.2  # up to this one, Echo asks before it changes anything
FREE_TEXT = 0.3  # beside the words that a template leaves open, the others must be nearly right
DOUBTFUL_VALUE = 0.3  # what a value may cost and still be the one that was said
TOO_CLOSE = 0.12  # two meanings whose costs differ less are one as likely as the other
LEAST_CONFIDENCE = 0.6  # below it numbers that sound alike are asked about
UNSURE = 0.5  # below it everything is that changes anything
FREE = frozenset({"name", "text", "about", "place"})

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
    """changes: the tools that change something."""

    def __init__(self, language: Language, changes: frozenset[str]) -> None:
        self._language = language
        self._sentences = language.sentences  # laid now: it takes too long for the first question
        self._changes = changes

    def meaning(self, text: str, now: datetime.datetime, confidence: float = 1.0) -> Meaning | None:
        """What is meant; None where it is nothing that a skill does.

        confidence: of the recogniser, 0 to 1.
        """
        heard = self._language.utterance(text, lambda: now)
        count = len(heard.words)
        if not 0 < count <= 40:
            return None
        ways = [way for way in heard.whole(self._sentences) if self._near(way, count)]
        if not ways:
            return None
        best, arguments = ways[0], plain(ways[0].values)
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
        if confidence < LEAST_CONFIDENCE:
            other = other or self._mistakable(heard, best, now)
        sure = best.cost <= min(SURE_OF_CHANGE, SURE_OF_CHANGE_A_WORD * count)
        unsure = not sure or confidence < UNSURE
        doubtful = unsure or best.loose >= DOUBTFUL_VALUE or other is not None
        return Meaning(best.meaning, arguments, doubtful, other)

    def _near(self, way: Match, count: int) -> bool:
        if FREE & way.values.keys() and way.cost - way.loose > FREE_TEXT:
            return False
        if way.meaning in self._changes:
            return way.cost <= min(NEAR, NEAR_A_WORD * count)
        return way.cost <= min(SURE, SURE_A_WORD * count)

    def _mistakable(
        self, heard: Utterance, best: Match, now: datetime.datetime
    ) -> Arguments | None:
        """The same with the number that sounds like the one heard: fifty for fifteen."""
        pairs = self._language.confusable
        swap = {one: other for pair in pairs for one, other in (pair, pair[::-1])}
        for at in range(len(heard.words)):
            for number in self._language.numbers.read(heard.words, at):
                if number.value not in swap:
                    continue
                swapped = (
                    *heard.words[:at],
                    str(swap[int(number.value)]),
                    *heard.words[number.end :],
                )
                again = self._language.utterance(" ".join(swapped), lambda: now)
                for way in again.whole(self._sentences):
                    if way.meaning == best.meaning:
                        return plain(way.values)
        return None


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
            case _ if name == "repeat":
                arguments["days"] = value["days"]
            case _:
                arguments[name] = value
    return arguments
