"""The second stage: it lets through what is the phrase, and nothing that only sounds like it."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from firmware_app.engines import Detection, Recognition, Usage
from firmware_app.engines.phrase_network import FRAMES, SOUND, PhraseNetwork, encoder_frames
from firmware_app.engines.wake_verifier import (
    SecondStage,
    WhisperWakeVerifier,
    network_path,
    verifier_for,
)
from firmware_app.engines.whisper import WhisperRecogniser
from firmware_app.errors import EngineError
from firmware_app.frames import SAMPLE_RATE, Samples
from firmware_app.models import SHIPPED
from tests.frames_of import RECORDINGS, read, spoken

BENCH = RECORDINGS / "bench"
HEAD = SHIPPED / "hey_echo.onnx"
NETWORK = network_path(HEAD, "whisper tiny-en")
SILENCE = np.zeros(2 * SAMPLE_RATE, np.int16)


class FakeRecogniser:
    name = "vosk model-en"
    usage = Usage()

    def start(self) -> Recognition:
        raise AssertionError

    def close(self) -> None:
        pass


def doubtful(end: int, score: float = 0.5, word: str = "hey_echo") -> Detection:
    return Detection(word, score, end - 11_000, end, end / SAMPLE_RATE, certain=False)


def until(name: str, seconds: float) -> Samples:
    return read(BENCH / name)[: int(seconds * SAMPLE_RATE)]


def shipped(whisper: WhisperRecogniser) -> WhisperWakeVerifier:
    verifier = verifier_for(whisper, [HEAD])
    assert verifier
    return verifier


@pytest.mark.parametrize("name", ["short.flac", "capital.flac", "two_clauses.flac"])
async def test_the_phrase_is_accepted_and_another_is_not(
    whisper: WhisperRecogniser, name: str
) -> None:
    verifier = shipped(whisper)
    said = until(name, 1.35)
    right = await verifier.verify(said, doubtful(len(said)))
    other = until("human_lamp.flac", 1.9)
    wrong = await verifier.verify(other, doubtful(len(other)))
    assert right.accepted
    assert not wrong.accepted
    assert right.score > wrong.score + 2


@pytest.mark.parametrize("text", ["Hey Google.", "Hey Monica.", "Hey Edwin.", "Good morning."])
async def test_a_near_phrase_is_not_accepted(whisper: WhisperRecogniser, text: str) -> None:
    sound = spoken(text, "en-us")
    said = np.concatenate((sound, np.zeros(SAMPLE_RATE // 10, np.int16)))
    assert not (await shipped(whisper).verify(said, doubtful(len(said), 0.3))).accepted


async def test_silence_is_not_accepted(whisper: WhisperRecogniser) -> None:
    assert not (await shipped(whisper).verify(SILENCE, doubtful(len(SILENCE)))).accepted


async def test_the_heads_own_score_can_count(whisper: WhisperRecogniser) -> None:
    stage = SecondStage((" Hey Echo.",), PhraseNetwork(NETWORK), accept=0.0, weight=1.0)
    verifier = WhisperWakeVerifier(whisper, {"hey_echo": stage})
    said = until("short.flac", 1.35)
    low = await verifier.verify(said, doubtful(len(said), 0.2))
    high = await verifier.verify(said, doubtful(len(said), 0.8))
    assert high.score == pytest.approx(low.score + 2 * np.log(4), abs=1e-6)


async def test_a_word_without_figures_is_left_to_its_head(whisper: WhisperRecogniser) -> None:
    verifier = WhisperWakeVerifier(whisper, {})
    verdict = await verifier.verify(np.zeros(SAMPLE_RATE, np.int16), doubtful(SAMPLE_RATE))
    assert verdict.accepted


def test_another_recogniser_leaves_it_to_the_head() -> None:
    assert verifier_for(FakeRecogniser(), [HEAD]) is None


def test_what_was_said_long_before_does_not_count(whisper: WhisperRecogniser) -> None:
    said = until("short.flac", 1.35)
    before = until("human_lamp.flac", 1.9)
    one = np.concatenate((before, SILENCE, said))
    other = np.concatenate((SILENCE, said))
    np.testing.assert_array_equal(encoder_frames(whisper, one), encoder_frames(whisper, other))


def test_a_sound_that_has_just_begun_is_heard_as_after_silence(whisper: WhisperRecogniser) -> None:
    said = until("short.flac", 1.35)
    padded = np.concatenate((np.zeros(SOUND - len(said), np.int16), said))
    frames = encoder_frames(whisper, said)
    assert frames.shape[0] == FRAMES
    np.testing.assert_array_equal(frames, encoder_frames(whisper, padded))


@pytest.mark.parametrize("content", [None, b"", NETWORK.read_bytes()[:1000]])
def test_a_missing_or_damaged_file_is_named(
    whisper: WhisperRecogniser, tmp_path: Path, content: bytes | None
) -> None:
    head = tmp_path / HEAD.name
    shutil.copy(HEAD.with_suffix(".json"), head.with_suffix(".json"))
    if content is not None:
        network_path(head, whisper.name).write_bytes(content)
    with pytest.raises(EngineError) as raised:
        verifier_for(whisper, [head])
    assert raised.value.code == "model-damaged"
    assert str(network_path(head, whisper.name)) in raised.value.what
