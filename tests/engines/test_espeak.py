"""Echo's voice by espeak-ng, with the real program."""

import asyncio
import os
from contextlib import aclosing
from pathlib import Path

import numpy as np
import pytest

from firmware_app.engines.espeak import Espeak
from firmware_app.errors import EngineError
from firmware_app.frames import SAMPLE_RATE, Samples

SENTENCE = "The capital of France is Paris."
LONG = "all work and no play makes a dull day " * 400


async def all_of(voice: Espeak, text: str) -> Samples:
    pieces = [piece async for piece in voice.say(text)]
    return np.concatenate(pieces) if pieces else np.zeros(0, np.int16)


def children() -> dict[int, str]:
    """Running espeak-ng processes that this process has started: their number and command line."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            status = (process / "stat").read_text()
            command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        state, parent = status.rpartition(")")[2].split()[:2]
        if int(parent) == os.getpid() and "espeak-ng" in command and state != "Z":
            found[int(process.name)] = command
    return found


@pytest.mark.parametrize(
    ("voice", "text"),
    [("en", SENTENCE), ("ko", "안녕하세요"), ("de", "Guten Tag, wie geht es dir?")],
)
async def test_it_speaks_languages_in_pieces(voice: str, text: str) -> None:
    pieces = [piece async for piece in Espeak(voice).say(text)]
    assert len(pieces) > 2
    sound = np.concatenate(pieces)
    assert sound.dtype == np.int16
    assert 0.5 < len(sound) / SAMPLE_RATE < 5
    assert np.abs(sound.astype(np.int32)).max() > 8_000


async def test_the_first_sound_comes_at_once() -> None:
    sound = np.abs((await all_of(Espeak(), SENTENCE)).astype(np.int32))
    assert np.flatnonzero(sound > 0.02 * sound.max())[0] < SAMPLE_RATE * 0.06


async def test_speed_changes_the_length() -> None:
    voice = Espeak()
    usual = len(await all_of(voice, SENTENCE))
    voice.speed = 2.0
    assert len(await all_of(voice, SENTENCE)) < usual * 0.7


@pytest.mark.parametrize("text", ["", " ", "\0", "[[", "[[h@]]", "\ud800", "<speak>", "-v de"])
async def test_odd_text_breaks_nothing(text: str) -> None:
    assert (await all_of(Espeak(), text)).dtype == np.int16


async def test_closing_kills_the_process_and_what_it_said_is_in_no_process_list() -> None:
    async with aclosing(Espeak().say(LONG)) as pieces:
        await anext(pieces)
        running = children()
    assert len(running) == 1
    assert "work" not in next(iter(running.values()))
    assert not children()


async def test_cancelling_the_one_who_listens_kills_the_process() -> None:
    async def listen() -> None:
        async for _ in Espeak().say(LONG):
            await asyncio.sleep(0.05)

    task = asyncio.create_task(listen())
    while not children():
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not children()


async def test_a_killed_process_is_an_error_with_a_mend() -> None:
    async with aclosing(Espeak().say(LONG)) as pieces:
        await anext(pieces)
        for number in children():
            os.kill(number, 9)
        with pytest.raises(EngineError, match="espeak-ng failed with status -9"):
            async for _ in pieces:
                pass


def test_a_missing_program_names_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(EngineError, match="apt install espeak-ng"):
        Espeak()


def test_an_unknown_voice_is_named() -> None:
    with pytest.raises(EngineError, match=r'no voice named "xx-none" \(voice\.model\)'):
        Espeak("xx-none")
