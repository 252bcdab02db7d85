"""Text mode over both adapters of language models: no voice is called, and no capture is open."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest
from aiohttp import web

from firmware_app.audio.alsa import DeviceState
from firmware_app.audio.microphone import AlsaSource
from firmware_app.dialogue.talk import Talk
from firmware_app.engines import LanguageModel
from firmware_app.events import Mode, ReplyClause, ReplyEnded, State, Status
from tests.alsa_fixture import AlsaDevices
from tests.conftest import until
from tests.dialogue.talking import MakeTalk, talking
from tests.engines.test_llama import READY, Start, start
from tests.engines.test_openai import DONE, END, USAGE, Serve, serve, stream, text

__all__ = ["serve", "start", "talking"]

Make = Callable[[], Awaitable[LanguageModel]]


@pytest.fixture(params=["llama", "openai"])
def model(request: pytest.FixtureRequest, start: Start, serve: Serve) -> Make:
    """The adapter itself; its child, or its server, is the fake of the adapter's own tests."""

    async def answer(http: web.Request) -> web.StreamResponse:
        return await stream(http, text("In the "), text("sea."), END, USAGE, DONE)

    async def make() -> LanguageModel:
        if request.param == "llama":
            made: LanguageModel = start(READY)
        else:
            made, _ = await serve(answer)
        await made.ready()
        return made

    return make


@pytest.mark.parametrize("saving", [True, False], ids=["saved", "unsaved"])
async def test_replies_are_shown_with_no_voice_called_and_no_capture_open(
    talking: MakeTalk, model: Make, alsa: AlsaDevices, saving: bool
) -> None:
    device = alsa.microphone()
    async with talking(saving=saving) as t:
        await t.room.dialogue.use(replace(t.room.engines, model=await model()))

        def capture(wanted: bool) -> None:
            if wanted:
                source.open_capture()
            else:
                source.close_capture()

        def on_state(state: DeviceState) -> None:
            talk.on_microphone(state.ready, state.text, state.closed)

        source = AlsaSource(device.name, on_state=on_state)
        talk = t.talk = Talk(t.kept.keeper, t.events, capture)
        talk.attach(t.room.dialogue)
        hearing = asyncio.create_task(t.room.dialogue.listen_to(source))
        try:
            await until(lambda: captures(device.name) == 1)

            await talk.set_mode(Mode.TEXT)
            await until(lambda: talk.situation.microphone_closed)
            assert t.room.rests_in(State.MUTED)
            await t.answered("Where do purple walruses live?")

            assert captures(device.name) == 0
            assert t.room.engines.voice.usage.audio_seconds == 0.0
            assert t.room.sink.heard == 0
            assert [event.text for event in t.room.all(ReplyClause)] == ["In the sea."]
            assert t.room.all(ReplyEnded)[0].status is Status.COMPLETE
            assert [n for n, _ in t.shown()] == [1, 2]

            await talk.set_mode(Mode.VOICE)
            await until(lambda: captures(device.name) == 1)
            await until(lambda: t.room.rests_in(State.IDLE))
        finally:
            hearing.cancel()
            await asyncio.wait([hearing])
            await source.close()


def captures(device: str) -> int:
    """How often this process has the device open, besides the feeder at its other end."""
    fifo, found = Path(device.partition("FIFO=")[2]), 0
    for descriptor in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            found += descriptor.readlink() == fifo
    return found - 1
