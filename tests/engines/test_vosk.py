"""Vosk, on the Korean model: partial transcripts on the way, the whole at the end."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from firmware_app.engines.vosk import FILES, VoskRecogniser
from firmware_app.errors import EngineError
from firmware_app.frames import BLOCK, SAMPLE_RATE, Frame, Samples
from tests.conftest import PATIENCE
from tests.frames_of import frames_of, spoken


@pytest.fixture(scope="module")
def vosk(korean_model: Path) -> Iterator[VoskRecogniser]:
    recogniser = VoskRecogniser(korean_model)
    yield recogniser
    recogniser.close()


@pytest.fixture(scope="module")
def greeting() -> Samples:
    return np.concatenate((spoken("안녕하세요 감사합니다", "ko"), np.zeros(BLOCK * 10, np.int16)))


def is_korean(text: str) -> bool:
    return any("가" <= letter <= "힣" for letter in text)


@pytest.mark.journey
async def test_words_come_while_someone_speaks_and_the_whole_at_the_end(
    vosk: VoskRecogniser, greeting: Samples
) -> None:
    recognition = vosk.start()
    for frame in frames_of(greeting):
        recognition.feed(frame)
    async with asyncio.timeout(PATIENCE):
        while not (early := recognition.partial):
            await asyncio.sleep(0.005)
    transcript = await recognition.finish()

    assert is_korean(early)
    assert len(early) < len(transcript.text)
    assert is_korean(transcript.text)
    assert recognition.partial == transcript.text
    assert 0 < transcript.confidence <= 1
    assert [word for word, _, _ in transcript.words] == transcript.text.split()
    times = [time for _, start, end in transcript.words for time in (start, end)]
    assert times == sorted(times)
    assert 0 <= times[0] < times[-1] <= len(greeting) / SAMPLE_RATE
    assert "[" not in transcript.text  # the model's marks of noise


@pytest.mark.journey
async def test_a_look_counts_as_the_end_unless_the_speaker_goes_on(
    vosk: VoskRecogniser, greeting: Samples
) -> None:
    recognition = vosk.start()
    for frame in frames_of(greeting):
        recognition.feed(frame)
    looks = await asyncio.gather(recognition.peek(), recognition.peek())
    assert looks[0] is looks[1]
    assert await recognition.peek() is looks[0]

    for frame in frames_of(greeting):
        recognition.feed(frame)
    whole = await recognition.finish()
    assert whole.text.startswith(looks[0].text)
    assert len(whole.words) > len(looks[0].words)
    assert whole.words[len(looks[0].words)][1] >= looks[0].words[-1][2]
    assert await recognition.finish() is whole


@pytest.mark.journey
async def test_two_utterances_at_once_do_not_mix(vosk: VoskRecogniser, greeting: Samples) -> None:
    speech, silence = vosk.start(), vosk.start()
    for frame in frames_of(greeting):
        speech.feed(frame)
        silence.feed(Frame(np.zeros(BLOCK, np.int16), frame.index, frame.heard_at))
    assert (await silence.finish()).text == ""
    assert is_korean((await speech.finish()).text)


@pytest.mark.journey
async def test_nothing_fed_is_nothing_said(vosk: VoskRecogniser) -> None:
    assert await vosk.start().finish() == await vosk.start().peek()
    assert (await vosk.start().finish()).text == ""


@pytest.mark.journey
async def test_a_cancelled_utterance_answers_nobody(
    vosk: VoskRecogniser, greeting: Samples
) -> None:
    recognition = vosk.start()
    for frame in frames_of(greeting):
        recognition.feed(frame)
    look = asyncio.ensure_future(recognition.peek())
    await asyncio.sleep(0)
    recognition.cancel()
    with pytest.raises(asyncio.CancelledError):
        await look
    assert (await recognition.finish()).text == ""


@pytest.mark.journey
@pytest.mark.parametrize(
    "samples",
    [
        pytest.param(np.zeros(BLOCK, np.float32), id="floats"),
        pytest.param(np.zeros((BLOCK, 2), np.int16), id="stereo"),
    ],
)
def test_only_mono_int16_is_taken(vosk: VoskRecogniser, samples: NDArray[np.generic]) -> None:
    with pytest.raises(ValueError, match="1-D int16"):
        vosk.start().feed(Frame(samples, 0, 0.0))  # type: ignore[arg-type]


@pytest.mark.parametrize("missing", FILES)
def test_a_missing_file_is_named_with_its_mend(tmp_path: Path, missing: str) -> None:
    for name in FILES:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"" if name == missing else b"something")
    with pytest.raises(EngineError) as raised:
        VoskRecogniser(tmp_path)
    assert str(tmp_path / missing) in raised.value.what
    assert "recogniser.model" in raised.value.what
    assert "hey-echo models verify" in raised.value.mend


@pytest.mark.parametrize("damaged", ["am/final.mdl", "ivector/final.ie", "graph/HCLr.fst"])
@pytest.mark.journey
def test_a_file_cut_in_half_is_an_error_with_its_mend(
    tmp_path: Path, korean_model: Path, damaged: str
) -> None:
    for file in korean_model.rglob("*"):
        here = tmp_path / file.relative_to(korean_model)
        here.parent.mkdir(parents=True, exist_ok=True)
        if file.is_file():
            here.symlink_to(file)
    whole = (korean_model / damaged).read_bytes()
    (tmp_path / damaged).unlink()
    (tmp_path / damaged).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(EngineError, match="cannot be loaded") as raised:
        VoskRecogniser(tmp_path)
    assert str(tmp_path) in raised.value.what
