"""From the end of speech to the first sound of the answer, stage by stage.

Recorded requests are played in real time, one after the other, through the pipeline as Echo runs
it, and through the same engines one after the other: the whole utterance is recognised, then the
whole reply thought, then all of it voiced. Both decide the endpoint alike.
"""

import argparse
import asyncio
import contextlib
import csv
import os
import platform
import sys
import time
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np

from firmware_app.app import awake
from firmware_app.audio import Source
from firmware_app.audio.player import Player
from firmware_app.audio.room import RoomSource, ScriptedSource
from firmware_app.audio.simulated import TimedSink
from firmware_app.dialogue.dialogue import PRE_ROLL, PRESS_PRE_ROLL
from firmware_app.dialogue.ear import Ear, Heard, WakeUp
from firmware_app.dialogue.endpoint import Endpointer, Signal
from firmware_app.dialogue.prompt import Prompt, system_prompt
from firmware_app.dialogue.speakable import Speakable
from firmware_app.dialogue.spoken import spoken
from firmware_app.engines import Engines, Recognition
from firmware_app.engines.loading import load_engines
from firmware_app.events import Events, QuestionAsked, TurnTraced
from firmware_app.frames import SAMPLE_RATE, Frame, Samples
from firmware_app.settings import Settings
from firmware_app.settings_layers import load
from firmware_app.traces import SPANS, Stage, Trace, Traces, spread, summarise

RECORDINGS = Path(__file__).resolve().parent.parent / "recordings" / "bench"
LEAD_SECONDS = 1.0  # of quiet before each recording
PATIENCE_SECONDS = 40.0  # for one request
TOTAL = "true end of speech to it"  # by the recording itself, not by voice activity


@dataclass(frozen=True, slots=True)
class Request:
    """A recording, and where its speech ends."""

    file: Path
    text: str
    wake_word: bool
    end_of_speech_seconds: float


@dataclass(frozen=True, slots=True)
class Answered:
    """Times of one request; total_ms is from the true end of speech to the first audible sample."""

    request: Request
    heard: str
    trace: Trace
    total_ms: float


def requests() -> list[Request]:
    with (RECORDINGS / "manifest.csv").open(newline="", encoding="utf-8") as file:
        return [
            Request(
                RECORDINGS / row["file"],
                row["text"],
                row["wake_word"] == "yes",
                float(row["end_of_speech_seconds"]),
            )
            for row in csv.DictReader(file)
        ]


class Started:
    """A source that remembers when its first sample was heard."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.at = 0.0

    async def __aiter__(self) -> AsyncIterator[Frame]:
        async for frame in self._source:
            self.at = self.at or frame.heard_at - (frame.end / SAMPLE_RATE)
            yield frame

    async def close(self) -> None:
        await self._source.close()


def room(request: Request, sink: TimedSink, finished: asyncio.Event) -> Started:
    script = ScriptedSource([request.file], finished.is_set, lead=LEAD_SECONDS)
    return Started(RoomSource(script, sink))


def end_of_speech(request: Request, source: Started) -> float:
    return source.at + LEAD_SECONDS + request.end_of_speech_seconds


async def overlapped(settings: Settings, engines: Engines, request: Request) -> Answered | None:
    """One request through the pipeline. None where Echo did not answer."""
    finished = asyncio.Event()
    sink = TimedSink()
    source = room(request, sink, finished)
    events, traces = Events(), Traces()
    listener = events.listen()
    heard = ""
    async with awake(settings, engines, source, sink, events, traces) as echo:
        if not request.wake_word:
            await asyncio.sleep(LEAD_SECONDS)
            echo.dialogue.press()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE_SECONDS):
                async for event in listener:
                    if isinstance(event, QuestionAsked):
                        heard = event.text
                    if isinstance(event, TurnTraced):
                        break
        finished.set()
    answered = [t for t in traces.recent() if Stage.FIRST_AUDIO in t.times]
    if not answered:
        return None
    trace = answered[0]
    total = trace.times[Stage.FIRST_AUDIO] - end_of_speech(request, source)
    return Answered(request, heard, trace, total * 1000)


async def one_after_the_other(
    settings: Settings, engines: Engines, request: Request
) -> Answered | None:
    """The same request, each engine waiting for the one before it to have finished."""
    sink = TimedSink()
    finished = asyncio.Event()
    source = room(request, sink, finished)
    ear = Ear(engines.wake, engines.activity)
    trace = Trace(time.time())
    recognition = engines.recogniser.start()
    hearing = asyncio.create_task(_hear(source, ear))
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await _until_endpoint(settings, request, ear, recognition, trace)
        transcript = await recognition.finish()
        trace.mark(Stage.TRANSCRIPT, time.monotonic())
        text = await _whole_reply(settings, engines, transcript.text, trace)
        sound = await _whole_sound(settings, engines, text)
        player = Player(sink, on_first_audio=lambda at: trace.mark(Stage.FIRST_AUDIO, at))
        await player.queue(sound)
        await player.drained()
        await player.close()
    except TimeoutError:
        return None
    finally:
        finished.set()
        hearing.cancel()
        await asyncio.wait([hearing])
        await ear.close()
        await sink.close()
    total = trace.times[Stage.FIRST_AUDIO] - end_of_speech(request, source)
    return Answered(request, transcript.text, trace, total * 1000)


async def _hear(source: Source, ear: Ear) -> None:
    async for frame in source:
        await ear.hear(frame)


async def _until_endpoint(
    settings: Settings, request: Request, ear: Ear, recognition: Recognition, trace: Trace
) -> None:
    """Return at the final endpoint, decided as the pipeline decides it."""
    endpointer = Endpointer(settings.endpoint, settings.language)
    looks: set[asyncio.Task[None]] = set()
    if not request.wake_word:
        await asyncio.sleep(LEAD_SECONDS)
        ear.attend(ear.now - PRESS_PRE_ROLL)
    while True:
        match await ear.heard.get():
            case WakeUp() as wake_up:
                trace.mark(Stage.DETECTION, wake_up.detection.heard_at)
                ear.attend(wake_up.detection.end - PRE_ROLL)
            case Heard(frame, speech):
                recognition.feed(frame)
                match endpointer.hear(speech, frame):
                    case Signal.EARLY:
                        looks.add(asyncio.create_task(_adapt(endpointer, recognition)))
                    case Signal.PROVISIONAL:
                        trace.times[Stage.PROVISIONAL_ENDPOINT] = frame.heard_at
                    case Signal.FINAL | Signal.TOO_LONG:
                        trace.mark(Stage.FINAL_ENDPOINT, frame.heard_at)
                        spoken_until = endpointer.speech_end or frame.end
                        ago = (frame.end - spoken_until) / SAMPLE_RATE
                        trace.mark(Stage.SPEECH_END, frame.heard_at - ago)
                        return


async def _adapt(endpointer: Endpointer, recognition: Recognition) -> None:
    with contextlib.suppress(asyncio.CancelledError):
        endpointer.text((await recognition.peek()).text)


def prompt(settings: Settings, engines: Engines) -> Prompt:
    room_for_prompt = settings.model.context_tokens - settings.model.reply_tokens
    system = system_prompt(settings.dialogue.persona, settings.language)
    return Prompt(system, room_for_prompt, engines.model.count)


async def _whole_reply(settings: Settings, engines: Engines, question: str, trace: Trace) -> str:
    words = []
    async with aclosing(
        engines.model.reply(await prompt(settings, engines).messages([], question))
    ) as reply:
        async for word in reply:
            trace.mark(Stage.FIRST_TOKEN, time.monotonic())
            words.append(str(word))
    trace.mark(Stage.FIRST_CLAUSE, time.monotonic())
    return spoken(Speakable(settings.language).clause("".join(words)), settings.language)


async def _whole_sound(settings: Settings, engines: Engines, text: str) -> Samples:
    async with aclosing(engines.voice.say(text)) as pieces:
        return np.concatenate([piece async for piece in pieces])


def table(title: str, answered: list[Answered]) -> list[str]:
    rows = [*summarise(a.trace for a in answered), spread(TOTAL, [a.total_ms for a in answered])]
    width = max(len(name) for name, _, _ in SPANS)
    lines = [f"{title}, {len(answered)} requests", f"{'':{width}}  median ms  95th pc ms"]
    lines += [f"{r.name:{width}}  {r.median_ms:9.0f}  {r.p95_ms:10.0f}" for r in rows if r]
    return lines


@dataclass(frozen=True, slots=True)
class Consumed:
    """CPU seconds so far, and peak memory in MB, of this process and the model's."""

    cpu: float
    memory: float


def consumed() -> Consumed:
    processes = [os.getpid(), *_children(os.getpid())]
    ticks = os.sysconf("SC_CLK_TCK")
    cpu = sum(sum(map(int, _stat(pid)[11:13])) for pid in processes) / ticks
    return Consumed(cpu, sum(_peak_kb(pid) for pid in processes) / 1024)


def _children(pid: int) -> list[int]:
    return [
        int(child)
        for task in Path(f"/proc/{pid}/task").iterdir()
        for child in (task / "children").read_text().split()
    ]


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat from the third on: proc(5)."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def _peak_kb(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0])


async def measure(settings: Settings, passes: int, only_sequential: bool) -> None:
    engines = await load_engines(settings)
    try:
        await engines.model.ready()
        await engines.model.prefill(await prompt(settings, engines).messages([]))
        kinds = [("One after the other", one_after_the_other)]
        if not only_sequential:
            kinds.insert(0, ("Overlapped, as Echo runs", overlapped))
        results: dict[str, list[Answered]] = {title: [] for title, _ in kinds}
        before, began = consumed(), time.monotonic()
        for number, request in enumerate(requests() * passes, 1):
            for title, kind in kinds:
                await forget_the_question(settings, engines)
                answered = await kind(settings, engines, request)
                _progress(number, request, title, answered)
                if answered:
                    results[title].append(answered)
        _print_results(results, before, consumed(), time.monotonic() - began)
    finally:
        await engines.close()


async def forget_the_question(settings: Settings, engines: Engines) -> None:
    """Both ways ask the same; the second must not find the question in the model's cache."""
    await engines.model.prefill(await prompt(settings, engines).messages([], "Hello."))


def _progress(number: int, request: Request, title: str, answered: Answered | None) -> None:
    took = f"{answered.total_ms:6.0f} ms  {answered.heard}" if answered else "not answered"
    print(f"{number:3} {request.file.name:32} {title:24} {took}", file=sys.stderr)


def _print_results(
    results: dict[str, list[Answered]], before: Consumed, after: Consumed, seconds: float
) -> None:
    load = os.getloadavg()[0]
    print(f"{platform.machine()}, {os.cpu_count()} cores, load average {load:.2f}")
    for title, answered in results.items():
        print()
        print("\n".join(table(title, answered)))
    print()
    print(f"CPU: {(after.cpu - before.cpu) / seconds:.2f} cores while the benchmark ran")
    print(f"peak memory: {after.memory:.0f} MB, the model's process included")
    medians = [median(a.total_ms for a in answered) for answered in results.values() if answered]
    if len(medians) == 2:
        print(f"first audio / sequential ratio: {medians[0] / medians[1]:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__.partition("\n")[0])
    parser.add_argument("--passes", type=int, default=1, help="times that each recording is played")
    parser.add_argument(
        "--sequential", action="store_true", help="only the engines one after the other"
    )
    arguments = parser.parse_args()
    asyncio.run(measure(load().settings, arguments.passes, arguments.sequential))


if __name__ == "__main__":
    main()
