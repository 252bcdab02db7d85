"""The few things that are about the dialogue itself, and never a question for the model."""

import re
from enum import Enum, auto

from firmware_app.dialogue.likeness import likeness, plain


class Command(Enum):
    STOP = auto()
    REPLAY = auto()
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


SENTENCES: dict[str, dict[Command, tuple[str, ...]]] = {
    "en": {
        Command.STOP: ("stop", "stop it", "be quiet", "cancel", "never mind", "forget it"),
        Command.REPLAY: (
            "say that again",
            "repeat that",
            "what did you say",
            "can you repeat that",
            "say it again",
        ),
        Command.NEW_CONVERSATION: (
            "new conversation",
            "start a new conversation",
            "let's talk about something else",
        ),
        Command.NOT_FOR_ECHO: (
            "that wasn't for you",
            "that was not for you",
            "i wasn't talking to you",
            "i was not talking to you",
            "i didn't call you",
        ),
        Command.DONT_SAVE: (
            "don't save this",
            "do not save this",
            "don't save that",
            "don't save this conversation",
            "do not save this conversation",
        ),
        Command.STOP_SAVING: (
            "stop saving",
            "stop saving conversations",
            "stop saving our conversations",
            "don't save anything",
        ),
        Command.START_SAVING: (
            "start saving",
            "start saving again",
            "start saving conversations",
            "start saving our conversations",
        ),
        Command.ARE_YOU_SAVING: (
            "are you saving",
            "are you saving this",
            "are you saving this conversation",
            "is this being saved",
        ),
        Command.DELETE_THAT: (
            "delete that",
            "delete this",
            "delete it",
            "delete the last question",
            "delete the last answer",
        ),
        Command.DELETE_CONVERSATION: (
            "delete this conversation",
            "delete the conversation",
            "delete our conversation",
            "delete this whole conversation",
        ),
        Command.YES: (
            "yes",
            "yes delete it",
            "yes do it",
            "yeah",
            "yep",
            "do it",
            "sure",
        ),
        Command.NO: ("no", "no thanks", "no don't", "nope", "keep it", "don't do it"),
    },
}

# A short sentence differs from another by one letter in few; so the shorter, the stricter.
SURE = 0.86

# The wake phrase as recognisers hear it, whole or its end alone.
_WAKE_PHRASE = re.compile(
    r"^\W*(?:(?:(?:hey|hay|hi|a|they|he|the|day)\W+)?(?:echo|eco|ecco|ekko|ecko)|ha?yako)\b\W*",
    re.IGNORECASE,
)


def command(text: str, language: str) -> Command | None:
    """The command that this sentence is, where it is one beyond doubt."""
    said = plain(text).removeprefix("please ").removesuffix(" please")
    found = [
        (likeness(said, sentence), name)
        for name, sentences in SENTENCES.get(language, {}).items()
        for sentence in sentences
    ]
    how_near, meant = max(found, key=lambda pair: pair[0], default=(0.0, None))
    return meant if how_near >= SURE else None


def without_wake_phrase(text: str) -> str:
    """The transcript without the end of "Hey Echo" that the pre-roll may still hold."""
    stripped = _WAKE_PHRASE.sub("", text, count=1)
    if stripped == text:
        return text
    return stripped[:1].upper() + stripped[1:]
