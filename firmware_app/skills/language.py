"""Loads what skills hear and say in one language: its folder in languages/."""

import datetime
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from firmware_app.skills import moments, readers
from firmware_app.skills.grammar import Around, Ending, Hearing, Net, SlotReader, Utterance
from firmware_app.skills.language_files import folder, read
from firmware_app.skills.likeness import words_alike
from firmware_app.skills.numbers import Numbers, NumberWords
from firmware_app.skills.saying import Saying
from firmware_app.skills.tokens import fold, tokens

NOT_SKILLS = frozenset({"words", "dialogue"})
NOT_FOR_SKILLS = ""  # the meaning of what only looks like a request to a skill
# Share of letters in common from which a word may have been one of a time; of a long one, more.
LIKE_A_VALUE, LIKE_A_LONG_ONE, LONG_ONE = 0.6, 0.75, 7
MAKES: Mapping[str, Callable[[Mapping[str, Any]], Any]] = {
    "duration": moments.seconds,
    "time": moments.time_of_day,
    "repeat": readers.repeat,
}


@dataclass(frozen=True, slots=True)
class SkillWords:
    """What one skill hears and says. about: what it can do, in a line."""

    about: str
    examples: tuple[str, ...]
    responses: Mapping[str, str]
    raw: Mapping[str, Any]


class Language:
    """One language's words, sentences and phrases.

    Raises SettingsError where there are none for it.
    """

    def __init__(self, code: str) -> None:
        files = folder(code)
        self.code = code
        words = read(files / "words.yaml")
        self._words = words
        self._signs = dict(sorted(words["signs"].items(), key=lambda pair: -len(pair[0])))
        self.skills = {
            file.stem: _skill(read(file))
            for file in sorted(files.glob("*.yaml"))
            if file.stem not in NOT_SKILLS
        }
        self.numbers = Numbers(_number_words(words["numbers"]))
        self.phrases: Mapping[str, str] = words["phrases"]
        self.errors: Mapping[str, str] = words["errors"]
        self.say = Saying(words)
        self.confusable: list[tuple[int, int]] = [tuple(pair) for pair in words["confusable"]]
        self._hearing = Hearing(
            frozenset(words["light"]),
            frozenset(words["fillers"]),
            {word: frozenset(others) for word, others in words["alike"].items()},
            self.numbers.is_number,
        )
        self._decimal: str = words["numbers"]["decimal"]
        self._rules: dict[str, str] = dict(words["rules"])
        for skill in self.skills.values():
            self._rules |= skill.raw.get("rules", {})

    @cached_property
    def sentences(self) -> Net:
        """All that reaches a skill, and what only looks so. Endings mean the tool's name."""
        net = Net(self._rules, self.tokens)
        for skill in self.skills.values():
            for tool, templates in skill.raw["sentences"].items():
                for template in templates:
                    self._add(net, template, tool)
        for template in self._words["not_for_skills"]:
            self._add(net, template, NOT_FOR_SKILLS)
        return net.finish()

    def net(self, templates: Iterable[str | Mapping[str, Any]], meaning: str = "") -> Net:
        net = Net(self._rules, self.tokens)
        for template in templates:
            self._add(net, template, meaning)
        return net.finish()

    def answers(self) -> Net:
        """Yes, no, the first, the second: endings mean which."""
        net = Net(self._rules, self.tokens)
        for meaning, sentences in self._words["answers"].items():
            for sentence in sentences:
                self._add(net, " ".join(self.tokens(sentence)), meaning)
        return net.finish()

    def tokens(self, text: str) -> tuple[str, ...]:
        """As words are compared: without accents."""
        return tuple(fold(word) for word in self._spelled(text))

    def _spelled(self, text: str) -> tuple[str, ...]:
        return tokens(text, self._signs, self._decimal)

    def utterance(self, text: str, today: datetime.date) -> Utterance:
        """today: by which "tomorrow" is understood."""
        every = {
            **self._readers,
            "date": readers.made_of(self._dates, lambda v: readers.day(v, today)),
        }
        spelled = self._spelled(text)
        return Utterance([fold(word) for word in spelled], self._hearing, every, spelled)

    @cached_property
    def around(self) -> Around:
        """What may stand before and after any sentence."""
        words = self._words["around"]
        return Around(self.net(words["before"]), self.net(words["after"]))

    def sounds_like_a_value(self, words: str) -> bool:
        """Whether one of these words may be part of a number or duration that was misheard."""
        return any(
            words_alike(word, known)
            >= (LIKE_A_LONG_ONE if len(known) >= LONG_ONE else LIKE_A_VALUE)
            for word in self.tokens(words)
            for known in self._value_words
        )

    @cached_property
    def _value_words(self) -> frozenset[str]:
        numbers = self._words["numbers"]
        counted = (numbers["units"], numbers["tens"], numbers["fractions"])
        say, lists = self._words["say"], self._words["lists"]
        units = [name for names in say["units"].values() for name in names]
        days = [say[name] for name in ("today", "tomorrow", "every_day", "weekdays", "weekends")]
        every = (*counted, units, lists["weekday"], lists["part"], days)
        words = {word for known in every for text in known for word in self.tokens(text)}
        return frozenset(word for word in words if not self.says_little(word))

    def says_little(self, word: str) -> bool:
        return word in self._hearing.light or word in self._hearing.fillers

    def add_list(self, kind: str, values: Mapping[str, Any]) -> None:
        """Let a kind of slot be one of these words, which stand for the values."""
        self._readers[kind] = self._one_of(values)

    def add_reader(self, kind: str, reader: SlotReader) -> None:
        """Let a skill read a kind of slot by itself."""
        self._readers[kind] = reader

    @cached_property
    def _dates(self) -> Net:
        return self.net(self._words["grammars"]["date"])

    @cached_property
    def _readers(self) -> dict[str, SlotReader]:
        barred = frozenset(self._words["light"]) - frozenset(self._words["in_names"])
        found: dict[str, SlotReader] = {
            "number": readers.number(self.numbers),
            "ordinal": readers.ordinal(self.numbers),
            "year": readers.year(self.numbers),
            "clock": readers.clock,
            "name": readers.name(self.numbers, barred),
            "text": readers.text,
        }
        for kind, make in MAKES.items():
            found[kind] = readers.made_of(self.net(self._words["grammars"][kind]), make)
        lists = dict(self._words["lists"])
        for skill in self.skills.values():
            lists |= skill.raw.get("lists", {})
        for name, values in lists.items():
            found[name] = self._one_of(values)
        return found

    def _one_of(self, values: Mapping[str, Any]) -> SlotReader:
        return readers.one_of(
            self.net({"sentence": str(key), "value": value} for key, value in values.items())
        )

    def _add(self, net: Net, template: str | Mapping[str, Any], meaning: str) -> None:
        if isinstance(template, str):
            net.add(template, Ending(meaning))
        else:
            fixed = {name: value for name, value in template.items() if name != "sentence"}
            net.add(template["sentence"], Ending(meaning, fixed))


def _skill(raw: dict[str, Any]) -> SkillWords:
    return SkillWords(raw["about"], tuple(raw["examples"]), raw["responses"], raw)


def _number_words(raw: Mapping[str, Any]) -> NumberWords:
    return NumberWords(
        raw["units"],
        raw["tens"],
        raw["hundreds"],
        raw["scales"],
        frozenset(raw["joined_by"]),
        frozenset(raw["point"]),
        frozenset(raw["minus"]),
        frozenset(raw["one"]),
        raw["fractions"],
        raw["ordinals"],
        frozenset(raw["endings"]),
        raw["misheard"],
        raw["following"],
        raw["joins_tens"],
    )
