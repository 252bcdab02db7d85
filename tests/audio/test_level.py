"""The level meter: figures of the last two seconds, and no sound."""

import numpy as np
import pytest

from firmware_app.audio.dsp import blocks
from firmware_app.audio.level import FLOOR_DB, MINUTE, GainWatch, LevelMeter, MeteredSource
from firmware_app.audio.wav import WavSource
from firmware_app.frames import BLOCK, SAMPLE_RATE, Samples


def metered(samples: Samples) -> LevelMeter:
    meter = LevelMeter()
    for block in blocks(samples):
        meter.add(block)
    return meter


def test_a_tone_has_its_level_and_peak() -> None:
    time = np.arange(2 * SAMPLE_RATE) / SAMPLE_RATE
    level = metered((np.sin(2 * np.pi * 500 * time) * 3277).astype(np.int16)).level
    assert level
    assert level.db == pytest.approx(-23, abs=0.1)
    assert level.peak == pytest.approx(0.1, abs=0.001)
    assert level.swing == pytest.approx(0.2, abs=0.001)
    assert level.offset == pytest.approx(0, abs=0.001)
    assert level.clipped == 0


def test_an_offset_is_no_level() -> None:
    level = metered(np.full(SAMPLE_RATE, 8192, np.int16)).level
    assert level
    assert (level.offset, level.db, level.swing) == (0.25, FLOOR_DB, 0)


def test_clipping_is_counted_at_both_ends() -> None:
    sound = np.zeros(SAMPLE_RATE, np.int16)
    sound[:160], sound[160:320] = 32767, -32768
    level = metered(sound).level
    assert level
    assert level.clipped == pytest.approx(0.02)
    assert level.peak == 1.0


def test_only_the_last_two_seconds_count() -> None:
    meter = metered(np.full(SAMPLE_RATE, 30_000, np.int16))
    for block in blocks(np.zeros(2 * SAMPLE_RATE, np.int16)):
        meter.add(block)
    assert meter.level
    assert (meter.level.seconds, meter.level.peak) == (2.0, 0.0)


async def test_a_source_passes_unchanged_and_is_forgotten_when_it_closes() -> None:
    sound = np.arange(3 * BLOCK, dtype=np.int16)
    meter = LevelMeter()
    assert meter.level is None
    source = MeteredSource(WavSource(sound, paced=False), meter, GainWatch())
    heard = [frame.samples async for frame in source]
    assert np.array_equal(np.concatenate(heard), sound)
    assert meter.level
    assert meter.level.seconds == pytest.approx(0.06)
    await source.close()
    assert meter.level is None


def watched(*minutes: int) -> GainWatch:
    """One that heard minutes of blocks that swing so far."""
    watch = GainWatch()
    for swing in minutes:
        block = np.zeros(BLOCK, np.int16)
        block[0] = swing
        for _ in range(MINUTE):
            watch.add(block)
    return watch


def test_sound_that_is_often_clipped_is_warned_of_at_once_and_not_for_ever() -> None:
    watch = watched(5000)
    torn = np.full(BLOCK, 32767, np.int16)
    for _ in range(24):
        watch.add(torn)
    assert watch.warning == ""
    watch.add(torn)
    assert "clipped" in watch.warning
    for _ in range(11 * MINUTE):
        watch.add(np.zeros(BLOCK, np.int16))
    assert watch.warning == ""


def test_a_microphone_that_hears_hardly_anything_for_an_hour_is_warned_of() -> None:
    assert "hardly anything" in watched(*[20] * 60).warning
    assert watched(*[20] * 59).warning == ""
    assert watched(*[20] * 30, 2000, *[20] * 29).warning == ""
