"""The wake word: Echo wakes when called, wherever in the sound that is, and only then."""

import csv
import json
import shutil
from collections import deque
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from firmware_app.engines import Detection
from firmware_app.engines.piper import Piper
from firmware_app.engines.wake import (
    Bounds,
    Decider,
    FeatureModels,
    FeatureStream,
    Head,
    OpenWakeWord,
    head_paths,
)
from firmware_app.engines.wake_verifier import WhisperWakeVerifier, verifier_for
from firmware_app.engines.whisper import WhisperRecogniser
from firmware_app.errors import EngineError
from firmware_app.frames import BLOCK, SAMPLE_RATE, Frame, Samples
from firmware_app.models import SHIPPED
from firmware_app.settings import WakeSettings
from tests.frames_of import RECORDINGS, frames_of, read

BENCH = RECORDINGS / "bench"
HEAD = SHIPPED / "hey_echo.onnx"


def rows() -> list[dict[str, str]]:
    with (BENCH / "manifest.csv").open(newline="") as file:
        return list(csv.DictReader(file))


CALLS = [row["file"] for row in rows() if row["wake_word"] == "yes"]
OTHERS = [row["file"] for row in rows() if row["wake_word"] == "no"]


@pytest.fixture(scope="session")
def features(models: Path) -> FeatureModels:
    return FeatureModels(models / "openwakeword-features")


@pytest.fixture(scope="session")
def hey_echo() -> Head:
    return Head(HEAD)


class Both:
    """The detector and its second stage, as they run in the product."""

    def __init__(self, wake: OpenWakeWord, verifier: WhisperWakeVerifier) -> None:
        self._wake = wake
        self._verifier = verifier
        self._kept: deque[Samples] = deque(maxlen=3 * SAMPLE_RATE // BLOCK)

    def process(self, frame: Frame) -> Detection | None:
        self._kept.append(frame.samples)
        found = self._wake.process(frame)
        if found is None or found.certain:
            return found
        accepted = self._verifier.judge(np.concatenate(self._kept), found).accepted
        return found if accepted else None


@pytest.fixture
def wake(features: FeatureModels, hey_echo: Head, whisper: WhisperRecogniser) -> Both:
    verifier = verifier_for(whisper, [HEAD])
    assert verifier
    return Both(OpenWakeWord(features, [hey_echo], WakeSettings(), second_stage=True), verifier)


def detections(wake: Both | OpenWakeWord, frames: Iterable[Frame]) -> list[Detection]:
    return [found for frame in frames if (found := wake.process(frame))]


def heard(wake: Both | OpenWakeWord, *sounds: Samples) -> list[Detection]:
    return detections(wake, frames_of(np.concatenate(sounds)))


def room(seconds: float, level: float = 12.0) -> Samples:
    """A quiet room: faint noise of that standard deviation."""
    noise = np.random.default_rng(3).normal(0, level, int(seconds * SAMPLE_RATE))
    return np.asarray(np.round(noise), np.int16)


def call() -> Samples:
    """Hey Echo, tell me a joke."""
    return read(BENCH / "short.flac")


@pytest.mark.parametrize("name", CALLS)
def test_a_request_in_one_breath_wakes_once_and_early(wake: Both, name: str) -> None:
    (found,) = heard(wake, read(BENCH / name), room(1))
    assert found.word == "hey_echo"
    assert 0 < found.start < found.end < 2 * SAMPLE_RATE
    assert found.heard_at * SAMPLE_RATE < 2.2 * SAMPLE_RATE


@pytest.mark.parametrize("name", OTHERS)
def test_a_request_without_the_wake_word_does_not_wake(wake: Both, name: str) -> None:
    assert heard(wake, read(BENCH / name), room(1)) == []


def test_speech_right_before_and_right_after_does_not_hide_it(wake: Both) -> None:
    before = read(BENCH / "human_lamp.flac")[: int(2.4 * SAMPLE_RATE)]
    after = read(BENCH / "human_time.flac")
    (found,) = heard(wake, before, call()[SAMPLE_RATE // 2 :], after)
    assert len(before) < found.end < len(before) + SAMPLE_RATE


def test_said_twice_it_wakes_twice(wake: Both) -> None:
    first, second = heard(wake, call(), room(0.5), call())
    assert second.end - first.end == pytest.approx(len(call()) + SAMPLE_RATE // 2, abs=2 * 1280)


def test_said_twice_at_once_it_wakes_once(wake: Both) -> None:
    name = call()[SAMPLE_RATE // 2 : int(1.25 * SAMPLE_RATE)]
    assert len(heard(wake, room(1), name, name, room(1))) == 1


def test_it_is_heard_at_the_very_start(wake: Both) -> None:
    assert len(heard(wake, call()[int(0.45 * SAMPLE_RATE) :], room(1))) == 1


def test_loud_and_clipped_sound_wakes(wake: Both) -> None:
    clipped = np.clip(call().astype(np.int32) * 12, -32768, 32767).astype(np.int16)
    assert np.count_nonzero(np.abs(clipped.astype(np.int32)) >= 32767) > 500
    assert len(heard(wake, room(1), clipped, room(1))) == 1


def test_forty_decibels_quieter_it_wakes(wake: Both) -> None:
    quiet = np.asarray(np.round(call() / 100), np.int16)
    assert len(heard(wake, room(1, 0.6), quiet, room(1, 0.6))) == 1


def test_a_constant_offset_does_not_matter(wake: Both) -> None:
    shifted = np.concatenate((room(1), call(), room(1))) + np.int16(2500)
    assert len(detections(wake, frames_of(shifted))) == 1


def test_lost_sound_is_forgotten_and_the_next_call_heard(wake: Both) -> None:
    half = call()[: int(0.9 * SAMPLE_RATE)]
    assert detections(wake, frames_of(half)) == []
    later = 60 * SAMPLE_RATE
    (found,) = detections(wake, frames_of(np.concatenate((call(), room(1))), begin=later))
    assert later < found.start < found.end < later + 2 * SAMPLE_RATE


def test_a_source_that_begins_anew_is_heard(wake: Both) -> None:
    assert len(heard(wake, call(), room(2))) == 1
    (found,) = heard(wake, call(), room(1))
    assert found.end < 2 * SAMPLE_RATE


def test_two_lost_frames_within_the_phrase_do_not_deafen(wake: Both) -> None:
    frames = list(frames_of(np.concatenate((call(), room(1)))))
    assert len(detections(wake, frames[:40] + frames[42:])) == 1


def test_the_gate_changes_no_detection_and_rests_in_steady_noise(
    features: FeatureModels, hey_echo: Head
) -> None:
    sound = np.concatenate((room(8, 300), call() + room(len(call()) / SAMPLE_RATE, 300), room(2)))
    ways = [
        OpenWakeWord(features, [hey_echo], WakeSettings(), second_stage=False, gated=gated)
        for gated in (True, False)
    ]
    gated, open_ = (heard(way, sound) for way in ways)
    assert gated == open_
    assert len(gated) == 1
    stream = FeatureStream(features)
    steps = [stream.feed(sound[i : i + 1280]) for i in range(0, 8 * SAMPLE_RATE, 1280)]
    assert all(step is None for step in steps[50:])


def test_the_gate_soon_rests_after_a_microphone_that_began_with_zeros(
    features: FeatureModels,
) -> None:
    stream = FeatureStream(features)
    sound = np.concatenate((np.zeros(SAMPLE_RATE, np.int16), room(35, 60)))
    steps = [stream.feed(sound[i : i + 1280]) for i in range(0, len(sound) - 1280, 1280)]
    assert all(step is None for step in steps[-25:])


def test_a_raised_threshold_is_in_force_at_once(features: FeatureModels, hey_echo: Head) -> None:
    settings = replace(WakeSettings(), threshold=0.5, speaking_threshold_raise=0.2)
    wake = OpenWakeWord(features, [hey_echo], settings, second_stage=False)
    wake.raised = True
    assert wake.bounds(hey_echo).wakes == pytest.approx(0.7)
    wake.raised = False
    assert wake.bounds(hey_echo).wakes == 0.5


def test_sensitivities_order_the_thresholds(features: FeatureModels, hey_echo: Head) -> None:
    for second_stage in (True, False):
        wake = OpenWakeWord(features, [hey_echo], WakeSettings(), second_stage=second_stage)
        wakes = []
        for wake.sensitivity in ("high", "normal", "low"):
            wakes.append(wake.bounds(hey_echo).wakes)
        assert wakes == sorted(wakes)


def test_with_a_second_stage_more_is_doubtful_than_certain(
    features: FeatureModels, hey_echo: Head
) -> None:
    wake = OpenWakeWord(features, [hey_echo], WakeSettings(), second_stage=True)
    bounds = wake.bounds(hey_echo)
    assert bounds.wakes < bounds.certain


def test_a_head_whose_second_stage_has_no_networks_wakes_at_its_own_threshold(
    features: FeatureModels, hey_echo: Head, whisper: WhisperRecogniser, tmp_path: Path
) -> None:
    shutil.copy(HEAD, tmp_path / "mine.onnx")
    facts = json.loads(HEAD.with_suffix(".json").read_text())
    del facts["second_stage"]["model"]  # as an earlier training wrote it
    (tmp_path / "mine.json").write_text(json.dumps(facts))
    mine = Head(tmp_path / "mine.onnx")
    assert verifier_for(whisper, [mine.path]) is None
    wake = OpenWakeWord(features, [mine, hey_echo], WakeSettings(), second_stage=True)
    alone = facts["operating_points"]["normal"]["alone"]
    assert wake.bounds(mine).wakes == wake.bounds(mine).certain == alone
    assert wake.bounds(hey_echo).wakes < alone


def test_several_heads_listen_at_once(
    features: FeatureModels, hey_echo: Head, tmp_path: Path
) -> None:
    shutil.copy(HEAD, tmp_path / "mine.onnx")
    mine = Head(tmp_path / "mine.onnx")  # no JSON beside it: plain thresholds
    wake = OpenWakeWord(features, [mine, hey_echo], WakeSettings(), second_stage=False)
    (found,) = heard(wake, call(), room(1))
    assert found.word in ("mine", "hey_echo")


def test_what_is_missing_or_damaged_is_named(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"melspectrogram\.onnx is missing"):
        FeatureModels(tmp_path)
    cut = tmp_path / "cut.onnx"
    cut.write_bytes(HEAD.read_bytes()[:1000])
    with pytest.raises(EngineError, match="is damaged"):
        Head(cut)
    shutil.copy(HEAD, tmp_path / "odd.onnx")
    (tmp_path / "odd.json").write_text("{")
    with pytest.raises(EngineError, match="cannot be read"):
        Head(tmp_path / "odd.onnx")
    with pytest.raises(EngineError, match="names 'nobody'"):
        head_paths("nobody", [tmp_path])
    with pytest.raises(EngineError, match="names no head"):
        head_paths(" , ", [tmp_path])


def test_heads_are_found_by_name_and_by_path(tmp_path: Path) -> None:
    shutil.copy(HEAD, tmp_path / "mine.onnx")
    names = f"hey_echo, {tmp_path}/mine.onnx"
    assert head_paths(names, [SHIPPED, tmp_path]) == [HEAD, tmp_path / "mine.onnx"]


def test_the_shipped_figures_agree_with_the_head() -> None:
    facts = json.loads(HEAD.with_suffix(".json").read_text())
    for point in facts["operating_points"].values():
        assert 0 < point["doubtful"] <= point["certain"] <= 1
        assert 0 < point["alone"] <= 1
    assert -300 < facts["detection_after_end_ms"] < 400


SURE = Bounds(0.4, 0.8)


def run(
    decider: Decider, scores: Iterable[float], bounds: Bounds = SURE
) -> list[tuple[int, float]]:
    steps = ((i, decider.step([score], [bounds])) for i, score in enumerate(scores))
    return [(i, choice.score) for i, choice in steps if choice]


def test_a_certain_score_wakes_in_its_own_step() -> None:
    assert run(Decider(1, 1, 1.5), [0, 0.9, 0.95, 0]) == [(1, 0.9)]


def test_a_doubtful_score_waits_a_step_and_may_become_certain() -> None:
    decider = Decider(1, 1, 1.5)
    decider.step([0.5], [SURE])
    choice = decider.step([0.9], [SURE])
    assert choice
    assert choice.certain
    assert choice.ago == 1


def test_a_doubtful_score_that_falls_stays_doubtful() -> None:
    decider = Decider(1, 1, 1.5)
    decider.step([0.5], [SURE])
    choice = decider.step([0.1], [SURE])
    assert choice
    assert not choice.certain
    assert choice.score == 0.5


def test_blocks_in_a_row_and_refractory_time() -> None:
    assert run(Decider(1, 2, 1.5), [0.9, 0, 0.9, 0.9, 0.9, 0]) == [(3, 0.9)]
    scores = [0.9] * 4 + [0.0] + [0.9] + [0.0] * 6 + [0.9]
    assert [step for step, _ in run(Decider(1, 1, 0.8), scores)] == [0, 12]


def test_one_long_call_is_one_detection() -> None:
    assert [step for step, _ in run(Decider(1, 1, 0.8), [0.9] * 40)] == [0]


def test_of_two_heads_the_surer_one_is_named() -> None:
    choice = Decider(2, 1, 1.5).step([0.85, 0.95], [SURE, SURE])
    assert choice
    assert choice.head == 1


@pytest.mark.journey
async def test_echos_own_voice_saying_echo_does_not_wake(wake: Both, models: Path) -> None:
    voice = Piper(next((models / "piper-en-us-joe").glob("*.onnx")))
    texts = (
        "There is an echo in the valley. An echo comes back after a while.",
        "My name is Echo. Echo is listening. Say hello to Echo.",
        "Okay. The echo of the bells was heard in Ecuador.",
    )
    try:
        for text in texts:
            said = [samples async for samples in voice.say(text)]
            assert heard(wake, room(1), *said, room(1)) == []
    finally:
        voice.close()


@pytest.mark.journey
def test_ten_minutes_of_people_saying_other_things_do_not_wake(
    wake: Both, shared_data: Path
) -> None:
    paths = sorted((shared_data / "wake" / "negatives" / "view_glass").glob("*.flac"))
    sound = np.concatenate([read(path) for path in paths[:210]])
    assert len(sound) > 600 * SAMPLE_RATE
    assert detections(wake, frames_of(sound[: 600 * SAMPLE_RATE // BLOCK * BLOCK])) == []
