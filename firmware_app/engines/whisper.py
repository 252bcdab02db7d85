"""Whisper on CTranslate2: recognises an utterance whole, in a window cut to its length."""

import asyncio
import math
import os
import re
import threading
import time
import zlib
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from firmware_app.engines import Transcript, Usage
from firmware_app.errors import EngineError
from firmware_app.frames import BLOCK, SAMPLE_RATE, Frame, Samples, seconds

if TYPE_CHECKING:
    from ctranslate2 import StorageView  # type: ignore[import-untyped]
    from ctranslate2.models import Whisper  # type: ignore[import-untyped]
    from faster_whisper import WhisperModel  # type: ignore[import-untyped]
    from faster_whisper.tokenizer import Tokenizer  # type: ignore[import-untyped]

T = TypeVar("T")

FILES = ("model.bin", "config.json", "tokenizer.json", "vocabulary.txt")
LONGEST_SECONDS = 30  # what the encoder can take
SHORTEST_WINDOW_SECONDS = 10  # shorter ones make the decoder loop
SHORTEST_SECONDS = 0.1  # less sound than this holds no word
# Measured with tiny.en: of 49 noises none lies below both limits; of 150 commands, clean and with a
# kitchen 10 and 3 dB below them, 3 lie above the first, none above the second.
NO_SPEECH_LIMIT = 0.55  # in a window cut to the utterance: above it, the full window decides
NO_SPEECH_LIMIT_FULL = 0.47
COMPRESSION_LIMIT = 2.4  # of the text, as in openai/whisper
_LOOP = re.compile(r"\b(\w[\w' ,.]{0,40}?)(?:[ ,.!?]+\1\b){2,}", re.IGNORECASE)


class WhisperRecogniser:
    """A Recogniser whose transcripts come at the end of speech; partial is always empty.

    model and tokenizer (ctranslate2's and faster-whisper's) are there for others who need the same
    model; whatever uses them runs through on_worker, because one thread alone uses the model.
    """

    def __init__(self, folder: Path, language: str = "en", threads: int = 1) -> None:
        """Load and warm the model in folder; blocks for about a second.

        Raises EngineError when faster-whisper is not installed, a file of the model is missing or
        damaged, or the model does not know the language.
        """
        check_files(folder)
        self.name = f"whisper {folder.name.removeprefix('whisper-')}"
        self.usage = Usage()
        whisper = _load(folder, threads)
        self.model: Whisper = whisper.model
        self.tokenizer: Tokenizer = _tokenizer(whisper, folder, language)
        self._extract = whisper.feature_extractor
        self._warm(folder)
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="whisper")

    def _warm(self, folder: Path) -> None:
        """Run once: the first run takes twice as long, and shows what loading does not."""
        try:
            self._decode(
                np.zeros(SAMPLE_RATE, np.int16), SHORTEST_WINDOW_SECONDS, threading.Event()
            )
        except (RuntimeError, ValueError) as error:
            raise _cannot_load(folder, error) from error

    def start(self) -> "WhisperRecognition":
        return WhisperRecognition(self)

    async def on_worker(self, work: Callable[[], T]) -> T:
        """Run work on the thread that owns the model. Raises what it raises."""
        return await asyncio.get_running_loop().run_in_executor(self._worker, work)

    def log_mel(self, samples: Samples, window_seconds: int) -> NDArray[np.float32]:
        """Whisper's features, shape (mel bands, 100 * window_seconds), silence to the end."""
        padded = np.zeros(window_seconds * SAMPLE_RATE, np.float32)
        padded[: len(samples)] = samples / np.float32(32768)
        mel = self._extract(padded, padding=0)[:, : window_seconds * 100]
        return np.ascontiguousarray(mel, np.float32)

    def encode(self, samples: Samples, window_seconds: int) -> "StorageView":
        """The encoder's output for a window of whole seconds, as model.generate takes it."""
        import ctranslate2

        mel = self.log_mel(samples, window_seconds)
        return self.model.encode(ctranslate2.StorageView.from_array(mel[None]))

    def transcribe(self, samples: Samples, dropped: threading.Event | None = None) -> Transcript:
        """Transcript of up to 30 s of sound; blocks, so only through on_worker.

        A doubtful one is made once more in the full window, which takes five times as long. Empty
        where Whisper then thinks that nobody speaks, or only repeats itself. Once dropped is set,
        the work ends at its next step with an empty transcript.
        """
        if seconds(len(samples)) < SHORTEST_SECONDS:
            return Transcript("")
        dropped = dropped or threading.Event()
        window = math.ceil(seconds(len(samples)) + 3)
        window = max(SHORTEST_WINDOW_SECONDS, min(LONGEST_SECONDS, window))
        decoded = self._decode(samples, window, dropped)
        if decoded and decoded.doubtful and window < LONGEST_SECONDS:
            window = LONGEST_SECONDS
            decoded = self._decode(samples, window, dropped)
        limit = NO_SPEECH_LIMIT if window < LONGEST_SECONDS else NO_SPEECH_LIMIT_FULL
        if decoded is None or decoded.no_speech > limit or decoded.overfull:
            return Transcript("")
        return Transcript(decoded.text, decoded.confidence)

    def _decode(self, samples: Samples, window: int, dropped: threading.Event) -> "_Decoded | None":
        if dropped.is_set():
            return None
        encoded = self.encode(samples, window)
        if dropped.is_set():
            return None
        prompt = [*self.tokenizer.sot_sequence, self.tokenizer.no_timestamps]
        longest = 10 + math.ceil(7 * seconds(len(samples)))  # tokens; nobody speaks faster
        result = self.model.generate(
            encoded,
            [prompt],
            beam_size=1,
            max_length=len(prompt) + longest,
            return_scores=True,
            return_no_speech_prob=True,
        )[0]
        tokens = result.sequences_ids[0]
        return _Decoded(
            text=tidy(self.tokenizer.decode(tokens)),
            # The score is the mean over the tokens; the end token counts as one more.
            confidence=math.exp(result.scores[0] * len(tokens) / (len(tokens) + 1)),
            no_speech=result.no_speech_prob,
            full=len(tokens) >= longest,
        )

    def close(self) -> None:
        """Give the thread back; what waits is dropped, what runs ends by itself."""
        self._worker.shutdown(wait=False, cancel_futures=True)


class WhisperRecognition:
    """One utterance. Of more than 30 s the newest are kept."""

    partial = ""

    def __init__(self, recogniser: WhisperRecogniser) -> None:
        self._recogniser = recogniser
        self._heard: deque[Samples] = deque(maxlen=LONGEST_SECONDS * SAMPLE_RATE // BLOCK)
        self._fed = 0
        self._counted = 0  # of the frames fed, those that the meter has
        self._look: _Look | None = None
        self._over = False

    def feed(self, frame: Frame) -> None:
        """Keep a frame; after finish or cancel it is ignored.

        Raises ValueError for anything but one-dimensional int16, of which Whisper makes nonsense.
        """
        if frame.samples.dtype != np.int16 or frame.samples.ndim != 1:
            raise ValueError(
                f"whisper takes 1-D int16 samples, not {frame.samples.ndim}-D {frame.samples.dtype}"
            )
        if not self._over:
            self._heard.append(frame.samples)
            self._fed += 1

    async def peek(self) -> Transcript:
        """Transcript of all that was fed until now.

        Raises EngineError when the engine fails, CancelledError when a later peek or finish hears
        more, or cancel is called.
        """
        if not self._heard:
            return Transcript("")
        if self._look is None or self._look.fed != self._fed:
            self._drop_look()
            self._look = self._begin_look()
        # Shielded: whoever asks next for the same sound gets the same answer.
        return await asyncio.shield(self._look.transcript)

    async def finish(self) -> Transcript:
        """As peek, whose answer it takes where nothing was fed since."""
        self._over = True
        return await self.peek()

    def cancel(self) -> None:
        self._over = True
        self._heard.clear()
        self._drop_look()

    def _begin_look(self) -> "_Look":
        heard = list(self._heard)
        dropped = threading.Event()
        usage = self._recogniser.usage
        usage.audio_seconds += seconds((self._fed - self._counted) * BLOCK)
        self._counted = self._fed

        def work() -> Transcript:
            began = time.monotonic()
            try:
                return self._recogniser.transcribe(np.concatenate(heard), dropped)
            except (RuntimeError, ValueError) as error:
                raise EngineError(
                    "recogniser-failed",
                    f"The recogniser {self._recogniser.name} failed: {error}.",
                    "Restart Echo; if it happens again, check the model with "
                    "`hey-echo models verify`.",
                ) from error
            finally:
                usage.compute_seconds += time.monotonic() - began

        transcript = asyncio.ensure_future(self._recogniser.on_worker(work))
        transcript.add_done_callback(_take_note)
        return _Look(self._fed, transcript, dropped)

    def _drop_look(self) -> None:
        if self._look:
            self._look.dropped.set()
            self._look.transcript.cancel()
            self._look = None


@dataclass(slots=True)
class _Look:
    """A transcript being made of what had been fed by then."""

    fed: int
    transcript: asyncio.Future[Transcript]
    dropped: threading.Event = field(default_factory=threading.Event)


@dataclass(frozen=True, slots=True)
class _Decoded:
    text: str
    confidence: float
    no_speech: float
    full: bool  # all the tokens allowed were used

    @property
    def doubtful(self) -> bool:
        """What a window cut short may be to blame for."""
        return self.full or repeats_itself(self.text) or self.no_speech > NO_SPEECH_LIMIT

    @property
    def overfull(self) -> bool:
        """The same again and again, as it is made up over noise."""
        return _compression(self.text) > COMPRESSION_LIMIT


def check_files(folder: Path) -> None:
    """Raise EngineError naming the first file of the model that is missing or empty."""
    for name in FILES:
        file = folder / name
        if not file.is_file() or not file.stat().st_size:
            raise _model_error("model-missing", f"{file} is missing or empty")


def repeats_itself(text: str) -> bool:
    """Whether a phrase comes three times in a row."""
    return bool(_LOOP.search(text))


def tidy(text: str) -> str:
    """One space between words; empty where there is no letter or digit at all."""
    text = " ".join(text.split())
    return text if any(c.isalnum() for c in text) else ""


def _load(folder: Path, threads: int) -> "WhisperModel":
    os.environ.setdefault("HF_HUB_OFFLINE", "1")  # a model is a folder here, never a name to fetch
    try:
        from faster_whisper import WhisperModel
    except ImportError as error:
        raise EngineError(
            "recogniser-not-installed",
            f"faster-whisper, which recogniser.engine needs, cannot be loaded ({error}).",
            "Install it with `./scripts/setup`.",
        ) from error
    try:
        return WhisperModel(str(folder), device="cpu", compute_type="int8", cpu_threads=threads)
    except Exception as error:  # tokenizers raises plain Exception
        raise _model_error(
            "model-damaged", f"the model in {folder} cannot be loaded ({error})"
        ) from error


def _tokenizer(whisper: "WhisperModel", folder: Path, language: str) -> "Tokenizer":
    from faster_whisper.tokenizer import Tokenizer

    multilingual = whisper.model.is_multilingual
    try:
        if not multilingual and language != "en":
            raise ValueError("it knows English alone")
        return Tokenizer(whisper.hf_tokenizer, multilingual, "transcribe", language)
    except ValueError as error:
        raise EngineError(
            "recogniser-language",
            f"The model in {folder} does not know the language {language!r} ({error}).",
            "Set recogniser.model to one that does, such as whisper-base, or change language.",
        ) from error


def _model_error(code: str, what: str) -> EngineError:
    return EngineError(
        code,
        f"The recogniser named by recogniser.model cannot start: {what}.",
        "Fetch it with `./scripts/setup`, or see what is damaged with `hey-echo models verify`.",
    )


def _cannot_load(folder: Path, error: Exception) -> EngineError:
    reason = str(error).split(". ")[0]
    return _model_error("model-damaged", f"the model in {folder} cannot be loaded ({reason})")


def _compression(text: str) -> float:
    raw = text.encode()
    return len(raw) / len(zlib.compress(raw))


def _take_note(transcript: asyncio.Future[Transcript]) -> None:
    """Look at the outcome, so that one which nobody waited for is no warning."""
    if not transcript.cancelled():
        transcript.exception()
