"""A data set as plain arrays: how it is written to a file, and its checksum."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from levelled.errors import PoolError
from levelled_studies.datasets.record import DataSet

__all__ = ["Arrays", "checksum", "pack", "unpack"]

Arrays = dict[str, NDArray[Any]]

_PARTS = ("X", "y", "X_test", "y_test")


def pack(data: DataSet) -> Arrays:
    """The arrays of a data set, none of which needs pickle: texts become UTF-8 and their ends."""
    packed: Arrays = {}
    for part in _PARTS:
        array = getattr(data, part)
        if array is not None and array.dtype == object:
            texts = [text.encode() for text in array]
            packed[f"{part}.utf8"] = np.frombuffer(b"".join(texts), dtype=np.uint8)
            packed[f"{part}.ends"] = np.cumsum([len(text) for text in texts], dtype=np.int64)
        elif array is not None:
            packed[part] = array
    if data.features:
        packed["features"] = np.array(data.features)
    return packed


def unpack(name: str, classes: tuple[str, ...], packed: Arrays) -> DataSet:
    """The data set whose arrays these are.

    >>> data = DataSet("one", X=np.array(["naïve"], dtype=object), y=np.zeros(1, dtype=np.int64))
    >>> unpack("one", (), pack(data)).X
    array(['naïve'], dtype=object)
    """
    parts = {part: _part(packed, part) for part in _PARTS}
    X, y = parts["X"], parts["y"]
    if X is None or y is None:
        raise PoolError(f"The file of {name!r} lacks its inputs or its answers.")
    features = tuple(map(str, packed["features"])) if "features" in packed else ()
    return DataSet(name, X, y, parts["X_test"], parts["y_test"], classes, features)


def _part(packed: Arrays, part: str) -> NDArray[Any] | None:
    if f"{part}.utf8" not in packed:
        return packed.get(part)
    joined, ends = packed[f"{part}.utf8"].tobytes(), packed[f"{part}.ends"].tolist()
    texts = np.empty(len(ends), dtype=object)
    texts[:] = [joined[a:b].decode() for a, b in zip([0, *ends], ends, strict=False)]
    return texts


def checksum(packed: Arrays) -> str:
    """The sha256 over name, type, shape and bytes of each array, the same on every machine.

    >>> checksum({"y": np.array([1, 2])}) == checksum({"y": np.array([1, 2], dtype=">i8")})
    True
    """
    total = hashlib.sha256()
    for name in sorted(packed):
        array = packed[name]
        array = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        total.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        total.update(array.reshape(-1).view(np.uint8).data)
    return total.hexdigest()
