"""Images out of the files they come in: IDX, CSV, and strips of PNG."""

from __future__ import annotations

import io
import json
import math
import struct
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from levelled.errors import PoolError
from levelled_studies.datasets.archives import Members, gunzip
from levelled_studies.datasets.record import Parts

__all__ = ["cifar_strips", "idx", "idx_files", "pixel_tables", "pixels_of_png"]


def idx_files(members: Members) -> Parts:
    """The four files of MNIST and its successors, whatever folder they are in."""
    named = {name.rpartition("/")[2].removesuffix(".gz"): name for name in members}

    def read(file: str) -> NDArray[np.uint8]:
        name = named[file]
        content = members[name]
        return idx(gunzip(content) if name.endswith(".gz") else content)

    return {
        "X": read("train-images-idx3-ubyte"),
        "y": read("train-labels-idx1-ubyte").astype(np.int64),
        "X_test": read("t10k-images-idx3-ubyte"),
        "y_test": read("t10k-labels-idx1-ubyte").astype(np.int64),
    }


def idx(content: bytes) -> NDArray[np.uint8]:
    """An array of bytes from an IDX file: two zeros, type 8, the axes, their lengths, the rest.

    >>> idx(bytes([0, 0, 8, 1, 0, 0, 0, 2, 7, 9]))
    array([7, 9], dtype=uint8)
    """
    if len(content) < 4 or content[:3] != b"\0\0\x08":
        raise PoolError("An IDX file of bytes begins with 0, 0, 8; this one does not.")
    start = 4 + 4 * content[3]
    shape = [int.from_bytes(content[at : at + 4], "big") for at in range(4, start, 4)]
    if len(content) != start + math.prod(shape):
        raise PoolError(f"An IDX file of shape {shape} has {len(content) - start} values.")
    return np.frombuffer(content, dtype=np.uint8, offset=start).reshape(shape)


def pixel_tables(members: Members) -> Parts:
    """Two CSV files, test before train: a heading, then the label and each pixel of an image."""
    test, train = (_pixels(members[name]) for name in sorted(members))
    return {"X": train[0], "y": train[1], "X_test": test[0], "y_test": test[1]}


def _pixels(content: bytes) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    import pyarrow.csv as pacsv

    table = pacsv.read_csv(io.BytesIO(content))
    values: NDArray[Any] = np.column_stack([column.to_numpy() for column in table.columns])
    side = round(float(values.shape[1] - 1) ** 0.5)
    if values.dtype != np.int64 or 1 + side**2 != values.shape[1]:
        raise PoolError(f"A table of images has {values.shape[1]} columns of {values.dtype}.")
    if values.min() < 0 or values.max() > 255:
        raise PoolError(f"Pixels go from {values.min()} to {values.max()}: 0 to 255 are allowed.")
    return values[:, 1:].astype(np.uint8).reshape(-1, side, side), values[:, 0].copy()


def cifar_strips(members: Members) -> Parts:
    """CIFAR as PNG files in which every line is one image of 32 x 32 pixels, row by row."""
    strips = [name for name in sorted(members) if name.endswith(".png")]
    images = {name: pixels_of_png(members[name]).reshape(-1, 32, 32, 3) for name in strips}
    labels = {
        which: np.array(json.loads(members[f"package/{which}_lables.json"]), dtype=np.int64)
        for which in ("train", "test")  # the package writes them so
    }
    *train, test = (images[name] for name in strips)
    return {
        "X": np.concatenate(train),
        "y": labels["train"],
        "X_test": test,
        "y_test": labels["test"],
    }


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
    for line, coded in zip(lines, filtered, strict=True):
        line[:] = _line(int(coded[0]), coded[1:].reshape(width, _COLOURS), above)
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


def _line(kind: int, coded: NDArray[np.uint8], above: NDArray[np.uint8]) -> NDArray[np.uint8]:
    if kind == 0:
        return coded
    if kind == 1:  # the difference to the pixel before; sums of bytes wrap as they must
        return np.cumsum(coded, axis=0, dtype=np.uint8)
    if kind == 2:
        return coded + above
    if kind in (3, 4):
        return _undo_prediction(kind, coded, above)
    raise PoolError(f"A PNG file has a line with filter {kind}; there are 0 to 4.")


def _undo_prediction(
    kind: int, coded: NDArray[np.uint8], above: NDArray[np.uint8]
) -> NDArray[np.uint8]:
    """Undo the filters that predict a pixel from those before, above and before above."""
    line = np.zeros_like(coded)
    for colour in range(_COLOURS):
        a = c = 0
        for x, (value, b) in enumerate(
            zip(coded[:, colour].tolist(), above[:, colour].tolist(), strict=True)
        ):
            guess = (a + b) // 2 if kind == 3 else _paeth(a, b, c)
            a, c = (value + guess) % 256, b
            line[x, colour] = a
    return line


def _paeth(a: int, b: int, c: int) -> int:
    """Whichever of `a` before, `b` above and `c` before above is nearest to a + b - c."""
    p = a + b - c
    return min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
