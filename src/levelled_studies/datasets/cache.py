"""The cache of data sets: the folder, the files, and the checksum of each data set."""

from __future__ import annotations

import hashlib
import os
import sys
import zipfile
import zlib
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from levelled._files import replace_file
from levelled.errors import PoolError
from levelled_studies.datasets.record import DataSet

__all__ = [
    "Arrays",
    "cache_file",
    "checksum",
    "data_folder",
    "pack",
    "read_cache",
    "unpack",
    "write_cache",
]

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


def data_folder(folder: str | PathLike[str] | None = None) -> Path:
    """The folder of data sets: `folder`, else $LEVELLED_DATA, else one in the user's cache."""
    path = folder or os.environ.get("LEVELLED_DATA")
    try:
        return Path(path).expanduser().absolute() if path else _of_user() / "levelled"
    except RuntimeError as wrong:  # ~nobody, or a user without a home
        raise PoolError(f"There is no folder {str(path or '~')!r}: {wrong}") from wrong


def _of_user() -> Path:
    """The folder in which programs of this user cache files."""
    if sys.platform == "win32":
        home = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        home = os.environ.get("XDG_CACHE_HOME") or Path.home() / "Library" / "Caches"
    else:
        home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home)


def cache_file(folder: Path, name: str) -> Path:
    """The file of a data set."""
    return folder / f"{name}.npz"


def write_cache(path: Path, packed: Arrays) -> None:
    """Write the arrays to a file that replaces an older one at once."""

    def write(unfinished: Path) -> None:
        with unfinished.open("xb") as file:  # to a path NumPy would add .npz
            np.savez(file, **packed)  # type: ignore[arg-type]

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, write)
    except OSError as wrong:
        raise PoolError(f"{path} cannot be written: {wrong.strerror or wrong}.") from wrong


def read_cache(path: Path) -> Arrays:
    """The arrays of a file, none of which may be a pickle."""
    try:
        with path.open("rb") as file:
            arrays = np.load(file, allow_pickle=False)
            if isinstance(arrays, np.ndarray):
                raise ValueError("it holds one array, not several under their names")
            with arrays:
                return {name: arrays[name] for name in arrays.files}
    except OSError as wrong:
        raise PoolError(f"{path} cannot be read: {wrong.strerror or wrong}.") from wrong
    except (ValueError, EOFError, zlib.error, zipfile.BadZipFile) as wrong:
        raise PoolError(
            f"{path} is damaged, or no file of a data set. Delete it and fetch it again."
        ) from wrong
