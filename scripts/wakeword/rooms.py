"""Rooms and noises, made by rule: nothing here is a recording, so nothing needs a licence."""

import numpy as np
from numpy.typing import NDArray
from scipy.signal import butter, fftconvolve, lfilter  # type: ignore[import-untyped]

from firmware_app.frames import SAMPLE_RATE

Sound = NDArray[np.float32]
SPEED_OF_SOUND = 343.0  # m/s
EARLY = 0.06  # seconds of single reflections; the tail after it is shaped noise


def room(rng: np.random.Generator) -> Sound:
    """The response of a box-shaped room, from a talker to a microphone, direct sound first.

    Early reflections by the image method (Allen and Berkley, 1979), then a tail of noise that
    decays with the room's reverberation time, faster at high frequencies.
    """
    size = rng.uniform((2.2, 2.2, 2.2), (8.0, 6.5, 3.6))
    microphone = rng.uniform(0.15, 0.85, 3) * size
    microphone[2] = rng.uniform(0.4, 1.4)
    talker = rng.uniform(0.1, 0.9, 3) * size
    talker[2] = rng.uniform(0.9, 1.8)
    t60 = float(np.exp(rng.uniform(np.log(0.12), np.log(0.95))))
    absorption = np.clip(0.161 * size.prod() / (_surface(size) * t60), 0.02, 0.9)
    reflection = np.sqrt(1 - absorption)
    early = _images(size, talker, microphone, float(reflection))
    length = int(SAMPLE_RATE * min(t60 * 1.1, 0.9)) + len(early)
    tail = rng.standard_normal(length)
    decay = np.exp(-6.9 * np.arange(length) / (t60 * SAMPLE_RATE))
    dull = lfilter([0.35], [1, -0.65], tail)
    fast = np.exp(-6.9 * np.arange(length) / (0.6 * t60 * SAMPLE_RATE))
    tail = dull * decay + (tail - dull) * fast * 0.7
    start = int(EARLY * SAMPLE_RATE)
    near_end = early[start // 2 : start]
    level = np.sqrt(np.mean(near_end**2)) + 1e-9
    tail *= level / (np.sqrt(np.mean(tail[start // 2 : start] ** 2)) + 1e-9)
    tail[:start] *= np.linspace(0, 1, start) ** 2
    response = tail
    response[: len(early)] += early
    direct = int(np.argmax(np.abs(response)))
    response = response[max(0, direct - 8) :]
    return np.asarray(response / np.abs(response).max(), np.float32)


def living_room(
    rng: np.random.Generator,
    t60: tuple[float, float] = (0.3, 0.6),
    distance: tuple[float, float] = (2.0, 4.0),
) -> Sound:
    """The response of a furnished room, talker to microphone, by the image method throughout.

    t60: its measured reverberation time lies in these seconds; distance: metres. Every image is
    kept for as long as the room sounds, its distance a little uncertain, as in no real box (De
    Sena and others, 2015).
    """
    while True:
        response = _all_images(rng, rng.uniform(0.8 * t60[0], t60[1]), distance)
        if t60[0] <= reverberation_time(response) <= t60[1]:
            return response


def _all_images(rng: np.random.Generator, wanted: float, distance: tuple[float, float]) -> Sound:
    """One room whose walls absorb what Eyring's formula asks for that reverberation time."""
    size = rng.uniform((3.5, 3.0, 2.4), (7.0, 5.5, 2.9))
    while True:
        microphone = rng.uniform((0.3, 0.3, 0.7), (*(size[:2] - 0.3), 1.2))
        talker = rng.uniform((0.4, 0.4, 1.1), (*(size[:2] - 0.4), 1.7))
        if distance[0] <= np.linalg.norm(talker - microphone) <= distance[1]:
            break
    absorption = 1 - np.exp(-0.161 * size.prod() / (_surface(size) * wanted))
    reach = SPEED_OF_SOUND * wanted
    squares, bounces = [], []
    for length, at, source in zip(size, microphone, talker, strict=True):
        order = np.arange(-int(reach / length) - 1, int(reach / length) + 2)
        squares.append(
            (np.where(order % 2 == 0, source, length - source) + order * length - at) ** 2
        )
        bounces.append(np.abs(order))
    far = np.sqrt(squares[0][:, None, None] + squares[1][:, None] + squares[2])
    count = bounces[0][:, None, None] + bounces[1][:, None] + bounces[2]
    kept = far < reach
    far, count = far[kept], count[kept]
    direct = far.min()
    gain = (1 - absorption) ** (count / 2) / far
    far = far + np.where(count > 0, rng.uniform(-0.08, 0.08, len(far)), 0)
    delay = np.maximum(far - direct, 0) / SPEED_OF_SOUND * SAMPLE_RATE
    whole = delay.astype(int)
    part = delay - whole
    out = np.bincount(whole, gain * (1 - part)) + np.bincount(whole + 1, gain * part)[:-1]
    out = lfilter(*butter(2, 60, "high", fs=SAMPLE_RATE), out)  # all images are positive pulses
    return np.asarray(out / np.abs(out).max(), np.float32)


def reverberation_time(response: Sound) -> float:
    """RT60 in seconds by Schroeder's integration, from the fall between 5 and 25 dB."""
    energy = np.cumsum(np.square(response[::-1], dtype=np.float64))[::-1]
    level = 10 * np.log10(energy / energy[0] + 1e-12)
    first, last = int(np.argmax(level < -5)), int(np.argmax(level < -25))
    return (last - first) / SAMPLE_RATE * 3


def _surface(size: NDArray[np.float64]) -> float:
    x, y, z = size
    return float(2 * (x * y + y * z + x * z))


def _images(
    size: NDArray[np.float64],
    talker: NDArray[np.float64],
    microphone: NDArray[np.float64],
    reflection: float,
) -> NDArray[np.float64]:
    order = np.arange(-6, 7)
    grid = np.stack(np.meshgrid(order, order, order, indexing="ij"), -1).reshape(-1, 3)
    cells = np.where(grid % 2 == 0, talker, size - talker) + grid * size
    distance = np.linalg.norm(cells - microphone, axis=1)
    gain = reflection ** np.abs(grid).sum(axis=1) / np.maximum(distance, 0.2)
    delay = distance / SPEED_OF_SOUND * SAMPLE_RATE
    delay -= delay.min()
    out = np.zeros(int(EARLY * SAMPLE_RATE) + 2)
    kept = delay < EARLY * SAMPLE_RATE
    whole = delay[kept].astype(int)
    part = delay[kept] - whole
    np.add.at(out, whole, gain[kept] * (1 - part))
    np.add.at(out, whole + 1, gain[kept] * part)
    return out


def reverberate(sound: Sound, response: Sound) -> Sound:
    """The sound in a room, as loud as it was."""
    wet = fftconvolve(sound, response)[: len(sound)]
    before, after = np.sqrt(np.mean(sound**2)), np.sqrt(np.mean(wet**2)) + 1e-9
    return np.asarray(wet * (before / after), np.float32)


def coloured(rng: np.random.Generator, length: int) -> Sound:
    """Noise with a random spectral tilt and bumps: fans, rain, traffic, hiss."""
    spectrum = np.fft.rfft(rng.standard_normal(length))
    frequency = np.linspace(1e-3, 1, len(spectrum))
    tilt = frequency ** rng.uniform(-1.2, 0.1)
    points = np.linspace(0, 1, 10)
    bumps = 10 ** (np.interp(frequency, points, rng.uniform(-8, 8, 10)) / 20)
    return _unit(np.fft.irfft(spectrum * tilt * bumps, length))


def hum(rng: np.random.Generator, length: int) -> Sound:
    """A motor or mains hum with harmonics, over a little noise."""
    time = np.arange(length) / SAMPLE_RATE
    base = rng.choice((50, 60, rng.uniform(70, 240)))
    harmonics = sum(
        rng.uniform(0, 1) / n * np.sin(2 * np.pi * base * n * time + rng.uniform(0, 6.28))
        for n in range(1, 14)
    )
    return _unit(_unit(np.asarray(harmonics)) + rng.uniform(0.1, 0.8) * coloured(rng, length))


def clatter(rng: np.random.Generator, length: int) -> Sound:
    """Dishes, keys and doors: short ringing blows."""
    out = 0.02 * coloured(rng, length)
    for _ in range(max(1, int(length / SAMPLE_RATE * rng.uniform(0.7, 5)))):
        ring = int(SAMPLE_RATE * rng.uniform(0.02, 0.3))
        time = np.arange(ring) / SAMPLE_RATE
        blow = rng.standard_normal(ring) * np.exp(-time * rng.uniform(30, 200))
        for _ in range(rng.integers(0, 5)):
            tone = np.sin(2 * np.pi * rng.uniform(300, 6000) * time)
            blow += rng.uniform(0, 2) * tone * np.exp(-time * rng.uniform(10, 80))
        at = int(rng.integers(0, max(1, length - ring)))
        out[at : at + ring] += (blow * rng.uniform(0.1, 1))[: length - at]
    return _unit(out)


def music(rng: np.random.Generator, length: int) -> Sound:
    """A made-up tune: chords, a bass, a melody and a drum, in a random scale and tempo."""
    beat = int(SAMPLE_RATE * rng.uniform(0.22, 0.6))
    root = rng.uniform(110, 260)
    scale = np.array([0, 2, 3, 5, 7, 8, 10] if rng.random() < 0.5 else [0, 2, 4, 5, 7, 9, 11])
    out = np.zeros(length)
    partials = rng.uniform(0, 1, 8) / np.arange(1, 9) ** rng.uniform(0.5, 1.8)
    attack, fall = rng.uniform(0.003, 0.08), rng.uniform(1.5, 9)
    drum_gain = rng.choice((0.0, 0.4, 1.0))
    for start in range(0, length, beat):
        chord = int(rng.integers(0, 7))
        notes = [chord, chord + 2, chord + 4] if rng.random() < 0.4 else []
        notes += [int(rng.integers(0, 14))] if rng.random() < 0.7 else []
        size = min(beat * int(rng.integers(1, 4)), length - start)
        time = np.arange(size) / SAMPLE_RATE
        shape = np.minimum(time / attack, 1) * np.exp(-time * fall)
        for note in notes:
            pitch = root * 2 ** ((scale[note % 7] + 12 * (note // 7)) / 12)
            wobble = 1 + 0.004 * np.sin(2 * np.pi * rng.uniform(4, 7) * time)
            for n, weight in enumerate(partials, 1):
                if pitch * n < SAMPLE_RATE / 2:
                    out[start : start + size] += (
                        weight * shape * np.sin(2 * np.pi * pitch * n * time * wobble)
                    )
        blow = rng.standard_normal(size) * np.exp(-time * 40) * drum_gain * rng.uniform(0, 1.5)
        out[start : start + size] += blow
    return _unit(out)


def _unit(sound: NDArray[np.floating]) -> Sound:
    """At an RMS of one."""
    return np.asarray(sound / (np.sqrt(np.mean(np.square(sound))) + 1e-9), np.float32)


def babble(
    rng: np.random.Generator,
    length: int,
    speech: list[Sound],
    talkers: tuple[int, ...] = (1, 1, 2, 3, 6),
) -> Sound:
    """Several people talking at once; with one or two of them, a television."""
    out = np.zeros(length, np.float32)
    for _ in range(int(rng.choice(talkers))):
        out += _unit(run_of_speech(rng, length, speech)) * rng.uniform(0.4, 1)
    if rng.random() < 0.4:
        out += music(rng, length) * rng.uniform(0.2, 1)
    return _unit(out)


def run_of_speech(rng: np.random.Generator, length: int, speech: list[Sound]) -> Sound:
    """Speech without a gap, as long as asked."""
    pieces: list[Sound] = []
    total = 0
    while total < length:
        piece = speech[int(rng.integers(len(speech)))]
        offset = int(rng.integers(0, max(1, len(piece) // 2)))
        pieces.append(piece[offset:])
        total += len(pieces[-1])
    return np.concatenate(pieces)[:length]


def noise(rng: np.random.Generator, length: int, speech: list[Sound]) -> Sound:
    """One of all these, at an RMS of one."""
    kind = rng.random()
    if kind < 0.35:
        return coloured(rng, length)
    if kind < 0.45:
        return hum(rng, length)
    if kind < 0.58:
        return clatter(rng, length)
    if kind < 0.76:
        return music(rng, length)
    return babble(rng, length, speech)
