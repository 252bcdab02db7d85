"""An array of microphones, turned to whoever said the wake word, hears them better than one."""

import numpy as np
import pytest
from numpy.typing import NDArray

from firmware_app.audio.array import (
    LATENCY,
    WINDOW,
    Anchor,
    Beam,
    Weights,
    anchor,
    direction,
    weights,
)
from firmware_app.audio.dsp import milliseconds, to_int16
from firmware_app.audio.wav import read_wav
from firmware_app.frames import BLOCK, SAMPLE_RATE, Frame, Samples
from tests.audio.array_room import POSITIONS, Scene, frames_of_array, scene
from tests.frames_of import RECORDINGS

PHRASE = milliseconds(1200)  # of the recordings that hold the wake phrase


def said(name: str = "capital") -> Samples:
    return read_wav(RECORDINGS / "bench" / f"{name}.flac")


def anchored(room: Scene, begin: int = 0) -> Anchor:
    start = begin + room.begins
    found = anchor([*frames_of_array(room.raw, begin=begin)], start, start + PHRASE)
    assert found
    return found


def through(weighted: Weights, frames: list[Frame]) -> Samples:
    """What a beam makes of the frames, to the last."""
    beam = Beam(weighted)
    given = [clear for frame in frames if (clear := beam.feed(frame))]
    if last := beam.end():
        given.append(last)
    return np.concatenate([frame.samples for frame in given])


def through_at_once(weighted: Weights, raw: Samples) -> NDArray[np.float64]:
    """The same filter over a whole sound, written down another way."""
    taper = np.sin(np.pi * (np.arange(WINDOW) + 0.5) / WINDOW)
    padded = np.pad(raw.astype(np.float64), ((0, 0), (BLOCK, BLOCK)))
    clear = np.zeros(padded.shape[1])
    for at in range(0, padded.shape[1] - WINDOW + 1, BLOCK):
        spectra = np.fft.rfft(padded[:, at : at + WINDOW] * taper)
        clear[at : at + WINDOW] += np.fft.irfft(np.sum(spectra * weighted.T, axis=0)) * taper
    return clear[BLOCK:-BLOCK]


def db(speech: NDArray[np.generic], noise: NDArray[np.generic]) -> float:
    power = [float(np.mean(np.square(part, dtype=np.float64))) for part in (speech, noise)]
    return 10 * float(np.log10(power[0] / power[1]))


def gain_db(room: Scene) -> float:
    """By how much better than at the first microphone what follows the phrase is heard."""
    weighted = weights(anchored(room), heard=0)
    after = slice(room.begins + PHRASE, room.raw.shape[1] // BLOCK * BLOCK)
    clear = [
        through(weighted, [*frames_of_array(to_int16(part))])[after]
        for part in (room.speech, room.noise)
    ]
    return db(*clear) - db(room.speech[0, after], room.noise[0, after])


@pytest.mark.parametrize(("talker", "noise_at"), [(40.0, 115.0), (250.0, 150.0)])
def test_a_question_after_the_wake_word_stands_out_of_noise_beside_it(
    talker: float, noise_at: float
) -> None:
    gains = [
        gain_db(scene(said(name), talker=talker, noise_at=noise_at, snr_db=5.0, seed=seed))
        for seed, name in enumerate(("capital", "author"))
    ]
    assert np.mean(gains) >= 3.0


@pytest.mark.parametrize("talker", [0.0, 90.0, 200.0])
def test_the_talker_is_found_and_not_the_noise(talker: float) -> None:
    room = scene(said(), talker=talker, noise_at=talker + 80.0, snr_db=10.0)
    degrees = direction(anchored(room), POSITIONS)
    assert degrees is not None
    assert abs((degrees - talker + 180) % 360 - 180) <= 10.0


def test_the_talker_is_as_loud_as_at_the_one_microphone() -> None:
    room = scene(said(), talker=40.0, noise_at=115.0, snr_db=10.0)
    speech = [*frames_of_array(to_int16(room.speech))]
    clear = through(weights(anchored(room), heard=0), speech)
    one = np.concatenate([frame.samples for frame in speech])
    assert abs(db(clear, one)) < 2.0


def test_sound_that_streams_is_filtered_as_a_whole_sound_is() -> None:
    room = scene(said(), talker=40.0, noise_at=115.0, snr_db=5.0)
    frames = [*frames_of_array(room.raw)]
    weighted = weights(anchored(room), heard=0)
    whole = through_at_once(weighted, room.raw[:, : len(frames) * BLOCK])
    streamed = through(weighted, frames)
    assert len(streamed) == len(frames) * BLOCK
    assert np.abs(streamed - whole).max() <= 1.0


def test_a_beam_is_one_block_late_and_keeps_the_clock_of_what_it_gives() -> None:
    room = scene(said(), talker=40.0, noise_at=115.0, snr_db=5.0)
    beam = Beam(weights(anchored(room), heard=0))
    first, second, third = [*frames_of_array(room.raw)][:3]
    assert beam.feed(first) is None
    for late, now in ((first, second), (second, third)):
        clear = beam.feed(now)
        assert clear
        assert now.end - clear.end == LATENCY == BLOCK
        assert (clear.index, clear.heard_at) == (late.index, late.heard_at)
        assert clear.raw is None


def test_where_sound_was_lost_a_beam_begins_anew() -> None:
    room = scene(said(), talker=40.0, noise_at=115.0, snr_db=5.0)
    weighted = weights(anchored(room), heard=0)
    frames = [*frames_of_array(room.raw)]
    beam = Beam(weighted)
    for frame in frames[:10]:
        beam.feed(frame)
    after = [clear.samples for frame in frames[60:90] if (clear := beam.feed(frame))]
    assert np.array_equal(np.concatenate(after), through(weighted, frames[60:90])[:-BLOCK])


def test_while_the_loudspeaker_sounds_the_one_microphone_without_its_echo_is_given() -> None:
    room = scene(said(), talker=40.0, noise_at=115.0, snr_db=5.0)
    mono = np.random.default_rng(0).integers(-3000, 3000, (20, BLOCK)).astype(np.int16)
    frames = [
        Frame(mono[n], f.index, f.heard_at, np.zeros(BLOCK, np.int16), f.raw)
        for n, f in enumerate([*frames_of_array(room.raw)][:20])
    ]
    given = through(weights(anchored(room), heard=0), frames)
    assert np.abs(given - mono.ravel()).max() <= 1


def test_a_phrase_over_echos_own_voice_turns_nothing() -> None:
    room = scene(said(), talker=40.0, noise_at=115.0, snr_db=5.0)
    frames = [*frames_of_array(room.raw)]
    at = room.begins // BLOCK - 5
    f = frames[at]
    frames[at] = Frame(f.samples, f.index, f.heard_at, np.zeros(BLOCK, np.int16), f.raw)
    assert anchor(frames, room.begins, room.begins + PHRASE) is None


def test_sound_that_tells_too_little_turns_nothing() -> None:
    room = scene(said(), talker=40.0, noise_at=115.0, snr_db=5.0)
    frames = [*frames_of_array(room.raw)]
    start, end = room.begins, room.begins + PHRASE
    assert anchor(frames, start, end) is not None
    assert anchor([], start, end) is None
    assert anchor(frames, start, start + milliseconds(100)) is None  # too short a phrase
    assert anchor(frames[start // BLOCK :], start, end) is None  # nothing before it
    assert anchor(frames[:80] + frames[85:], start, end) is None  # a gap
    mono = [Frame(frame.samples, frame.index, frame.heard_at) for frame in frames]
    assert anchor(mono, start, end) is None


def test_one_microphone_copied_to_all_channels_is_no_array() -> None:
    room = scene(said(), talker=40.0, noise_at=115.0, snr_db=5.0)
    copied = [*frames_of_array(np.repeat(room.raw[:1], 4, axis=0))]
    assert anchor(copied, room.begins, room.begins + PHRASE) is None


def test_a_dead_microphone_does_no_harm() -> None:
    room = scene(said(), talker=40.0, noise_at=115.0, snr_db=5.0)
    room.speech[2] = room.noise[2] = 0.0
    assert gain_db(room) > 0.0


def test_without_noise_the_talker_passes() -> None:
    """A digitally silent room has no noise to take away, and none to divide by."""
    room = scene(said(), talker=40.0, noise_at=115.0, snr_db=5.0)
    room.noise[:] = 0.0
    room.speech[:, : room.begins] = 0.0
    clear = through(weights(anchored(room), heard=0), [*frames_of_array(room.raw)])
    assert abs(db(clear[room.begins :], room.raw[0, room.begins : len(clear)])) < 2.0


def test_two_microphones_in_a_line_tell_no_direction() -> None:
    room = scene(said(), talker=40.0, noise_at=115.0, snr_db=10.0)
    found = anchored(room)
    assert direction(Anchor(found.phrase[:2], found.before[:2]), POSITIONS[:2]) is None


def test_noise_alone_tells_no_direction() -> None:
    room = scene(said(), talker=40.0, noise_at=115.0, snr_db=10.0)
    room.speech[:] = 0.0
    assert direction(anchored(room), POSITIONS) is None


def test_a_phrase_is_found_at_any_place_of_the_sources_clock() -> None:
    room = scene(said(), talker=40.0, noise_at=115.0, snr_db=5.0)
    early, late = anchored(room), anchored(room, begin=3600 * SAMPLE_RATE)
    assert np.array_equal(early.phrase, late.phrase)
    assert np.array_equal(early.before, late.before)
