"""Reads sums as people say them: "the square root of 81 plus 15 percent of 200"."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from firmware_app.skills.grammar import Found, SlotReader, Utterance
from firmware_app.skills.likeness import words_alike
from firmware_app.skills.numbers import Numbers

Read: TypeAlias = tuple[str, int, int]  # an expression, the position after it, its operations

LONG_WORD = 6  # letters
NEARLY = 0.85  # share of letters in common

_BEFORE = {
    "sqrt": "sqrt({})",
    "cbrt": "cbrt({})",
    "factorial": "factorial({})",
    "square": "({})**2",
    "cube": "({})**3",
    "half": "({})/2",
    "third": "({})/3",
    "quarter": "({})/4",
    "tenth": "({})/10",
    "double": "2*({})",
    "triple": "3*({})",
}
_TWO = {
    "+": "({}) + ({})",
    "*": "({}) * ({})",
    "/": "({}) / ({})",
    "diff": "abs(({}) - ({}))",
    "from": "({1}) - ({0})",
}


class SumReader:
    """operators: what a language calls them. Reads the longest sum that begins at a position."""

    def __init__(self, operators: Mapping[str, Any], numbers: Numbers) -> None:
        self._numbers = numbers
        self._binary = _phrases(operators["binary"])
        self._after = _phrases(operators["after"])
        self._before = _phrases(operators["before"])
        self._two = _phrases(operators["two"])
        self._percent = frozenset(operators["percent"])
        self._of = frozenset(operators["of"])
        self._off = frozenset(operators["off"])
        self._power_of = _phrases(dict.fromkeys(operators["power_of"], ""))
        self._power = _phrases(dict.fromkeys(operators["power"], ""))
        all_phrases = (self._binary, self._after, self._before, self._two)
        self._long = sorted(
            word
            for phrases in all_phrases
            for several in phrases.values()
            for phrase, _ in several
            for word in phrase
            if len(word) >= LONG_WORD
        )
        self._open = _phrases(dict.fromkeys(operators["open"], "("))
        self._close = _phrases(dict.fromkeys(operators["close"], ")"))

    def slot(self) -> SlotReader:
        def read(heard: Utterance, at: int) -> Iterable[Found]:
            found = self._sum(self._mended(heard.words), at)
            if found and found[2]:
                yield Found(found[0], found[1])

        return read

    def _mended(self, words: Sequence[str]) -> list[str]:
        """The long words that recognisers bend, such as "subtrack", as they are written."""
        return [self._as_written(word) if len(word) >= LONG_WORD else word for word in words]

    def _as_written(self, word: str) -> str:
        best = max(self._long, key=lambda known: words_alike(word, known), default=word)
        return best if words_alike(word, best) >= NEARLY else word

    def _sum(self, words: Sequence[str], at: int) -> Read | None:
        left = self._term(words, at)
        while left:
            text, end, count = left
            symbol, after = _longest(self._binary, words, end)
            if symbol not in {"+", "-"}:
                return left
            right = self._term(words, after)
            if not right:
                return left
            if self._at(self._percent, words, right[1]):  # 80 plus 15 percent
                change = f"(100 {symbol} ({right[0]})) / 100"
                left = f"({text}) * {change}", right[1] + 1, count + right[2] + 1
            else:
                left = f"{text} {symbol} {right[0]}", right[1], count + right[2] + 1
        return None

    def _term(self, words: Sequence[str], at: int) -> Read | None:
        left = self._factor(words, at)
        while left:
            symbol, after = _longest(self._binary, words, left[1])
            if symbol not in {"*", "/", "%"}:
                return left
            right = self._factor(words, after)
            if not right:
                return left
            left = f"{left[0]} {symbol} {right[0]}", right[1], left[2] + right[2] + 1
        return None

    def _factor(self, words: Sequence[str], at: int) -> Read | None:
        found = self._atom(words, at)
        while found:
            text, end, count = found
            suffix, after = _longest(self._after, words, end)
            if suffix is not None:
                text = f"factorial({text})" if suffix == "!" else f"({text}){suffix}"
                found = text, after, count + 1
                continue
            symbol, after = _longest(self._binary, words, end)
            if symbol == "**" and (right := self._factor(words, after)):
                return f"({text})**({right[0]})", right[1], count + right[2] + 1
            if raised := self._ordinal_power(words, end):
                return f"({text})**{raised[0]}", raised[1], count + 1
            return found
        return None

    def _ordinal_power(self, words: Sequence[str], at: int) -> tuple[int, int] | None:
        """Two to the tenth (power)."""
        symbol, after = _longest(self._power_of, words, at)
        if symbol is None:
            return None
        for number in self._numbers.ordinal(words, after):
            _, end = _longest(self._power, words, number.end)
            return int(number.value), end
        return None

    def _atom(self, words: Sequence[str], at: int) -> Read | None:
        name, after = _longest(self._before, words, at)
        if name is not None and (inner := self._factor(words, after)):
            return _BEFORE[name].format(inner[0]), inner[1], inner[2] + 1
        two, after = _longest(self._two, words, at)
        if two is not None:
            return self._of_two(words, after, *two)
        if _longest(self._open, words, at)[0] and (inner := self._sum(words, at + 2)):
            closed, end = _longest(self._close, words, inner[1])
            return f"({inner[0]})", end if closed else inner[1], inner[2]
        return self._number(words, at)

    def _of_two(
        self, words: Sequence[str], at: int, form: str, between: Sequence[str]
    ) -> Read | None:
        for number in self._numbers.read(words, at):
            if not self._at(frozenset(between), words, number.end):
                continue
            if right := self._term(words, number.end + 1):
                text = _TWO[form].format(_digits(number.value), right[0])
                return text, right[1], right[2] + 1
        return None

    def _number(self, words: Sequence[str], at: int) -> Read | None:
        for number in self._numbers.read(words, at):
            if number.cost:
                return None
            text, end = _digits(number.value), number.end
            if self._at(self._percent, words, end):
                share = f"({text}/100)"
                if self._at(self._of, words, end + 1) and (of := self._factor(words, end + 2)):
                    return f"{share} * ({of[0]})", of[1], of[2] + 1
                if self._at(self._off, words, end + 1) and (of := self._factor(words, end + 2)):
                    return f"({of[0]}) * (1 - {share})", of[1], of[2] + 1
            elif self._at(self._of, words, end) and (of := self._factor(words, end + 1)):
                return f"{_fraction(number.value)} * ({of[0]})", of[1], of[2] + 1
            return text, end, 0
        return None

    @staticmethod
    def _at(these: frozenset[str], words: Sequence[str], at: int) -> bool:
        return at < len(words) and words[at] in these


_Phrases: TypeAlias = dict[str, list[tuple[tuple[str, ...], Any]]]


def _phrases(raw: Mapping[str, Any]) -> _Phrases:
    """By their first word, the longest first."""
    found: _Phrases = {}
    for phrase, meaning in raw.items():
        words = tuple(phrase.split())
        found.setdefault(words[0], []).append((words, meaning))
    for several in found.values():
        several.sort(key=lambda pair: -len(pair[0]))
    return found


def _longest(phrases: _Phrases, words: Sequence[str], at: int) -> tuple[Any, int]:
    """What the longest phrase that stands there means; None and the position where none does."""
    if at < len(words):
        for phrase, meaning in phrases.get(words[at], ()):
            if tuple(words[at : at + len(phrase)]) == phrase:
                return meaning, at + len(phrase)
    return None, at


def _digits(value: float) -> str:
    if float(value).is_integer():
        return f"({int(value)})" if value < 0 else str(int(value))
    text = _fraction(value)
    return f"({text})" if "/" in text or value < 0 else text


def _fraction(value: float) -> str:
    """A third is meant as one, not as 0.3333."""
    thirds = value * 3
    if abs(thirds - round(thirds)) < 1e-9 and not float(value).is_integer():
        return f"({round(thirds)}/3)"
    return f"{value:.12g}"
