"""Spoken lines of two adventure games that Debian packages as freeware: real people, acted.

Formats: ScummVM's readers (engines/queen/resource, engines/sky/disk) and the published
description of Rob Northen's packing, method 1.
"""

import io
import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import soundfile  # type: ignore[import-untyped]
import soxr  # type: ignore[import-untyped]
from numpy.typing import NDArray

from firmware_app.frames import SAMPLE_RATE

Sound = NDArray[np.float32]
RATE = 11_025  # Hz, of both games


def amazon_queen(folder: Path) -> Iterator[tuple[str, Sound]]:
    """Name and sound of each line of Flight of the Amazon Queen."""
    data = next(folder.rglob("queen.1c")).read_bytes()
    (count,) = struct.unpack(">H", data[13:15])
    for i in range(count):
        entry = data[15 + 21 * i : 36 + 21 * i]
        name = entry[:12].rstrip(b"\0").decode("latin-1")
        offset, size = struct.unpack(">II", entry[13:21])
        if name.endswith(".SB"):
            try:
                sound, rate = soundfile.read(io.BytesIO(data[offset : offset + size]))
            except soundfile.LibsndfileError:
                continue  # a handful are too short to be decoded
            yield name, np.asarray(soxr.resample(sound, rate, SAMPLE_RATE), np.float32)


def steel_sky(folder: Path, most: int) -> Iterator[tuple[str, Sound]]:
    """Name and sound of lines of Beneath a Steel Sky, spread over the game."""
    table = next(folder.rglob("sky.dnr")).read_bytes()
    data = next(folder.rglob("sky.dsk")).read_bytes()
    (count,) = struct.unpack("<I", table[:4])
    entries = [table[4 + 8 * i : 12 + 8 * i] for i in range(count)]
    lines = [e for e in entries if int.from_bytes(e[:2], "little") >= 50_000]
    for entry in lines[:: max(1, len(lines) // most)]:
        offset = int.from_bytes(entry[2:5], "little")
        offset = (offset & 0x7FFFFF) << 4 if offset >> 23 else offset
        size = int.from_bytes(entry[5:8], "little") & 0x3FFFFF
        packed = data[offset + 22 : offset + size]
        if packed[:4] != b"RNC\x01":
            continue
        try:
            sound = np.frombuffer(unpack(packed), np.uint8).astype(np.float32)
        except (ValueError, IndexError):
            continue
        if abs(float(sound.mean()) - 128) < 6:  # the rest is no speech
            name = str(int.from_bytes(entry[:2], "little"))
            yield (
                name,
                np.asarray(soxr.resample((sound - 128) / 128, RATE, SAMPLE_RATE), np.float32),
            )


class _Bits:
    """Bits from 16-bit little-endian words, lowest first; bytes may be taken between."""

    def __init__(self, data: bytes) -> None:
        self.data = data + bytes(8)
        self.at = 0
        self._bits = 0
        self._count = 0

    def take(self, count: int) -> int:
        while self._count < count:
            if self.at >= len(self.data):
                raise IndexError("the packed sound ends too early")
            self._bits |= int.from_bytes(self.data[self.at : self.at + 2], "little") << self._count
            self._count += 16
            self.at += 2
        value = self._bits & ((1 << count) - 1)
        self._bits >>= count
        self._count -= count
        return value

    def table(self) -> dict[tuple[int, int], int]:
        """A Huffman table: (length, code as it is read) to symbol."""
        lengths = [self.take(4) for _ in range(self.take(5))]
        found = {}
        code = 0
        for length in range(1, 16):
            for symbol, own in enumerate(lengths):
                if own == length:
                    found[(length, int(format(code, f"0{length}b")[::-1], 2))] = symbol
                    code += 1
            code <<= 1
        return found

    def value(self, table: dict[tuple[int, int], int]) -> int:
        code = 0
        for length in range(1, 16):
            code |= self.take(1) << (length - 1)
            symbol = table.get((length, code))
            if symbol is not None:
                return symbol if symbol < 2 else self.take(symbol - 1) | 1 << (symbol - 1)
        raise ValueError("damaged")


def unpack(data: bytes) -> bytes:
    """Undo Rob Northen's packing, method 1. Raises ValueError or IndexError for damaged data."""
    (size,) = struct.unpack(">I", data[4:8])
    bits = _Bits(data[18:])
    bits.take(2)
    out = bytearray()
    while len(out) < size:
        literals, distances, lengths = bits.table(), bits.table(), bits.table()
        for left in range(bits.take(16), 0, -1):
            count = bits.value(literals)
            out += bits.data[bits.at : bits.at + count]
            bits.at += count
            if left > 1:
                distance, length = bits.value(distances) + 1, bits.value(lengths) + 2
                start = len(out) - distance
                for i in range(length):
                    out.append(out[start + i])
    return bytes(out)
