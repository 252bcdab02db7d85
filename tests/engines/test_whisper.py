"""Whisper: what was said, soon after it was said; nothing where nothing was."""

import asyncio
import csv
import threading
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from firmware_app.dialogue.likeness import likeness, plain
from firmware_app.engines import Recogniser
from firmware_app.engines.whisper import FILES, WhisperRecogniser, repeats_itself, tidy
from firmware_app.errors import EngineError
from firmware_app.frames import BLOCK, SAMPLE_RATE, Frame, Samples
from tests.conftest import until
from tests.frames_of import RECORDINGS, frames_of, read, spoken

QUESTION = RECORDINGS / "bench" / "capital.flac"
TEXT = "Hey Echo, what is the capital of Italy?"


@pytest.fixture
def question() -> Samples:
    return read(QUESTION)


def silence(seconds: float) -> Samples:
    return np.zeros(round(seconds * SAMPLE_RATE), np.int16)


async def transcript_of(recogniser: Recogniser, samples: Samples) -> str:
    recognition = recogniser.start()
    for frame in frames_of(samples):
        recognition.feed(frame)
    return (await recognition.finish()).text


async def test_a_question_is_understood_word_for_word(
    whisper: WhisperRecogniser, question: Samples
) -> None:
    recognition = whisper.start()
    for frame in frames_of(question):
        recognition.feed(frame)
    assert recognition.partial == ""

    transcript = await recognition.finish()

    assert plain(transcript.text) == plain(TEXT)  # its signs differ by processor
    assert 0.5 < transcript.confidence <= 1


async def test_what_was_not_quite_heard_is_less_sure(
    whisper: WhisperRecogniser, question: Samples
) -> None:
    hiss = np.random.default_rng(3).normal(0, 3000, len(question))
    clear = await _finished(whisper, question)
    hissed = await _finished(whisper, (question / 4 + hiss).clip(-32768, 32767).astype(np.int16))
    assert hissed < clear


async def _finished(recogniser: Recogniser, samples: Samples) -> float:
    recognition = recogniser.start()
    for frame in frames_of(samples):
        recognition.feed(frame)
    return (await recognition.finish()).confidence


async def test_the_end_of_speech_costs_nothing_when_it_was_looked_at_already(
    whisper: WhisperRecogniser, question: Samples
) -> None:
    recognition = whisper.start()
    for frame in frames_of(question):
        recognition.feed(frame)
    looks = await asyncio.gather(recognition.peek(), recognition.peek())
    assert looks[0] is looks[1]
    assert await recognition.finish() is looks[0]


async def test_a_speaker_who_goes_on_is_heard_to_the_end(
    whisper: WhisperRecogniser, question: Samples
) -> None:
    frames = list(frames_of(question))
    recognition = whisper.start()
    for frame in frames[: len(frames) // 2]:
        recognition.feed(frame)
    early = await recognition.peek()
    for frame in frames[len(frames) // 2 :]:
        recognition.feed(frame)
    assert "Italy" not in early.text
    assert "Italy" in (await recognition.finish()).text


async def test_a_look_that_is_no_longer_wanted_gives_way(
    whisper: WhisperRecogniser, question: Samples
) -> None:
    frames = list(frames_of(question))
    recognition = whisper.start()
    recognition.feed(frames[0])
    useless = asyncio.ensure_future(recognition.peek())
    await asyncio.sleep(0)
    for frame in frames[1:]:
        recognition.feed(frame)
    assert "Italy" in (await recognition.finish()).text
    assert useless.cancelled()


async def test_a_cancelled_utterance_answers_nobody(
    whisper: WhisperRecogniser, question: Samples
) -> None:
    recognition = whisper.start()
    for frame in frames_of(question):
        recognition.feed(frame)
    look = asyncio.ensure_future(recognition.peek())
    await asyncio.sleep(0)
    recognition.cancel()
    with pytest.raises(asyncio.CancelledError):
        await look
    assert (await recognition.finish()).text == ""


async def test_sound_after_the_end_is_not_taken_in(
    whisper: WhisperRecogniser, question: Samples
) -> None:
    recognition = whisper.start()
    assert (await recognition.finish()).text == ""
    for frame in frames_of(question):
        recognition.feed(frame)
    assert (await recognition.finish()).text == ""


@pytest.mark.parametrize(
    "sound",
    [
        pytest.param(silence(0), id="no sound at all"),
        pytest.param(silence(0.02), id="one frame"),
        pytest.param(silence(3), id="silence"),
        pytest.param(
            np.random.default_rng(1).normal(0, 300, 3 * SAMPLE_RATE).astype(np.int16), id="hiss"
        ),
        pytest.param(
            (6000 * np.sin(np.arange(3 * SAMPLE_RATE) * 2 * np.pi * 50 / SAMPLE_RATE)).astype(
                np.int16
            ),
            id="hum",
        ),
    ],
)
async def test_nothing_is_made_up_where_nobody_spoke(
    whisper: WhisperRecogniser, sound: Samples
) -> None:
    assert await transcript_of(whisper, sound) == ""


@pytest.mark.parametrize("begin", [0, 14, 28, 42])
async def test_a_kitchen_says_nothing(
    whisper: WhisperRecogniser, shared_data: Path, begin: int
) -> None:
    kitchen = read(shared_data / "noise" / "kitchen_60s.flac")
    part = kitchen[begin * SAMPLE_RATE : (begin + 5) * SAMPLE_RATE]
    assert await transcript_of(whisper, part) == ""


async def test_a_command_over_a_kitchen_is_not_taken_for_noise(
    whisper: WhisperRecogniser, shared_data: Path
) -> None:
    speech = read(shared_data / "speech" / "human" / "speech-to-phrase__whats_the_date.flac")
    speech = np.concatenate((speech, silence(0.25)))
    kitchen = read(shared_data / "noise" / "kitchen_60s.flac")[: len(speech)]
    kitchen_gain = np.std(speech) / np.std(kitchen) / 10**0.5  # 10 dB below
    heard = await transcript_of(whisper, (speech + kitchen * kitchen_gain).astype(np.int16))
    assert plain(heard) == "what's the date"


async def test_of_too_much_sound_the_newest_is_kept(
    whisper: WhisperRecogniser, question: Samples
) -> None:
    recognition = whisper.start()
    for frame in frames_of(np.concatenate((question, silence(30), question))):
        recognition.feed(frame)
    text = (await recognition.finish()).text
    assert text.count("Italy") == 1


async def test_repeated_words_are_heard_again_in_the_full_window(
    whisper: WhisperRecogniser, shared_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    word = read(shared_data / "speech" / "human" / "speech-to-phrase__next.flac")
    windows: list[int] = []
    encode = whisper.encode

    def watched(samples: Samples, window_seconds: int) -> object:
        windows.append(window_seconds)
        return encode(samples, window_seconds)

    monkeypatch.setattr(whisper, "encode", watched)
    assert plain(await transcript_of(whisper, word)) == "next"  # its signs differ by processor
    assert windows == [10]
    assert plain(await transcript_of(whisper, np.tile(word, 3))) == "next next next"
    assert windows == [10, 10, 30]


@pytest.mark.parametrize(
    ("text", "looped"),
    [
        ("next next next", True),
        ("Next. Next. Next.", True),
        ("I don't know, I don't know, I don't know", True),
        ("No, no.", False),
        ("turn the light on the light table", False),
        ("", False),
    ],
)
def test_a_loop_is_known_by_three_repetitions(text: str, looped: bool) -> None:
    assert repeats_itself(text) is looped


def test_dots_alone_are_no_words() -> None:
    assert tidy(" . . .") == ""
    assert tidy("  What   time\n is it? ") == "What time is it?"


@pytest.mark.parametrize(
    "samples",
    [
        pytest.param(np.zeros(BLOCK, np.float32), id="floats"),
        pytest.param(np.zeros((BLOCK, 2), np.int16), id="stereo"),
    ],
)
def test_only_mono_int16_is_taken(whisper: WhisperRecogniser, samples: NDArray[np.generic]) -> None:
    with pytest.raises(ValueError, match="1-D int16"):
        whisper.start().feed(Frame(samples, 0, 0.0))  # type: ignore[arg-type]


async def test_the_loop_goes_on_while_whisper_works(
    whisper: WhisperRecogniser, question: Samples
) -> None:
    recognition = whisper.start()
    for frame in frames_of(question):
        recognition.feed(frame)
    look = asyncio.ensure_future(recognition.peek())
    turns = 0
    while not look.done():
        await asyncio.sleep(0.001)
        turns += 1
    assert turns > 3


async def test_others_borrow_the_model_on_its_own_thread(whisper: WhisperRecogniser) -> None:
    names = {await whisper.on_worker(lambda: threading.current_thread().name) for _ in range(3)}
    assert len(names) == 1
    assert names != {threading.current_thread().name}
    assert whisper.tokenizer.encode(" Hey Echo.")
    encoded = await whisper.on_worker(lambda: whisper.encode(silence(2), 5))
    assert list(encoded.shape) == [1, 250, 384]


async def test_an_engine_that_fails_says_so_in_a_sentence(
    whisper: WhisperRecogniser, question: Samples, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("out of memory")

    monkeypatch.setattr(whisper, "encode", fail)
    recognition = whisper.start()
    for frame in frames_of(question):
        recognition.feed(frame)
    with pytest.raises(EngineError, match="whisper tiny-en failed: out of memory"):
        await recognition.finish()


async def test_a_closed_recogniser_leaves_no_thread(models: Path) -> None:
    recogniser = WhisperRecogniser(models / "whisper-tiny-en")
    await recogniser.on_worker(lambda: None)
    before = threading.active_count()
    recogniser.close()
    await until(lambda: threading.active_count() < before)


@pytest.mark.parametrize("missing", FILES)
def test_a_missing_file_is_named_with_its_mend(tmp_path: Path, models: Path, missing: str) -> None:
    for name in FILES:
        if name != missing:
            (tmp_path / name).symlink_to(models / "whisper-tiny-en" / name)
    with pytest.raises(EngineError) as raised:
        WhisperRecogniser(tmp_path)
    assert str(tmp_path / missing) in raised.value.what
    assert "recogniser.model" in raised.value.what
    assert "./scripts/setup" in raised.value.mend


@pytest.mark.parametrize("damaged", FILES)
def test_a_file_cut_in_half_is_an_error_with_its_mend(
    tmp_path: Path, models: Path, damaged: str
) -> None:
    for name in FILES:
        if name != damaged:
            (tmp_path / name).symlink_to(models / "whisper-tiny-en" / name)
    whole = (models / "whisper-tiny-en" / damaged).read_bytes()
    (tmp_path / damaged).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(EngineError) as raised:
        WhisperRecogniser(tmp_path)
    assert str(tmp_path) in raised.value.what
    assert "hey-echo models verify" in raised.value.mend


@pytest.mark.parametrize("language", ["de", "xx"])
def test_a_language_that_the_model_does_not_know_is_refused(models: Path, language: str) -> None:
    with pytest.raises(EngineError, match=f"does not know the language '{language}'"):
        WhisperRecogniser(models / "whisper-tiny-en", language)


@pytest.mark.journey
async def test_every_shipped_recording_is_understood(whisper: WhisperRecogniser) -> None:
    for manifest in sorted(RECORDINGS.glob("*/manifest.csv")):
        for line in manifest.read_text().splitlines()[1:]:
            file, text, *_ = next(csv.reader([line]))
            heard = await transcript_of(whisper, read(manifest.parent / file))
            assert likeness(heard, text) > 0.7, (file, heard)


@pytest.mark.journey
async def test_base_listens_in_the_language_it_is_told(base_model: Path) -> None:
    german = WhisperRecogniser(base_model, "de")
    try:
        assert "Guten Morgen" in await transcript_of(german, spoken("Guten Morgen.", "de"))
    finally:
        german.close()
