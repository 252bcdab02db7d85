"""Sound files: reading them, and standing for a microphone or a loudspeaker with them."""

import stat
import struct
import time
import wave
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np
import soundfile  # type: ignore[import-untyped]

from firmware_app.audio.dsp import Resampler, blocks, to_int16
from firmware_app.audio.simulated import Pacer, TimedSink
from firmware_app.errors import AudioFileError
from firmware_app.frames import SAMPLE_RATE, Frame, Samples

LONGEST_SECONDS = 3600
LOWEST_RATE, HIGHEST_RATE = 8_000, 192_000
FORMATS = {"WAV", "WAVEX", "RF64", "FLAC"}
MOST_CHANNELS = 32
STREAMED = 0x7FFF_0000  # a program that writes to a pipe promises this much or more

CONVERT = "Give a WAV or FLAC file; `sox <file> -r 16000 -c 1 new.wav` makes one."


def read_wav(path: str | Path) -> Samples:
    """The file's sound, its channels averaged: 16 kHz mono int16, shape (n,).

    Raises AudioFileError for what is missing, damaged, empty, of another kind, or over an hour.
    """
    file = Path(path)
    try:
        _check(file)
        return np.concatenate(list(_converted(file)))
    except soundfile.LibsndfileError as error:
        raise AudioFileError(
            "audio-file-unknown", f"{file} is not a sound file that can be read.", CONVERT
        ) from error
    except OSError as error:
        raise AudioFileError(
            "audio-file-unreadable",
            f"{file} cannot be read: {error.strerror or error}.",
            "Check the path and its permissions.",
        ) from error


def _check(file: Path) -> None:
    try:
        status = file.stat()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise AudioFileError(
            "audio-file-missing", f"There is no file {file}.", "Check the path."
        ) from error
    if not stat.S_ISREG(status.st_mode):
        raise AudioFileError(
            "audio-file-unknown", f"{file} is not a file but a folder or a device.", CONVERT
        )
    if status.st_size == 0:
        raise AudioFileError("audio-file-empty", f"{file} is empty.", "Record or copy it again.")
    with file.open("rb") as opened:
        missing = _promised_bytes(opened) - status.st_size
    if missing > 0:
        raise _truncated(file, f"its header promises {missing} bytes more than there are")


def _truncated(file: Path, why: str) -> AudioFileError:
    return AudioFileError(
        "audio-file-truncated", f"{file} is cut off: {why}.", "Record or copy it again."
    )


def _promised_bytes(opened: BinaryIO) -> int:
    """The file size that a WAV header promises, without the padding at the end; 0 if unknown."""
    if opened.read(4) != b"RIFF" or opened.read(8)[4:] != b"WAVE":
        return 0
    while len(header := opened.read(8)) == 8:
        name, size = struct.unpack("<4sI", header)
        if name == b"data":
            return 0 if size >= STREAMED else opened.tell() + size
        opened.seek(size + size % 2, 1)
    return 0


def _converted(file: Path) -> Iterator[Samples]:
    with soundfile.SoundFile(file) as sound:
        if sound.format not in FORMATS:
            raise AudioFileError(
                "audio-file-unknown",
                f"{file} is a {sound.format} file, which is not read.",
                CONVERT,
            )
        if not LOWEST_RATE <= sound.samplerate <= HIGHEST_RATE:
            raise AudioFileError(
                "audio-file-rate",
                f"{file} has a sample rate of {sound.samplerate} Hz.",
                f"Rates from {LOWEST_RATE} to {HIGHEST_RATE} Hz are read.",
            )
        if sound.channels > MOST_CHANNELS:
            raise AudioFileError(
                "audio-file-unknown", f"{file} has {sound.channels} channels.", CONVERT
            )
        if sound.frames == 0:
            raise AudioFileError(
                "audio-file-empty", f"{file} holds no sound.", "Record or copy it again."
            )
        if sound.frames > LONGEST_SECONDS * sound.samplerate:
            raise AudioFileError(
                "audio-file-long", f"{file} is longer than an hour.", "Cut it into pieces."
            )
        resampler = Resampler(sound.samplerate, SAMPLE_RATE, live=False)
        left = sound.frames
        while left > 0:
            try:
                block = sound.read(sound.samplerate, dtype="float32", always_2d=True)
            except soundfile.LibsndfileError as error:
                raise _truncated(file, "it ends or breaks off in the middle") from error
            if not len(block):
                raise _truncated(file, f"{left} samples are missing")
            left -= len(block)
            mono = np.ascontiguousarray(block.mean(axis=1, dtype=np.float32))
            yield to_int16(resampler.feed(np.nan_to_num(mono), last=left <= 0))


class WavSource:
    """A recording that stands for a microphone; the last frame is filled up with silence.

    paced: run at the speed of time; otherwise as fast as it is read, stamped with the times at
    which it would have been heard.
    """

    def __init__(
        self,
        sound: str | Path | Samples,
        *,
        paced: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Read the file, where a path is given. Raises AudioFileError as read_wav does."""
        self._samples = sound if isinstance(sound, np.ndarray) else read_wav(sound)
        self._pacer = Pacer(paced, clock)
        self._closed = False

    async def __aiter__(self) -> AsyncIterator[Frame]:
        for block in blocks(self._samples):
            if self._closed:
                return
            yield await self._pacer.stamp(block)

    async def close(self) -> None:
        self._closed = True


class WavSink(TimedSink):
    """A loudspeaker that writes what it plays into a WAV file, 16 kHz mono 16-bit.

    Paced, the file holds the loudspeaker's sound over the whole session, silences included;
    otherwise only the sound, back to back. The header is right after each write.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        paced: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Raises AudioFileError where the file cannot be written."""
        try:
            self._file = Path(path).open("wb")  # noqa: SIM115 - open until close()
        except OSError as error:
            raise AudioFileError(
                "audio-file-unwritable",
                f"{path} cannot be written: {error.strerror or error}.",
                "Check the folder, its permissions and its free space.",
            ) from error
        self._wav = wave.open(self._file, "wb")  # noqa: SIM115
        self._wav.setparams((1, 2, SAMPLE_RATE, 0, "NONE", "not compressed"))
        super().__init__(paced=paced, clock=clock)

    def _keep(self, samples: Samples) -> None:
        self._wav.writeframes(samples.astype("<i2").tobytes())

    async def close(self) -> None:
        if not self._file.closed:
            await super().close()
            self._wav.close()
            self._file.close()
