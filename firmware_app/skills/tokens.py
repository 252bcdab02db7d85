"""Cuts what was recognised into words, numbers and times of day."""

import re
import unicodedata
from collections.abc import Mapping

_TOKEN = re.compile(
    r"\d{1,2}:\d{2}(?!\d)"  # a time of day
    r"|\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+"
    r"|[^\W\d_]+(?:'[^\W\d_]+)*",
    re.UNICODE,
)
_DOTTED = re.compile(r"\b([^\W\d_])\.\s?([^\W\d_])\.?(?!\w)")  # a.m., p. m.
_WRITTEN = re.compile(r"\d[\d.,]*\d")
_SWAPPED = str.maketrans(".,", ",.")
_ALIKE = str.maketrans({"\u2019": "'", "\u2018": "'", "\u2212": "-", "\u2013": "-", "\u00a0": " "})


def tokens(text: str, signs: Mapping[str, str], decimal: str = ".") -> tuple[str, ...]:
    """Words in lower case; numbers as 1200 or 3.5, however they were written; times such as 7:05.

    signs: what signs such as % and + are called, longest first. decimal: what stands before the
    fraction of a number.
    """
    plain = _DOTTED.sub(r"\1\2", text.translate(_ALIKE)).lower()
    if decimal == ",":
        plain = _WRITTEN.sub(lambda number: number.group().translate(_SWAPPED), plain)
    for sign, word in signs.items():
        plain = plain.replace(sign, f" {word} ")
    return tuple(token.replace(",", "") for token in _TOKEN.findall(plain))


def fold(word: str) -> str:
    """Without accents: recognisers forget them, and people who type do."""
    if word.isascii():
        return word
    return "".join(c for c in unicodedata.normalize("NFD", word) if not unicodedata.combining(c))


def is_number(token: str) -> bool:
    return token[0].isdigit() or token[0] == "."
