"""The few things that are about the dialogue itself, and never a question for the model."""

import re
from collections.abc import Sequence
from enum import Enum, auto
from functools import lru_cache

from firmware_app.dialogue.language import words_if_known
from firmware_app.dialogue.likeness import likeness, plain
from firmware_app.skills.tokens import fold


class Command(Enum):
    STOP = auto()
    REPLAY = auto()
    REPLAY_SLOWLY = auto()
    NEW_CONVERSATION = auto()
    NOT_FOR_ECHO = auto()
    DONT_SAVE = auto()
    STOP_SAVING = auto()
    START_SAVING = auto()
    ARE_YOU_SAVING = auto()
    DELETE_THAT = auto()
    DELETE_CONVERSATION = auto()
    YES = auto()  # as NO: to what Echo has asked, else it is none
    NO = auto()


# A short sentence differs from another by one letter in few; so the shorter, the stricter.
SURE = 0.86

# The wake phrase as recognisers hear it, whole or its end alone.
_WAKE_PHRASE = re.compile(
    r"^\W*(?:(?:(?:hey|hay|hi|a|they|he|the|day|ey|ei|hei|oye|eh)\W+)?"
    r"(?:echo|eco|ecco|ekko|ecko)|ha?yako|(?:hey|ey|oye|hei)\W+hecho)\b[^\w\u00bf\u00a1]*",
    re.IGNORECASE,
)
_FIRST_LETTER = re.compile(r"^[\u00bf\u00a1]?\w")


def command(text: str, language: str) -> Command | None:
    """The command that this sentence is, where it is one beyond doubt."""
    said = _without_polite(fold(plain(text)), language)
    found = [(likeness(said, sentence), name) for name, sentence in _sentences(language)]
    how_near, meant = max(found, key=lambda pair: pair[0], default=(0.0, None))
    return meant if how_near >= SURE else None


def _without_polite(said: str, language: str) -> str:
    polite = [fold(words) for words in words_if_known(language).get("polite", ())]
    before = ""
    while said != before:
        before = said
        for words in polite:
            said = said.removeprefix(f"{words} ").removesuffix(f" {words}")
    return said


@lru_cache(8)
def _sentences(language: str) -> Sequence[tuple[Command, str]]:
    return [
        (Command[name.upper()], fold(sentence))
        for name, sentences in words_if_known(language).get("commands", {}).items()
        for sentence in sentences
    ]


def without_wake_phrase(text: str) -> str:
    """The transcript without the end of "Hey Echo" that the pre-roll may still hold."""
    stripped = _WAKE_PHRASE.sub("", text, count=1)
    if stripped == text:
        return text
    return _FIRST_LETTER.sub(lambda letter: letter.group().upper(), stripped, count=1)
