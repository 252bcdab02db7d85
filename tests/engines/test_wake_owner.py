"""The owner's examples raise the owner's scores, and nobody else's much."""

import stat
from pathlib import Path

import numpy as np
import pytest

from firmware_app.engines.wake import FeatureModels, Head, OpenWakeWord
from firmware_app.engines.wake_owner import (
    Correction,
    OwnerStore,
    fingerprint,
    fit,
    learn,
    with_owners,
)
from firmware_app.errors import EngineError
from firmware_app.frames import SAMPLE_RATE, Samples
from firmware_app.models import SHIPPED
from firmware_app.settings import WakeSettings
from tests.frames_of import RECORDINGS, frames_of, read, spoken

HEAD = SHIPPED / "hey_echo.onnx"
STRANGE = "de"  # espeak-ng's German voice reading English: an accent the head hardly knows


@pytest.fixture(scope="session")
def features(models: Path) -> FeatureModels:
    return FeatureModels(models / "openwakeword-features")


def in_a_room(sound: Samples, seed: int) -> Samples:
    """With silence around it and noise of its own, at a level of its own."""
    rng = np.random.default_rng(seed)
    around = np.zeros(SAMPLE_RATE // 2, np.int16)
    padded = np.concatenate((around, sound, around)) * rng.uniform(0.2, 0.8)
    return np.asarray(np.round(padded + rng.normal(0, 20, len(padded))), np.int16)


def surest(head: Head, features: FeatureModels, sound: Samples) -> float:
    from firmware_app.engines.wake import STEP, FeatureStream

    stream = FeatureStream(features, gated=False)
    steps = [stream.feed(sound[i : i + STEP]) for i in range(0, len(sound) - STEP + 1, STEP)]
    return max(head.score(step) for step in steps if step is not None)


def test_examples_rise_and_negatives_do_not() -> None:
    rng = np.random.default_rng(1)
    other = rng.normal(0, 1, (500, 20)).astype(np.float32)
    mine = (rng.normal(0, 0.5, (30, 20)) + 2 * np.eye(20)[3]).astype(np.float32)
    correction = fit(mine, np.full(30, -2, np.float32), other, np.full(500, -4, np.float32))
    raised = [correction.of(h) for h in mine]
    others = [correction.of(h) for h in other]
    assert np.mean(raised) > 1
    assert np.mean(raised) > np.mean(others) + 1
    assert np.quantile(others, 0.9) < 4  # from log odds of -4: still below one half


def test_ten_examples_make_the_owner_heard_and_nobody_else(features: FeatureModels) -> None:
    head = Head(HEAD)
    phrase = spoken("Hey Echo.", STRANGE)
    owner = Head(HEAD, learn(head, features, [in_a_room(phrase, n) for n in range(10)]))
    fresh = in_a_room(phrase, 99)
    assert surest(owner, features, fresh) > max(0.6, surest(head, features, fresh))
    wake = OpenWakeWord(features, [head, owner], WakeSettings(), second_stage=False)
    others = sorted((RECORDINGS / "bench").glob("human_*.flac"))
    assert others
    for path in others:
        assert [d for f in frames_of(read(path)) if (d := wake.process(f))] == []


def test_what_is_kept_is_private_and_can_be_forgotten(
    features: FeatureModels, tmp_path: Path
) -> None:
    head, store = Head(HEAD), OwnerStore(tmp_path)
    correction = Correction(np.arange(3, dtype=np.float32), -0.5, fingerprint(head))
    folder = store.keep("anna", "hey_echo", [np.zeros(100, np.int16)] * 2, correction)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(folder.parent.stat().st_mode) == 0o700
    assert sorted(p.name for p in folder.iterdir()) == ["01.wav", "02.wav", "hey_echo.npz"]
    (found,) = store.corrections(head, features)
    assert found.of(np.ones(3, np.float32)) == pytest.approx(2.5)
    assert store.forget("anna")
    assert not store.forget("anna")
    assert not folder.exists()


def test_recording_again_replaces(tmp_path: Path) -> None:
    store = OwnerStore(tmp_path)
    correction = Correction(np.zeros(3, np.float32), 0.0)
    store.keep("anna", "hey_echo", [np.zeros(100, np.int16)] * 3, correction)
    store.keep("anna", "hey_echo", [np.zeros(100, np.int16)], correction)
    assert store.names() == ["anna"]
    assert len(list((tmp_path / "wake" / "anna").glob("*.wav"))) == 1


def test_each_owner_adds_a_head(features: FeatureModels, tmp_path: Path) -> None:
    head, store = Head(HEAD), OwnerStore(tmp_path)
    correction = Correction(np.zeros(192, np.float32), 0.0, fingerprint(head))
    for name in ("anna", "ben"):
        store.keep(name, "hey_echo", [], correction)
        store.keep("carl", "hey_computer", [], correction)
    heads = with_owners(head, store, features)
    assert [head.owner is not None for head in heads] == [False, True, True]
    assert {head.word for head in heads} == {"hey_echo"}


def test_a_new_head_learns_the_owner_anew_from_the_kept_examples(
    features: FeatureModels, tmp_path: Path
) -> None:
    head, store = Head(HEAD), OwnerStore(tmp_path)
    phrase = spoken("Hey Echo.", STRANGE)
    examples = [in_a_room(phrase, n) for n in range(3)]
    store.keep("anna", "hey_echo", examples, Correction(np.zeros(7, np.float32), 0.0, "earlier"))
    (_, owner) = with_owners(head, store, features)
    fresh = in_a_room(phrase, 99)
    assert surest(owner, features, fresh) > surest(head, features, fresh)
    (kept,) = store.corrections(head, features)
    assert kept.head == fingerprint(head)


def test_a_damaged_correction_is_named(features: FeatureModels, tmp_path: Path) -> None:
    folder = tmp_path / "wake" / "anna"
    folder.mkdir(parents=True)
    (folder / "hey_echo.npz").write_bytes(b"no")
    with pytest.raises(EngineError, match="wake record"):
        OwnerStore(tmp_path).corrections(Head(HEAD), features)


def test_a_head_without_negatives_cannot_learn(features: FeatureModels, tmp_path: Path) -> None:
    copy = tmp_path / "bare.onnx"
    copy.write_bytes(HEAD.read_bytes())
    with pytest.raises(EngineError, match=r"bare\.negatives\.npz"):
        learn(Head(copy), features, [np.zeros(SAMPLE_RATE, np.int16)])
