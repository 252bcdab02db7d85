"""Scenes: a clip as a microphone in some room hears it, with what was said before and after."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import soxr  # type: ignore[import-untyped]
from numpy.typing import NDArray
from scipy.fft import next_fast_len  # type: ignore[import-untyped]
from scipy.signal import resample_poly  # type: ignore[import-untyped]

from firmware_app.frames import SAMPLE_RATE, Samples
from wakeword import rooms
from wakeword.rooms import Sound
from wakeword.voices import Clip


@dataclass(frozen=True, slots=True)
class Scene:
    """samples: int16 at 16 kHz; start, end: the phrase, or -1."""

    samples: Samples
    start: int
    end: int


@dataclass(frozen=True)
class World:
    """What scenes are made of: responses of rooms, and speech that may be heard around.

    beside: share of the scenes in which one person speaks all the while, as Echo itself does.
    """

    rooms: Sequence[Sound]
    speech: list[Sound]
    beside: float = 0.1


def seconds(rng: np.random.Generator, low: float, high: float) -> int:
    return int(SAMPLE_RATE * rng.uniform(low, high))


def positive(rng: np.random.Generator, clip: Clip, world: World, *, crowded: bool = False) -> Scene:
    """The phrase in a scene of its own. crowded: somebody speaks up to the phrase."""
    clip = at_speed(clip, float(np.exp(rng.uniform(np.log(0.84), np.log(1.2)))))
    before = _up_to(rng, world, clip) if crowded else _around(rng, world, 0.35, (0.1, 1.6))
    ends_with_phrase = clip.end > len(clip.sound) - SAMPLE_RATE // 4
    after = _around(rng, world, 0.4 if ends_with_phrase else 0.1, (0.55, 1.2))
    gap = np.zeros(seconds(rng, 0.0, 0.1 if crowded else 0.25), np.float32)
    dry = np.concatenate((before, gap, clip.sound, gap[: len(gap) // 2], after))
    start = len(before) + len(gap)
    samples = heard(rng, dry, world)
    return Scene(samples, start + clip.start, start + clip.end)


def negative(rng: np.random.Generator, clip: Clip, world: World) -> Scene:
    """Other speech in a scene of its own."""
    clip = at_speed(clip, float(np.exp(rng.uniform(np.log(0.84), np.log(1.2)))))
    before = _around(rng, world, 0.2, (0.0, 0.6))
    after = np.zeros(seconds(rng, 0.3, 0.7), np.float32)
    dry = np.concatenate((before, clip.sound, after))
    return Scene(heard(rng, dry, world), -1, -1)


def only_noise(rng: np.random.Generator, length: float, world: World) -> Scene:
    count = int(SAMPLE_RATE * length)
    sound = rooms.noise(rng, count, world.speech)
    level = 10 ** (rng.uniform(-60, -12) / 20)
    return Scene(to_int16(sound * level), -1, -1)


def at_speed(clip: Clip, factor: float) -> Clip:
    """Faster and higher, or slower and lower."""
    sound = soxr.resample(clip.sound, SAMPLE_RATE * factor, SAMPLE_RATE)
    start, end = (int(v / factor) if v >= 0 else -1 for v in (clip.start, clip.end))
    return Clip(np.asarray(sound, np.float32), start, end, clip.voice, clip.text)


def _around(
    rng: np.random.Generator, world: World, speech: float, length: tuple[float, float]
) -> Sound:
    """Silence, or with that probability speech, at the level of clips."""
    count = seconds(rng, *length)
    if rng.random() >= speech:
        return np.zeros(count, np.float32)
    return rooms.run_of_speech(rng, count, world.speech) * np.float32(rng.uniform(0.3, 1.1))


def _up_to(rng: np.random.Generator, world: World, clip: Clip) -> Sound:
    """Speech of about the clip's level."""
    speech = rooms.run_of_speech(rng, seconds(rng, 0.5, 1.8), world.speech)
    level = np.sqrt(np.mean(clip.sound**2)) / (np.sqrt(np.mean(speech**2)) + 1e-6)
    return np.asarray(speech * level * 10 ** (rng.uniform(-12, 4) / 20), np.float32)


def heard(rng: np.random.Generator, dry: Sound, world: World) -> Samples:
    """Room, noise, microphone, level, and what cheap hardware does to them."""
    dry = np.pad(dry, (0, next_fast_len(len(dry)) - len(dry)))  # for the transforms below
    sound = dry / (np.sqrt(np.mean(dry**2)) + 1e-9)
    if rng.random() < 0.7:
        sound = rooms.reverberate(sound, world.rooms[int(rng.integers(len(world.rooms)))])
    if rng.random() < 0.8:
        snr = rng.uniform(0, 25) if rng.random() < 0.8 else rng.uniform(-3, 5)
        background = rooms.noise(rng, len(sound), world.speech)
        if rng.random() < 0.5:
            response = world.rooms[int(rng.integers(len(world.rooms)))]
            background = rooms.reverberate(background, response)
        sound = sound + background * np.float32(10 ** (-snr / 20))
    if rng.random() < world.beside:
        talker = rooms.run_of_speech(rng, len(sound), world.speech)
        talker = talker / (np.sqrt(np.mean(talker**2)) + 1e-9)
        sound = sound + talker * np.float32(10 ** (-rng.uniform(0, 24) / 20))
    sound = _microphone(rng, sound)
    if rng.random() < 0.12:
        sound = _codec(rng, sound)
    level = rng.uniform(-42, -12) if rng.random() < 0.85 else rng.uniform(-52, -6)
    sound = sound / (np.sqrt(np.mean(sound**2)) + 1e-9) * np.float32(10 ** (level / 20))
    if rng.random() < 0.06:
        sound = np.clip(sound * rng.uniform(2, 8), -rng.uniform(0.3, 1), rng.uniform(0.3, 1))
    if rng.random() < 0.06:
        sound = sound + rng.uniform(-0.1, 0.1)
    hiss = 10 ** (rng.uniform(-92, -66) / 20)
    return to_int16(sound + hiss * rng.standard_normal(len(sound)))


def _microphone(rng: np.random.Generator, sound: Sound) -> Sound:
    """A random frequency response; sometimes no treble or no bass at all."""
    if rng.random() < 0.25:
        return sound
    spectrum = np.fft.rfft(sound)
    frequency = np.fft.rfftfreq(len(sound), 1 / SAMPLE_RATE)
    points = np.geomspace(60, 8000, 9)
    tilt = rng.uniform(-6, 6) * np.linspace(-0.5, 0.5, 9)
    gains = tilt + rng.normal(0, 2.5, 9)
    response = 10 ** (np.interp(np.log(frequency + 1), np.log(points), gains) / 20)
    if rng.random() < 0.25:
        response *= 1 / (1 + (frequency / rng.uniform(2800, 7000)) ** 8)
    if rng.random() < 0.4:
        response *= 1 / (1 + (rng.uniform(60, 320) / (frequency + 1)) ** 4)
    return np.asarray(np.fft.irfft(spectrum * response, len(sound)), np.float32)


def _codec(rng: np.random.Generator, sound: Sound) -> Sound:
    """Telephone companding, an 8 kHz link, automatic gain, or a harsh noise suppressor."""
    peak = np.abs(sound).max() + 1e-9
    kind = rng.integers(4)
    if kind == 0:
        steps = 2.0 ** rng.integers(4, 8)
        small = np.sign(sound) * np.log1p(255 * np.abs(sound) / peak) / np.log(256)
        small = np.round(small * steps) / steps
        sound = np.sign(small) * (256 ** np.abs(small) - 1) / 255 * peak
    elif kind == 1:
        half = resample_poly(sound, 1, 2)
        sound = resample_poly(half, 2, 1)[: len(sound)]
    elif kind == 2:
        window = np.hanning(2400)
        envelope = np.sqrt(np.convolve(sound**2, window / window.sum(), "same")) + 0.02 * peak
        sound = sound / envelope ** rng.uniform(0.3, 0.8)
    else:
        sound = _suppress(sound, float(rng.uniform(0.5, 2)))
    return np.asarray(sound, np.float32)


def _suppress(sound: Sound, strength: float) -> Sound:
    frame, hop = 512, 256
    padded = np.pad(sound, (frame, frame))
    count = (len(padded) - frame) // hop + 1
    window = np.sqrt(np.hanning(frame + 1)[:-1])
    index = np.arange(frame)[None] + hop * np.arange(count)[:, None]
    spectrum = np.fft.rfft(padded[index] * window, axis=1)
    power = np.abs(spectrum)
    floor = np.quantile(power, 0.2, axis=0)
    gain = np.clip(1 - strength * floor / (power + 1e-9), 0.05, 1)
    pieces = np.fft.irfft(spectrum * gain, frame, axis=1) * window
    out = np.zeros(len(padded))
    np.add.at(out, index, pieces)
    return np.asarray(out[frame : frame + len(sound)], np.float32)


def to_int16(sound: NDArray[np.floating]) -> Samples:
    return np.asarray(np.clip(np.round(sound * 32767), -32768, 32767), np.int16)
