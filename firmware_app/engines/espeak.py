"""Echo's voice by espeak-ng: for languages without a Piper voice, and where memory is short."""

import asyncio
import resource
import shutil
import subprocess
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncGenerator, AsyncIterator

import numpy as np

from firmware_app.engines import Usage
from firmware_app.engines.voice_sound import Sound, ToSamples, readable
from firmware_app.errors import EngineError
from firmware_app.frames import Samples, seconds

_HEADER = 44  # bytes of the WAV header that espeak-ng writes first
_RATE = slice(24, 28)  # bytes of it that hold the sample rate
_PIECE = 8192  # bytes read at once, about 0.2 s
_WORDS_PER_MINUTE = 175  # espeak-ng's own pace
_FIRST_SOUND_SECONDS = 10.0  # a program that is silent for longer has hung


class Espeak:
    """An espeak-ng voice: one short-lived process for each text, which it gets on standard input.

    voice: espeak-ng's name of it, such as "en-us", "ko" or "de".
    speed: pace of speech; may be changed at any time, and holds from the next text.

    Raises EngineError when espeak-ng is not installed, or knows no such voice.
    """

    def __init__(self, voice: str = "en-us", speed: float = 1.0) -> None:
        program = shutil.which("espeak-ng")
        if program is None:
            raise EngineError(
                "voice-not-installed",
                "The voice is espeak-ng (voice.engine), but that program is not installed.",
                "Run: sudo apt install espeak-ng",
            )
        self._program = program
        self._voice = voice
        self.name = f"espeak-ng {voice}"
        self.usage = Usage()
        self.speed = speed
        trial = subprocess.run(
            [*self._command(), "-q"], input=b"", capture_output=True, check=False
        )
        if trial.returncode:
            raise EngineError(
                "model-missing",
                f'espeak-ng has no voice named "{voice}" (voice.model).',
                "List its voices with: espeak-ng --voices",
            )

    async def say(self, text: str) -> AsyncGenerator[Samples, None]:
        """Yield 16 kHz mono int16 sound as it is made. Closing the iterator kills the process.

        Raises EngineError when espeak-ng fails.
        """
        # Never as an argument: those are in the list of processes that everyone can read.
        before = _children_seconds()
        process = await asyncio.create_subprocess_exec(
            *self._command(), "--stdout", stdin=PIPE, stdout=PIPE, stderr=DEVNULL
        )
        writing = asyncio.create_task(_write(process, readable(text)))
        try:
            async for samples in self._sound(process):
                self.usage.audio_seconds += seconds(len(samples))
                yield samples
        finally:
            writing.cancel()
            if process.returncode is None:
                process.kill()
            await asyncio.wait([writing])
            await process.wait()
            self.usage.compute_seconds += _children_seconds() - before

    def close(self) -> None:
        """Nothing is kept between texts."""

    def _command(self) -> list[str]:
        pace = round(_WORDS_PER_MINUTE * self.speed)
        return [self._program, "-v", self._voice, "-s", str(pace), "-b", "1", "--stdin"]

    async def _sound(self, process: Process) -> AsyncIterator[Samples]:
        if process.stdout is None:
            raise self._failed(process)
        try:
            async with asyncio.timeout(_FIRST_SOUND_SECONDS):
                header = await process.stdout.readexactly(_HEADER)
        except asyncio.IncompleteReadError as end:
            if await process.wait() or end.partial:
                raise self._failed(process) from end
            return  # a text without a word in it
        except TimeoutError as silence:
            raise self._failed(process) from silence
        sound = ToSamples(int.from_bytes(header[_RATE], "little"))
        odd = b""
        while read := await process.stdout.read(_PIECE):
            data = odd + read
            whole = len(data) // 2 * 2
            odd = data[whole:]
            heard: Sound = np.frombuffer(data[:whole], np.int16).astype(np.float32)
            samples = sound.feed(heard / np.float32(32768))
            if len(samples):
                yield samples
        rest = sound.finish()
        if len(rest):
            yield rest
        if await process.wait():
            raise self._failed(process)

    def _failed(self, process: Process) -> EngineError:
        return EngineError(
            "voice-failed",
            f"The program espeak-ng failed with status {process.returncode}.",
            "Try: echo hello | espeak-ng --stdin",
        )


def _children_seconds() -> float:
    """Processor time of all the child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


async def _write(process: Process, text: str) -> None:
    if process.stdin is None:
        return
    try:
        process.stdin.write(text.encode())
        await process.stdin.drain()
    except (BrokenPipeError, ConnectionResetError):
        return  # it has gone; what it left on its output tells
    finally:
        process.stdin.close()
