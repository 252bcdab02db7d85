# ruff: noqa: ANN401 - arrays and parameter trees of JAX have no useful types
"""How the networks of both stages begin, and how their losses are made less."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_default_prng_impl", "rbg")  # type: ignore[no-untyped-call]  # fast draws
Parameters = dict[str, Any]
FIXED = frozenset({"mean", "scale"})  # of the input: measured, not learnt


def he(key: Any, *shape: int) -> Any:
    """Weights to begin with (He and others, 2015)."""
    return jax.random.normal(key, shape) * np.sqrt(2 / np.prod(shape[:-1]))


def zeros_like(p: Parameters) -> Parameters:
    """Adam's moments to begin with."""
    return {k: jnp.zeros_like(a) for k, a in p.items()}


def entropy(z: Any, y: Any, smoothing: float) -> Any:
    """Cross entropy of log odds z, where even what is certain is in doubt by the smoothing."""
    smooth = y * (1 - 2 * smoothing) + smoothing
    return jnp.maximum(z, 0) - z * smooth + jnp.log1p(jnp.exp(-jnp.abs(z)))


def squares(p: Parameters) -> Any:
    """The sum of the squared weights, biases left out."""
    return sum(jnp.sum(a**2) for k, a in p.items() if k not in FIXED and not k.endswith("_bias"))


def rate(most: float, done: int, steps: int) -> Any:
    """The learning rate of a step: it falls along half a cosine."""
    return most * 0.5 * (1 + np.cos(np.pi * done / steps)) + 1e-5


def adam(loss: Callable[..., Any]) -> Callable[..., Any]:
    """A function that takes one step of Adam (Kingma and Ba, 2015) down the loss."""

    @jax.jit
    def step(p: Parameters, m: Parameters, v: Parameters, t: Any, rate: Any, *batch: Any) -> Any:
        gradient = jax.grad(loss)(p, *batch)
        m = {k: 0.9 * m[k] + 0.1 * gradient[k] for k in p}
        v = {k: 0.999 * v[k] + 0.001 * gradient[k] ** 2 for k in p}

        def moved(k: str) -> Any:
            if k in FIXED:
                return p[k]
            return p[k] - rate * (m[k] / (1 - 0.9**t)) / (jnp.sqrt(v[k] / (1 - 0.999**t)) + 1e-8)

        return {k: moved(k) for k in p}, m, v

    return step
