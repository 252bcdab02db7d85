"""The training script: what goes into a head is right, and a head comes out that works."""

import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("jax", reason="the training's dependencies (group train) are not installed")
pytest.importorskip("scipy", reason="the training's dependencies (group train) are not installed")

from wakeword import dataset, games, kokoro, looks, rooms, scenes, second_training, training, voices
from wakeword.dataset import Bank, Kind
from wakeword.evaluation import ScoredHead, upper_bound
from wakeword.features import LongFeatures, windows
from wakeword.journal import Journal
from wakeword.judging import Rule, Scored, figures
from wakeword.kokoro import MELODY, SOUND
from wakeword.phrases import NEAR_HEY_ECHO, phrases_for
from wakeword.scenes import Scene

from firmware_app.engines.phrase_network import FRAMES, MARGIN, PhraseNetwork
from firmware_app.engines.wake import (
    STEP,
    FeatureModels,
    FeatureStream,
    Head,
    OpenWakeWord,
    head_facts,
)
from firmware_app.engines.wake_verifier import network_path
from firmware_app.frames import SAMPLE_RATE, Samples
from firmware_app.settings import WakeSettings
from tests.frames_of import RECORDINGS, frames_of, read, spoken

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "train_wakeword.py"


@pytest.fixture(scope="module")
def features(models: Path) -> LongFeatures:
    return LongFeatures(models / "openwakeword-features")


def test_features_of_a_recording_are_those_of_the_detector(features: LongFeatures) -> None:
    sound = read(RECORDINGS / "bench" / "short.flac")
    stream = FeatureStream(features.models, gated=False)
    steps = [stream.feed(sound[i : i + STEP]) for i in range(0, len(sound) - STEP + 1, STEP)]
    whole = windows(features(sound))
    assert len(whole) == len(steps)
    for step, window in zip(steps, whole, strict=True):
        assert step is not None
        np.testing.assert_allclose(step, window, atol=1e-4)


def test_near_phrases_never_hold_the_phrase_and_the_halves_share_none() -> None:
    phrases = phrases_for("Hey  Echo")
    near = NEAR_HEY_ECHO
    for text in (*near.seen, *near.further, *near.unseen_dev, *near.unseen_test):
        assert not phrases.said_in(text)
        assert kokoro.phonemes(text) not in phrases.pronunciations
    trained = set(near.seen + near.further)
    assert not trained & set(near.unseen_dev)
    assert not trained & set(near.unseen_test)
    assert not set(near.unseen_dev) & set(near.unseen_test)


def test_a_phrase_is_found_by_words() -> None:
    phrases = phrases_for("hey echo")
    assert phrases.said_in("Well: hey, Echo!")
    assert not phrases.said_in("They echo each other.")


def test_mutations_differ_from_every_pronunciation() -> None:
    phrases = phrases_for("hey echo")
    rng = random.Random(1)
    for _ in range(300):
        changed = phrases.mutation(rng)
        assert changed
        assert not any(p.replace(" ", "") in changed for p in phrases.pronunciations)


def test_any_phrase_has_pronunciations_and_neighbours() -> None:
    for text in ("hey computer", "jarvis"):
        phrases = phrases_for(text)
        assert len(phrases.pronunciations) > 1
        assert len(phrases.near.seen) > 20
        assert text not in phrases.near.seen


def test_held_out_voices_are_never_trained_on() -> None:
    assert len(set(voices.HELD_OUT_DEV) | set(voices.HELD_OUT_TEST)) == 14
    assert not set(voices.HELD_OUT_DEV) & set(voices.HELD_OUT_TEST)
    assert not {"slt", "kal", "kal16"} & set(voices.FLITE_TRAIN)


def test_a_stranger_is_no_voice_and_as_far_from_their_mean_as_asked() -> None:
    draw = np.random.default_rng(1)
    styles = {name: draw.normal(size=(50, 256)).astype(np.float32) for name in "abcdef"}
    someone = voices.stranger(sorted(styles), random.Random(1))
    found = kokoro.style(styles, someone, 12)
    all_styles = np.stack([styles[name][12] for name in someone.among])
    mean = all_styles.mean(axis=0)
    for half, (weights, distance) in ((SOUND, someone.sound), (MELODY, someone.melody)):
        usual = np.linalg.norm((all_styles - mean)[:, half], axis=1).mean()
        away = (found - mean)[half]
        assert np.linalg.norm(away) / usual == pytest.approx(distance, rel=1e-4)
        blended = (kokoro.style(styles, weights, 12) - mean)[half]
        assert np.dot(away, blended) == pytest.approx(
            np.linalg.norm(away) * np.linalg.norm(blended), rel=1e-4
        )


def test_windows_are_labelled_by_where_the_phrase_ends() -> None:
    start, end = 2 * SAMPLE_RATE, 3 * SAMPLE_RATE
    scene = Scene(np.zeros(5 * SAMPLE_RATE, np.int16), start, end)
    kinds = dataset.labels(scene, 5 * SAMPLE_RATE // STEP, near=False)[15:]
    at = {seconds: Kind(kinds[int(seconds * SAMPLE_RATE) // STEP - 1]) for seconds in
          (1.0, 2.4, 2.8, 2.96, 3.12, 3.28, 3.6, 4.4)}  # fmt: skip
    assert at == {
        1.0: Kind.OTHER,
        2.4: Kind.OTHER,
        2.8: Kind.NEAR,
        2.96: Kind.IGNORED,
        3.12: Kind.POSITIVE,
        3.28: Kind.POSITIVE,
        3.6: Kind.IGNORED,
        4.4: Kind.OTHER,
    }


def test_a_room_begins_with_the_direct_sound_and_dies_away() -> None:
    rng = np.random.default_rng(1)
    for _ in range(10):
        response = rooms.room(rng)
        assert np.argmax(np.abs(response)) < 16
        assert np.abs(response[-100:]).max() < 0.2


def test_reverberation_time_is_that_of_the_decay() -> None:
    rng = np.random.default_rng(1)
    time = np.arange(SAMPLE_RATE) / SAMPLE_RATE
    decay = rng.standard_normal(SAMPLE_RATE) * 10 ** (-3 * time / 0.5)
    assert rooms.reverberation_time(decay.astype(np.float32)) == pytest.approx(0.5, rel=0.1)


def test_a_living_room_sounds_as_long_as_was_asked() -> None:
    rng = np.random.default_rng(2)
    for _ in range(5):
        response = rooms.living_room(rng)
        assert 0.3 <= rooms.reverberation_time(response) <= 0.6
        assert np.argmax(np.abs(response)) < 2  # the direct sound


def test_a_resumed_run_knows_what_its_kept_pieces_took(tmp_path: Path) -> None:
    first = Journal(tmp_path / "seconds.json")
    first.note("clips", "1", 60.0)
    first.keep()
    second = Journal(tmp_path / "seconds.json")
    second.note("clips", "1", None)
    second.note("clips", "2", 120.0)
    assert second.minutes() == 3
    second.note("clips", "3", None)  # made in a run that was stopped: the average of the others
    assert second.minutes() == 4.5


def test_scenes_keep_the_phrase_where_they_say() -> None:
    rng = np.random.default_rng(2)
    world = dataset.world(3, 4, [rng.standard_normal(8 * SAMPLE_RATE).astype(np.float32)])
    tone = np.sin(np.arange(SAMPLE_RATE) * 0.3).astype(np.float32)
    for _ in range(20):
        scene = scenes.positive(rng, voices.Clip(tone, 0, len(tone), "", ""), world)
        assert scene.samples.dtype == np.int16
        assert 0 <= scene.start < scene.end <= len(scene.samples)


def test_an_exported_head_says_what_the_network_says(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((4000, 96)).astype(np.float16)
    rows[1000:1040] += 3
    bank = Bank(rows, np.arange(1010, 1040), np.arange(100, 200), np.arange(1200, 3900))
    said: list[str] = []
    members = [training.train_member(bank, 40, 1, n, said.append, epochs=2) for n in range(2)]
    training.export(members, tmp_path / "head.onnx")
    index = np.arange(1000, 1100)
    odds = np.mean([training.logits(p, bank.windows(index)) for p in members], axis=0)
    head = Head(tmp_path / "head.onnx")
    for i, window in enumerate(bank.windows(index)):
        assert head.score(window) == pytest.approx(1 / (1 + np.exp(-odds[i])), abs=1e-4)
        assert head.look(window)[1].shape == (2 * training.HIDDEN,)


def test_an_exported_second_stage_says_what_its_networks_say(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    frames = rng.standard_normal((300, FRAMES, 24)).astype(np.float16)
    frames[:60, 30:40] += 2
    windows_ = second_training.Looks(frames, np.arange(60), np.arange(60, 120), np.arange(120, 300))
    members = [second_training.train_member(windows_, 60, 1, n, lambda _: None) for n in range(2)]
    second_training.export(members, tmp_path / "network.npz")
    network = PhraseNetwork(tmp_path / "network.npz")
    odds = np.mean([second_training.logits(p, frames[:, MARGIN:-MARGIN]) for p in members], axis=0)
    said = np.array([network.odds(f.astype(np.float32)) for f in frames])
    np.testing.assert_allclose(said, odds, atol=0.02)
    assert said[:60].mean() > said[60:].mean() + 2


def test_the_second_stage_learns_from_the_highest_scores_apart_from_each_other() -> None:
    scores = np.zeros(60)
    scores[[10, 12, 30, 50]] = 0.5, 0.4, 0.9, 0.001
    assert list(looks.peaks(scores, 0.01, 3)) == [(30, 0.9), (10, 0.5)]


def test_figures_count_right_and_false_wake_ups() -> None:
    def one(group: str, scores: list[float], start: int = -1, end: int = -1) -> Scored:
        array = np.array(scores, np.float32)
        return Scored(group, "clean", "", start, end, array, lambda _: -9.0)

    heard = one("positives", [0, 0, 0, 0.9, 0.9, 0], STEP, 3 * STEP)
    missed = one("positives", [0, 0, 0, 0.3, 0, 0], STEP, 3 * STEP)
    near = one("unseen", [0, 0.6, 0, 0])
    real = one("real", [0.0] * 45_000 + [0.9])
    found = figures([heard, missed, near, real], Rule(0.5))
    assert found.recalled("clean") == 0.5
    assert found.near_share("clean") == 1
    assert found.rate("real") == pytest.approx(1, rel=0.01)
    assert found.delay_median_ms == 80
    doubted = figures([heard, missed, near, real], Rule(0.5, 0.8, accept=-5))
    assert doubted.recalled("clean") == 0.5
    assert doubted.near_share("clean") == 0
    assert doubted.looks == {"real": 0}  # its score is certain
    doubtful = one("real", [0, 0.7, 0, 0])
    assert figures([doubtful], Rule(0.5, 0.8, accept=-5)).looks == {"real": 1}


def test_no_event_in_an_hour_bounds_the_rate_at_three() -> None:
    assert upper_bound(0, 1.0) == pytest.approx(3.0, abs=0.01)
    assert upper_bound(0, 10.0) == pytest.approx(0.3, abs=0.001)


class Packer:
    """Writes what games.unpack reads: bits in 16-bit words, bytes between."""

    def __init__(self) -> None:
        self.out = bytearray()
        self._word, self._left = 0, 0

    def bits(self, value: int, count: int) -> None:
        for i in range(count):
            if not self._left:
                self._word, self._left = len(self.out), 16
                self.out += bytes(2)
            at = 16 - self._left
            self.out[self._word + at // 8] |= (value >> i & 1) << at % 8
            self._left -= 1

    def table(self, lengths: list[int]) -> None:
        self.bits(len(lengths), 5)
        for length in lengths:
            self.bits(length, 4)


def test_packed_sound_is_unpacked() -> None:
    packer = Packer()
    packer.bits(0, 2)
    packer.table([0, 0, 1])  # literals: two or three, by one more bit
    packer.table([1])  # distance one
    packer.table([1])  # length two
    packer.bits(2, 16)
    packer.bits(0b10, 2)
    packer.out += b"abc"
    packer.bits(0b00, 2)  # distance, length
    packer.bits(0b00, 2)
    packer.out += b"de"
    header = b"RNC\x01" + (7).to_bytes(4, "big") + len(packer.out).to_bytes(4, "big") + bytes(6)
    assert games.unpack(header + bytes(packer.out)) == b"abcccde"


def test_damaged_packed_sound_is_refused() -> None:
    with pytest.raises((ValueError, IndexError)):
        games.unpack(b"RNC\x01" + (100).to_bytes(4, "big") + b"\xff" * 40)


@pytest.mark.journey
def test_a_quick_run_trains_a_working_head_for_another_phrase(models: Path, tmp_path: Path) -> None:
    command = [sys.executable, str(SCRIPT), "--phrase", "hey computer", "--quick"]
    done = subprocess.run(
        [*command, "--out", str(tmp_path)], capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    head = Head(tmp_path / "hey_computer.onnx")
    assert (tmp_path / "hey_computer.card.md").read_text().startswith("# Model card")
    features = FeatureModels(models / "openwakeword-features")

    def wakes(sound: Samples) -> bool:
        wake = OpenWakeWord(features, [head], WakeSettings(), second_stage=False)
        silence = np.zeros(SAMPLE_RATE, np.int16)
        frames = frames_of(np.concatenate((silence, sound, silence)))
        return any(wake.process(frame) for frame in frames)

    calls = [spoken("Hey computer.", voice) for voice in ("en-us", "en-gb", "en-gb-scotland")]
    assert sum(map(wakes, calls)) >= 2
    others = [read(path) for path in sorted((RECORDINGS / "bench").glob("*.flac"))]
    assert sum(map(wakes, others)) <= 1
    assert ScoredHead(head.path)
    second_stage = head_facts(head.path)["second_stage"]
    assert PhraseNetwork(network_path(head.path, second_stage["model"]))
