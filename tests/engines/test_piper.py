"""Echo's voice by Piper, with the real voice."""

import asyncio
import json
import shutil
import sys
import time
from contextlib import aclosing
from pathlib import Path

import numpy as np
import pytest

from firmware_app.engines.onnx_split import split
from firmware_app.engines.piper import Piper
from firmware_app.engines.whisper import WhisperRecogniser
from firmware_app.errors import EngineError
from firmware_app.frames import BLOCK, SAMPLE_RATE, Frame, Samples

SENTENCE = "The capital of Germany is Berlin."
FILE = "en_US-joe-medium.onnx"


@pytest.fixture(scope="session")
def folder(models: Path) -> Path:
    return models / "piper-en-us-joe"


@pytest.fixture(scope="session")
def piper(folder: Path) -> Piper:
    return Piper(folder)


async def all_of(voice: Piper, text: str) -> Samples:
    pieces = [piece async for piece in voice.say(text)]
    return np.concatenate(pieces) if pieces else np.zeros(0, np.int16)


def frames(samples: Samples) -> list[Frame]:
    whole = np.pad(samples, (0, -len(samples) % BLOCK)).reshape(-1, BLOCK)
    return [Frame(each, i * BLOCK, i * 0.02) for i, each in enumerate(whole)]


async def test_what_it_says_can_be_understood(piper: Piper, whisper: WhisperRecogniser) -> None:
    heard = whisper.start()
    for frame in frames(await all_of(piper, SENTENCE)):
        heard.feed(frame)
    # The voice is a little different each time, and so is a small word of what is understood.
    understood = set((await heard.finish()).text.lower().strip(" .").split())
    assert {"capital", "germany", "berlin"} <= understood


async def test_sound_begins_before_all_of_it_is_made(piper: Piper) -> None:
    pieces = [piece async for piece in piper.say(SENTENCE)]
    assert len(pieces) > 2
    assert len(pieces[0]) < SAMPLE_RATE * 0.4
    assert all(len(piece) and piece.dtype == np.int16 for piece in pieces)


async def test_the_first_sound_comes_at_once_and_a_pause_is_left_at_the_end(piper: Piper) -> None:
    sound = np.abs((await all_of(piper, SENTENCE)).astype(np.int32))
    loud = np.flatnonzero(sound > 0.02 * sound.max())
    assert loud[0] < SAMPLE_RATE * 0.06
    assert len(sound) - loud[-1] > SAMPLE_RATE * 0.05


async def test_it_is_loud_enough_and_not_clipped(piper: Piper) -> None:
    sound = await all_of(piper, SENTENCE)
    assert int(np.abs(sound.astype(np.int32)).max()) > 8_000
    assert np.mean(np.abs(sound.astype(np.int32)) >= 32_767) < 1e-4


def test_pieces_join_without_a_seam(folder: Path) -> None:
    """The same frames decoded in pieces and at once are the same sound."""
    import onnxruntime  # type: ignore[import-untyped]

    halves = split(memoryview((folder / FILE).read_bytes()), "dec.conv_pre.weight", FILE)
    assert halves is not None
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry(
        "session.model_external_initializers_file_folder_path", str(folder.resolve())
    )
    decoder = onnxruntime.InferenceSession(halves.second, options, ["CPUExecutionProvider"])
    layout = np.random.default_rng(5).normal(size=(1, 192, 120)).astype(np.float32)

    def decode(first: int, last: int) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
        part = np.ascontiguousarray(layout[:, :, first:last])
        return np.asarray(decoder.run(None, {halves.cut: part})[0], np.float32).reshape(-1)

    at_once = decode(0, 120)
    middle = decode(40 - 12, 80 + 12)[12 * 256 : -12 * 256]
    assert np.abs(middle - at_once[40 * 256 : 80 * 256]).max() < 1e-4


async def test_speed_changes_the_length_from_the_next_clause_on(piper: Piper) -> None:
    usual = len(await all_of(piper, SENTENCE))
    piper.speed = 1.6
    try:
        fast = len(await all_of(piper, SENTENCE))
    finally:
        piper.speed = 1.0
    assert fast < usual * 0.8


async def test_closing_returns_at_once_and_the_next_text_is_said_whole(piper: Piper) -> None:
    text = "word and " * 50
    began = time.monotonic()
    await all_of(piper, text)
    whole = time.monotonic() - began
    async with aclosing(piper.say(text)) as pieces:
        await anext(pieces)
        began = time.monotonic()
    assert time.monotonic() - began < whole / 2
    assert len(await all_of(piper, SENTENCE)) > SAMPLE_RATE


async def test_cancelling_the_one_who_listens_stops_the_voice(piper: Piper) -> None:
    async def listen() -> None:
        async for _ in piper.say("word and " * 50):
            pass

    task = asyncio.create_task(listen())
    await asyncio.sleep(0.2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(await all_of(piper, "Yes.")) > 0


async def test_the_loop_goes_on_while_it_speaks(piper: Piper) -> None:
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0.005)

    ticker = asyncio.create_task(tick())
    await all_of(piper, SENTENCE * 2)
    ticker.cancel()
    assert ticks > 10


@pytest.mark.parametrize(
    "text", ["", " ", "...", "\0", "[[", "[[h@]]", "\ud800", "\U0001f600", "ʘ"]
)
async def test_text_without_words_breaks_nothing(piper: Piper, text: str) -> None:
    assert (await all_of(piper, text)).dtype == np.int16


async def test_words_without_a_full_stop_are_all_said(piper: Piper) -> None:
    sound = await all_of(piper, "one two three four five " * 12)
    assert len(sound) > 12 * SAMPLE_RATE


def test_a_missing_voice_names_the_setting_the_file_and_the_mend(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"(?s)voice.*\.onnx.*voice\.model.*\./scripts/setup"):
        Piper(tmp_path)


def test_a_voice_without_its_description_is_missing_too(folder: Path, tmp_path: Path) -> None:
    (tmp_path / FILE).symlink_to(folder / FILE)
    with pytest.raises(EngineError, match=r"\.onnx\.json .*does not exist"):
        Piper(tmp_path)


@pytest.mark.parametrize("size", [0, 1000, 20_000_000])
def test_a_voice_cut_short_is_damaged(folder: Path, tmp_path: Path, size: int) -> None:
    with (folder / FILE).open("rb") as whole:
        (tmp_path / FILE).write_bytes(whole.read(size))
    shutil.copy(folder / f"{FILE}.json", tmp_path)
    with pytest.raises(EngineError, match=r"voice\.model.* is damaged.*\./scripts/setup") as error:
        Piper(tmp_path)
    assert error.value.code == "model-damaged"


def test_a_description_that_is_no_json_is_damaged(folder: Path, tmp_path: Path) -> None:
    (tmp_path / FILE).symlink_to(folder / FILE)
    (tmp_path / f"{FILE}.json").write_text("<html>")
    with pytest.raises(EngineError, match="damaged"):
        Piper(tmp_path)


def test_a_description_of_another_voice_is_told_by_the_warm_up(
    folder: Path, tmp_path: Path
) -> None:
    (tmp_path / FILE).symlink_to(folder / FILE)
    described = json.loads((folder / f"{FILE}.json").read_text())
    described["phoneme_id_map"] = {sign: [9999] for sign in described["phoneme_id_map"]}
    (tmp_path / f"{FILE}.json").write_text(json.dumps(described))
    with pytest.raises(EngineError, match=r"voice\.model.* cannot speak"):
        Piper(tmp_path)


async def test_a_voice_of_another_make_is_decoded_whole(folder: Path, tmp_path: Path) -> None:
    renamed = (folder / FILE).read_bytes().replace(b"dec.conv_pre.weight", b"dec.conv_prx.weight")
    (tmp_path / FILE).write_bytes(renamed)
    shutil.copy(folder / f"{FILE}.json", tmp_path)
    voice = Piper(tmp_path / FILE)
    try:
        assert len(await all_of(voice, SENTENCE)) > SAMPLE_RATE
    finally:
        voice.close()


def test_without_the_package_the_mend_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "piper", None)
    with pytest.raises(EngineError, match=r"piper is not installed.*\./scripts/setup"):
        Piper(folder)


async def test_nothing_that_is_said_is_logged(
    piper: Piper, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    await all_of(piper, "Xylophone quagmire.")
    assert "ylophone" not in caplog.text
    assert "phoneme" not in caplog.text
