"""Sounds for tests, and how to judge what became of them."""

import numpy as np
from numpy.typing import NDArray

from firmware_app.frames import SAMPLE_RATE, Samples, dbfs


def tone(hertz: float, seconds: float, *, rate: int = SAMPLE_RATE, peak: float = 0.5) -> Samples:
    t = np.arange(round(seconds * rate)) / rate
    return np.rint(np.sin(2 * np.pi * hertz * t) * peak * 32767).astype(np.int16)


def level(samples: Samples) -> float:
    return dbfs(samples)


def quality_db(heard: Samples, hertz: float, *, edge: int = 800) -> float:
    """How far what is not the tone lies below it, in dB; the edges are left out."""
    y = heard[edge:-edge].astype(np.float64)
    t = np.arange(len(y)) / SAMPLE_RATE
    parts = np.stack((np.cos(2 * np.pi * hertz * t), np.sin(2 * np.pi * hertz * t)), axis=1)
    fitted = parts @ np.linalg.lstsq(parts, y, rcond=None)[0]
    return float(10 * np.log10(np.sum(fitted**2) / max(np.sum((y - fitted) ** 2), 1e-9)))


def click_db(samples: Samples) -> float:
    """The loudest 5 ms above 5 kHz, in dB of full scale: where a low tone jumps it clicks."""
    spectra = _spectra(samples)
    high = np.sqrt(np.sum(spectra[:, 25:] ** 2, axis=1))
    return float(20 * np.log10(max(float(high.max()), 1e-9)))


def _spectra(samples: Samples) -> NDArray[np.float64]:
    size = SAMPLE_RATE // 200  # 5 ms: a bin is 200 Hz
    padded = np.concatenate((np.zeros(size), samples / 32768, np.zeros(size)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, size)[:: size // 4]
    spectra: NDArray[np.float64] = np.abs(np.fft.rfft(windows * np.hanning(size), axis=1))
    return spectra / (size / 4)
