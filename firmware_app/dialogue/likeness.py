"""Comparing what was heard with what could have been said: recognisers err on short commands."""

import re
from difflib import SequenceMatcher

ALIKE = 0.8  # share of letters in common from which two sentences count as the same


def plain(text: str) -> str:
    """Lower case, words only."""
    return " ".join(re.findall(r"\w+(?:'\w+)?", text.lower()))


def likeness(one: str, other: str) -> float:
    """0 to 1, by letters, whatever case and punctuation."""
    return SequenceMatcher(None, plain(one), plain(other), autojunk=False).ratio()


def alike(one: str, other: str) -> bool:
    return likeness(one, other) >= ALIKE
