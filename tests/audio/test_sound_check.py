"""What a sound check finds in a room of known echo, and in channels of known kinds."""

import numpy as np
import pytest

from firmware_app.audio.dsp import to_int16
from firmware_app.audio.sound_check import channel_kinds, chirp, find_chirp, levels
from firmware_app.frames import SAMPLE_RATE, Samples
from tests.audio.sounds import tone


def room(seconds: float, dbfs: float = -60.0, seed: int = 1) -> Samples:
    noise = np.random.default_rng(seed).normal(0, 10 ** (dbfs / 20), round(seconds * SAMPLE_RATE))
    return to_int16(noise)


def test_speech_and_room_are_told_apart_and_clipping_is_counted() -> None:
    recording = room(4)
    recording[SAMPLE_RATE : 2 * SAMPLE_RATE] = tone(500, 1.0, peak=0.1)
    recording[-400:] = 32767
    found = levels(recording)
    assert found.speech_db == pytest.approx(-23, abs=0.5)
    assert found.noise_db == pytest.approx(-60, abs=0.5)
    assert found.clipped == pytest.approx(400 / len(recording))


def test_a_chirp_that_is_far_quieter_than_the_room_is_found() -> None:
    recording = room(2, -45)
    recording[9000 : 9000 + len(chirp())] += chirp() // 100
    found = find_chirp(recording)
    assert found
    assert abs(found.at - 9000) <= 2
    assert found.alike < 0.5


def test_channels_are_known_by_what_they_carry() -> None:
    time = np.arange(3000) / SAMPLE_RATE
    response = np.random.default_rng(3).normal(0, 1, 3000) * 10 ** (-3 * time / 0.3)
    played = np.concatenate([np.zeros(4000), chirp(), np.zeros(8000)])
    heard = np.convolve(played, response)[: len(played)] * 0.02
    noise, nothing = room(1.1, -60)[: len(played)], np.zeros(len(played), np.int16)
    clear = to_int16(played / 32768 / 4)  # of a microphone that stands beside the loudspeaker
    with_chirp = [to_int16(heard / 32768) + noise, clear + noise, nothing, clear]
    without = [noise, noise, nothing, nothing]
    kinds = channel_kinds(np.stack(with_chirp, axis=1), np.stack(without, axis=1))
    assert kinds == ["microphone", "microphone", "silent", "loop-back"]
