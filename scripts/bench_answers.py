"""How often what people say reaches the right skill, and how soon the answer sounds.

The requests of the tests are judged as they are written, and as the recogniser understands them
from synthetic voices: right (skill and arguments), wrong, asked back, or missed (left to the
language model). Then follow-up questions are put to the model that nobody could answer who did not
hear what was said before, and a few requests are played in real time, to skills and to the model.
"""

import argparse
import asyncio
import csv
import os
import platform
import random
import shutil
import subprocess
import sys
import tempfile
import time
import wave
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import aclosing
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median

import numpy as np
from bench_latency import Request as Recording
from bench_latency import overlapped

from firmware_app.audio.wav import read_wav
from firmware_app.dialogue.keeping import Keeper
from firmware_app.dialogue.thinking import Thinking, Thought
from firmware_app.engines import EngineNames, Recogniser, Transcript, Voice
from firmware_app.engines.espeak import Espeak
from firmware_app.engines.loading import load_engines, load_model, load_recogniser, load_voice
from firmware_app.events import Status
from firmware_app.frames import BLOCK, SAMPLE_RATE, Frame, Samples
from firmware_app.settings import Settings
from firmware_app.settings_layers import load
from firmware_app.skills.building import World, build
from firmware_app.skills.registry import Skills
from firmware_app.traces import Stage
from tests.skills.conftest import DrivenClock
from tests.skills.requested import Request, requests

VOICES = ("piper", "espeak en-us", "espeak en-us+f3", "espeak en-gb", "flite slt", "flite rms")
GOOD_WER = 0.2  # up to this word error rate an utterance counts as recognised
BARS = ((0.0, 0.0), (0.001, GOOD_WER), (GOOD_WER + 1e-9, 9.9))
SETS_A_TIME = {"set_timer", "set_alarm", "set_reminder", "change_timer", "snooze"}
TIMES = {"seconds", "time"}
FOLLOW_UPS = Path(__file__).with_name("follow_ups.csv")
QUIET = np.zeros(SAMPLE_RATE // 4, np.int16)
TIMED = (
    ("What time is it?", True),
    ("What is seven times eight?", True),
    ("How many feet are in three miles?", True),
    ("Set a timer for ten minutes.", True),
    ("What is the capital of France?", False),
    ("Why is the sky blue?", False),
)


@dataclass(frozen=True, slots=True)
class Judged:
    """verdict: right, wrong, asked, missed or stolen. wrong_time: a timer that was not wanted."""

    request: Request
    heard: str
    wer: float
    verdict: str
    wrong_time: bool
    confidence: float


@dataclass(frozen=True, slots=True)
class Spoken:
    """How many requests are spoken, which ones, and by which voices in turn."""

    sample: int
    seed: int
    voices: list[str]


def judge(skills: Skills, request: Request, heard: Transcript, wer: float) -> Judged:
    understood = skills.understand(heard.text, heard.confidence)
    verdict, wrong_time = "missed", False
    if not request.tool:
        verdict = "stolen" if understood else "right"
    elif understood and understood.says:
        verdict = "asked"
    elif understood and understood.call:
        call = understood.call
        same_text = {"text", "name", "about", "place"}
        values = {k: v for k, v in call.arguments.items() if k not in same_text}
        wanted = {k: v for k, v in request.arguments.items() if k not in same_text}
        right = call.tool == request.tool and values == wanted
        # Without a time nothing is set: Echo asks for it.
        incomplete = call.tool in SETS_A_TIME and not TIMES & values.keys()
        verdict = "right" if right else "asked" if incomplete else "wrong"
        wrong_time = not right and call.tool in SETS_A_TIME and not incomplete
    return Judged(request, heard.text, wer, verdict, wrong_time, heard.confidence)


def word_error_rate(skills: Skills, said: str, heard: str) -> float:
    """By the words as skills read them: "ten" and "10" are one word."""
    one, other = (_words(skills, text) for text in (said, heard))
    row = list(range(len(other) + 1))
    for i, word in enumerate(one, 1):
        before, row = row, [i]
        for j, heard_word in enumerate(other, 1):
            row.append(min(before[j] + 1, row[-1] + 1, before[j - 1] + (word != heard_word)))
    return row[-1] / max(1, len(one))


def _words(skills: Skills, text: str) -> list[str]:
    words, found, at = skills.language.tokens(text), [], 0
    while at < len(words):
        number = next(iter(skills.language.numbers.read(words, at)), None)
        if number and not number.cost:
            found.append(f"{number.value:g}")
            at = number.end
        else:
            found.append(words[at])
            at += 1
    return found


async def synthesise(voice: str, text: str, settings: Settings) -> Samples:
    engine, _, name = voice.partition(" ")
    if engine == "flite":
        return await asyncio.to_thread(_flite, name, text)
    speaker: Voice = Espeak(name) if engine == "espeak" else _piper(settings)
    async with aclosing(speaker.say(text)) as pieces:
        return np.concatenate([piece async for piece in pieces])


def _flite(voice: str, text: str) -> Samples:
    program = shutil.which("flite")
    if not program:
        raise SystemExit("bench: flite is not installed: sudo apt install flite")
    with tempfile.NamedTemporaryFile(suffix=".wav") as file:
        subprocess.run([program, "-voice", voice, "-t", text, "-o", file.name], check=True)
        return read_wav(file.name)


@cache
def _piper(settings: Settings) -> Voice:
    return load_voice(settings)


async def recognise(recogniser: Recogniser, sound: Samples) -> Transcript:
    recognition = recogniser.start()
    for frame in _frames(np.concatenate([QUIET, sound, QUIET])):
        recognition.feed(frame)
    return await recognition.finish()


def _frames(sound: Samples) -> Iterator[Frame]:
    for index in range(0, len(sound) - BLOCK + 1, BLOCK):
        yield Frame(sound[index : index + BLOCK], index, time.monotonic())


def _write(file: str, sound: Samples) -> None:
    with wave.open(file, "wb") as wav:
        wav.setnchannels(1)
        wav.setsampwidth(2)
        wav.setframerate(SAMPLE_RATE)
        wav.writeframes(sound.tobytes())


def report(title: str, judged: Iterable[Judged]) -> None:
    found = list(judged)
    if not found:
        return
    counts = Counter(one.verdict for one in found)
    shares = ", ".join(f"{n} {name} ({n / len(found):.1%})" for name, n in counts.most_common())
    wrong_times = sum(one.wrong_time for one in found)
    print(f"{title}: {len(found)} requests: {shares}; wrong timers: {wrong_times}")


def show(judged: Iterable[Judged]) -> None:
    for one in judged:
        if one.verdict != "right":
            print(
                f"  {one.verdict:7} {one.request.text!r} heard {one.heard!r}"
                f" wer {one.wer:.2f} confidence {one.confidence:.2f}",
                file=sys.stderr,
            )


async def measure(settings: Settings, spoken: Spoken, *, models: bool) -> None:
    print(f"{platform.machine()}, {os.cpu_count()} cores, load average {os.getloadavg()[0]:.2f}")
    skills = build(World(settings=lambda: settings, time=DrivenClock().local()))
    everything = requests()
    clean = [judge(skills, r, Transcript(r.text, 1.0), 0.0) for r in everything]
    for_skills = [one for one in clean if one.request.tool]
    report("written, for skills", for_skills)
    report("written, for the model", [one for one in clean if not one.request.tool])
    show(clean)
    if spoken.voices:
        await measure_speech(settings, skills, everything, spoken)
    if models:
        await measure_follow_ups(settings, skills)
        await measure_time(settings)


async def measure_speech(
    settings: Settings, skills: Skills, everything: list[Request], spoken: Spoken
) -> None:
    recogniser = load_recogniser(settings)
    voices, count = spoken.voices, min(spoken.sample, len(everything))
    chosen = random.Random(spoken.seed).sample(everything, count)  # noqa: S311
    judged = []
    try:
        for number, request in enumerate(chosen):
            voice = voices[number % len(voices)]
            heard = await recognise(recogniser, await synthesise(voice, request.text, settings))
            wer = word_error_rate(skills, request.text, heard.text)
            judged.append(judge(skills, request, heard, wer))
    finally:
        recogniser.close()
    show(judged)
    print(f"{recogniser.name}; voices: {', '.join(voices)}")
    for least, most in BARS:
        part = [j for j in judged if least <= j.wer <= most and j.request.tool]
        report(f"spoken, word error rate {least:.1f} to {most:.1f}", part)
    good = [j for j in judged if j.wer <= GOOD_WER and j.request.tool]
    report(f"spoken, word error rate up to {GOOD_WER}", good)
    report("spoken, all", [j for j in judged if j.request.tool])
    report("spoken, for the model", [j for j in judged if not j.request.tool])


async def measure_follow_ups(settings: Settings, skills: Skills) -> None:
    """Each in a conversation of its own, after the question and answer before it."""
    with FOLLOW_UPS.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    model, right = load_model(settings), 0
    await model.ready()
    try:
        for row in rows:
            keeper = Keeper(settings)
            asked = keeper.ask(row["question"], "text", EngineNames(), 1.0)
            keeper.answer(asked, row["answer"], Status.COMPLETE, "text", EngineNames())
            thinking = Thinking(settings, model, keeper, skills)
            async with aclosing(thinking.words(Thought(row["follow_up"]))) as pieces:
                answer = "".join([piece async for piece in pieces]).strip()
            is_right = any(word.lower() in answer.lower() for word in row["accepted"].split(";"))
            right += is_right
            if not is_right:
                print(f"  {row['question']} {row['follow_up']} {answer}", file=sys.stderr)
            await keeper.close()
    finally:
        await model.close()
    print(f"{model.name}: {right} of {len(rows)} follow-ups that need the conversation are right")


async def measure_time(settings: Settings) -> None:
    engines = await load_engines(settings)
    times: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
    try:
        await engines.model.ready()
        for text, is_skill in TIMED:
            sound = await synthesise("piper", text, settings)
            with tempfile.NamedTemporaryFile(suffix=".wav") as file:
                _write(file.name, np.concatenate([sound, QUIET]))
                recording = Recording(Path(file.name), text, False, len(sound) / SAMPLE_RATE)
                answered = await overlapped(settings, engines, recording)
            if answered:
                stages = answered.trace.times
                after = stages[Stage.FIRST_AUDIO] - stages[Stage.FINAL_ENDPOINT]
                times[is_skill].append((answered.total_ms, after * 1000))
                print(f"  {answered.total_ms:5.0f} ms  {answered.heard}", file=sys.stderr)
    finally:
        await engines.close()
    for is_skill, found in times.items():
        if found:
            who = "skills" if is_skill else "the model"
            totals, after = (median(column) for column in zip(*found, strict=True))
            print(
                f"end of speech to first audio, {who}: median {totals:.0f} ms of {len(found)}"
                f" ({after:.0f} ms after the final endpoint)"
            )


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench answers", description=__doc__.partition("\n")[0])
    parser.add_argument("--sample", type=int, default=60, help="requests that are spoken")
    parser.add_argument("--seed", type=int, default=8, help="which requests are spoken, by whom")
    parser.add_argument("--voices", default=",".join(VOICES), help="separated by commas; none: ''")
    parser.add_argument("--no-model", action="store_true", help="neither follow-ups nor timing")
    arguments = parser.parse_args()
    voices = [voice for voice in arguments.voices.split(",") if voice]
    spoken = Spoken(arguments.sample, arguments.seed, voices)
    asyncio.run(measure(load().settings, spoken, models=not arguments.no_model))


if __name__ == "__main__":
    main()
