"""Sentence flow: cuts the model's stream into clauses, each long enough to sound natural."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

from firmware_app.dialogue.language import words_if_known

HARD_LIMIT = 20  # words after which a clause is cut wherever it hurts least

ABBREVIATIONS = re.compile(
    "dr|mr|mrs|ms|prof|st|jr|sr|vs|etc|approx|fig|vol|dept|gen|col|capt|lt|sgt|rev|hon|inc|ltd|co|"
    "corp|mt|ft|al|ca|ed|est|jan|feb|mar|apr|jun|jul|aug|sep|sept|oct|nov|dec|bzw|usw|"
    "sra|srta|dra|ud|uds|p\u00e1g|n\u00fam|avda|tel"
)


class Break(IntEnum):
    """How strongly the text divides at a place."""

    CONJUNCTION = 1
    PUNCTUATION = 2
    SENTENCE = 3
    LINE = 4


FEWEST_WORDS = {  # before a break of this kind is taken: in the first clause, in later ones
    Break.CONJUNCTION: (5, 10),
    Break.PUNCTUATION: (3, 8),
    Break.SENTENCE: (1, 1),
    Break.LINE: (1, 1),
}

_LINE = r"(?P<line>\n)"
_SENTENCE = (
    r"""(?P<sentence>(?:[.!?\u2026]+["'\u201d\u2019\u00bb)\]*_]*(?=\s+\S)|[\u3002\uff01\uff1f]))"""
)
_COMMA = (
    r"""(?P<punctuation>(?:[,;:]["'\u201d\u2019)*_]*(?=\s)|(?<=[^\W\d])[,;]$|[\u3001\uff0c\uff1b]"""
)
_DASH = r"""|\s[\u2013\u2014-]+(?=\s)|(?<=\w)\u2014(?=\w)))"""
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")  # scripts without spaces
_LAST_WORD = re.compile(r"[\w.]*$")
_ENUMERATOR = re.compile(r"(?:^|\n)\s*\d{1,3}$")


@dataclass(frozen=True, slots=True)
class _Place:
    end: int
    kind: Break


class ClauseSplitter:
    """Feed it the reply as it comes; it returns the clauses that are complete.

    All clauses joined are the text. The first clause comes as early as it can be spoken well.
    """

    def __init__(self, language: str = "en") -> None:
        words = words_if_known(language)
        before = "|".join(words.get("conjunctions", ()))
        conjunction = rf"|(?P<conjunction>\s(?=(?:{before})\s))" if before else ""
        self._leaning = frozenset(words.get("leaning", ()))  # on the next word: no cut after them
        self._places = re.compile("|".join((_LINE, _SENTENCE, _COMMA + _DASH)) + conjunction)
        self._text = ""
        self._spoken = False  # whether a clause with words has gone out
        self._in_code = False

    def feed(self, text: str) -> list[str]:
        self._text += text
        clauses = []
        while end := self._cut():
            clauses.append(self._take(end))
        return clauses

    def finish(self) -> list[str]:
        """The rest. The splitter is then ready for another text."""
        rest = [self._take(len(self._text))] if self._text else []
        self._spoken = self._in_code = False
        return rest

    def _take(self, end: int) -> str:
        clause, self._text = self._text[:end], self._text[end:]
        self._spoken |= any(c.isalnum() for c in clause)
        self._in_code ^= clause.count("```") % 2 == 1
        return clause

    def _cut(self) -> int:
        """Where the next clause ends; 0 while there is none."""
        last_resort = 0
        for place in self._usable_places():
            words = _words(self._text[: place.end])
            if words > HARD_LIMIT:
                break
            if words >= FEWEST_WORDS[place.kind][self._spoken]:
                return place.end
            if words >= FEWEST_WORDS[place.kind][0]:
                last_resort = place.end
        if _words(self._text) <= HARD_LIMIT:
            return 0
        return last_resort or self._forced_cut()

    def _usable_places(self) -> Iterator[_Place]:
        for match in self._places.finditer(self._text):
            place = _Place(match.end(), Break[(match.lastgroup or "").upper()])
            before = self._text[: match.start()]
            if place.kind != Break.LINE and (self._in_code or _inside_markup(before)):
                continue
            if place.kind < Break.SENTENCE and before.count("(") > before.count(")"):
                continue
            if place.kind == Break.SENTENCE and not self._ends_sentence(match):
                continue
            yield place

    def _ends_sentence(self, match: re.Match[str]) -> bool:
        """Whether this full stop ends a sentence, rather than an abbreviation or a number."""
        if not match.group().startswith("."):
            return True
        before = self._text[: match.start()]
        last = _LAST_WORD.search(before)
        word = last.group().lower() if last else ""
        follows = self._text[match.end() :].lstrip()[:1]
        if follows.islower():
            return False
        if "." in word:  # such as e.g. and U.S.; a time of day may end a sentence
            return word in {"a.m", "p.m"} and follows.isupper()
        if word == "no":
            return not follows.isdigit()
        if ABBREVIATIONS.fullmatch(word) or (len(word) == 1 and word.isalpha()):
            return False
        return not _ENUMERATOR.search(before)

    def _forced_cut(self) -> int:
        """After the last word within the limit that does not lean on the next."""
        end, words = 0, 0
        for match in re.finditer(r"\S+\s*", self._text):
            words += max(1, _words(match.group()))
            if words > HARD_LIMIT:
                break
            if match.group()[-1:].isspace() and match.group().strip().lower() not in self._leaning:
                end = match.end()
        if end:
            return end
        return HARD_LIMIT * 2 if _WIDE.search(self._text) else 0


def _words(text: str) -> int:
    """Words; two characters of a script without spaces count as one."""
    wide = len(_WIDE.findall(text))
    return wide // 2 + sum(1 for word in text.split() if not _WIDE.search(word))


def _inside_markup(before: str) -> bool:
    """Whether a code span or a link that began on this line is still open."""
    line = before[before.rfind("\n") + 1 :]
    if line.count("`") % 2 or line.rfind("[") > line.rfind("]"):
        return True
    link = line.rfind("](")
    return link >= 0 and ")" not in line[link:]
