"""Scripted engines: turn-taking is tested without waiting for real ones, which the journeys use."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Iterable, Sequence

import numpy as np

from firmware_app.engines import (
    Detection,
    Message,
    Sensitivity,
    Tool,
    ToolCall,
    Transcript,
    Usage,
    Verdict,
)
from firmware_app.errors import EngineError
from firmware_app.frames import BLOCK, SAMPLE_RATE, Frame, Samples, dbfs

WAKE_MARK = 32_001  # the sample value by which a scripted wake word is heard
STOP_MARK = 32_003  # the same for the word that stops Echo, anywhere in a burst
LOUD_DBFS = -50.0
WORD = SAMPLE_RATE // 10  # samples that the tone voice takes for one


class ScriptedWakeWord:
    """Hears its name in any frame that begins with WAKE_MARK."""

    raised = False
    sensitivity: Sensitivity = "normal"
    second_stage = True

    def __init__(self, *, certain: bool = True) -> None:
        self.certain = certain

    def says(self, word: str, samples: Samples) -> bool:
        return bool(samples[0] == WAKE_MARK)

    def process(self, frame: Frame) -> Detection | None:
        if frame.samples[0] != WAKE_MARK:
            return None
        start = frame.index - SAMPLE_RATE // 4
        return Detection("echo", 0.9, start, frame.end, frame.heard_at, self.certain)

    def reset(self) -> None:
        return


class ScriptedStopWord:
    """Hears "stop" by STOP_MARK; counts how often it was asked, and fails where it is to."""

    def __init__(self) -> None:
        self.asked = 0
        self.error: EngineError | None = None

    async def begins(self, samples: Samples) -> bool:
        self.asked += 1
        if self.error:
            raise self.error
        return STOP_MARK in samples


class LevelActivity:
    """Takes every loud frame for speech."""

    def process(self, frame: Frame) -> float:
        return 1.0 if dbfs(frame.samples) > LOUD_DBFS else 0.0

    def reset(self) -> None:
        return


class ScriptedRecogniser:
    """Understands one text after another, where there was any sound to understand."""

    name = "scripted recogniser"

    def __init__(self, texts: Iterable[str], confidence: float = 0.95) -> None:
        self.usage = Usage()
        self.texts = deque(texts)
        self.confidence = confidence

    def start(self) -> "ScriptedRecognition":
        return ScriptedRecognition(self)

    def close(self) -> None:
        return


class ScriptedRecognition:
    partial = ""

    def __init__(self, recogniser: ScriptedRecogniser) -> None:
        self._recogniser = recogniser
        self._loud = 0

    def feed(self, frame: Frame) -> None:
        self._loud += dbfs(frame.samples) > LOUD_DBFS

    async def peek(self) -> Transcript:
        await asyncio.sleep(0)
        if not self._loud:
            return Transcript("")
        texts = self._recogniser.texts
        text = texts.popleft() if len(texts) > 1 else texts[0]
        return Transcript(text, self._recogniser.confidence)

    async def finish(self) -> Transcript:
        return await self.peek()

    def cancel(self) -> None:
        return


class ScriptedModel:
    """Answers each question with its script, word by word; remembers what it was asked."""

    name = "scripted model"
    can_call_tools = False
    small = True

    def __init__(self, answers: Sequence[str] = ("Yes.",), seconds_a_word: float = 0.0) -> None:
        self.usage = Usage()
        self.asked: list[Sequence[Message]] = []
        self.deaths: deque[int] = deque()  # words before it dies, for each of the next replies
        self.answers = deque(answers)
        self._seconds = seconds_a_word

    async def ready(self) -> None:
        return

    async def count(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]

    async def prefill(self, messages: Sequence[Message]) -> None:
        return

    async def reply(
        self, messages: Sequence[Message], tools: Sequence[Tool] = ()
    ) -> AsyncGenerator[str | ToolCall, None]:
        self.asked.append(messages)
        answer = self.answers.popleft() if len(self.answers) > 1 else self.answers[0]
        dies_after = self.deaths.popleft() if self.deaths else None
        for number, word in enumerate(answer.split()):
            if number == dies_after:
                raise EngineError("model-died", "The language model died.", "It is started again.")
            await asyncio.sleep(self._seconds)
            yield f"{word} "

    async def close(self) -> None:
        return

    @property
    def questions(self) -> list[str]:
        return [messages[-1].content for messages in self.asked]


class ToneVoice:
    """Says each word as a tone of 100 ms."""

    name = "tone voice"
    speed = 1.0

    def __init__(self) -> None:
        self.usage = Usage()

    async def say(self, text: str) -> AsyncGenerator[Samples, None]:
        count = len(text.split()) * WORD
        self.usage.audio_seconds += count / SAMPLE_RATE
        await asyncio.sleep(0)
        yield (np.sin(np.arange(count) * 440 * 2 * np.pi / SAMPLE_RATE) * 8000).astype(np.int16)

    def close(self) -> None:
        return


class ScriptedVerifier:
    def __init__(self, *, accepts: bool) -> None:
        self._accepts = accepts
        self.asked = 0

    async def verify(self, samples: Samples, detection: Detection) -> Verdict:
        self.asked += 1
        await asyncio.sleep(0.01)
        return Verdict(-9.0, self._accepts)


def tone(milliseconds: int, level: float = 0.2, mark: int | None = None) -> Samples:
    """Sound that passes for speech; mark: value of its last frame's first sample."""
    count = max(BLOCK, milliseconds * SAMPLE_RATE // 1000 // BLOCK * BLOCK)
    sound = (np.sin(np.arange(count) * 300 * 2 * np.pi / SAMPLE_RATE) * level * 32767).astype(
        np.int16
    )
    if mark is not None:
        sound[-BLOCK] = mark
    return sound
