"""Numbers, times, units and abbreviations as people say them."""

import re
import unicodedata
from functools import lru_cache

from num2words import num2words  # type: ignore[import-untyped]

from firmware_app.dialogue import spoken_english, spoken_spanish

_NUMBER = re.compile(r"\d+(?:[.,]\d+)?")
_LONGEST = 15  # digits; a longer number is said digit by digit


def spoken(text: str, language: str = "en") -> str:
    """The text with all numbers in words, in English and Spanish also all else that is no word.

    In other languages plain numbers become words where num2words knows the language; anything
    else is left to the voice.
    """
    text = plain_digits(text)
    code = language.lower().replace("_", "-").split("-")[0]
    if code == "en":
        return spoken_english.spoken(text)
    if code == "es":
        return spoken_spanish.spoken(text)
    return _NUMBER.sub(lambda match: _in_words(match.group(), code), text)


def plain_digits(text: str) -> str:
    """The text with the digits of all scripts as 0 to 9."""
    if text.isascii():
        return text
    return "".join(
        str(unicodedata.digit(c)) if c.isdecimal() and not c.isascii() else c for c in text
    )


@lru_cache(1024)
def _in_words(number: str, language: str) -> str:
    if len(number) > _LONGEST:
        return number
    value = float(number.replace(",", ".")) if re.search("[.,]", number) else int(number)
    try:
        return str(num2words(value, lang=language))
    except (NotImplementedError, OverflowError, ValueError, TypeError, KeyError, IndexError):
        return number  # num2words knows the language in part, or not at all
