"""Recordings of every usual kind are heard alike; damaged ones are refused in one sentence."""

import asyncio
import wave
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile  # type: ignore[import-untyped]

from firmware_app.audio.wav import WavSink, WavSource, read_wav
from firmware_app.errors import AudioFileError
from firmware_app.frames import BLOCK, SAMPLE_RATE, Samples
from tests.audio.sounds import level, quality_db, tone
from tests.virtual_time import now, virtual_time


def record(path: Path, samples: Samples, rate: int, **kind: str) -> Path:
    soundfile.write(path, samples, rate, **kind)
    return path


@pytest.mark.parametrize("name", ["said.wav", "said.flac"])
def test_a_recording_at_our_rate_is_read_bit_for_bit(tmp_path: Path, name: str) -> None:
    said = tone(440, 0.5)
    assert np.array_equal(read_wav(record(tmp_path / name, said, SAMPLE_RATE)), said)


@pytest.mark.parametrize("rate", [8_000, 11_025, 22_050, 44_100, 48_000, 96_000, 192_000])
def test_any_rate_is_heard_at_ours(tmp_path: Path, rate: int) -> None:
    heard = read_wav(record(tmp_path / "a.wav", tone(440, 1.0, rate=rate), rate))
    assert abs(len(heard) - SAMPLE_RATE) <= 1
    assert quality_db(heard, 440) > 60


@pytest.mark.parametrize("subtype", ["PCM_U8", "PCM_16", "PCM_24", "PCM_32", "FLOAT", "DOUBLE"])
def test_any_format_is_heard(tmp_path: Path, subtype: str) -> None:
    soundfile.write(tmp_path / "a.wav", tone(440, 1.0) / 32768, SAMPLE_RATE, subtype=subtype)
    heard = read_wav(tmp_path / "a.wav")
    assert quality_db(heard, 440) > (30 if subtype == "PCM_U8" else 80)


def test_stereo_is_mixed_to_one_channel(tmp_path: Path) -> None:
    left, right = tone(440, 0.5), np.zeros(SAMPLE_RATE // 2, np.int16)
    stereo = np.stack((left, right), axis=1)
    heard = read_wav(record(tmp_path / "a.wav", stereo, SAMPLE_RATE))
    assert heard.shape == left.shape
    assert level(heard) == pytest.approx(level(left) - 6, abs=0.1)


def test_float_sound_that_is_too_loud_or_no_number_is_clipped_and_silent(tmp_path: Path) -> None:
    sound = np.array([2.0, -2.0, np.nan, 0.5], np.float32)
    soundfile.write(tmp_path / "a.wav", sound, SAMPLE_RATE, subtype="FLOAT")
    assert read_wav(tmp_path / "a.wav").tolist() == [32767, -32768, 0, 16384]


def test_a_recording_that_was_streamed_without_a_length_is_read(tmp_path: Path) -> None:
    said = tone(440, 0.1)
    path = record(tmp_path / "a.wav", said, SAMPLE_RATE)
    written = bytearray(path.read_bytes())
    written[4:8] = written[40:44] = b"\xff\xff\xff\xff"
    path.write_bytes(written)
    assert np.array_equal(read_wav(path), said)


def missing(path: Path) -> None:
    pass


def empty(path: Path) -> None:
    path.touch()


def a_folder(path: Path) -> None:
    path.mkdir()


def text(path: Path) -> None:
    path.write_text("not sound at all, but long enough to be taken for a header of it")


def a_cut_wav(path: Path) -> None:
    record(path, tone(440, 1.0), SAMPLE_RATE)
    path.write_bytes(path.read_bytes()[:20_000])


def a_header_alone(path: Path) -> None:
    record(path, tone(440, 1.0), SAMPLE_RATE)
    path.write_bytes(path.read_bytes()[:44])


def half_a_header(path: Path) -> None:
    record(path, tone(440, 1.0), SAMPLE_RATE)
    path.write_bytes(path.read_bytes()[:20])


def a_cut_flac(path: Path) -> None:
    noise = np.random.default_rng(1).integers(-9000, 9000, SAMPLE_RATE * 2).astype(np.int16)
    record(path, noise, SAMPLE_RATE, format="FLAC")
    path.write_bytes(path.read_bytes()[:20_000])


def no_samples(path: Path) -> None:
    record(path, np.zeros(0, np.int16), SAMPLE_RATE)


def a_rate_of_one(path: Path) -> None:
    record(path, tone(440, 0.1), 1)


def a_rate_of_a_million(path: Path) -> None:
    record(path, tone(440, 0.1), 1_000_000)


def another_kind(path: Path) -> None:
    record(path, tone(440, 0.1), SAMPLE_RATE, format="AIFF")


def over_an_hour(path: Path) -> None:
    record(path, np.zeros(8_000 * 3601, np.int16), 8_000, format="FLAC")


@pytest.mark.parametrize(
    ("make", "code", "says"),
    [
        (missing, "audio-file-missing", "There is no file"),
        (empty, "audio-file-empty", "is empty"),
        (a_folder, "audio-file-unknown", "a folder"),
        (text, "audio-file-unknown", "not a sound file"),
        (a_cut_wav, "audio-file-truncated", "promises 12044 bytes more"),
        (a_header_alone, "audio-file-truncated", "promises 32000 bytes more"),
        (half_a_header, "audio-file-unknown", "not a sound file"),
        (a_cut_flac, "audio-file-truncated", "cut off"),
        (no_samples, "audio-file-empty", "holds no sound"),
        (a_rate_of_one, "audio-file-rate", "1 Hz"),
        (a_rate_of_a_million, "audio-file-rate", "1000000 Hz"),
        (another_kind, "audio-file-unknown", "AIFF"),
        (over_an_hour, "audio-file-long", "longer than an hour"),
    ],
)
def test_a_bad_file_is_named_with_what_is_wrong_and_the_mend(
    tmp_path: Path, make: Callable[[Path], None], code: str, says: str
) -> None:
    path = tmp_path / "bad.wav"
    make(path)
    with pytest.raises(AudioFileError) as refused:
        read_wav(path)
    assert refused.value.code == code
    assert says in refused.value.what
    assert str(path) in refused.value.what
    assert refused.value.mend
    assert refused.value.exit_status == 65


async def test_a_recording_is_given_in_whole_frames_with_its_own_clock() -> None:
    said = tone(440, 0.05)  # two frames and a half
    frames = [frame async for frame in WavSource(said, paced=False)]
    assert [frame.index for frame in frames] == [0, 320, 640]
    assert all(len(frame.samples) == BLOCK for frame in frames)
    assert np.array_equal(np.concatenate([f.samples for f in frames])[: len(said)], said)
    assert not frames[-1].samples[160:].any()
    assert frames[2].heard_at - frames[0].heard_at == pytest.approx(0.04)


@virtual_time
async def test_a_paced_recording_comes_at_the_pace_of_time() -> None:
    started = now()
    async for frame in WavSource(tone(440, 60.0), clock=now):
        assert now() == pytest.approx(frame.heard_at, abs=1e-6)
    assert now() - started == pytest.approx(60.0)


@virtual_time
async def test_a_recording_does_not_drift_when_its_listener_is_late_for_a_while() -> None:
    late = 0.0
    async for frame in WavSource(tone(440, 2.0), clock=now):
        late = now() - frame.heard_at
        if 20 <= frame.index // BLOCK < 25:
            await asyncio.sleep(0.1)
    assert late == pytest.approx(0.0, abs=1e-6)


async def test_closing_ends_the_recording() -> None:
    source = WavSource(tone(440, 1.0), paced=False)
    heard = 0
    async for _frame in source:
        heard += 1
        if heard == 3:
            await source.close()
    assert heard == 3


@virtual_time
async def test_the_loudspeakers_file_holds_silence_where_nothing_was_played(
    tmp_path: Path,
) -> None:
    sink = WavSink(tmp_path / "out.wav", clock=now)
    await asyncio.sleep(0.5)
    said = tone(440, 0.05)
    await sink.write(said)
    await asyncio.sleep(0.02)
    assert sink.heard == 320
    assert sink.delay == pytest.approx(0.03)
    await asyncio.sleep(0.48)
    await sink.close()
    await sink.close()
    heard = read_wav(tmp_path / "out.wav")
    assert len(heard) == SAMPLE_RATE
    assert np.array_equal(heard[8_000 : 8_000 + len(said)], said)
    assert not heard[:8_000].any()
    assert not heard[8_000 + len(said) :].any()


async def test_an_unpaced_loudspeaker_writes_the_sound_alone(tmp_path: Path) -> None:
    sink = WavSink(tmp_path / "out.wav", paced=False)
    await sink.write(tone(440, 0.2))
    await sink.write(tone(880, 0.2))
    await sink.drain()
    await sink.close()
    assert len(read_wav(tmp_path / "out.wav")) == sink.heard == SAMPLE_RATE * 0.4


async def test_the_file_is_whole_even_if_nobody_closes_it(tmp_path: Path) -> None:
    sink = WavSink(tmp_path / "out.wav", paced=False)
    await sink.write(tone(440, 1.0))
    with wave.open(str(tmp_path / "out.wav")) as so_far:
        assert so_far.getnframes() > SAMPLE_RATE // 2
    await sink.close()


async def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(AudioFileError, match="cannot be written"):
        WavSink(tmp_path / "nowhere" / "out.wav")
