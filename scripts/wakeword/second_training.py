# ruff: noqa: ANN401 - arrays and parameter trees of JAX have no useful types
"""Training of the second stage: networks on the output of Whisper's encoder."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from firmware_app.engines.phrase_network import BOUND, FRAMES, KERNEL, MARGIN
from wakeword.descent import Parameters, adam, entropy, he, rate, squares, zeros_like
from wakeword.looks import is_near

Floats = NDArray[np.float32]
RECIPE = 2  # raise it when what follows changes, so that kept networks are trained anew
CHANNELS = 64
HIDDEN = 64
BATCH = 128
POSITIVE, NEAR = 51, 45  # of a batch
HARD = 0.02  # scores of the head from which a window counts three times as much
DROPPED = {"input": 0.15, "reduced": 0.15, "joined": 0.3, "hidden": 0.3}


@dataclass(frozen=True)
class Looks:
    """Windows: encoder frames (n, FRAMES, width), and the index of each kind.

    other: those of other sound, the harder ones more than once.
    """

    frames: NDArray[np.float16]
    positive: NDArray[np.int64]
    near: NDArray[np.int64]
    other: NDArray[np.int64]


def looks(paths: Sequence[Path]) -> Looks:
    """All files' windows in one."""
    frames, said, scores, near = [], [], [], []
    for path in paths:
        with np.load(path) as file:
            frames.append(file["frames"])
            said.append(file["said"])
            scores.append(file["scores"])
        near.append(np.full(len(said[-1]), is_near(path)))
    phrase, like_it = np.concatenate(said), np.concatenate(near)
    other = np.flatnonzero(~phrase & ~like_it)
    times = np.where(np.concatenate(scores)[other] > HARD, 3, 1)
    return Looks(
        np.concatenate(frames),
        np.flatnonzero(phrase),
        np.flatnonzero(~phrase & like_it),
        np.repeat(other, times),
    )


def initial(key: Any, mean: Floats, deviation: Floats) -> Parameters:
    keys = jax.random.split(key, 5)

    length = FRAMES - 2 * MARGIN
    for _ in range(2):
        length = (length - KERNEL + 2) // 2
    return {
        "mean": jnp.asarray(mean),
        "scale": jnp.asarray(1 / deviation),
        "reduce": he(keys[0], len(mean), CHANNELS),
        "reduce_bias": jnp.zeros(CHANNELS),
        "first": he(keys[1], KERNEL * CHANNELS, CHANNELS),
        "first_bias": jnp.zeros(CHANNELS),
        "second": he(keys[2], KERNEL * CHANNELS, CHANNELS),
        "second_bias": jnp.zeros(CHANNELS),
        "hidden": he(keys[3], length * CHANNELS, HIDDEN),
        "hidden_bias": jnp.zeros(HIDDEN),
        "out": he(keys[4], HIDDEN, 1) * 0.1,
        "out_bias": jnp.zeros(1),
    }


def logits(p: Parameters, x: Any, key: Any = None) -> Any:
    """x: (n, FRAMES - 2 * MARGIN, width). With a key, dropout is on."""
    keys = jax.random.split(key, len(DROPPED)) if key is not None else [None] * len(DROPPED)

    def dropped(x: Any, name: str, k: Any, *shape: int) -> Any:
        if k is None:
            return x
        kept = 1 - DROPPED[name]
        return x * jax.random.bernoulli(k, kept, shape or x.shape) / kept

    x = jnp.clip((x.astype(jnp.float32) - p["mean"]) * p["scale"], -BOUND, BOUND)
    x = dropped(x, "input", keys[0], x.shape[0], 1, x.shape[2])
    x = dropped(jax.nn.relu(x @ p["reduce"] + p["reduce_bias"]), "reduced", keys[1])
    for name in ("first", "second"):
        last = x.shape[1] - KERNEL + 1
        x = jnp.concatenate([x[:, i : last + i : 2] for i in range(KERNEL)], -1)
        x = jax.nn.relu(x @ p[name] + p[f"{name}_bias"])
    x = dropped(x.reshape(x.shape[0], -1), "joined", keys[2])
    x = dropped(jax.nn.relu(x @ p["hidden"] + p["hidden_bias"]), "hidden", keys[3])
    return (x @ p["out"] + p["out_bias"])[:, 0]


def loss(p: Parameters, x: Any, y: Any, key: Any, number: Any) -> Any:
    z = logits(p, x, jax.random.fold_in(key, number))
    return jnp.mean(entropy(z, y, 0.01)) + 1e-4 * squares(p)


step = adam(loss)


def train_member(
    windows: Looks, steps: int, seed: int, member: int, tell: Callable[[str], None]
) -> Parameters:
    """Train one network, with its own beginning and its own batches."""
    sample = windows.frames[np.random.default_rng(seed).integers(0, len(windows.frames), 3000)]
    mean, deviation = _moments(sample.astype(np.float32))
    rng = np.random.default_rng((seed, member))
    key, start = jax.random.split(jax.random.PRNGKey(seed * 1000 + member))
    p = initial(start, mean, deviation)
    m, v = zeros_like(p), zeros_like(p)
    began = time.monotonic()
    for done in range(1, steps + 1):
        batch = _batch(rng, windows)
        p, m, v = step(p, m, v, done, rate(1.5e-3, done, steps), *batch, key, done)
        if done % 300 == 0:
            left = (time.monotonic() - began) / done * (steps - done) / 60
            tell(f"second stage {member + 1}: {done} of {steps} steps, {left:.1f} min left")
    return {k: np.asarray(a) for k, a in p.items()}


def _moments(sample: Floats) -> tuple[Floats, Floats]:
    return sample.mean((0, 1)), sample.std((0, 1)) + np.float32(1e-3)


def _batch(rng: np.random.Generator, windows: Looks) -> tuple[NDArray[np.float16], Floats]:
    """Windows, each cut from its frames at a place of its own."""
    counts = (POSITIVE, NEAR, BATCH - POSITIVE - NEAR)
    kinds = (windows.positive, windows.near, windows.other)
    index = np.concatenate([rng.choice(k, n) for k, n in zip(kinds, counts, strict=True) if len(k)])
    length = FRAMES - 2 * MARGIN
    shifts = rng.integers(0, 2 * MARGIN + 1, len(index))
    x = np.stack([windows.frames[i, s : s + length] for i, s in zip(index, shifts, strict=True)])
    return x, (np.arange(len(index)) < POSITIVE).astype(np.float32)


def export(members: Sequence[Parameters], path: Path) -> None:
    """Write what engines.phrase_network.PhraseNetwork reads: the networks side by side."""
    shared: dict[str, Any] = {k: members[0][k].astype(np.float32) for k in ("mean", "scale")}
    own: dict[str, Any] = {
        k: np.stack([p[k] if p[k].ndim > 1 else p[k][None] for p in members]).astype(np.float16)
        for k in members[0]
        if k not in shared
    }
    np.savez(path, **shared, **own)
