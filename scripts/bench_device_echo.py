"""Echo cancellation in a simulated room: how much of the echo goes, and what is heard over it.

Part of ./scripts/bench device.

The loudspeaker stands 9 cm from the microphone in a room of 5 x 4 x 2.7 m with a reverberation of
0.4 s; the far end is speech of the bench's recordings. Each wake word is spoken over it, quieter.
"""

import asyncio
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyroomacoustics  # type: ignore[import-untyped]
from numpy.typing import NDArray

from firmware_app.audio.echo import EchoCancelled
from firmware_app.audio.wav import read_wav
from firmware_app.engines import WakeWord
from firmware_app.engines.loading import load_wake_word
from firmware_app.frames import SAMPLE_RATE, Frame, Samples, dbfs
from firmware_app.settings import Settings

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from tests.audio.fake_echo import FakeHardware

RECORDINGS = Path(__file__).resolve().parent.parent / "recordings" / "bench"
ROOM = (5.0, 4.0, 2.7)  # metres
REVERBERATION = 0.4  # seconds
LOUDSPEAKER, MICROPHONE = (2.0, 2.0, 1.0), (2.09, 2.0, 1.0)
FAR_DB = -20.0  # dBFS of what is played
ECHO_DB = -12.0  # of the echo against that
NEAR_DB = (-6.0, -12.0)  # of the wake word against the echo
WORDS = 6
WORD = round(1.35 * SAMPLE_RATE)  # samples of a recording that hold its wake word
SETTLED = 6.0  # seconds after which the echo is measured
AT, LENGTH = 8.0, 11.0  # seconds: when the wake word is said, and how long it goes on


@dataclass(frozen=True, slots=True)
class Case:
    """One row of the table: clocks so many ppm apart, cancelled or not."""

    name: str
    ppm: float
    cancelled: bool


CASES = (
    Case("no cancellation", 0.0, False),
    Case("Speex, one clock", 0.0, True),
    Case("Speex, clocks 100 ppm apart", 100.0, True),
)


def run() -> None:
    """Print the table."""
    asyncio.run(_run())


async def _run() -> None:
    words, speech = _recordings()
    response = _response()
    wake = load_wake_word(Settings(), verified=False)
    wake.raised = True
    print(f"load average {os.getloadavg()[0]:.2f}\n")
    over = " | ".join(f"wake words at {level:.0f} dB, of {len(words)}" for level in NEAR_DB)
    print(f"| | ERLE dB, median | worst | {over} | CPU ms/s | clocks found ppm apart |")
    print("|---" * (5 + len(NEAR_DB)) + "|")
    for case in CASES:
        print(await _row(case, words, speech, response, wake), flush=True)
    print(f"\nload average {os.getloadavg()[0]:.2f}")


async def _row(
    case: Case,
    words: Sequence[Samples],
    speech: Samples,
    response: NDArray[np.float64],
    wake: WakeWord,
) -> str:
    erle: list[float] = []
    drift: list[float] = []
    heard = [0] * len(NEAR_DB)
    cpu = 0.0
    for number, word in enumerate(words):
        far = _stretch(speech, number)
        for place, level in enumerate(NEAR_DB):
            near = np.zeros(len(far), np.int16)
            at = round(AT * SAMPLE_RATE)
            near[at : at + len(word)] = _at_level(word, FAR_DB + ECHO_DB + level)
            hardware = FakeHardware(
                [(0.0, far)], near, ppm=case.ppm, echo_db=ECHO_DB, response=response, seed=number
            )
            frames, canceller, took = await _listen(hardware, cancelled=case.cancelled)
            cpu += took
            heard[place] += _wakes(frames, wake)
            drift.append(canceller.drift_ppm)
            part = slice(round(SETTLED * SAMPLE_RATE), at)
            left = np.concatenate([frame.samples for frame in frames])
            erle.append(dbfs(hardware.sound[part]) - dbfs(left[part]))
    seconds = LENGTH * len(words) * len(NEAR_DB)
    counts = " | ".join(str(count) for count in heard)
    found = f"{np.median(drift):.1f}" if case.cancelled else "-"
    return (
        f"| {case.name} | {np.median(erle):.0f} | {min(erle):.0f} | {counts} | "
        f"{1000 * cpu / seconds:.1f} | {found} |"
    )


async def _listen(
    hardware: FakeHardware, *, cancelled: bool
) -> tuple[list[Frame], EchoCancelled, float]:
    """The frames, the canceller, and the seconds of computing that cancelling took."""
    canceller = EchoCancelled(hardware, hardware.reference)
    source = canceller if cancelled else hardware
    began = time.process_time()
    frames = [frame async for frame in source]
    return frames, canceller, time.process_time() - began


def _wakes(frames: Sequence[Frame], wake: WakeWord) -> bool:
    """Whether the word is heard, and not before it was said."""
    wake.reset()
    return any(wake.process(frame) and frame.index > AT * SAMPLE_RATE for frame in frames)


def _recordings() -> tuple[list[Samples], Samples]:
    """The wake words, and all other speech in a row."""
    files = sorted(RECORDINGS.glob("*.flac"))
    called = [read_wav(file) for file in files if not file.name.startswith("human")]
    people = [read_wav(file) for file in files if file.name.startswith("human")]
    rests = [sound[WORD:] for sound in called]
    return [sound[:WORD] for sound in called[:WORDS]], np.concatenate([*rests, *people])


def _stretch(speech: Samples, number: int) -> Samples:
    length = round(LENGTH * SAMPLE_RATE)
    start = int(np.random.default_rng(number).integers(0, len(speech) - length))
    return _at_level(speech[start : start + length], FAR_DB)


def _at_level(sound: Samples, level: float) -> Samples:
    louder = sound * 10 ** ((level - dbfs(sound)) / 20)
    levelled: Samples = np.clip(np.rint(louder), -32768, 32767).astype(np.int16)
    return levelled


def _response() -> NDArray[np.float64]:
    """From the loudspeaker to the microphone; its loudest sample is 1."""
    absorption, order = pyroomacoustics.inverse_sabine(REVERBERATION, ROOM)
    room = pyroomacoustics.ShoeBox(
        ROOM,
        fs=SAMPLE_RATE,
        materials=pyroomacoustics.Material(absorption),
        max_order=order,
    )
    room.add_source(LOUDSPEAKER)
    room.add_microphone(MICROPHONE)
    room.compute_rir()
    response: NDArray[np.float64] = room.rir[0][0] / np.abs(room.rir[0][0]).max()
    return response


if __name__ == "__main__":
    run()
