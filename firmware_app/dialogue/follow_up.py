"""Who may be answered without the wake word: a television must not talk to Echo all evening."""

from typing import Protocol

import numpy as np

from firmware_app.dialogue.likeness import alike
from firmware_app.engines import Detection, Transcript
from firmware_app.frames import Frame, dbfs

LEVEL_WITHIN_DB = 6.0
LEAST_CONFIDENCE = 0.5
REJECTIONS = 2  # turned down ones that close the window
UNNAMED = 3  # answered in a row without the wake word, then it is wanted again


class Memory(Protocol):
    """Knows what Echo has said last."""

    just_said: str


class Addressed:
    """The gate after a wake-up or a press: Echo was addressed, only its own voice is kept out."""

    follow_up = False
    open = True

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def accepts(self, transcript: Transcript, speech: tuple[Frame, ...]) -> bool:
        return not echoes(transcript.text, self._memory.just_said)

    def rejected(self) -> None:
        self.open = False


class FollowUpGuard:
    """The gate of the follow-up windows after one wake-up.

    level: dB below full scale of the wake phrase, or of the first question after a press.
    """

    follow_up = True

    def __init__(self, level: float, memory: Memory) -> None:
        self._level = level
        self._memory = memory
        self._rejected = 0
        self._answered = 0

    @property
    def open(self) -> bool:
        return self._rejected < REJECTIONS and self._answered < UNNAMED

    def accepts(self, transcript: Transcript, speech: tuple[Frame, ...]) -> bool:
        """Whether this may be a question to Echo: sure, as loud as before, not Echo's own voice."""
        return (
            transcript.confidence >= LEAST_CONFIDENCE
            and abs(speech_level(speech) - self._level) <= LEVEL_WITHIN_DB
            and not echoes(transcript.text, self._memory.just_said)
        )

    def rejected(self) -> None:
        self._rejected += 1

    def answered(self) -> None:
        self._answered += 1


def phrase_level(before: tuple[Frame, ...], detection: Detection) -> float:
    """dB below full scale of the wake phrase itself."""
    return speech_level(
        tuple(f for f in before if f.end > detection.start and f.index < detection.end)
    )


def speech_level(frames: tuple[Frame, ...]) -> float:
    """dB below full scale of the louder half of the frames, which is where the voice is."""
    if not frames:
        return -120.0
    ordered = sorted(frames, key=lambda frame: dbfs(frame.samples))
    return dbfs(np.concatenate([frame.samples for frame in ordered[len(ordered) // 2 :]]))


def echoes(heard: str, just_said: str) -> bool:
    """Whether what was heard is a piece of what Echo has just said."""
    heard_words, said_words = heard.split(), just_said.split()
    if len(heard_words) < 3:
        return False
    windows = range(max(1, len(said_words) - len(heard_words) + 1))
    return any(
        alike(heard, " ".join(said_words[start : start + len(heard_words)])) for start in windows
    )
