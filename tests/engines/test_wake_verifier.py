"""The second stage: the phrase fits where it was said, and does not where it was not."""

import numpy as np
import pytest

from firmware_app.engines import Detection, Recognition, Usage
from firmware_app.engines.wake_verifier import (
    SecondStage,
    WhisperWakeVerifier,
    likelihood,
    phrase_sound,
    verifier_for,
)
from firmware_app.engines.whisper import WhisperRecogniser
from firmware_app.frames import SAMPLE_RATE, Samples
from firmware_app.models import SHIPPED
from tests.frames_of import RECORDINGS, read

BENCH = RECORDINGS / "bench"
TEXTS = (" Hey Echo.", " Hey, Echo.", " Hey echo")


def doubtful(end: int, score: float = 0.5, word: str = "hey_echo") -> Detection:
    return Detection(word, score, end - 11_000, end, end / SAMPLE_RATE, certain=False)


def until(name: str, seconds: float) -> Samples:
    return read(BENCH / name)[: int(seconds * SAMPLE_RATE)]


@pytest.mark.parametrize("name", ["short.flac", "capital.flac", "two_clauses.flac"])
async def test_the_phrase_is_accepted_and_another_is_not(
    whisper: WhisperRecogniser, name: str
) -> None:
    verifier = WhisperWakeVerifier(whisper, {"hey_echo": SecondStage(TEXTS, accept=-5.0)})
    said = until(name, 1.35)
    right = await verifier.verify(said, doubtful(len(said)))
    other = until("human_lamp.flac", 1.9)
    wrong = await verifier.verify(other, doubtful(len(other)))
    assert right.accepted
    assert not wrong.accepted
    assert right.score > wrong.score + 1


async def test_silence_is_not_accepted(whisper: WhisperRecogniser) -> None:
    verifier = WhisperWakeVerifier(whisper, {"hey_echo": SecondStage(TEXTS, accept=-5.0)})
    silence = np.zeros(2 * SAMPLE_RATE, np.int16)
    assert not (await verifier.verify(silence, doubtful(len(silence)))).accepted


async def test_the_heads_own_score_can_count(whisper: WhisperRecogniser) -> None:
    stage = SecondStage(TEXTS, accept=-5.0, weight=1.0)
    verifier = WhisperWakeVerifier(whisper, {"hey_echo": stage})
    said = until("short.flac", 1.35)
    low = await verifier.verify(said, doubtful(len(said), 0.2))
    high = await verifier.verify(said, doubtful(len(said), 0.8))
    assert high.score == pytest.approx(low.score + 2 * np.log(4), abs=1e-6)


async def test_a_word_without_figures_is_left_to_its_head(whisper: WhisperRecogniser) -> None:
    verifier = WhisperWakeVerifier(whisper, {})
    verdict = await verifier.verify(np.zeros(SAMPLE_RATE, np.int16), doubtful(SAMPLE_RATE))
    assert verdict.accepted


def test_the_shipped_head_is_verified_by_the_model_it_was_measured_with(
    whisper: WhisperRecogniser,
) -> None:
    assert verifier_for(whisper, [SHIPPED / "hey_echo.onnx"])


def test_another_recogniser_leaves_it_to_the_head() -> None:
    class FakeRecogniser:
        name = "vosk model-en"
        usage = Usage()

        def start(self) -> Recognition:
            raise AssertionError

        def close(self) -> None:
            pass

    assert verifier_for(FakeRecogniser(), [SHIPPED / "hey_echo.onnx"]) is None


def test_what_was_said_before_is_cut_off() -> None:
    samples = np.arange(30_000, dtype=np.int16)
    kept = phrase_sound(samples, doubtful(30_000))
    assert len(kept) < 25_000
    assert kept[-1] == samples[-1]


def test_the_likelihood_of_one_text_is_no_greater_than_the_best_of_all(
    whisper: WhisperRecogniser,
) -> None:
    said = until("short.flac", 1.35)
    best = likelihood(whisper, said, TEXTS)
    assert best == max(likelihood(whisper, said, [text]) for text in TEXTS)


def test_one_wrong_sound_is_not_made_up_for_by_the_right_ones(whisper: WhisperRecogniser) -> None:
    said = until("short.flac", 1.35)
    near = likelihood(whisper, said, [" Hey lamp."])
    assert near < likelihood(whisper, said, [" Hey Echo."]) - 8
