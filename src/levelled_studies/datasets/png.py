"""Pixels of a PNG file of the plainest kind: eight bits, red, green and blue, not interlaced."""

from __future__ import annotations

import struct
import zlib

import numpy as np
from numpy.typing import NDArray

from levelled.errors import PoolError

__all__ = ["pixels_of_png"]

_COLOURS = 3
_MOST = 1 << 28
"""More pixels than this are a mistake or an attack."""


def pixels_of_png(content: bytes) -> NDArray[np.uint8]:
    """The pixels [height, width, 3] of a PNG file.

    Each line of the image begins with the number of the filter it was written with (PNG
    specification, section 9); undoing it needs the pixel before and the line above.
    """
    width, height, packed = _parts(content)
    stride = width * _COLOURS
    try:
        raw = zlib.decompressobj().decompress(packed, height * (1 + stride) + 1)
    except zlib.error as bad:
        raise PoolError(f"A PNG file cannot be read: {bad}.") from bad
    if len(raw) != height * (1 + stride):
        raise PoolError(f"A PNG file of {width} x {height} pixels has {len(raw):,} bytes of them.")
    filtered = np.frombuffer(raw, dtype=np.uint8).reshape(height, 1 + stride)
    lines = np.zeros((height, width, _COLOURS), dtype=np.uint8)
    above = np.zeros((width, _COLOURS), dtype=np.uint8)
    for line, kept in zip(lines, filtered, strict=True):
        line[:] = _line(int(kept[0]), kept[1:].reshape(width, _COLOURS), above)
        above = line
    return lines


def _parts(content: bytes) -> tuple[int, int, bytes]:
    """Width, height and the compressed lines, out of the chunks of the file."""
    if content[:8] != b"\x89PNG\r\n\x1a\n" or len(content) < 33:
        raise PoolError("A PNG file begins with its name; this one does not.")
    width, height, *kind = struct.unpack(">IIBBBBB", content[16:29])
    if kind != [8, 2, 0, 0, 0]:
        raise PoolError(f"Only PNG files of 8 bits in three colours are read, not kind {kind}.")
    if width * height > _MOST:
        raise PoolError(
            f"A PNG file of {width} x {height} pixels is larger than any data set here."
        )
    at, packed = 33, []
    while at + 8 <= len(content):
        size = int.from_bytes(content[at : at + 4], "big")
        if content[at + 4 : at + 8] == b"IDAT":
            packed.append(content[at + 8 : at + 8 + size])
        at += 12 + size
    return width, height, b"".join(packed)


def _line(kind: int, kept: NDArray[np.uint8], above: NDArray[np.uint8]) -> NDArray[np.uint8]:
    if kind == 0:
        return kept
    if kind == 1:  # the difference to the pixel before; sums of bytes wrap as they must
        return np.cumsum(kept, axis=0, dtype=np.uint8)
    if kind == 2:
        return kept + above
    if kind in (3, 4):
        return _predicted(kind, kept, above)
    raise PoolError(f"A PNG file has a line with filter {kind}; there are 0 to 4.")


def _predicted(kind: int, kept: NDArray[np.uint8], above: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Undo the filters that predict a pixel from those before, above and before above."""
    line = np.zeros_like(kept)
    for colour in range(_COLOURS):
        a = c = 0
        for x, (value, b) in enumerate(
            zip(kept[:, colour].tolist(), above[:, colour].tolist(), strict=True)
        ):
            guess = (a + b) // 2 if kind == 3 else _paeth(a, b, c)
            a, c = (value + guess) % 256, b
            line[x, colour] = a
    return line


def _paeth(a: int, b: int, c: int) -> int:
    """Whichever of `a` before, `b` above and `c` before above is nearest to a + b - c."""
    p = a + b - c
    return min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
