"""What every engine promises, whichever library stands behind it."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from firmware_app.frames import Frame, Samples

Sensitivity = Literal["low", "normal", "high"]


@dataclass(slots=True)
class Usage:
    """What an engine has consumed since it was made."""

    prompt_tokens: int = 0
    cached_tokens: int = 0
    generated_tokens: int = 0
    compute_seconds: float = 0.0
    audio_seconds: float = 0.0
    incomplete: bool = False


@dataclass(frozen=True, slots=True)
class Detection:
    """One time the wake word was heard.

    start, end: samples on the source's clock between which the phrase was said, as well as the
    detector can tell. certain: whether the score alone decides, so that no second stage need look.
    """

    word: str
    score: float
    start: int
    end: int
    heard_at: float
    certain: bool = True


class WakeWord(Protocol):
    raised: bool  # True while Echo speaks: the raised threshold applies
    sensitivity: Sensitivity
    second_stage: bool  # whether somebody verifies doubtful detections; without, fewer are given

    def process(self, frame: Frame) -> Detection | None: ...

    def says(self, word: str, samples: Samples) -> bool:
        """Whether the word is said in this sound, which is not part of what is processed."""
        ...

    def reset(self) -> None:
        """Forget the sound heard so far, as after the microphone was away."""
        ...


@dataclass(frozen=True, slots=True)
class Verdict:
    """The second look at a doubtful detection; score has the verifier's own unit."""

    score: float
    accepted: bool


class WakeVerifier(Protocol):
    async def verify(self, samples: Samples, detection: Detection) -> Verdict:
        """Judge all that was heard until the detection was given, 16 kHz mono."""
        ...


class StopWord(Protocol):
    async def begins(self, samples: Samples) -> bool:
        """Whether this short sound, 16 kHz mono, begins with the word that stops Echo."""
        ...


class VoiceActivity(Protocol):
    def process(self, frame: Frame) -> float:
        """Probability (0 to 1) that the sound up to this frame is speech."""
        ...

    def reset(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Transcript:
    """What was recognised. confidence is 0 to 1; empty text means that no speech was found."""

    text: str
    confidence: float = 0.0
    words: tuple[tuple[str, float, float], ...] = ()  # word, start and end in seconds


class Recognition(Protocol):
    """One utterance being recognised. All heavy work is done on the recogniser's own thread."""

    def feed(self, frame: Frame) -> None:
        """Queue a frame; never blocks."""
        ...

    @property
    def partial(self) -> str:
        """Text so far, empty where the engine gives none before the end."""
        ...

    async def peek(self) -> Transcript:
        """Transcript of all that was fed until now; feeding may go on after it."""
        ...

    async def finish(self) -> Transcript:
        """Transcript of the whole utterance; nothing may be fed afterwards."""
        ...

    def cancel(self) -> None: ...


class Recogniser(Protocol):
    name: str  # engine and model, as traces and entries name it
    usage: Usage

    def start(self) -> Recognition: ...

    def close(self) -> None: ...


Role = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class Tool:
    """A function the model may call; parameters is a JSON Schema object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolCall:
    id: str
    name: str
    arguments: str  # JSON as the model wrote it, unchecked


@dataclass(frozen=True, slots=True)
class Message:
    """calls: of tools, in an assistant's message. call_id: in a tool's, of the call it answers."""

    role: Role
    content: str
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""


class LanguageModel(Protocol):
    """can_call_tools: whether it calls tools that it is offered. small: whether it is better read
    out to than asked about what stands elsewhere."""

    name: str
    usage: Usage
    can_call_tools: bool
    small: bool

    async def ready(self) -> None:
        """Return when it can answer. Raises EngineError where it never will."""
        ...

    async def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text as one message of a conversation."""
        ...

    async def prefill(self, messages: Sequence[Message]) -> None:
        """Take the messages into the model's cache, so that a reply to them starts at once."""
        ...

    def reply(
        self, messages: Sequence[Message], tools: Sequence[Tool] = ()
    ) -> AsyncGenerator[str | ToolCall, None]:
        """Yield the reply's text as it comes. Closing the iterator stops the model."""
        ...

    async def close(self) -> None: ...


class Voice(Protocol):
    name: str
    usage: Usage
    speed: float  # 1.0 is the voice's own

    def say(self, text: str) -> AsyncGenerator[Samples, None]:
        """Yield 16 kHz mono int16 sound as it is made. Closing the iterator stops the voice."""
        ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class EngineNames:
    """Which engines took part in a turn, as its entries keep it."""

    recogniser: str = ""
    model: str = ""
    voice: str = ""


@dataclass(frozen=True, slots=True)
class Engines:
    """Everything that Echo hears, thinks and speaks with.

    verifier: None where no doubtful wake-up is looked at twice. stop_word: None where only the wake
    word ends a reply.
    """

    wake: WakeWord
    activity: VoiceActivity
    recogniser: Recogniser
    model: LanguageModel
    voice: Voice
    verifier: WakeVerifier | None
    stop_word: StopWord | None = None

    @property
    def names(self) -> EngineNames:
        return EngineNames(self.recogniser.name, self.model.name, self.voice.name)

    @property
    def meters(self) -> dict[str, Usage]:
        """What each has consumed, by its job and name."""
        return {
            f"recogniser {self.recogniser.name}": self.recogniser.usage,
            f"model {self.model.name}": self.model.usage,
            f"voice {self.voice.name}": self.voice.usage,
        }

    async def close(self) -> None:
        self.recogniser.close()
        self.voice.close()
        await self.model.close()
