# ruff: noqa: ANN401 - arrays and parameter trees of JAX have no useful types
"""Training of the head with JAX, and its export by hand to ONNX.

The head is a few small networks whose opinions are averaged: each frame's embedding is
normalised and reduced, neighbouring frames are combined, and the last 1.5 s judged at once.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from firmware_app.engines.wake import CONTEXT, EMBEDDING
from wakeword.dataset import USED, Bank
from wakeword.descent import Parameters, adam, entropy, he, rate, squares, zeros_like

Floats = NDArray[np.float32]
RECIPE = 5  # raise it when what follows changes, so that kept networks are trained anew
BATCH = 256
NEGATIVE_WEIGHT = 3.0  # beside a window with the phrase: keeps scores low, thresholds near .5
REDUCED = 48
JOINED = 48
HIDDEN = 96
HARD = 2400, 600  # windows of other sound and of near phrases that are mined each epoch
KERNEL = 3


def initial(key: Any, mean: Floats, deviation: Floats) -> Parameters:
    keys = jax.random.split(key, 4)

    return {
        "mean": jnp.asarray(mean),
        "scale": jnp.asarray(1 / deviation),
        "reduce": he(keys[0], EMBEDDING, REDUCED),
        "reduce_bias": jnp.zeros(REDUCED),
        "join": he(keys[1], KERNEL * REDUCED, JOINED),
        "join_bias": jnp.zeros(JOINED),
        "hidden": he(keys[2], (USED - KERNEL + 1) * JOINED, HIDDEN),
        "hidden_bias": jnp.zeros(HIDDEN),
        "out": he(keys[3], HIDDEN, 1) * 0.1,
        "out_bias": jnp.zeros(1),
    }


def logits(p: Parameters, x: Any, key: Any = None) -> Any:
    """x: (n, CONTEXT, EMBEDDING). With a key, dropout is on."""
    x = jnp.clip((x[:, -USED:] - p["mean"]) * p["scale"], -5, 5)
    if key is not None:
        keys = jax.random.split(key, 4)

        x = x * jax.random.bernoulli(keys[1], 0.95, (x.shape[0], 1, x.shape[2])) / 0.95
    x = jax.nn.relu(x @ p["reduce"] + p["reduce_bias"])
    x = jnp.concatenate([x[:, i : USED - KERNEL + 1 + i] for i in range(KERNEL)], -1)
    x = jax.nn.relu(x @ p["join"] + p["join_bias"]).reshape(x.shape[0], -1)
    if key is not None:
        x = x * jax.random.bernoulli(keys[2], 0.85, x.shape) / 0.85
    x = jax.nn.relu(x @ p["hidden"] + p["hidden_bias"])
    if key is not None:
        x = x * jax.random.bernoulli(keys[3], 0.85, x.shape) / 0.85
    return (x @ p["out"] + p["out_bias"])[:, 0]


def loss(p: Parameters, x: Any, y: Any, weight: Any, key: Any, number: Any) -> Any:
    z = logits(p, x, jax.random.fold_in(key, number))
    return jnp.mean(weight * entropy(z, y, 0.005)) + 2e-5 * squares(p)


step = adam(loss)


def train_member(
    bank: Bank,
    steps: int,
    seed: int,
    member: int,
    tell: Callable[[str], None],
    *,
    epochs: int = 8,
    near_share: float = 0.1,
) -> Parameters:
    """Train one network, with its own beginning and its own hard negatives, mined each epoch."""
    sample = bank.windows(_some(np.random.default_rng(seed), bank.other, 20_000))
    mean, deviation = sample.mean((0, 1)), sample.std((0, 1)) + 1e-3
    rng = np.random.default_rng((seed, member))
    key = jax.random.PRNGKey(seed * 1000 + member)
    key, start = jax.random.split(key)
    p = initial(start, mean, deviation)
    m, v = zeros_like(p), zeros_like(p)
    hard = np.empty(0, np.int64)
    done, began = 0, time.monotonic()
    for epoch in range(epochs):
        for _ in range(steps // epochs):
            batch = _batch(rng, bank, hard, near_share)
            done += 1
            p, m, v = step(p, m, v, done, rate(1.2e-3, done, steps), *batch, key, done)
        hard = _hardest(rng, p, bank)
        left = (time.monotonic() - began) / (epoch + 1) * (epochs - epoch - 1) / 60
        tell(f"network {member + 1}: {done} of {steps} steps, {left:.1f} min left")
    return {k: np.asarray(a) for k, a in p.items()}


def _some(rng: np.random.Generator, index: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    return index[rng.integers(0, len(index), count)]


def _batch(
    rng: np.random.Generator, bank: Bank, hard: NDArray[np.int64], near_share: float
) -> tuple[Floats, Floats, Floats]:
    positive = BATCH // 4
    near = int(BATCH * near_share) if len(bank.near) else 0
    mined = BATCH // 4 if len(hard) else 0
    other = BATCH - positive - near - mined
    index = [_some(rng, bank.positive, positive), _some(rng, bank.other, other)]
    if near:
        index.append(_some(rng, bank.near, near))
    if mined:
        index.append(_some(rng, hard, mined))
    y = np.zeros(BATCH, np.float32)
    y[:positive] = 1
    weight = np.full(BATCH, NEGATIVE_WEIGHT, np.float32)
    weight[:positive] = 1
    return bank.windows(np.concatenate(index)), y, weight


_logits = jax.jit(logits)


def _hardest(rng: np.random.Generator, p: Parameters, bank: Bank) -> NDArray[np.int64]:
    """The negatives that this network takes for the phrase most readily."""
    other, near = HARD
    found = [_highest(p, bank, _some(rng, bank.other, 150_000), other)]
    if len(bank.near):
        found.append(_highest(p, bank, _some(rng, bank.near, 20_000), near))
    return np.concatenate(found)


def _highest(p: Parameters, bank: Bank, pool: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Those of the pool with the highest scores."""
    pool = np.unique(pool)
    scores = np.concatenate(
        [
            np.asarray(_logits(p, bank.windows(pool[i : i + 5000])))
            for i in range(0, len(pool), 5000)
        ]
    )
    return pool[np.argsort(scores)[-count:]]


def export(members: list[Parameters], path: Path) -> None:
    """Write the averaged members as one ONNX graph: [n, CONTEXT, EMBEDDING] to [n, 1].

    Its second output is what the members saw, for the owner's adaptation.
    """
    nodes: list[Any] = []
    constants: list[Any] = []

    def constant(name: str, value: Any) -> str:
        array = np.asarray(value)
        array = array.astype(np.float32) if array.dtype.kind == "f" else array
        constants.append(numpy_helper.from_array(array, name))
        return name

    def node(kind: str, inputs: list[str], output: str, **attributes: Any) -> str:
        nodes.append(helper.make_node(kind, inputs, [output], **attributes))
        return output

    low, high = constant("low", np.float32(-5)), constant("high", np.float32(5))
    flat = constant("flat", np.array([-1, (USED - KERNEL + 1) * JOINED], np.int64))
    ends = [
        constant(f"last_{k}", np.array([v], np.int64))
        for k, v in (("from", CONTEXT - USED), ("to", CONTEXT), ("axis", 1))
    ]
    last = node("Slice", ["embeddings", *ends], "last")
    outputs, hidden = [], []
    for n, p in enumerate(members):
        own = {k: constant(f"{k}{n}", v) for k, v in p.items()}
        x = node("Sub", [last, own["mean"]], f"centred{n}")
        x = node("Mul", [x, own["scale"]], f"scaled{n}")
        x = node("Clip", [x, low, high], f"clipped{n}")
        x = _dense(node, x, own, "reduce", n)
        pieces = []
        for i in range(KERNEL):
            begin = constant(f"begin{n}_{i}", np.array([i], np.int64))
            end = constant(f"end{n}_{i}", np.array([USED - KERNEL + 1 + i], np.int64))
            axis = constant(f"axis{n}_{i}", np.array([1], np.int64))
            pieces.append(node("Slice", [x, begin, end, axis], f"piece{n}_{i}"))
        x = node("Concat", pieces, f"pieces{n}", axis=2)
        x = _dense(node, x, own, "join", n)
        x = node("Reshape", [x, flat], f"flat{n}")
        x = _dense(node, x, own, "hidden", n)
        hidden.append(x)
        x = node("MatMul", [x, own["out"]], f"out_product{n}")
        outputs.append(node("Add", [x, own["out_bias"]], f"logit{n}"))
    mean = node("Mean", outputs, "logit")
    node("Sigmoid", [mean], "score")
    node("Concat", hidden, "hidden", axis=1)
    graph = helper.make_graph(
        nodes,
        "wake_word_head",
        [helper.make_tensor_value_info("embeddings", TensorProto.FLOAT, ["n", CONTEXT, EMBEDDING])],
        [
            helper.make_tensor_value_info("score", TensorProto.FLOAT, ["n", 1]),
            helper.make_tensor_value_info(
                "hidden", TensorProto.FLOAT, ["n", HIDDEN * len(members)]
            ),
        ],
        constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(model, str(path))


def _dense(node: Callable[..., str], x: str, own: dict[str, str], name: str, n: int) -> str:
    product = node("MatMul", [x, own[name]], f"{name}_product{n}")
    total = node("Add", [product, own[f"{name}_bias"]], f"{name}_sum{n}")
    return node("Relu", [total], f"{name}_relu{n}")
