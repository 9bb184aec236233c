"""The folder in which data sets are kept once they have been fetched."""

from __future__ import annotations

import os
import sys
import zipfile
import zlib
from os import PathLike
from pathlib import Path

import numpy as np

from levelled._files import replace_file
from levelled.errors import PoolError
from levelled_studies.datasets.packing import Arrays

__all__ = ["data_folder", "kept_file", "read_kept", "write_kept"]


def data_folder(folder: str | PathLike[str] | None = None) -> Path:
    """The folder of data sets: as given, else $LEVELLED_DATA, else one in the user's cache."""
    given = folder or os.environ.get("LEVELLED_DATA")
    try:
        return Path(given).expanduser().absolute() if given else _of_user() / "levelled"
    except RuntimeError as wrong:  # ~nobody, or a user without a home
        raise PoolError(f"There is no folder {str(given or '~')!r}: {wrong}") from wrong


def _of_user() -> Path:
    """Where programs of this user keep what can be had again."""
    if sys.platform == "win32":
        home = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        home = os.environ.get("XDG_CACHE_HOME") or Path.home() / "Library" / "Caches"
    else:
        home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home)


def kept_file(folder: Path, name: str) -> Path:
    """The file of a data set."""
    return folder / f"{name}.npz"


def write_kept(path: Path, packed: Arrays) -> None:
    """Write the arrays to a file that replaces an older one at once."""

    def write(unfinished: Path) -> None:
        with unfinished.open("xb") as file:  # to a path NumPy would add .npz
            np.savez(file, **packed)  # type: ignore[arg-type]

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, write)
    except OSError as wrong:
        raise PoolError(f"{path} cannot be written: {wrong.strerror or wrong}.") from wrong


def read_kept(path: Path) -> Arrays:
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
