"""Vosk: recognises while someone speaks, so that partial transcripts come on the way."""

import asyncio
import contextlib
import json
import threading
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from firmware_app.engines import Transcript, Usage
from firmware_app.errors import EngineError
from firmware_app.frames import BLOCK, BLOCK_MS, SAMPLE_RATE, Frame, seconds

if TYPE_CHECKING:
    from vosk import KaldiRecognizer, Model  # type: ignore[import-untyped]

AT_ONCE = 100 // BLOCK_MS  # frames handed to the decoder together
LONGEST_WAIT_SECONDS = 30  # sound that may wait for a decoder that has fallen behind
FILES = ("am/final.mdl", "conf/mfcc.conf", "conf/model.conf")


class VoskRecogniser:
    """A Recogniser with one thread; all its recognitions share the model."""

    def __init__(self, folder: Path) -> None:
        """Load the model in folder; blocks, for a large model for seconds.

        Raises EngineError when vosk is not installed or a file of the model is missing or damaged.
        """
        self.name = f"vosk {folder.name.removeprefix('vosk-model-')}"
        self.usage = Usage()
        self._model = _load(folder)
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="vosk")

    def start(self) -> "VoskRecognition":
        return VoskRecognition(self.name, self._model, self._worker, self.usage)

    def close(self) -> None:
        """Give the thread back; what waits is dropped, what runs ends by itself."""
        self._worker.shutdown(wait=False, cancel_futures=True)


class VoskRecognition:
    """One utterance.

    Where a peek or Vosk itself ends a stretch of speech, its words are kept and the next begins.
    """

    def __init__(self, name: str, model: "Model", worker: ThreadPoolExecutor, usage: Usage) -> None:
        self._name = name
        self._usage = usage
        self._model = model
        self._worker = worker
        self._waiting: deque[bytes] = deque(maxlen=LONGEST_WAIT_SECONDS * SAMPLE_RATE // BLOCK)
        self._called = False  # the worker will come for what waits
        self._changed = False  # sound was fed since the last peek
        self._look: asyncio.Future[Transcript] | None = None
        self._over = False
        self._cancelled = threading.Event()
        # On the worker's thread alone:
        self._decoder: KaldiRecognizer | None = None
        self._words: list[tuple[str, float, float, float]] = []  # word, start, end, confidence
        self._partial = ""

    def feed(self, frame: Frame) -> None:
        """Queue a frame; after finish or cancel it is ignored.

        Raises ValueError for anything but one-dimensional int16, of which Vosk makes nonsense.
        """
        if frame.samples.dtype != np.int16 or frame.samples.ndim != 1:
            raise ValueError(
                f"vosk takes 1-D int16 samples, not {frame.samples.ndim}-D {frame.samples.dtype}"
            )
        if self._over:
            return
        self._changed = True
        self._waiting.append(frame.samples.tobytes())
        if len(self._waiting) >= AT_ONCE and not self._called:
            self._called = True
            self._worker.submit(self._decode_waiting)

    @property
    def partial(self) -> str:
        return self._partial

    async def peek(self) -> Transcript:
        """Transcript of all that was fed until now.

        Raises EngineError when the engine fails, CancelledError when cancel is called meanwhile.
        """
        if self._cancelled.is_set():
            return Transcript("")
        if self._look is None or self._changed:
            self._changed = False
            loop = asyncio.get_running_loop()
            self._look = loop.run_in_executor(self._worker, self._settle)
            self._look.add_done_callback(_take_note)
        # Shielded: whoever asks next for the same sound gets the same answer.
        return await asyncio.shield(self._look)

    async def finish(self) -> Transcript:
        """As peek, whose answer it takes where nothing was fed since."""
        self._over = True
        return await self.peek()

    def cancel(self) -> None:
        self._over = True
        self._cancelled.set()
        self._waiting.clear()
        if self._look:
            self._look.cancel()

    # On the worker's thread from here on.

    def _decode_waiting(self) -> None:
        self._called = False
        while (chunk := self._next_chunk()) and not self._cancelled.is_set():
            if self._decoder is None:
                self._decoder = _decoder(self._model)
            began = time.monotonic()
            if self._decoder.AcceptWaveform(chunk):
                self._keep(self._decoder.Result())
                running = ""
            else:
                running = json.loads(self._decoder.PartialResult())["partial"]
            self._usage.audio_seconds += seconds(len(chunk) // 2)
            self._usage.compute_seconds += time.monotonic() - began
            self._partial = " ".join([*(w[0] for w in self._words), *_spoken(running.split())])

    def _next_chunk(self) -> bytes:
        chunk = bytearray()
        with contextlib.suppress(IndexError):  # no more is waiting
            for _ in range(AT_ONCE):
                chunk += self._waiting.popleft()
        return bytes(chunk)

    def _settle(self) -> Transcript:
        try:
            self._decode_waiting()
            if self._decoder is not None and not self._cancelled.is_set():
                self._keep(self._decoder.FinalResult())
        except Exception as error:  # vosk raises plain Exception
            raise EngineError(
                "recogniser-failed",
                f"The recogniser {self._name} failed: {error}.",
                "Restart Echo; if it happens again, check the model with `hey-echo models verify`.",
            ) from error
        self._partial = " ".join(word for word, *_ in self._words)
        confidence = float(np.mean([c for *_, c in self._words])) if self._words else 0.0
        return Transcript(
            self._partial,
            confidence,
            tuple((word, start, end) for word, start, end, _ in self._words),
        )

    def _keep(self, result: str) -> None:
        for word in json.loads(result).get("result", ()):
            if _spoken([word["word"]]):
                self._words.append((word["word"], word["start"], word["end"], word["conf"]))


def _spoken(words: list[str]) -> list[str]:
    """Without the marks by which a model names noises and words it does not know."""
    return [word for word in words if not (word[0] in "[<" and word[-1] in "]>")]


def _load(folder: Path) -> "Model":
    for name in FILES:
        file = folder / name
        if not file.is_file() or not file.stat().st_size:
            raise _model_error("model-missing", f"{file} is missing or empty")
    try:
        import vosk
    except (ImportError, OSError) as error:
        raise EngineError(
            "recogniser-not-installed",
            f"vosk, which recogniser.engine names, cannot be loaded ({error}).",
            "Install it with `./scripts/setup`.",
        ) from error
    vosk.SetLogLevel(-1)  # it writes to stderr by itself
    try:
        model = vosk.Model(str(folder))
        _decoder(model).AcceptWaveform(bytes(2 * SAMPLE_RATE))  # warm: the first run is slow
    except Exception as error:  # vosk raises plain Exception
        raise _model_error("model-damaged", f"the model in {folder} cannot be loaded") from error
    return model


def _decoder(model: "Model") -> "KaldiRecognizer":
    """A fresh decoder. Its rate is a constant because a wrong one hangs or aborts the process."""
    import vosk

    decoder = vosk.KaldiRecognizer(model, float(SAMPLE_RATE))
    decoder.SetWords(True)
    return decoder


def _model_error(code: str, what: str) -> EngineError:
    return EngineError(
        code,
        f"The recogniser named by recogniser.model cannot start: {what}.",
        "Fetch the model again, or see what is damaged with `hey-echo models verify`.",
    )


def _take_note(look: asyncio.Future[Transcript]) -> None:
    """Look at the outcome, so that one which nobody waited for is no warning."""
    if not look.cancelled():
        look.exception()
