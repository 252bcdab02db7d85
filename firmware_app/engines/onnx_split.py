"""Cut an ONNX model in two at one tensor, so that the two halves can be run apart.

What comes out are the graphs alone: large weights stay in the model's file, and ONNX Runtime maps
them from there. Works on the bytes of that file: the `onnx` package would read all of it, and take
100 MB of memory. Field numbers are those of onnx.proto (github.com/onnx/onnx).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

LARGE = 1024  # bytes from which on a weight is left in the model's file

_GRAPH = 7  # of ModelProto
_NODE, _INITIALIZER, _INPUT, _OUTPUT, _VALUE_INFO = 1, 5, 11, 12, 13  # of GraphProto
_NODE_INPUT, _NODE_OUTPUT, _NODE_ATTRIBUTE = 1, 2, 5  # of NodeProto
_ATTRIBUTE_GRAPH, _ATTRIBUTE_GRAPHS = 6, 11  # of AttributeProto
_TENSOR_NAME, _RAW_DATA, _EXTERNAL_DATA, _DATA_LOCATION = 8, 9, 13, 14  # of TensorProto
_EXTERNAL = bytes([_DATA_LOCATION << 3, 1])  # data_location: in another file
_KEY, _VALUE = 1, 2  # of StringStringEntryProto
_VALUE_NAME = 1  # of ValueInfoProto
_FLOAT_TENSOR = bytes([0x12, 4, 0x0A, 2, 0x08, 1])  # ValueInfoProto.type: a tensor of float32

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5  # wire types


@dataclass(frozen=True, slots=True)
class Halves:
    """first ends in, and second begins with, the float32 tensor named cut."""

    cut: str
    first: bytes
    second: bytes


class _Field(NamedTuple):
    """Of a protobuf message: where it, and what it holds, begin, and where both end."""

    number: int
    begin: int
    payload: int
    end: int


class _Node(NamedTuple):
    inputs: list[str]
    outputs: list[str]
    raw: bytes


def split(model: memoryview, weight: str, location: str) -> Halves | None:
    """Cut before the node that uses the given weight.

    location: name of the file that the model's bytes are those of, which the halves refer to.

    None where that weight does not exist, or where a node holds a graph of its own.
    Raises ValueError when the bytes are no whole ONNX model.
    """
    header: list[bytes] = []
    graph: _Field | None = None
    for field in _fields(model, 0, len(model)):
        if field.number == _GRAPH:
            graph = field
        else:
            header.append(_whole(model, field))
    if graph is None:
        raise ValueError("no graph in the model")

    nodes: list[_Node] = []
    weights: dict[str, bytes] = {}
    inputs: dict[str, bytes] = {}
    outputs: dict[str, bytes] = {}
    rest: list[bytes] = []
    cut = ""
    for field in _inside(model, graph):
        if field.number == _NODE:
            node = _node(model, field)
            if node is None:
                return None
            if weight in node.inputs:
                cut = node.inputs[0]
            nodes.append(node)
        elif field.number == _INITIALIZER:
            weights[_name(model, field, _TENSOR_NAME)] = _weight(model, field, location)
        elif field.number == _INPUT:
            inputs[_name(model, field, _VALUE_NAME)] = _whole(model, field)
        elif field.number == _OUTPUT:
            outputs[_name(model, field, _VALUE_NAME)] = _whole(model, field)
        elif field.number != _VALUE_INFO:
            rest.append(_whole(model, field))
    if not cut:
        return None

    def part(targets: Iterable[str], begin: str, ends: list[bytes]) -> bytes:
        kept, used = _ancestors(nodes, targets, begin)
        fields = [
            *(node.raw for node in kept),
            *(raw for name, raw in weights.items() if name in used),
            *(raw for name, raw in inputs.items() if name in used),
            *rest,
            *ends,
        ]
        return b"".join([*header, _field(_GRAPH, b"".join(fields))])

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
        if not wanted.isdisjoint(node.outputs):
            kept.append(node)
            wanted.update(node.inputs)
            wanted.discard(begin)
    return kept[::-1], wanted


def _weight(model: memoryview, tensor: _Field, location: str) -> bytes:
    """The tensor as it is; a large one without its numbers, and with the place where they are."""
    fields = list(_inside(model, tensor))
    data = next((field for field in fields if field.number == _RAW_DATA), None)
    if data is None or data.end - data.payload < LARGE:
        return _whole(model, tensor)
    place = {
        "location": location,
        "offset": str(data.payload),
        "length": str(data.end - data.payload),
    }
    parts = [_whole(model, field) for field in fields if field is not data]
    for key, value in place.items():
        entry = _field(_KEY, key.encode()) + _field(_VALUE, value.encode())
        parts.append(_field(_EXTERNAL_DATA, entry))
    return _field(_INITIALIZER, b"".join([*parts, _EXTERNAL]))


def _node(model: memoryview, message: _Field) -> _Node | None:
    """None where it holds a graph of its own."""
    inputs, outputs = [], []
    for number, _, payload, end in _inside(model, message):
        if number == _NODE_INPUT:
            inputs.append(str(model[payload:end], "utf-8"))
        elif number == _NODE_OUTPUT:
            outputs.append(str(model[payload:end], "utf-8"))
        elif number == _NODE_ATTRIBUTE:
            for inner in _fields(model, payload, end):
                if inner.number in (_ATTRIBUTE_GRAPH, _ATTRIBUTE_GRAPHS):
                    return None
    return _Node(inputs, outputs, _whole(model, message))


def _name(model: memoryview, message: _Field, number: int) -> str:
    """The string in that field. Raises ValueError where there is none."""
    for field in _inside(model, message):
        if field.number == number:
            return str(model[field.payload : field.end], "utf-8")
    raise ValueError("a part of the model has no name")


def _whole(model: memoryview, field: _Field) -> bytes:
    return bytes(model[field.begin : field.end])


def _inside(model: memoryview, message: _Field) -> Iterator[_Field]:
    return _fields(model, message.payload, message.end)


def _fields(model: memoryview, at: int, end: int) -> Iterator[_Field]:
    """The fields of a protobuf message, which stands from `at` to the end."""
    while at < end:
        begin = at
        key, at = _varint(model, at, end)
        kind = key & 7
        payload = at
        if kind == _BYTES:
            size, payload = _varint(model, at, end)
            at = payload + size
        elif kind == _VARINT:
            _, at = _varint(model, at, end)
        elif kind in (_FIXED32, _FIXED64):
            at += 4 if kind == _FIXED32 else 8
        else:
            raise ValueError("not a protobuf message")
        if at > end:
            raise ValueError("the model ends in the middle")
        yield _Field(key >> 3, begin, payload, at)


def _varint(model: memoryview, at: int, end: int) -> tuple[int, int]:
    if at < end and model[at] < 0x80:  # nearly all of them
        return model[at], at + 1
    value = shift = 0
    while at < end and shift < 64:
        byte = model[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise ValueError("the model ends in the middle")


def _field(number: int, payload: bytes) -> bytes:
    return _as_varint(number << 3 | _BYTES) + _as_varint(len(payload)) + payload


def _as_varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _float_tensor(name: str) -> bytes:
    return _field(_VALUE_NAME, name.encode()) + _FLOAT_TENSOR
