"""The sound check of `hey-echo doctor --record`: what the microphone makes of three small tasks.

The room is quiet, the loudspeaker chirps, somebody says the wake word. What is recorded stays
in memory, and goes with the process unless it is asked for.
"""

import asyncio
import os
import threading
import time
import wave
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from firmware_app.audio.alsa import XRUN, Device, decode, device_error, open_microphone
from firmware_app.audio.dsp import (
    Resampler,
    amplify,
    blocks,
    gain,
    to_int16,
)
from firmware_app.audio.loudspeaker import AlsaSink
from firmware_app.audio.reference import Reference
from firmware_app.audio.sound_check import channel_kinds, chirp, find_chirp, levels
from firmware_app.device.board import Board
from firmware_app.doctor import Finding, failed, passed, warned
from firmware_app.engines.wake import OpenWakeWord
from firmware_app.errors import DeviceError
from firmware_app.frames import BLOCK, SAMPLE_RATE, Frame, Samples, dbfs, seconds
from firmware_app.settings import AudioSettings

QUIET_SECONDS = 3.0
SPEECH_SECONDS = 10.0
SETTLE_SECONDS = 0.5  # that many devices fill with silence or a click
NOISY_DB = -40.0  # of a room in which speech at 2 m hardly stands out
FAINT_DB, LOUD_DB = -45.0, -6.0  # the wake word's own level
SPEECH_ABOVE = 12.0  # dB above the room's noise that recognition needs
CLIPPED = 0.001  # share of samples
LATEST = 0.2  # seconds, of an echo that can be cancelled, with some room for drift
LIKE = 0.999  # correlation of channels that are the same

Recorded = NDArray[np.int16]  # shape (samples, channels), 16 kHz


@dataclass(frozen=True, slots=True)
class SoundCheck:
    """What was recorded. delay: seconds by which the loudspeaker is heard later than it tells."""

    quiet: Recorded
    echo: Recorded  # while the chirp was played
    delay: float | None  # None where it was not heard
    speech: Recorded
    channel: int  # that is listened to

    @property
    def everything(self) -> Recorded:
        return np.concatenate((self.quiet, self.echo, self.speech))


class Recorder:
    """Reads a capture device on a thread of its own, all channels, for as long as it is open."""

    def __init__(self, device: Device) -> None:
        self.lost = 0  # overruns
        self._device = device
        self._parts: list[list[NDArray[np.float32]]] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sound check", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: object, places: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join(1.0)
        self._device.close()

    def taken(self) -> Recorded:
        """What was recorded since the last call. Raises DeviceError where nothing was."""
        parts, self._parts = self._parts, []
        if not parts:
            raise device_error("microphone", self._device.name, "it delivers no sound")
        channels = [np.concatenate(heard) for heard in zip(*parts, strict=True)]
        resampled = [
            to_int16(Resampler(self._device.rate, SAMPLE_RATE, live=False).feed(sound, last=True))
            for sound in channels
        ]
        return np.stack(resampled, axis=1)

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                count, data = self._device.pcm.read()
            except Exception:
                return  # what there is, is judged
            if count == XRUN:
                self.lost += 1
            elif count > 0:
                channels = range(self._device.channels)
                self._parts.append([decode(data, self._device, channel) for channel in channels])
            else:
                time.sleep(0.005)


def record(
    audio: AudioSettings, volume: int, phrase: str, tell: Callable[[str], None]
) -> SoundCheck:
    """Ask for each task and record it; blocks for about fifteen seconds. Raises DeviceError."""
    device = open_microphone(audio.microphone, audio.microphone_rate, audio.microphone_channels)
    with Recorder(device) as recorder:
        time.sleep(SETTLE_SECONDS)
        recorder.taken()
        tell(f"Please be quiet for {QUIET_SECONDS:g} seconds.")
        time.sleep(QUIET_SECONDS)
        quiet = recorder.taken()
        tell("Now the loudspeaker chirps.")
        played = asyncio.run(_play(audio, amplify(chirp(), gain(volume), gain(volume))))
        time.sleep(SETTLE_SECONDS)
        ended = time.monotonic()
        echo = recorder.taken()
        tell(f"Say “{phrase}” three times, from where you usually are.")
        time.sleep(SPEECH_SECONDS)
        speech = recorder.taken()
    delay = None
    if audio.microphone_channel < echo.shape[1]:
        heard = find_chirp(np.ascontiguousarray(echo[:, audio.microphone_channel]))
        if heard and played.end:
            at = ended - seconds(len(echo) - heard.at)
            delay = (played.position_at(at) - played.run) / SAMPLE_RATE
    return SoundCheck(quiet, echo, delay, speech, audio.microphone_channel)


async def _play(audio: AudioSettings, sound: Samples) -> Reference:
    """Play it, and return what is known of when it was heard. Raises DeviceError."""
    faults: list[DeviceError | None] = []
    sink = AlsaSink.chosen(audio, lambda state: None if state.ready else faults.append(state.error))
    try:
        await sink.write(sound)
        await sink.drain()
    finally:
        await sink.close()
    if faults and faults[0]:
        raise faults[0]
    return sink.reference


def findings(check: SoundCheck, board: Board, wake: OpenWakeWord) -> Iterator[tuple[str, Finding]]:
    """What each part of it tells, by name."""
    yield "channels", _channels(check, board)
    if check.channel >= check.quiet.shape[1]:
        return
    yield "noise", _noise(check)
    yield "echo", _echo(check)
    yield "voice", _voice(check)
    yield "wake-word", _wake_word(check, wake)


def _channels(check: SoundCheck, board: Board) -> Finding:
    count = check.quiet.shape[1]
    if check.channel >= count:
        return failed(
            f"It has {count} channels, counted from 0, and channel {check.channel} was asked.",
            "hey-echo config set audio.microphone_channel 0",
        )
    kinds = channel_kinds(check.echo, np.concatenate((check.quiet, check.speech)))
    dead = [n for n, kind in enumerate(kinds) if kind == "silent"]
    loop_back = [n for n, kind in enumerate(kinds) if kind == "loop-back"]
    if check.channel in dead + loop_back:
        alive = [n for n in range(count) if n not in dead + loop_back]
        what = "silent" if check.channel in dead else "the loudspeaker's own signal"
        if not alive:
            return failed(
                "No channel hears the room.", "Look for a mute switch; alsamixer, then F4."
            )
        return failed(
            f"Channel {check.channel}, which is listened to, is {what}.",
            f"hey-echo config set audio.microphone_channel {alive[0]}",
        )
    told = f"{count} {'channel' if count == 1 else 'channels'}, number {check.channel} is heard"
    if dead:
        told += f"; silent: {', '.join(map(str, dead))}"
    if loop_back:
        told += f"; the loudspeaker's own signal: {', '.join(map(str, loop_back))}"
    if twins := _twins(check.everything, dead):
        told += f"; the same as another: {', '.join(map(str, twins))}"
    of_board = board.sound.kinds if board.sound else ()
    expected = [n for n, kind in enumerate(of_board) if kind == "loop-back"]
    if len(of_board) == count and loop_back and loop_back != expected:
        return warned(
            f"{told}. The order is another one than {board.title} should have.",
            "Report it with the board's firmware; choose audio.microphone_channel by hand.",
        )
    return passed(f"{told}.")


def _twins(sound: Recorded, dead: list[int]) -> list[int]:
    """Channels that carry what one before them carries."""
    alive = [n for n in range(sound.shape[1]) if n not in dead]
    if len(alive) < 2:
        return []
    likeness = np.atleast_2d(np.corrcoef(sound[:, alive].T.astype(np.float64)))
    return [n for at, n in enumerate(alive) if any(likeness[at, :at] > LIKE)]


def _noise(check: SoundCheck) -> Finding:
    level = dbfs(check.quiet[:, check.channel])
    if level > NOISY_DB:
        return warned(
            f"The quiet room is at {level:.0f} dB, which is loud.",
            "Look for a fan beside it, or lower its level: alsamixer, then F4.",
        )
    return passed(f"The quiet room is at {level:.0f} dB.")


def _echo(check: SoundCheck) -> Finding:
    if check.delay is None:
        return warned(
            "The loudspeaker was not heard.",
            "Check its cable, its power and its level: alsamixer; hey-echo config set "
            "voice.volume 80",
        )
    told = f"The loudspeaker is heard {check.delay * 1000:.0f} ms later than it tells"
    if check.delay > LATEST:
        return warned(
            f"{told}: too late for echo cancellation.",
            "Use a loudspeaker with a cable, on the same card as the microphone where that can be.",
        )
    return passed(f"{told}.")


def _voice(check: SoundCheck) -> Finding:
    sound = levels(np.ascontiguousarray(check.speech[:, check.channel]))
    loudest, clipped = sound.speech_db, sound.clipped
    above = loudest - dbfs(check.quiet[:, check.channel])
    told = f"Your voice is at {loudest:.0f} dB, {above:.0f} dB above the room"
    if clipped > CLIPPED or loudest > LOUD_DB:
        return warned(
            f"{told}; {clipped:.1%} of it is clipped.", "Lower its level: alsamixer, then F4."
        )
    if loudest < FAINT_DB or above < SPEECH_ABOVE:
        return warned(
            f"{told}: that is faint.",
            "Raise its level (alsamixer, then F4), come nearer, or put it away from what is loud.",
        )
    return passed(f"{told}; {clipped:.1%} of it is clipped.")


def _wake_word(check: SoundCheck, wake: OpenWakeWord) -> Finding:
    heard, best = 0, 0.0
    for number, block in enumerate(blocks(check.speech[:, check.channel])):
        if len(block) == BLOCK:
            found = wake.process(Frame(block, number * BLOCK, seconds(number * BLOCK)))
            heard += found is not None
            best = max(best, wake.score)
    if not heard:
        return failed(
            f"The wake word was not heard; the best score was {best:.2f}.",
            "Teach Echo how you say it: hey-echo wake record; or: "
            "hey-echo config set wake.sensitivity high",
        )
    often = "once" if heard == 1 else f"{heard} times"
    return passed(f"The wake word was heard {often}, with a score up to {best:.2f}.")


def keep(check: SoundCheck, path: Path) -> None:
    """Write all that was recorded as a WAV file that only the user may read. Raises OSError."""
    everything = check.everything
    private = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(private, "wb") as to, wave.open(to, "wb") as file:
        file.setnchannels(everything.shape[1])
        file.setsampwidth(2)
        file.setframerate(SAMPLE_RATE)
        file.writeframes(everything.astype("<i2").tobytes())
