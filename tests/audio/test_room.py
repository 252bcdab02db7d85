"""In the simulated room Echo hears itself, and people wait for their turn to speak."""

import asyncio

import numpy as np
import pytest

from firmware_app.audio.player import Player
from firmware_app.audio.room import QUIET_DBFS, RoomSource, ScriptedSource
from firmware_app.audio.simulated import ListSink
from firmware_app.audio.wav import WavSource
from firmware_app.frames import SAMPLE_RATE, Samples
from tests.audio.sounds import level, tone
from tests.virtual_time import now, virtual_time


@virtual_time
async def test_the_loudspeaker_comes_back_quieter_and_later() -> None:
    loudspeaker = ListSink(paced=True, clock=now)
    room = RoomSource(WavSource(np.zeros(SAMPLE_RATE // 2, np.int16), clock=now), loudspeaker)
    player = Player(loudspeaker, clock=now)
    noise = np.random.default_rng(1).integers(-9000, 9000, SAMPLE_RATE // 5).astype(np.int16)
    heard: list[Samples] = []
    started = 0.0
    async for frame in room:
        started = started or frame.heard_at - 0.02
        if len(heard) == 3:
            await player.queue(noise)
        heard.append(frame.samples)
    await player.close()
    microphone, played = np.concatenate(heard), loudspeaker.samples
    offset = loudspeaker.position_at(started)
    assert level(played[played != 0]) - level(microphone[microphone != 0]) == pytest.approx(
        12, abs=0.5
    )
    match = np.correlate(microphone.astype(float), played[offset:].astype(float), "full")
    delay = int(np.argmax(match)) - (len(played[offset:]) - 1)
    assert delay == pytest.approx(0.06 * SAMPLE_RATE, abs=1)


@virtual_time
async def test_the_next_says_something_only_when_it_is_their_turn() -> None:
    turns = asyncio.Event()
    first, second = tone(300, 0.1), tone(600, 0.1)
    source = ScriptedSource([first, second], turns.is_set, lead=0.1, paced=False, clock=now)
    heard: list[Samples] = []
    async for frame in source:
        heard.append(frame.samples)
        if len(heard) == 30:
            turns.set()
    sound = np.concatenate(heard)
    assert np.array_equal(sound[1600:3200], first)
    assert np.array_equal(sound[-1600:], second)
    assert len(heard) == 30 + 5
    assert level(sound[3200:-1600]) == pytest.approx(QUIET_DBFS, abs=1)


@virtual_time
async def test_whoever_waits_in_vain_goes_on_after_a_while() -> None:
    source = ScriptedSource(
        [tone(300, 0.1), tone(600, 0.1)],
        lambda: False,
        lead=0,
        patience=0.5,
        paced=False,
        clock=now,
    )
    frames = [frame async for frame in source]
    assert len(frames) == 5 + 25 + 5 + 25
    assert [f.index for f in frames] == [320 * n for n in range(60)]


@virtual_time
async def test_closing_ends_the_script() -> None:
    source = ScriptedSource([tone(300, 0.1)], lambda: False, lead=0, paced=False, clock=now)
    count = 0
    async for _frame in source:
        count += 1
        if count == 20:
            await source.close()
    assert count == 20


@virtual_time
async def test_the_loudspeaker_knows_how_long_it_has_been_silent() -> None:
    loudspeaker = ListSink(paced=True, clock=now)
    await asyncio.sleep(1.0)
    assert loudspeaker.silent_for == float("inf")
    await loudspeaker.write(tone(300, 0.5))
    await asyncio.sleep(0.4)
    assert loudspeaker.silent_for == 0
    await asyncio.sleep(2.1)
    assert loudspeaker.silent_for == pytest.approx(2.0)
