"""Cut an ONNX model in two at one tensor, so that the two halves can be run apart.

Works on the bytes of the file alone: the `onnx` package would take 100 MB of memory to do it.
Field numbers are those of onnx.proto (github.com/onnx/onnx).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_GRAPH = 7  # of ModelProto
_NODE, _INITIALIZER, _INPUT, _OUTPUT, _VALUE_INFO = 1, 5, 11, 12, 13  # of GraphProto
_NODE_INPUT, _NODE_OUTPUT, _NODE_ATTRIBUTE = 1, 2, 5  # of NodeProto
_ATTRIBUTE_GRAPH, _ATTRIBUTE_GRAPHS = 6, 11  # of AttributeProto
_TENSOR_NAME, _VALUE_NAME = 8, 1  # of TensorProto and ValueInfoProto
_FLOAT_TENSOR = bytes([0x12, 4, 0x0A, 2, 0x08, 1])  # ValueInfoProto.type: a tensor of float32

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5  # wire types


@dataclass(frozen=True, slots=True)
class Halves:
    """first ends in, and second begins with, the float32 tensor named cut."""

    cut: str
    first: bytes
    second: bytes


@dataclass(frozen=True, slots=True)
class _Node:
    inputs: frozenset[str]
    outputs: frozenset[str]
    raw: bytes


def split(model: bytes, weight: str) -> Halves | None:
    """Cut before the node that uses the given weight.

    None where that weight does not exist, or where a node holds a graph of its own.
    Raises ValueError when the bytes are no whole ONNX model.
    """
    header: list[bytes] = []
    graph: memoryview | None = None
    for number, whole, payload in _fields(memoryview(model)):
        if number == _GRAPH:
            graph = payload
        else:
            header.append(bytes(whole))
    if graph is None:
        raise ValueError("no graph in the model")

    nodes: list[_Node] = []
    weights: dict[str, memoryview] = {}
    inputs: dict[str, bytes] = {}
    outputs: dict[str, bytes] = {}
    rest: list[bytes] = []
    cut = ""
    for number, whole, payload in _fields(graph):
        if number == _NODE:
            if _holds_a_graph(payload):
                return None
            ordered = _strings(payload, _NODE_INPUT)
            if weight in ordered:
                cut = ordered[0]
            made = frozenset(_strings(payload, _NODE_OUTPUT))
            nodes.append(_Node(frozenset(ordered), made, bytes(whole)))
        elif number == _INITIALIZER:
            weights[_strings(payload, _TENSOR_NAME)[0]] = whole
        elif number == _INPUT:
            inputs[_strings(payload, _VALUE_NAME)[0]] = bytes(whole)
        elif number == _OUTPUT:
            outputs[_strings(payload, _VALUE_NAME)[0]] = bytes(whole)
        elif number != _VALUE_INFO:
            rest.append(bytes(whole))
    if not cut:
        return None

    def part(targets: Iterable[str], begin: str, ends: list[bytes]) -> bytes:
        kept, used = _ancestors(nodes, targets, begin)
        fields: list[bytes | memoryview] = [
            *(node.raw for node in kept),
            *(raw for name, raw in weights.items() if name in used),
            *(raw for name, raw in inputs.items() if name in used),
            *rest,
            *ends,
        ]
        begins = _begin(_GRAPH, sum(len(field) for field in fields))
        return b"".join([*header, begins, *fields])  # one copy of what may be 100 MB

    return Halves(
        cut,
        first=part([cut], "", [_field(_OUTPUT, _float_tensor(cut))]),
        second=part(outputs, cut, [_field(_INPUT, _float_tensor(cut)), *outputs.values()]),
    )


def _ancestors(
    nodes: list[_Node], targets: Iterable[str], begin: str
) -> tuple[list[_Node], set[str]]:
    """The nodes that lead to the targets, in order, and every name they use.

    Goes back no further than the tensor named begin.
    """
    wanted = set(targets)
    kept: list[_Node] = []
    for node in reversed(nodes):  # ONNX demands that nodes stand in order of use
        if node.outputs & wanted - {begin}:
            kept.append(node)
            wanted |= node.inputs
    return kept[::-1], wanted


def _holds_a_graph(node: memoryview) -> bool:
    return any(
        inner in (_ATTRIBUTE_GRAPH, _ATTRIBUTE_GRAPHS)
        for number, _, attribute in _fields(node)
        if number == _NODE_ATTRIBUTE
        for inner, _, _ in _fields(attribute)
    )


def _strings(message: memoryview, wanted: int) -> list[str]:
    return [str(value, "utf-8") for number, _, value in _fields(message) if number == wanted]


def _fields(message: memoryview) -> Iterator[tuple[int, memoryview, memoryview]]:
    """Number, whole bytes and payload of each field of a protobuf message."""
    at = 0
    while at < len(message):
        begin = at
        key, at = _varint(message, at)
        kind = key & 7
        payload = at
        if kind == _VARINT:
            _, at = _varint(message, at)
        elif kind == _BYTES:
            size, payload = _varint(message, at)
            at = payload + size
        elif kind in (_FIXED32, _FIXED64):
            at += 4 if kind == _FIXED32 else 8
        else:
            raise ValueError("not a protobuf message")
        if at > len(message):
            raise ValueError("the model ends in the middle")
        yield key >> 3, message[begin:at], message[payload:at]


def _varint(message: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(message) and shift < 64:
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise ValueError("the model ends in the middle")


def _field(number: int, payload: bytes) -> bytes:
    return _begin(number, len(payload)) + payload


def _begin(number: int, size: int) -> bytes:
    return _as_varint(number << 3 | _BYTES) + _as_varint(size)


def _as_varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _float_tensor(name: str) -> bytes:
    return _field(_VALUE_NAME, name.encode()) + _FLOAT_TENSOR
