"""Echo does not hear its own loudspeaker, however the two devices stand in time."""

import ctypes
from collections.abc import AsyncIterator
from dataclasses import replace

import numpy as np
import pytest

from firmware_app.audio import speex
from firmware_app.audio.dsp import to_int16
from firmware_app.audio.echo import EchoCancelled
from firmware_app.errors import EngineError
from firmware_app.frames import BLOCK, SAMPLE_RATE, Frame, Samples
from tests.audio.fake_echo import FakeHardware
from tests.audio.sounds import level, tone

SPEECH_LIKE = 4  # bursts a second


def babble(seconds: float, seed: int = 3) -> Samples:
    """Noise with the spectrum and the rhythm of speech, more or less."""
    random = np.random.default_rng(seed)
    count = round(seconds * SAMPLE_RATE)
    spectrum = np.fft.rfft(random.normal(0, 1, count))
    hertz = np.fft.rfftfreq(count, 1 / SAMPLE_RATE)
    coloured = np.fft.irfft(spectrum / np.maximum(1, hertz / 500), count)
    rhythm = np.clip(np.sin(np.arange(count) * np.pi * SPEECH_LIKE / SAMPLE_RATE), -0.2, 1) + 0.2
    sound = coloured * rhythm
    return to_int16(sound * 0.5 / np.abs(sound).max())


def quiet(seconds: float) -> Samples:
    return np.zeros(round(seconds * SAMPLE_RATE), np.int16)


async def cancelled(hardware: FakeHardware) -> tuple[Samples, EchoCancelled]:
    """What is left of the whole sound, and the canceller."""
    canceller = EchoCancelled(hardware, hardware.reference)
    left = [frame.samples async for frame in canceller]
    return np.concatenate(left), canceller


def erle(hardware: FakeHardware, left: Samples, start: float, end: float) -> float:
    """By how many dB the echo is quieter in that stretch of time."""
    part = slice(round(start * SAMPLE_RATE), round(end * SAMPLE_RATE))
    return level(hardware.sound[part]) - level(left[part])


async def test_the_echo_of_what_is_played_is_taken_out() -> None:
    hardware = FakeHardware([(0.5, babble(7))], quiet(8))
    left, canceller = await cancelled(hardware)
    assert erle(hardware, left, 3, 7) > 18
    assert canceller.delay == pytest.approx(0.06, abs=0.003)
    assert canceller.drift_ppm == pytest.approx(0, abs=5)


@pytest.mark.parametrize("ppm", [100.0, -100.0])
async def test_two_clocks_are_followed(ppm: float) -> None:
    hardware = FakeHardware([(0.5, babble(11))], quiet(12), ppm=ppm)
    left, canceller = await cancelled(hardware)
    assert canceller.drift_ppm == pytest.approx(ppm, abs=10)
    assert erle(hardware, left, 6, 11) > 18


async def test_a_latency_beyond_the_filter_is_measured_and_made_up_for() -> None:
    hardware = FakeHardware([(0.2, babble(6))], quiet(7), delay=0.19)
    left, canceller = await cancelled(hardware)
    assert canceller.delay == pytest.approx(0.19, abs=0.003)
    assert erle(hardware, left, 4, 6) > 18


async def test_what_was_learnt_serves_when_it_speaks_again() -> None:
    runs = [(0.2, babble(4)), (6.0, babble(3, seed=5)), (11.0, babble(3, seed=7))]
    hardware = FakeHardware(runs, quiet(15), ppm=50, rough=0.002, seed=4)
    left, _ = await cancelled(hardware)
    assert erle(hardware, left, 7, 9) > 14
    assert erle(hardware, left, 12, 14) > 14


async def test_somebody_who_speaks_over_it_is_heard() -> None:
    near = np.concatenate([quiet(4), babble(2, seed=9) // 4, quiet(1)]).astype(np.int16)
    hardware = FakeHardware([(0.2, babble(6.5))], near)
    left, _ = await cancelled(hardware)
    spoken = slice(4 * SAMPLE_RATE, 6 * SAMPLE_RATE)
    alike = np.corrcoef(left[spoken], near[spoken])[0, 1]
    assert alike > 0.85
    assert np.corrcoef(hardware.sound[spoken], near[spoken])[0, 1] < 0.8


async def test_where_nothing_is_played_frames_pass_untouched() -> None:
    near = babble(6)
    hardware = FakeHardware([(2.0, tone(700, 0.5))], near)
    passed = [frame async for frame in EchoCancelled(hardware, hardware.reference)]
    left = np.concatenate([frame.samples for frame in passed])
    early = 2 * SAMPLE_RATE - BLOCK
    assert np.array_equal(left[:early], hardware.sound[:early])
    late = round(2.9 * SAMPLE_RATE)
    assert np.array_equal(left[late:], hardware.sound[late : len(left)])
    assert all(np.shares_memory(f.samples, hardware.sound) for f in passed if f.index > late)
    assert not np.array_equal(left[2 * SAMPLE_RATE : late], hardware.sound[2 * SAMPLE_RATE : late])
    assert [frame.index for frame in passed] == list(range(0, len(left), BLOCK))


async def test_the_raw_microphones_of_an_array_pass_as_they_are() -> None:
    class OfAnArray(FakeHardware):
        async def __aiter__(self) -> AsyncIterator[Frame]:
            async for frame in super().__aiter__():
                yield replace(frame, raw=np.stack([frame.samples, -frame.samples]))

    hardware = OfAnArray([(0.2, babble(1))], quiet(2))
    canceller = EchoCancelled(hardware, hardware.reference)
    frames = [frame async for frame in canceller]
    assert any(frame.far is not None for frame in frames)
    raw = np.concatenate([frame.raw for frame in frames if frame.raw is not None], axis=1)
    heard = hardware.sound[: len(frames) * BLOCK]
    assert np.array_equal(raw, np.stack([heard, -heard]))


async def test_sound_that_the_microphone_lost_does_not_put_it_out() -> None:
    class Losing(FakeHardware):
        async def __aiter__(self) -> AsyncIterator[Frame]:
            async for frame in super().__aiter__():
                if not 4.0 < frame.index / SAMPLE_RATE < 4.3:
                    yield frame

    hardware = Losing([(0.2, babble(8))], quiet(9))
    canceller = EchoCancelled(hardware, hardware.reference)
    frames = [frame async for frame in canceller]
    late = [frame for frame in frames if 5.5 < frame.index / SAMPLE_RATE < 8]
    left = np.concatenate([frame.samples for frame in late])
    heard = np.concatenate([hardware.sound[frame.index : frame.end] for frame in late])
    assert level(heard) - level(left) > 15


def test_a_missing_library_names_itself_and_the_mend(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(ctypes, "CDLL", missing)
    speex.available.cache_clear()
    hardware = FakeHardware([], quiet(1))
    try:
        with pytest.raises(EngineError) as told:
            EchoCancelled(hardware, hardware.reference)
    finally:
        speex.available.cache_clear()
    assert told.value.code == "echo-library-missing"
    assert "libspeexdsp.so.1" in told.value.what
    assert "apt install libspeexdsp1" in told.value.mend
