"""Microphone and loudspeaker come and go while people talk with Echo, and it tells the truth."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from firmware_app.app import Echo, awake
from firmware_app.audio import loudspeaker, microphone
from firmware_app.audio.alsa import DeviceState
from firmware_app.audio.loudspeaker import AlsaSink
from firmware_app.audio.microphone import AlsaSource
from firmware_app.dialogue.dialogue import Dialogue
from firmware_app.engines import Detection, Engines
from firmware_app.events import (
    Event,
    Events,
    QuestionAsked,
    ReplyEnded,
    State,
    StateChanged,
    Status,
)
from firmware_app.frames import Frame
from firmware_app.settings import Settings
from firmware_app.traces import Traces
from tests.alsa_fixture import AlsaDevices
from tests.conftest import PATIENCE, until
from tests.dialogue.scripted import (
    WAKE_MARK,
    LevelActivity,
    ScriptedModel,
    ScriptedRecogniser,
    ScriptedWakeWord,
    ToneVoice,
    tone,
)

DEAF = (State.RECONNECTING, State.ERROR)
LONG = "one two three four five six seven eight nine ten"


class AnyMark(ScriptedWakeWord):
    """Devices do not cut sound where the script does."""

    def process(self, frame: Frame) -> Detection | None:
        if WAKE_MARK not in frame.samples:
            return None
        return Detection("echo", 0.9, frame.index, frame.end, frame.heard_at, True)


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("rounds", [5, pytest.param(50, marks=pytest.mark.full)])
async def test_devices_are_lost_and_found_while_a_conversation_goes_on(
    alsa: AlsaDevices,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    rounds: int,
) -> None:
    monkeypatch.setattr(microphone, "BACK_OFF", (0.1, 0.3))
    monkeypatch.setattr(loudspeaker, "BACK_OFF", (0.1, 0.3))
    ear, mouth = alsa.microphone(hum=20), alsa.unpluggable_loudspeaker()
    states: dict[str, list[DeviceState]] = {"microphone": [], "loudspeaker": []}
    seen: list[Event] = []

    def on_state(state: DeviceState) -> None:
        states[state.direction].append(state)
        if state.direction == "microphone" and echo:
            echo[0].dialogue.hears(state.ready, state.text)

    def ready(device: str) -> Callable[[], bool]:
        return lambda: bool(states[device]) and states[device][-1].ready

    def lost(device: str) -> Callable[[], bool]:
        return lambda: bool(states[device]) and states[device][-1].error is not None

    def count(kind: type[Event]) -> int:
        return sum(isinstance(event, kind) for event in seen)

    echo: list[Echo] = []
    settings = Settings()
    audio = replace(settings.audio, microphone=ear.name, loudspeaker=mouth.name, chimes=False)
    dialogue = replace(settings.dialogue, follow_up=False)
    settings = replace(settings, audio=audio, dialogue=dialogue)
    recogniser = ScriptedRecogniser(["Tell me something."] * rounds * 4)
    model = ScriptedModel([LONG] * rounds * 20)
    engines = Engines(AnyMark(), LevelActivity(), recogniser, model, ToneVoice(), None)
    events = Events()
    source = AlsaSource.chosen(settings.audio, on_state)
    sink = AlsaSink(mouth.name, on_state=on_state, open_device=mouth.opened)
    async with awake(settings, engines, source, sink, events, Traces()) as at_work:
        echo.append(at_work)
        watching = asyncio.create_task(_watch(events, seen))
        await until(ready("microphone"))
        for number in range(1, rounds + 1):
            # The loudspeaker goes in the middle of an answer, which is over in its time all the
            # same, and so is one that nobody hears.
            before = mouth.bytes
            asking = asyncio.create_task(_ask(at_work.dialogue))
            await until(lambda: mouth.bytes > before)  # noqa: B023
            mouth.unplug()
            assert await asyncio.wait_for(asking, PATIENCE) == LONG
            await until(lost("loudspeaker"))
            assert await asyncio.wait_for(_ask(at_work.dialogue), PATIENCE) == LONG
            mouth.plug()
            await until(ready("loudspeaker"))
            taken = mouth.bytes
            # The microphone goes in the middle of a sentence, which is dropped.
            ear.say(tone(400, mark=WAKE_MARK))
            ear.say(tone(8000))  # longer than it takes to notice that Echo listens
            await until(lambda: at_work.dialogue.state is State.LISTENING)
            ear.unplug()
            await until(lost("microphone"))
            await until(lambda: at_work.dialogue.state in DEAF)
            ear.forget()
            ear.plug()
            await until(ready("microphone"))
            await until(lambda: at_work.dialogue.state is State.IDLE)
            # Both are back: somebody asks aloud and hears the answer.
            ear.say(tone(400, mark=WAKE_MARK))
            ear.say(tone(600))
            ear.say(np.zeros(16_000, np.int16))
            await until(lambda: count(ReplyEnded) == 3 * number)  # noqa: B023
            await until(lambda: mouth.bytes > taken)  # noqa: B023
            assert [state.ready for state in states["loudspeaker"]] == [
                True,
                *[False, True] * number,
            ]
            assert [state.ready for state in states["microphone"]] == [
                True,
                *[False, True] * number,
            ]
        watching.cancel()
    spoken = [event for event in seen if isinstance(event, QuestionAsked) and event.spoken]
    assert len(spoken) == rounds
    assert all(e.status is Status.COMPLETE for e in seen if isinstance(e, ReplyEnded))
    told = [event.state for event in seen if isinstance(event, StateChanged)]
    assert sum(state in DEAF for state in told) == rounds
    warnings = [record for record in caplog.records if record.levelname == "WARNING"]
    assert len(warnings) == 2 * rounds  # a line for each loss


async def _watch(events: Events, seen: list[Event]) -> None:
    async for event in events.listen(10_000):
        seen += [event]


async def _ask(dialogue: Dialogue) -> str:
    clauses = [clause async for clause in dialogue.ask("Count for me, please.")]
    return " ".join(clauses)
