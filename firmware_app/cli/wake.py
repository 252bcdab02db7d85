"""hey-echo wake: teach Echo how you say its name, and forget it again."""

import argparse
import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from firmware_app.audio import Source
from firmware_app.engines import VoiceActivity
from firmware_app.errors import DeviceError, UsageError
from firmware_app.frames import SAMPLE_RATE, Frame, Samples, dbfs, seconds
from firmware_app.settings import Settings

if TYPE_CHECKING:
    from firmware_app.engines.wake_owner import OwnerStore

PRE_ROLL = SAMPLE_RATE // 2  # samples kept from before speech began
PAUSE = SAMPLE_RATE * 6 // 10  # samples of silence that end an example
SHORTEST, LONGEST = 0.25, 2.5  # seconds of speech that an example may have
QUIETEST = -50.0  # dBFS of an example
BEGINS, GOES_ON = 0.5, 0.35  # probabilities of speech
PATIENCE = 20.0  # seconds without speech after which recording gives up
RELOAD = "A running service takes it up when it is restarted."
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")


def add(commands: Any) -> None:  # noqa: ANN401 - argparse does not name its type
    wake = commands.add_parser("wake", help="teach Echo how you say its name, and forget it again")
    verbs = wake.add_subparsers(title="commands", metavar="COMMAND", required=True)
    record = verbs.add_parser(
        "record",
        help="take ten examples from the microphone and learn from them",
        description="Take ten examples of the wake word from the microphone and learn from them. "
        "They are stored on this device, for this alone, until `hey-echo wake forget`.",
    )
    record.add_argument("name", metavar="NAME", nargs="?", default="owner", help="default: owner")
    record.add_argument("--word", default="", help="which wake word; default: the first configured")
    record.add_argument(
        "--from", dest="files", metavar="FILE", type=Path, nargs="+", default=[],
        help="take them from recordings instead of the microphone",
    )  # fmt: skip
    record.set_defaults(run=run_record)
    forget = verbs.add_parser("forget", help="delete someone's examples and what was learnt")
    forget.add_argument("name", metavar="NAME", nargs="?", default="owner", help="default: owner")
    forget.set_defaults(run=run_forget)
    verbs.add_parser("list", help="who has recorded examples").set_defaults(run=run_list)


def run_record(arguments: argparse.Namespace) -> int:
    name = _checked(arguments.name)
    return asyncio.run(_record(name, arguments.word, arguments.files))


def run_forget(arguments: argparse.Namespace) -> int:
    name = _checked(arguments.name)
    if not _store().forget(name):
        raise UsageError(
            "unknown-owner", f"Nobody called {name} has recorded examples.", _who(_store().names())
        )
    print(f"Forgotten: {name}. {RELOAD}")
    return 0


def run_list(arguments: argparse.Namespace) -> int:
    names = _store().names()
    print("\n".join(names) if names else "Nobody has recorded examples.")
    return 0


async def _record(name: str, word: str, files: list[Path]) -> int:
    from firmware_app import models
    from firmware_app.cli.service import settings as read_settings
    from firmware_app.engines.loading import load_voice_activity
    from firmware_app.engines.wake import FeatureModels, Head, head_paths
    from firmware_app.engines.wake_owner import EXAMPLES, learn

    settings = read_settings()
    folders = [models.SHIPPED, models.folder(settings)]
    head = Head(head_paths(word or settings.wake.models, folders)[0])
    features = FeatureModels(models.find("openwakeword", "", settings))
    source = _recordings(files) if files else _microphone(settings)
    print(f"Say “{head.phrase.title()}” {EXAMPLES} times, with a pause after each.")
    examples: list[Samples] = []
    try:
        async for example in spoken(source, load_voice_activity()):
            if example.fault:
                print(f"That was {example.fault}; once more, please.")
                continue
            examples.append(example.samples)
            print(f"{len(examples)} of {EXAMPLES}", flush=True)
            if len(examples) == EXAMPLES:
                break
    finally:
        await source.close()
    if len(examples) < EXAMPLES:
        raise DeviceError(
            "too-few-examples",
            f"Only {len(examples)} of {EXAMPLES} examples were heard.",
            "Come nearer to the microphone, and begin again.",
        )
    correction = await asyncio.to_thread(learn, head, features, examples)
    _store().keep(name, head.word, examples, correction)
    print(f"Learnt. {RELOAD} `hey-echo wake forget {name}` deletes it all.")
    return 0


@dataclass(frozen=True, slots=True)
class Example:
    """Something said. fault: why it does not count, empty where it does."""

    samples: Samples
    fault: str


async def spoken(source: Source, activity: VoiceActivity) -> AsyncIterator[Example]:
    """Each thing said, with half a second before it, until the source ends or nobody speaks."""
    kept: list[Frame] = []
    began = last = 0  # where speech began and was last heard, on the source's clock
    talking = False
    async for frame in source:
        kept.append(frame)
        speech = activity.process(frame)
        if speech >= (GOES_ON if talking else BEGINS):
            if not talking:
                talking, began = True, frame.index
            last = frame.end
        if not talking:
            kept = kept[-(PRE_ROLL // len(frame.samples)) :]
            if seconds(frame.end - last) > PATIENCE:
                return
        elif frame.end - last >= PAUSE:
            yield _example(kept, last - began)
            kept, talking = [], False


def _example(frames: list[Frame], length: int) -> Example:
    samples = np.concatenate([frame.samples for frame in frames])
    if seconds(length) < SHORTEST:
        return Example(samples, "too short")
    if seconds(length) > LONGEST:
        return Example(samples, "too long")
    if dbfs(samples) < QUIETEST:
        return Example(samples, "too quiet")
    return Example(samples, "")


def _recordings(files: list[Path]) -> Source:
    from firmware_app.audio.wav import WavSource

    return _Joined([WavSource(path) for path in files])


class _Joined:
    """Recordings one after the other on one clock."""

    def __init__(self, sources: list[Source]) -> None:
        self._sources = sources

    async def __aiter__(self) -> AsyncIterator[Frame]:
        index = 0
        for source in self._sources:
            async for frame in source:
                yield Frame(frame.samples, index, frame.heard_at)
                index += len(frame.samples)

    async def close(self) -> None:
        for source in self._sources:
            await source.close()


def _microphone(settings: Settings) -> Source:
    from firmware_app.audio.microphone import AlsaSource
    from firmware_app.device.board import chosen, resolved

    audio = resolved(settings.audio, chosen(settings.device.board))
    return AlsaSource.chosen(audio, lambda state: print(state.text, flush=True))


def _store() -> "OwnerStore":
    from firmware_app.cli.service import settings
    from firmware_app.engines.wake_owner import OwnerStore
    from firmware_app.folders import state_dir

    return OwnerStore(state_dir(settings()))


def _checked(name: str) -> str:
    if not NAME.fullmatch(name):
        raise UsageError(
            "bad-name",
            f"The name {name!r} is not possible.",
            "Use up to 32 small letters, digits, - and _.",
        )
    return name


def _who(names: list[str]) -> str:
    return f"Those who have: {', '.join(names)}." if names else "Nobody has, so far."
