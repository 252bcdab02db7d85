"""Whole stories on the real engines: a recording in, the loudspeaker's sound and the events out."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import numpy as np
import pytest

from firmware_app.app import Echo, awake
from firmware_app.audio import Source
from firmware_app.audio.room import RoomSource, ScriptedSource
from firmware_app.audio.simulated import ListSink
from firmware_app.audio.wav import read_wav
from firmware_app.cli.session import Patience
from firmware_app.control.client import call
from firmware_app.dialogue.keeping import Keeper
from firmware_app.engines import Engines, Voice
from firmware_app.engines.loading import load_engines
from firmware_app.engines.whisper import WhisperRecogniser
from firmware_app.errors import EchoError
from firmware_app.events import Event, Events, QuestionAsked, ReplyClause, ReplyEnded
from firmware_app.frames import SAMPLE_RATE, Samples
from firmware_app.settings import Settings
from firmware_app.traces import Traces
from tests.alsa_fixture import AlsaDevices, FifoMicrophone, FileLoudspeaker

RECORDINGS = Path(__file__).resolve().parents[2] / "recordings"
QUESTION = RECORDINGS / "demo" / "question.wav"
FOLLOW_UP = RECORDINGS / "demo" / "follow_up.wav"
START_SECONDS = 180  # for a busy machine to load the engines
STOP_SECONDS = 15  # TimeoutStopSec of systemd/hey-echo.service
WAKE_WORD = int(1.2 * SAMPLE_RATE)  # samples of the question that hold "Hey Echo" alone
COMMAND = [sys.executable, "-m", "firmware_app"]

E_ = TypeVar("E_", bound=Event)
Said: TypeAlias = Sequence[Path | Samples]


@dataclass
class Story:
    """What happened, and what the loudspeaker played."""

    echo: Echo
    engines: Engines
    sink: ListSink
    seen: list[Event] = field(default_factory=list)

    def all(self, kind: type[E_]) -> list[E_]:
        return [event for event in self.seen if isinstance(event, kind)]

    @property
    def questions(self) -> list[str]:
        return [event.text for event in self.all(QuestionAsked)]

    @property
    def clauses(self) -> list[str]:
        return [event.text for event in self.all(ReplyClause)]

    @property
    def answers(self) -> list[str]:
        return [event.text for event in self.all(ReplyEnded)]

    async def until(self, kind: type[E_], count: int = 1, seconds: float = 120) -> E_:
        async with asyncio.timeout(seconds):
            while len(found := self.all(kind)) < count:
                await asyncio.sleep(0.02)
        return found[count - 1]

    async def heard_out(self) -> None:
        async with asyncio.timeout(120):
            await self.echo.dialogue.heard_out()


def wake_word() -> Samples:
    """The beginning of the demo's question."""
    return read_wav(QUESTION)[:WAKE_WORD]


def asked(sound: Samples) -> Samples:
    """Somebody says the wake word, and this after a breath."""
    return np.concatenate([wake_word(), np.zeros(SAMPLE_RATE * 7 // 10, np.int16), sound])


async def said_by(voice: Voice, text: str) -> Samples:
    return np.concatenate([piece async for piece in voice.say(text)])


Tell: TypeAlias = Callable[..., AbstractAsyncContextManager[Story]]


@pytest.fixture
def tell(models: Path) -> Tell:
    """tell(recordings, …) plays them in a room where Echo listens and hears itself.

    when: tells by the loudspeaker whether the next may begin; else it is when Echo expects it.
    """

    @asynccontextmanager
    async def telling(
        said: Said,
        *,
        settings: Settings | None = None,
        keeper: Keeper | None = None,
        echo_db: float = -12.0,
        when: Callable[[ListSink], bool] | None = None,
    ) -> AsyncIterator[Story]:
        settings = settings or Settings()
        engines = await load_engines(settings)
        events = Events()
        sink = ListSink(paced=True)
        patience = Patience(sink)
        may_speak = partial(when, sink) if when else patience.is_over
        source: Source = RoomSource(
            ScriptedSource(said, may_speak, lead=1.0), sink, echo_db=echo_db
        )
        try:
            await engines.model.ready()
            async with awake(settings, engines, source, sink, events, Traces(), keeper) as echo:
                story = Story(echo, engines, sink)
                watching = asyncio.create_task(_watch(events, story.seen))
                await asyncio.sleep(0)
                patience.dialogue = echo.dialogue
                yield story
                watching.cancel()
        finally:
            await engines.close()

    return telling


async def _watch(events: Events, seen: list[Event]) -> None:
    async for event in events.listen(10_000):
        seen += [event]


@pytest.fixture
def understood(whisper: WhisperRecogniser) -> Callable[[Samples], str]:
    """What a listener understands of the loudspeaker's sound, lower case, letters only."""

    def understand(samples: Samples) -> str:
        text = whisper.transcribe(samples).text
        return "".join(c for c in text.lower() if c.isalpha() or c == " ")

    return understand


@dataclass
class Service:
    """A running service, and the command line that talks to it."""

    environment: dict[str, str]
    microphone: FifoMicrophone
    loudspeaker: FileLoudspeaker
    log: Path
    process: subprocess.Popen[bytes] = field(init=False)

    def start(self) -> None:
        with self.log.open("ab") as out:
            self.process = subprocess.Popen(
                [*COMMAND, "run"], env=self.environment, stdout=out, stderr=out
            )

    def end(self) -> None:
        """In good order, and before systemd would kill it."""
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(STOP_SECONDS) == 0, self.log.read_text()

    def command(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*COMMAND, *words],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def status(self) -> dict[str, Any]:
        answer = self.command("status", "--json")
        found: dict[str, Any] = json.loads(answer.stdout) if answer.returncode == 0 else {}
        return found

    @property
    def runtime(self) -> Path:
        return Path(self.environment["HEY_ECHO_PATHS_RUNTIME"])

    @property
    def state(self) -> str:
        """Asked for directly: a command takes longer to start than some states last."""
        try:
            return str(call(self.runtime, "status")["state"])
        except EchoError:
            return "not there"

    def until(self, state: str) -> None:
        self.until_true(lambda: self.state == state)

    def until_true(self, condition: Callable[[], bool]) -> None:
        give_up = time.monotonic() + START_SECONDS
        while not condition():
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < give_up, f"{self.state}: {self.log.read_text()}"
            time.sleep(0.1)

    def played(self) -> Samples:
        """What the loudspeaker played, at 16 kHz."""
        return self.loudspeaker.frames()[::3, 0].astype(np.int16)


@pytest.fixture
def service(alsa: AlsaDevices, models: Path, tmp_path: Path) -> Iterator[Service]:
    microphone, loudspeaker = alsa.microphone(hum=20), alsa.loudspeaker()
    config = tmp_path / "config.toml"
    config.touch()
    environment = {
        **os.environ,
        **alsa.environment,
        "HEY_ECHO_CONFIG": str(config),
        "HEY_ECHO_PATHS_STATE": str(tmp_path / "state"),
        "HEY_ECHO_PATHS_RUNTIME": str(tmp_path / "run"),
        "HEY_ECHO_PATHS_MODELS": str(models),
        "HEY_ECHO_AUDIO_MICROPHONE": microphone.name,
        "HEY_ECHO_AUDIO_LOUDSPEAKER": loudspeaker.name,
        "HEY_ECHO_LOG_LEVEL": "debug",
    }
    running = Service(environment, microphone, loudspeaker, tmp_path / "log")
    running.start()
    try:
        yield running
    finally:
        running.process.kill()
        running.process.wait()
