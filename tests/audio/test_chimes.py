"""Chimes: short, soft, without clicks, and no speech to whoever listens for speech."""

from typing import get_args

import numpy as np
import pytest

from firmware_app.audio.chimes import NOTES, Name, chime
from firmware_app.audio.dsp import blocks
from firmware_app.dialogue.endpoint import STAY
from firmware_app.engines.voice_activity import SileroVoiceActivity
from firmware_app.frames import SAMPLE_RATE, Frame, Samples, dbfs

NAMES: tuple[Name, ...] = get_args(Name)


@pytest.mark.parametrize("name", NAMES)
def test_a_chime_is_short_and_soft_and_begins_and_ends_in_silence(name: Name) -> None:
    sound = chime(name)
    assert sound.dtype == np.int16
    assert 0.1 < len(sound) / SAMPLE_RATE < 0.4
    assert -40 < dbfs(sound) < -20
    assert np.abs(sound).max() <= 3277
    assert abs(int(sound[0])) < 30
    assert abs(int(sound[-1])) < 30
    power = np.abs(np.fft.rfft(sound)) ** 2
    high = np.fft.rfftfreq(len(sound), 1 / SAMPLE_RATE) > 4000
    assert power[high].sum() < power.sum() * 1e-4  # no clicks between the notes


def test_every_chime_has_a_sound_of_its_own() -> None:
    assert set(NOTES) == set(NAMES)
    assert len({chime(name).tobytes() for name in NAMES}) == len(NAMES)


def test_a_chime_cannot_be_spoilt_for_the_next_who_plays_it() -> None:
    with pytest.raises(ValueError, match="read-only"):
        chime("wake")[0] = 1


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("level", [0.03, 0.2, 1.0])
def test_a_chime_that_the_microphone_hears_is_no_speech(name: Name, level: float) -> None:
    """Without any echo cancellation, and as loud as it is played."""
    activity = SileroVoiceActivity()
    noise = np.random.default_rng(1).normal(0, 8, SAMPLE_RATE)
    noise[SAMPLE_RATE // 2 :][: len(chime(name))] += chime(name) * level
    heard: Samples = noise.astype(np.int16)
    most = max(activity.process(Frame(block, 0, 0.0)) for block in blocks(heard))
    assert most < STAY
