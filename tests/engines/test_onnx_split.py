"""Cutting a network in two where it must not be cut. The tests of the voice cut a real one."""

import pytest

from firmware_app.engines.onnx_split import LARGE, Halves, split


def field(number: int, payload: bytes) -> bytes:
    size = len(payload)
    return bytes([number << 3 | 2, size & 0x7F | 0x80, size >> 7]) + payload


def node(given: list[bytes], made: bytes, attribute: bytes = b"") -> bytes:
    inputs = b"".join(field(1, name) for name in given)
    return field(1, inputs + field(2, made) + (field(5, attribute) if attribute else b""))


def weight(name: bytes, numbers: bytes = b"") -> bytes:
    return field(5, field(8, name) + (field(9, numbers) if numbers else b""))


def model(*nodes: bytes, weights: bytes = b"".join(map(weight, (b"w1", b"w2", b"w3")))) -> bytes:
    ends = field(11, field(1, b"in")) + field(12, field(1, b"out"))
    return bytes([0x08, 8]) + field(7, b"".join(nodes) + weights + ends)


def cut(whole: bytes, at: str) -> Halves | None:
    return split(memoryview(whole), at, "voice.onnx")


CHAIN = (node([b"in", b"w1"], b"a"), node([b"a", b"w2"], b"b"), node([b"b", b"w3"], b"out"))


def test_each_half_keeps_its_own_nodes_and_weights() -> None:
    halves = cut(model(*CHAIN), "w2")
    assert halves is not None
    assert halves.cut == "a"
    assert CHAIN[0] in halves.first
    assert b"w2" not in halves.first
    assert CHAIN[1] in halves.second
    assert CHAIN[2] in halves.second
    assert b"w1" not in halves.second
    assert b"in" not in halves.second


def test_a_large_weight_stays_in_the_file_and_a_small_one_comes_along() -> None:
    large, small = bytes([7]) * LARGE, bytes([9]) * (LARGE - 1)
    whole = model(*CHAIN, weights=weight(b"w1") + weight(b"w2", large) + weight(b"w3", small))
    halves = cut(whole, "w2")
    assert halves is not None
    assert large not in halves.second
    assert small in halves.second
    place = {b"location": b"voice.onnx", b"offset": b"%d" % whole.index(large)}
    for key, value in {**place, b"length": b"%d" % LARGE}.items():
        entry = bytes([1 << 3 | 2, len(key)]) + key + bytes([2 << 3 | 2, len(value)]) + value
        assert entry in halves.second


def test_a_node_that_leads_nowhere_is_left_out() -> None:
    aside = node([b"a"], b"aside")
    halves = cut(model(CHAIN[0], aside, *CHAIN[1:]), "w2")
    assert halves is not None
    assert aside not in halves.first + halves.second


def test_without_the_weight_it_stays_whole() -> None:
    assert cut(model(*CHAIN), "w9") is None


def test_a_node_with_a_graph_inside_is_not_understood() -> None:
    loop = node([b"a", b"w2"], b"b", attribute=field(1, b"body") + field(6, b""))
    assert cut(model(CHAIN[0], loop, CHAIN[2]), "w2") is None


NAMELESS = model(*CHAIN, weights=field(5, b""))


@pytest.mark.parametrize("damaged", [b"", b"<html>", model(*CHAIN)[:-5], b"\xff" * 20, NAMELESS])
def test_damage_is_told(damaged: bytes) -> None:
    with pytest.raises(ValueError, match=r"model|protobuf"):
        cut(damaged, "w2")
