"""A learner in a folder: draws and labels as Parquet, settings as JSON, the model by joblib.

draws.parquet    as `Draws.to_parquet` writes them
labels.parquet   row, label; no label for an item that cannot be labelled
model.joblib     the model and the committee as they were given, in joblib's own format; not there
                 if joblib cannot write them
settings.json    everything else, and the fingerprint of the pool; written last
"""

import hashlib
import json
import os
import pickle
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from levelled.draws import Draws
from levelled.errors import InputError
from levelled.learning.settings import LearnerSettings
from levelled.learning.state import LearnerState, told
from levelled.models import Rows, error_line, n_rows, take

__all__ = ["fingerprint", "load", "save"]

_FORMAT = 2
_NAMED = ("score", "proposal")
_PLAIN = ("weights", "floor", "start", "seed")
_COMMITTEE = "committee"
"""What settings say of an ensemble that is a list of models."""
_SAMPLED = 1000


def save(
    folder: str | Path, settings: LearnerSettings, X_pool: Rows, state: LearnerState
) -> str | None:
    """Write all files; each replaces its older self at once, so none is ever half written.

    Returns what is to be said of a model that joblib cannot write, which is left out.
    """
    place = _place(folder)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as wrong:
        raise InputError(f"{place} cannot be made a folder: {wrong}") from wrong
    committee = None if isinstance(settings.ensemble, int | None) else list(settings.ensemble)
    kept = {name: getattr(settings, name) for name in (*_NAMED, *_PLAIN)}
    about = {
        "format": _FORMAT,
        "pool": fingerprint(X_pool),
        "ensemble": settings.ensemble if committee is None else _COMMITTEE,
        **{name: None if callable(value) else value for name, value in kept.items()},
    }
    note = _dump([settings.model, committee], place / "model.joblib")
    _write(place / "draws.parquet", state.draws.to_parquet)
    _write(place / "labels.parquet", lambda path: _write_labels(path, state))
    _write(place / "settings.json", lambda path: path.write_text(json.dumps(about, indent=1)))
    return note


def load(
    folder: str | Path, X_pool: Rows, given: Mapping[str, Any]
) -> tuple[dict[str, Any], LearnerState]:
    """The parameters of the learner that was saved there, and its state.

    `given` are parameters that could not be saved, such as a score that is a function; the model
    and its committee, if they are given, are not read from the folder.
    """
    place = _place(folder)
    about = _settings(place)
    N = n_rows(X_pool, "X_pool")
    if about["pool"]["rows"] != N or about["pool"] != fingerprint(X_pool):
        raise InputError(
            f"X_pool ({N} rows) is not the pool that the learner in {place} draws "
            f"from ({about['pool']['rows']} rows): its rows differ. Draws are rows of that pool."
        )
    params = {name: about[name] for name in (*_NAMED, *_PLAIN, "ensemble")}
    params |= {name: value for name, value in given.items() if value is not None}
    for name in _NAMED:
        if params[name] is None:
            raise InputError(
                f"The {name} of the learner in {place} was a function, which is not saved: give "
                f"it again, load(folder, X_pool, {name}=...)."
            )
    return params | _models(place, params), _state(place)


def _models(place: Path, params: Mapping[str, Any]) -> dict[str, Any]:
    """The model and the committee, as far as they are not given.

    Who gives a model may not trust the folder: then nothing is read of it that could run code.
    """
    open_ended = params["ensemble"] == _COMMITTEE
    if "model" not in params:
        model, committee = _undump(place / "model.joblib")
        return {"model": model, "ensemble": committee if open_ended else params["ensemble"]}
    if open_ended:
        raise InputError(
            f"The ensemble of the learner in {place} was a list of models, which is not read where "
            f"the model is given: give it too, load(folder, X_pool, model=..., ensemble=[...])."
        )
    return {}


def fingerprint(X_pool: Rows) -> dict[str, Any]:
    """The number of rows, and a hash of at most 1,000 of them, evenly spaced.

    Numbers count by where they are not 0, so that sparse rows have the hash of dense ones.
    """
    N = n_rows(X_pool, "X_pool")
    part = take(X_pool, np.unique(np.linspace(0, N - 1, _SAMPLED).astype(np.int64)))
    return {"rows": N, "sha256": hashlib.sha256(_content(part)).hexdigest()}


def _content(part: Rows) -> bytes:
    if hasattr(part, "tocsr"):
        part = part.tocsr().copy()
        part.sum_duplicates()
        part.eliminate_zeros()
        found = part.tocoo()
        return _numbers(part.shape, found.row, found.col, found.data)
    if isinstance(part, list):
        return repr(part).encode()
    array = np.asarray(part)
    if array.dtype.kind not in "biuf":
        return repr(array.tolist()).encode()
    rows = array.reshape(len(array), -1)
    row, column = np.nonzero(rows)
    return _numbers(array.shape, row, column, rows[row, column])


def _numbers(
    shape: tuple[int, ...], row: NDArray[Any], column: NDArray[Any], value: NDArray[Any]
) -> bytes:
    places = np.array([row, column], dtype=np.int64)
    return repr(shape).encode() + places.tobytes() + value.astype(np.float64).tobytes()


def _place(folder: str | Path) -> Path:
    if not isinstance(folder, str | os.PathLike):
        raise InputError(f"A folder is wanted, by its path; this is {folder!r}.")
    return Path(folder)


def _write(path: Path, write: Callable[[Path], object]) -> None:
    new = path.with_name(f".{path.name}.new")
    try:
        write(new)
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)


def _write_labels(path: Path, state: LearnerState) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({"row": list(state.answers), "label": list(state.answers.values())})
    pq.write_table(table, path)


def _dump(kept: object, path: Path) -> str | None:
    import joblib

    try:
        _write(path, lambda new: joblib.dump(kept, new))
    except (pickle.PicklingError, AttributeError, TypeError, ValueError) as wrong:
        path.unlink(missing_ok=True)  # it would be an older one
        return (
            f"joblib cannot write the model ({error_line(wrong)}), so it is not saved: give it "
            f"again, load(folder, X_pool, model=...)"
        )
    return None


def _undump(path: Path) -> Any:  # noqa: ANN401
    import joblib

    if not path.exists():
        raise InputError(
            f"The model of the learner in {path.parent} was not saved: give it again, "
            f"load(folder, X_pool, model=...)."
        )
    try:
        return joblib.load(path)
    except Exception as wrong:  # whatever the model's own code raises
        raise InputError(
            f"The model in {path} cannot be read back here ({type(wrong).__name__}: {wrong}). Give "
            f"it again: load(folder, X_pool, model=...)."
        ) from wrong


def _settings(place: Path) -> dict[str, Any]:
    try:
        about: Any = json.loads((place / "settings.json").read_text())
    except (OSError, ValueError) as wrong:
        raise InputError(f"There is no saved learner in {place}: {wrong}") from wrong
    found = about.get("format") if isinstance(about, dict) else None
    if found != _FORMAT:
        raise InputError(
            f"The learner in {place} is of format {found!r}; this version of Levelled reads "
            f"format {_FORMAT}."
        )
    lacking = [name for name in ("pool", "ensemble", *_NAMED, *_PLAIN) if name not in about]
    if lacking:
        raise InputError(f"The settings of the learner in {place} lack {', '.join(lacking)}.")
    return dict(about)


def _state(place: Path) -> LearnerState:
    import pyarrow as pa
    import pyarrow.parquet as pq

    draws = Draws.from_parquet(place / "draws.parquet")
    try:
        table = pq.read_table(place / "labels.parquet")
        rows, labels = table["row"].to_numpy(), table["label"].to_pylist()
    except (OSError, KeyError, pa.ArrowInvalid) as wrong:
        raise InputError(f"The labels in {place} cannot be read: {error_line(wrong)}") from wrong
    return told(LearnerState(draws), rows, labels)
