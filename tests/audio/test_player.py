"""The player speaks without clicks, knows what was heard, and falls silent at once."""

import asyncio

import numpy as np
import pytest

from firmware_app.audio.player import FADE, MOST_WAITING, Player, Span
from firmware_app.audio.simulated import ListSink
from firmware_app.frames import SAMPLE_RATE, Samples
from tests.audio.sounds import click_db, tone
from tests.virtual_time import now, virtual_time


def sounding(samples: Samples) -> Samples:
    """From the first to the last sample that is not silence."""
    places = np.flatnonzero(samples)
    return samples[places[0] : places[-1] + 1]


@virtual_time
async def test_what_is_queued_is_heard_in_order_and_whole() -> None:
    sink = ListSink()
    player = Player(sink, clock=now)
    said = np.concatenate((tone(300, 0.5), tone(500, 0.5)))
    assert await player.queue(said[:8_000]) == Span(0, 8_000)
    assert await player.queue(said[8_000:]) == Span(8_000, 16_000)
    await player.drained()
    assert np.array_equal(sink.samples[FADE:-FADE], said[FADE:-FADE])
    assert player.position == len(said)
    assert not player.playing
    await player.close()


@virtual_time
async def test_speech_begins_and_ends_softly() -> None:
    sink = ListSink()
    player = Player(sink, clock=now)
    loud = np.full(SAMPLE_RATE // 4, 20_000, np.int16)
    await player.queue(loud)
    await player.drained()
    await player.close()
    assert abs(int(sink.samples[0])) < 50
    assert abs(int(sink.samples[-1])) < 50
    assert click_db(sink.samples) < click_db(loud) - 20


@virtual_time
async def test_a_voice_that_falls_behind_makes_a_gap_and_no_click() -> None:
    sink = ListSink(paced=True, clock=now)
    player = Player(sink, clock=now)
    said = tone(300, 0.45)
    await player.queue(said[:3_200])
    await asyncio.sleep(0.5)
    await player.queue(said[3_200:])
    await player.drained()
    await sink.close()
    await player.close()
    assert sink.heard == len(said)
    assert len(sounding(sink.samples)) > len(said) + 0.1 * SAMPLE_RATE
    abrupt = np.concatenate((np.zeros(400, np.int16), said[:3_217], np.zeros(400, np.int16)))
    assert click_db(sink.samples) < click_db(abrupt) - 15


@virtual_time
async def test_a_voice_in_small_pieces_that_keeps_up_is_heard_without_a_seam() -> None:
    sink = ListSink(paced=True, clock=now)
    player = Player(sink, clock=now)
    said = tone(300, 0.6)
    for start in range(0, len(said), 400):  # 25 ms each, given every 10 ms
        await player.queue(said[start : start + 400])
        await asyncio.sleep(0.01)
    await player.drained()
    await player.close()
    assert said[FADE:-FADE].tobytes() in sink.samples.tobytes()


@virtual_time
async def test_the_first_audible_sample_is_stamped_and_a_breath_of_silence_is_not() -> None:
    stamps: list[float] = []
    sink = ListSink(paced=True, clock=now)
    player = Player(sink, on_first_audio=stamps.append, clock=now)
    asked = now()
    breath = np.full(round(0.2 * SAMPLE_RATE), 40, np.int16)
    await player.queue(np.concatenate((breath, tone(300, 0.3))))
    await player.drained()
    await player.close()
    assert stamps == [player.first_audio]
    assert stamps[0] - asked == pytest.approx(0.2, abs=0.001)


@virtual_time
async def test_stop_falls_silent_within_a_breath_and_tells_what_was_heard() -> None:
    sink = ListSink(paced=True, clock=now)
    player = Player(sink, clock=now)
    said = tone(300, 10.0)
    await player.queue(said)
    await asyncio.sleep(0.3009)  # not where the tone passes zero
    before = sink.heard
    position = await player.stop()
    await asyncio.sleep(0.1)
    await sink.close()
    assert position == sink.heard == player.position
    assert 0 < position - before <= 0.06 * SAMPLE_RATE
    assert not player.playing
    assert said[FADE : position - 160].tobytes() in sink.samples.tobytes()
    assert click_db(sink.samples) < click_db(said[: position + 13]) - 15


@virtual_time
async def test_after_stop_nothing_more_is_taken_and_nobody_waits_for_ever() -> None:
    player = Player(ListSink(paced=True, clock=now))
    await player.queue(tone(300, 1.0))
    await player.stop()
    assert await player.queue(tone(300, 1.0)) == Span(SAMPLE_RATE, SAMPLE_RATE)
    await asyncio.wait_for(player.drained(), 1)


@virtual_time
async def test_stopping_and_starting_forty_times_leaves_nothing_behind() -> None:
    sink = ListSink(paced=True, clock=now)
    for _ in range(40):
        player = Player(sink, clock=now)
        await player.queue(tone(300, 1.0))
        await asyncio.sleep(0.005)
        assert await player.stop() < SAMPLE_RATE // 2
    assert sink.delay == 0
    assert {task.get_name() for task in asyncio.all_tasks()}.isdisjoint({"player"})


@virtual_time
async def test_a_voice_far_ahead_of_the_loudspeaker_is_held_back() -> None:
    player = Player(ListSink(paced=True, clock=now))
    await player.queue(np.zeros(MOST_WAITING + SAMPLE_RATE, np.int16))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(player.queue(tone(300, 0.1)), 0.1)
    waiting = asyncio.create_task(player.queue(tone(300, 0.1)))
    await asyncio.sleep(0.01)
    await player.stop()
    span = await asyncio.wait_for(waiting, 1)
    assert span.start == span.end


@virtual_time
async def test_volume_is_heard_and_changes_without_a_step() -> None:
    sink = ListSink()
    player = Player(sink, volume=100)
    said = tone(300, 0.4)
    await player.queue(said)
    await player.drained()
    player.volume = 50
    await player.queue(said)
    await player.drained()
    await player.close()
    louder, quieter = sink.samples[: len(said)], sink.samples[len(said) :]
    assert abs(louder.max() / quieter[1000:].max() - 8) < 0.1
    assert click_db(sink.samples[len(said) :]) < -60


@virtual_time
async def test_silence_at_volume_zero() -> None:
    sink = ListSink()
    player = Player(sink, volume=0)
    await player.queue(tone(300, 0.2))
    await player.drained()
    await player.close()
    assert not sink.samples.any()
    assert player.first_audio is None


class FailingSink(ListSink):
    """A fake loudspeaker whose program has a fault."""

    async def write(self, samples: Samples) -> None:
        raise RuntimeError("a fault")


@virtual_time
async def test_a_fault_below_is_not_swallowed() -> None:
    player = Player(FailingSink())
    await player.queue(tone(300, 0.2))
    with pytest.raises(RuntimeError, match="a fault"):
        await player.drained()


@virtual_time
async def test_a_player_that_has_played_its_turn_leaves_no_task() -> None:
    player = Player(ListSink(paced=True, clock=now), clock=now)
    await player.queue(tone(300, 0.2))
    await player.drained()
    assert asyncio.all_tasks() == {asyncio.current_task()}
    await player.queue(tone(300, 0.2))
    await player.drained()
    assert player.position == SAMPLE_RATE * 0.4
