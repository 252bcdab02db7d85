"""Microphone arrays in a simulated room: how much clearer a question is, and where it came from.

Part of ./scripts/bench device.

Four microphones in a circle of 32 mm radius, someone 2.5 m away who says the wake word and a
question, pink noise 1.8 m away beside them, a reverberation of 0.4 s; the microphones differ in
gain by up to 2 dB and hiss. Delay-and-sum is told where the talker is; MVDR has to find out.
"""

import asyncio
import csv
import os
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein

from firmware_app.audio.array import (
    BINS,
    SOUND,
    WINDOW,
    Anchor,
    Beam,
    Weights,
    anchor,
    direction,
    weights,
)
from firmware_app.audio.dsp import to_int16
from firmware_app.audio.wav import read_wav
from firmware_app.dialogue.commands import without_wake_phrase
from firmware_app.dialogue.dialogue import PRE_ROLL
from firmware_app.engines import Detection, Recogniser, WakeWord
from firmware_app.engines.loading import load_recogniser, load_wake_word
from firmware_app.frames import BLOCK_MS, SAMPLE_RATE, Frame, Samples
from firmware_app.settings import Settings

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from tests.audio.array_room import POSITIONS, Scene, frames_of_array, scene

RECORDINGS = Path(__file__).resolve().parent.parent / "recordings" / "bench"
SNR_DB = (10.0, 5.0, 0.0)
QUESTIONS = 10
BESIDE = (70.0, -90.0, 110.0, -60.0, 130.0)  # degrees from the talker to the noise
TURN = 67.0  # degrees from one talker to the next
QUIET = SAMPLE_RATE // 2  # samples after the question
METHODS = ("one microphone", "delay-and-sum", "MVDR from the wake word")


@dataclass(slots=True)
class Figures:
    """Of one method at one level of noise."""

    gains: list[float]
    wrong: int = 0  # words
    words: int = 0


@dataclass(frozen=True, slots=True)
class Question:
    """A recording whose wake word is heard in the room without noise; text is what follows it."""

    sound: Samples
    text: str
    talker: float
    noise_at: float
    detection: Detection


def run() -> None:
    """Print the tables."""
    asyncio.run(_run())


async def _run() -> None:
    print(f"load average {os.getloadavg()[0]:.2f}\n")
    recogniser = load_recogniser(Settings())
    asked = _questions(load_wake_word(Settings(), verified=False))
    print(f"{len(asked)} questions; {recogniser.name}\n")
    print("| SNR in, dB | | SNR gain dB, mean | worst | words wrong, % |")
    print("|---" * 5 + "|")
    errors: dict[float, list[float]] = {}
    for snr_db in SNR_DB:
        figures = {method: Figures([]) for method in METHODS}
        errors[snr_db] = []
        for seed, question in enumerate(asked):
            made = _scene(question, snr_db, seed)
            errors[snr_db].append(_direction_error(made, question))
            for method, weighted in zip(METHODS, _all_weights(made, question), strict=True):
                await _judge(made, question, weighted, recogniser, figures[method])
        for method, of_it in figures.items():
            print(
                f"| {snr_db:.0f} | {method} | {np.mean(of_it.gains):.1f} | "
                f"{min(of_it.gains):.1f} | {100 * of_it.wrong / of_it.words:.0f} |",
                flush=True,
            )
    print("\n| SNR in, dB | direction error, mean | worst |\n|---|---|---|")
    for snr_db, found in errors.items():
        print(f"| {snr_db:.0f} | {np.mean(found):.0f}° | {max(found):.0f}° |")
    _print_cost(_scene(asked[0], SNR_DB[0], 0), asked[0])
    recogniser.close()
    print(f"\nload average {os.getloadavg()[0]:.2f}")


def _questions(wake: WakeWord) -> list[Question]:
    found: list[Question] = []
    with (RECORDINGS / "manifest.csv").open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["wake_word"] == "yes"]
    for number, row in enumerate(rows):
        sound = np.pad(read_wav(RECORDINGS / row["file"]), (0, QUIET))
        talker = TURN * number % 360
        noise_at = (talker + BESIDE[number % len(BESIDE)]) % 360
        quiet = scene(sound, talker=talker, noise_at=noise_at, snr_db=60.0)
        wake.reset()
        heard = (wake.process(frame) for frame in frames_of_array(quiet.raw))
        if detection := next((d for d in heard if d), None):
            text = without_wake_phrase(row["text"])
            found.append(Question(sound, text, talker, noise_at, detection))
    return found[:QUESTIONS]


def _scene(question: Question, snr_db: float, seed: int) -> Scene:
    return scene(
        question.sound,
        talker=question.talker,
        noise_at=question.noise_at,
        snr_db=snr_db,
        seed=seed,
    )


def _all_weights(made: Scene, question: Question) -> tuple[Weights, Weights, Weights]:
    """In the order of METHODS."""
    one = np.zeros((BINS, len(POSITIONS)), np.complex64)
    one[:, 0] = 1.0
    angle = np.radians(question.talker)
    ahead = np.array(POSITIONS) @ (np.sin(angle), np.cos(angle)) / SOUND  # seconds
    frequencies = np.fft.rfftfreq(WINDOW, 1 / SAMPLE_RATE)
    turned = np.exp(-2j * np.pi * frequencies[:, None] * (ahead - ahead[0])) / len(POSITIONS)
    return one, turned.astype(np.complex64), weights(_anchored(made, question), heard=0)


def _anchored(made: Scene, question: Question) -> Anchor:
    detection = question.detection
    found = anchor([*frames_of_array(made.raw)], detection.start, detection.end)
    if found is None:
        raise RuntimeError(f"nothing to turn to in “{question.text}”")
    return found


def _direction_error(made: Scene, question: Question) -> float:
    """Degrees; where nothing is told, that is as wrong as can be."""
    degrees = direction(_anchored(made, question), POSITIONS)
    return 180.0 if degrees is None else abs((degrees - question.talker + 180) % 360 - 180)


async def _judge(
    made: Scene, question: Question, weighted: Weights, recogniser: Recogniser, figures: Figures
) -> None:
    """Add to the figures how well the question after the wake word is heard."""
    begin = question.detection.end - PRE_ROLL
    speech = _through(weighted, to_int16(made.speech), begin)
    noise = _through(weighted, to_int16(made.noise), begin)
    end = begin + sum(len(frame.samples) for frame in speech)
    before = _db(made.speech[0, begin:end], made.noise[0, begin:end])
    figures.gains.append(_db(_sound(speech), _sound(noise)) - before)
    recognition = recogniser.start()
    for frame in _through(weighted, made.raw, begin):
        recognition.feed(frame)
    heard = _words((await recognition.finish()).text)
    said = _words(question.text)
    figures.words += len(said)
    figures.wrong += Levenshtein.distance(said, heard)


def _through(weighted: Weights, raw: Samples, begin: int) -> list[Frame]:
    beam = Beam(weighted)
    frames = [frame for frame in frames_of_array(raw) if frame.end > begin]
    given = [clear for frame in frames if (clear := beam.feed(frame))]
    last = beam.end()
    return [*given, last] if last else given


def _sound(frames: Sequence[Frame]) -> Samples:
    return np.concatenate([frame.samples for frame in frames])


def _db(speech: NDArray[np.generic], noise: NDArray[np.generic]) -> float:
    power = [float(np.mean(np.square(part, dtype=np.float64))) for part in (speech, noise)]
    return 10 * float(np.log10(power[0] / power[1]))


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z']+", text.lower())


def _print_cost(made: Scene, question: Question) -> None:
    frames = [*frames_of_array(made.raw)]
    began = time.thread_time()
    anchored = _anchored(made, question)
    weighted = weights(anchored, heard=0)
    solved = time.thread_time()
    direction(anchored, POSITIONS)
    found = time.thread_time()
    beam = Beam(weighted)
    for frame in frames:
        beam.feed(frame)
    streamed = time.thread_time()
    a_second = 1000 * (streamed - found) / (len(frames) * BLOCK_MS / 1000)
    print(
        f"\nCPU: {a_second:.1f} ms/s while a question is heard; once a wake-up on a thread: "
        f"weights {1000 * (solved - began):.0f} ms, direction {1000 * (found - solved):.0f} ms. "
        f"The sound is {BLOCK_MS} ms late."
    )


if __name__ == "__main__":
    run()
