"""Several raw microphones: one clearer sound of whoever said the wake word, and where they are.

The wake phrase says what the talker sounds like at each microphone, the sound right before it what
the noise does; from both follow the weights that keep the talker and take the noise away (MVDR).
No geometry is needed for that; only the direction needs to know where the microphones are.

There is no echo cancellation of many channels: before the wake word Echo listens to one channel,
from which its own voice is taken, and after a wake-up that voice stops. Where the loudspeaker still
sounds, that one channel is what comes out.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from firmware_app.audio.dsp import FULL_SCALE, milliseconds
from firmware_app.frames import BLOCK, SAMPLE_RATE, Frame, Samples

WINDOW = 2 * BLOCK  # samples of a transform; half of it overlaps, so a block goes in and one out
BINS = WINDOW // 2 + 1
LATENCY = BLOCK  # samples by which the clearer sound is late
NOISE = milliseconds(900)  # before the wake phrase, that tell about the noise
SHORTEST = milliseconds(200)  # of noise and of speech, from which anything can be told
FINE_HOP = BLOCK // 2  # samples between the transforms of which covariances are made
LOADING = 1e-4  # share of a channel's noise that is added to it, so that there is some everywhere
TINY = 1e-12  # the same, in digital silence
LOUDER = 6.0  # times the noise: what is louder tells the talker's direction
LOWEST, HIGHEST = 300.0, 6000.0  # Hz, between which directions are looked for
SOUND = 343.0  # metres a second
STEP = 5  # degrees between the directions that are tried
LOUD_CELLS = 50  # cells of time and frequency without which no direction is told

Weights = NDArray[np.complex64]  # shape (BINS, channels)

_TAPER = np.sin(np.pi * (np.arange(WINDOW) + 0.5) / WINDOW).astype(np.float32)


@dataclass(frozen=True, slots=True)
class Array:
    """The raw microphones of a device.

    channels: which of the device's they are. heard: the place among them of the one that is
    listened to; None where another is, which the device itself has made clear. positions: metres
    to the right and to the front, one of each channel, empty where unknown.
    """

    channels: tuple[int, ...]
    heard: int | None
    positions: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Anchor:
    """The wake phrase and the sound before it, raw: int16, shapes (channels, samples)."""

    phrase: Samples
    before: Samples


def anchor(frames: Sequence[Frame], start: int, end: int) -> Anchor | None:
    """The sound around a wake phrase that was said from sample `start` to `end`.

    frames: with raw sound, oldest first. None where sound is missing or too short, where the
    loudspeaker sounded meanwhile, and where one microphone is all that the channels carry.
    """
    used = [frame for frame in frames if frame.end > start - NOISE and frame.index < end]
    if not used or any(frame.raw is None or frame.far is not None for frame in used):
        return None
    if used[-1].end - used[0].index != BLOCK * len(used):
        return None
    sound = np.concatenate([frame.raw for frame in used if frame.raw is not None], axis=1)
    if (sound == sound[0]).all():
        return None
    first = used[0].index
    phrase = sound[:, max(0, start - first) : end - first]
    before = sound[:, max(0, start - first - NOISE) : max(0, start - first)]
    if min(phrase.shape[1], before.shape[1]) < SHORTEST:
        return None
    return Anchor(phrase, before)


def weights(anchored: Anchor, heard: int) -> Weights:
    """What to multiply the channels' spectra with, so that the talker sounds as at `heard`.

    The talker is the strongest direction of the phrase once the noise is made white (Markovich
    et al., IEEE TASLP 17(6), 2009). In simulated rooms that gained 2 to 5 dB more than to
    subtract the noise's covariance from the phrase's.
    """
    noise = _covariance(_spectra(anchored.before))
    channels = noise.shape[-1]
    own = np.einsum("fcc->f", noise).real / channels
    noise += (LOADING * own + TINY)[:, None, None] * np.eye(channels)
    root = np.linalg.cholesky(noise)
    white = np.linalg.inv(root)
    white_adjoint = white.conj().transpose(0, 2, 1)
    both = white @ _covariance(_spectra(anchored.phrase)) @ white_adjoint
    talker = np.linalg.eigh(both)[1][:, :, -1:]
    at_heard = (root @ talker)[:, heard].conj()
    kept: Weights = ((white_adjoint @ talker)[:, :, 0] * at_heard).conj().astype(np.complex64)
    return kept


def direction(anchored: Anchor, positions: Sequence[tuple[float, float]]) -> float | None:
    """Where the wake phrase came from, degrees clockwise from the front; None where unclear.

    Phases are compared in those cells of time and frequency alone that are louder than the
    noise: others point at whatever makes it. Fewer than three microphones cannot tell.
    """
    if len(positions) < 3:
        return None
    frequencies = np.fft.rfftfreq(WINDOW, 1 / SAMPLE_RATE)
    band = (frequencies >= LOWEST) & (frequencies <= HIGHEST)
    phrase = _spectra(anchored.phrase)[:, :, band]
    noise = np.mean(np.abs(_spectra(anchored.before)[:, :, band]) ** 2, axis=(0, 1))
    loud = np.mean(np.abs(phrase) ** 2, axis=0) > LOUDER * noise
    if np.count_nonzero(loud) < LOUD_CELLS:
        return None
    tried = np.radians(np.arange(0, 360, STEP))
    towards = np.stack([np.sin(tried), np.cos(tried)])
    power = np.zeros(len(tried))
    for one, other in combinations(range(len(positions)), 2):
        cross = phrase[one] * phrase[other].conj()
        phases = np.where(loud, cross / np.maximum(np.abs(cross), 1e-9), 0).sum(axis=0)
        apart = np.subtract(positions[one], positions[other]) @ towards / SOUND
        expected = np.exp(-2j * np.pi * frequencies[band, None] * apart)
        power += (phases @ expected).real
    return _peak(power)


def _peak(power: NDArray[np.float64]) -> float:
    """Degrees of the highest of a circle of values, between the steps too."""
    at = int(power.argmax())
    left, here, right = power[at - 1], power[at], power[(at + 1) % len(power)]
    bend = left - 2 * here + right
    between = 0.5 * (left - right) / bend if bend < 0 else 0.0
    return (STEP * (at + between)) % 360.0


def _spectra(sound: Samples) -> NDArray[np.complex128]:
    """Shape (channels, transforms, BINS)."""
    windows = sliding_window_view(sound, WINDOW, axis=1)[:, ::FINE_HOP]
    spectra: NDArray[np.complex128] = np.fft.rfft(windows * (_TAPER / FULL_SCALE))
    return spectra


def _covariance(spectra: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """Shape (BINS, channels, channels)."""
    by_bin = spectra.transpose(2, 0, 1)
    covariance: NDArray[np.complex128] = by_bin @ by_bin.conj().transpose(0, 2, 1)
    covariance /= spectra.shape[1]
    return covariance


class Beam:
    """The clearer sound as it streams by: feed it frames in order; it is one frame late."""

    def __init__(self, weighted: Weights) -> None:
        self._weights = np.ascontiguousarray(weighted.T)
        self._last: Frame | None = None
        self._tail = np.zeros(BLOCK, np.float32)  # of the last transform, that overlaps the next

    def feed(self, frame: Frame) -> Frame | None:
        """The frame before this one, made clearer; None for the first, and after lost sound."""
        last, self._last = self._last, frame
        if last is None or last.end != frame.index:
            # What came before the first sound is taken to have been quiet.
            self._tail = self._transformed(_quiet(frame), frame)[BLOCK:]
            return None
        sound = self._transformed(last, frame)
        clear = self._tail + sound[:BLOCK]
        self._tail = sound[BLOCK:]
        whole = np.clip(np.rint(clear), -FULL_SCALE, FULL_SCALE - 1).astype(np.int16)
        return replace(last, samples=whole, raw=None)

    def end(self) -> Frame | None:
        """The last frame, made clearer, with silence after it."""
        last = self._last
        return last and self.feed(replace(_quiet(last), index=last.end))

    def _transformed(self, last: Frame, frame: Frame) -> NDArray[np.float32]:
        """Two blocks, shape (WINDOW,), tapered at both ends to be added to their neighbours."""
        if last.raw is None or frame.raw is None or last.far is not None or frame.far is not None:
            mono = np.concatenate([last.samples, frame.samples])
            untouched: NDArray[np.float32] = mono * (_TAPER * _TAPER)
            return untouched
        raw = np.concatenate([last.raw, frame.raw], axis=1)
        spectrum = (np.fft.rfft(raw * _TAPER) * self._weights).sum(axis=0)
        sound: NDArray[np.float32] = np.fft.irfft(spectrum).astype(np.float32) * _TAPER
        return sound


def _quiet(frame: Frame) -> Frame:
    raw = None if frame.raw is None else np.zeros_like(frame.raw)
    return replace(frame, samples=np.zeros_like(frame.samples), raw=raw)
