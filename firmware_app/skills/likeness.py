"""How alike two words, or two names, are by their letters."""

from functools import lru_cache

from rapidfuzz import fuzz


@lru_cache(65536)
def words_alike(one: str, other: str) -> float:
    """0 to 1: the share of letters in common."""
    return fuzz.ratio(one, other) / 100


def names_alike(one: str, other: str) -> float:
    """0 to 1; a part of a name is much like the whole."""
    return fuzz.WRatio(one, other) / 100
