"""How a language's rules turn signs into words, whichever language it is.

A rule is a pattern and what is said for it. The order matters: what is longer or more special
comes first, and a rule leaves nothing that a later one could take for its own.
"""

import re
from collections.abc import Callable, Iterable
from typing import TypeAlias

Match: TypeAlias = re.Match[str]
Said: TypeAlias = str | Callable[[Match], str]
Rule: TypeAlias = tuple[re.Pattern[str], Said]

ROMAN = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}


def rule(pattern: str, said: Said) -> Rule:
    return re.compile(pattern), said


def any_of(names: Iterable[str]) -> str:
    """A pattern for any of the names, the longest first."""
    return "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))


def roman(numeral: str) -> int:
    values = [ROMAN[c] for c in numeral]
    following = [*values[1:], 0]
    return sum(-v if v < n else v for v, n in zip(values, following, strict=True))


def said_by(words: Iterable[Rule], numbers: Iterable[Rule], text: str) -> str:
    """The text as these rules say it; those for numbers are asked where there is a digit."""
    for pattern, said in words:
        text = pattern.sub(said, text)
    if any(c.isdigit() for c in text):
        for pattern, said in numbers:
            text = pattern.sub(said, text)
        text = re.sub(r"(?<=\S) {2,}", " ", text).strip(" ")
    return text
