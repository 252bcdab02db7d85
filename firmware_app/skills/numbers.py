"""Reading numbers, said in words or written in digits."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from firmware_app.skills.tokens import is_number

MISHEARD = 0.6  # what it costs to take a word such as "for" for the number that sounds like it
AS_ORDINAL = 0.1  # to take "the 4" for "the fourth"


@dataclass(frozen=True, slots=True)
class NumberWords:
    """What numbers are called.

    units: 0 to 19 and what else is said in one word below a hundred but tens. scales: hundred and
    above. joined_by: between tens and units, or after hundreds. digits: those that may follow one
    another, as in "oh five". ordinals: first, second … endings: of an ordinal in digits.
    misheard: words that sound like a number. following: units that are articles where they stand
    alone. joins_tens: whether joined_by stands between tens and units.
    """

    units: Mapping[str, int]
    tens: Mapping[str, int]
    hundreds: Mapping[str, int]
    scales: Mapping[str, int]
    joined_by: frozenset[str]
    point: frozenset[str]
    minus: frozenset[str]
    one: frozenset[str]
    fractions: Mapping[str, float]
    ordinals: Mapping[str, int]
    endings: frozenset[str]
    misheard: Mapping[str, int]
    following: Mapping[str, int]
    joins_tens: bool


@dataclass(frozen=True, slots=True)
class Number:
    """value, the position after its last word, and what it cost to take the words for it."""

    value: float
    end: int
    cost: float = 0.0


class Numbers:
    """Reads them by the words of one language."""

    def __init__(self, words: NumberWords) -> None:
        self._words = words

    def is_number(self, token: str) -> bool:
        words = self._words
        return is_number(token) or token in words.units or token in words.tens

    def read(self, tokens: Sequence[str], at: int) -> Iterator[Number]:
        """The number that begins there, as long as it goes; and what else it may be."""
        words = self._words
        begin, sign = at, 1
        if at < len(tokens) and tokens[at] in words.minus:
            begin, sign = at + 1, -1
        number = self._cardinal(tokens, begin) or self._fraction_alone(tokens, begin)
        if number:
            if joined := self._joined_hundreds(tokens, begin):
                yield Number(sign * joined.value, joined.end)
            whole, number = number, self._with_fraction(tokens, number)
            yield Number(sign * number.value, number.end)
            if number.end != whole.end:  # "las dos y media" is a time
                yield Number(sign * whole.value, whole.end)
            if joined := self._joined_digits(tokens, begin):
                yield Number(sign * joined.value, joined.end)
        elif at < len(tokens) and tokens[at] in words.misheard:
            yield Number(words.misheard[tokens[at]], at + 1, MISHEARD)

    def ordinal(self, tokens: Sequence[str], at: int) -> Iterator[Number]:
        """A number that counts a place: the fourth, the 25th, the twenty fifth."""
        words = self._words
        if at >= len(tokens):
            return
        word = tokens[at]
        following = tokens[at + 1] if at + 1 < len(tokens) else ""
        if word in words.tens and words.ordinals.get(following, 10) < 10:
            yield Number(words.tens[word] + words.ordinals[following], at + 2)
        elif word in words.ordinals:
            yield Number(words.ordinals[word], at + 1)
        elif word.isdigit() and following in words.endings:
            yield Number(int(word), at + 2)
        else:
            for number in self.read(tokens, at):
                if float(number.value).is_integer() and number.value >= 1:
                    yield Number(number.value, number.end, number.cost + AS_ORDINAL)

    def _joined_digits(self, tokens: Sequence[str], at: int) -> Number | None:
        """40 y 5, as recognisers write "cuarenta y cinco"."""
        match tokens[at : at + 3]:
            case [tens, joint, unit] if self._words.joins_tens and joint in self._words.joined_by:
                if tens.isdigit() and int(tens) in range(30, 100, 10) and unit in set("123456789"):
                    return Number(int(tens) + int(unit), at + 3)
        return None

    def _joined_hundreds(self, tokens: Sequence[str], at: int) -> Number | None:
        """100 and 44, as recognisers write "a hundred and forty four"."""
        match tokens[at : at + 3]:
            case [hundreds, joint, rest] if joint in self._words.joined_by:
                if self._words.joins_tens or not (hundreds.isdigit() and rest.isdigit()):
                    return None
                if int(hundreds) in range(100, 1000, 100) and 0 < int(rest) < 100:
                    return Number(int(hundreds) + int(rest), at + 3)
        return None

    def _cardinal(self, tokens: Sequence[str], at: int) -> Number | None:
        words = self._words
        if at < len(tokens) and is_number(tokens[at]) and ":" not in tokens[at]:
            whole = Number(float(tokens[at]), at + 1)
            return self._scaled(tokens, self._decimals(tokens, whole))
        total, current, end = 0.0, 0.0, at
        last = float("inf")  # the size of the last part, which the next must be below
        position = at
        while position < len(tokens):
            word = tokens[position]
            if word in words.joined_by and 0 < position < len(tokens) and end == position > at:
                position += 1
                if position >= len(tokens) or not self._may_follow(tokens[position], last):
                    break
                continue
            unit = words.units.get(word, words.following.get(word) if end > at else None)
            if unit is not None and last > 19 and unit < last:
                current += unit
                last = 1.0
            elif word in words.tens and last > 99:
                current += words.tens[word]
                last = 20.0
            elif word in words.hundreds and last > 999:
                current += words.hundreds[word]
                last = 100.0
            elif word in words.scales and (end > at or self._one_before(tokens, at)):
                scale = words.scales[word]
                if scale == 100:
                    current = (current or 1) * 100
                else:
                    total += (current or 1) * scale
                    current = 0.0
                last = float(scale)
            elif (
                end == at
                and word in words.one
                and position + 1 < len(tokens)
                and tokens[position + 1] in words.scales
            ):
                position += 1
                continue
            else:
                break
            position += 1
            end = position
        if end == at:
            return None
        return self._decimals(tokens, Number(total + current, end))

    def _may_follow(self, word: str, last: float) -> bool:
        """After "and": something smaller than what came before it."""
        words = self._words
        value = words.units.get(word, words.tens.get(word, words.following.get(word)))
        return value is not None and value < last and last >= 20

    def _one_before(self, tokens: Sequence[str], at: int) -> bool:
        return tokens[at] in self._words.one or tokens[at] in self._words.scales

    def _scaled(self, tokens: Sequence[str], number: Number) -> Number:
        """3 million, 2.5 thousand."""
        scales = self._words.scales
        while number.end < len(tokens) and tokens[number.end] in scales:
            number = Number(number.value * scales[tokens[number.end]], number.end + 1)
        return number

    def _decimals(self, tokens: Sequence[str], number: Number) -> Number:
        """Three point one four."""
        words = self._words
        if number.end >= len(tokens) or tokens[number.end] not in words.point:
            return number
        digits, position = "", number.end + 1
        while position < len(tokens) and words.units.get(tokens[position], 10) < 10:
            digits += str(words.units[tokens[position]])
            position += 1
        if not digits and position < len(tokens) and tokens[position].isdigit():
            digits, position = tokens[position], position + 1
        if not digits:
            return number
        return self._scaled(tokens, Number(float(f"{int(number.value)}.{digits}"), position))

    def _fraction_alone(self, tokens: Sequence[str], at: int) -> Number | None:
        """Half; a quarter."""
        words = self._words
        if at < len(tokens) and tokens[at] in words.one:
            at += 1
        if at < len(tokens) and tokens[at] in words.fractions:
            return Number(words.fractions[tokens[at]], at + 1)
        return None

    def _with_fraction(self, tokens: Sequence[str], number: Number) -> Number:
        """Two and a half; three quarters; 2 1 over 2 is none."""
        words = self._words
        end = number.end
        if end < len(tokens) and tokens[end] in words.fractions:
            return Number(number.value * words.fractions[tokens[end]], end + 1)
        if end < len(tokens) and tokens[end] in words.joined_by:
            part = self._fraction_alone(tokens, end + 1)
            whole = self._cardinal(tokens, end + 1)
            if whole and whole.end < len(tokens) and tokens[whole.end] in words.fractions:
                part = Number(whole.value * words.fractions[tokens[whole.end]], whole.end + 1)
            if part and part.value < 1 and number.value.is_integer():
                return Number(number.value + part.value, part.end)
        return number
