"""A learner in a folder: draws and labels as Parquet, settings as JSON, the model by joblib.

draws.parquet    as `Draws.to_parquet` writes them
labels.parquet   row, label; no label for an item that cannot be labelled
model.joblib     the model and the committee as they were given, in joblib's own format
settings.json    everything else, and the fingerprint of the pool; written last
"""

import hashlib
import json
import pickle
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from levelled.draws import Draws
from levelled.errors import InputError
from levelled.learning.settings import Settings
from levelled.learning.state import State, told
from levelled.models import Rows, n_rows, take

__all__ = ["fingerprint", "load", "save"]

_FORMAT = 1
_NAMED = ("score", "proposal")
_PLAIN = ("weights", "floor", "start", "seed")
_SAMPLED = 1000


def save(folder: str | Path, settings: Settings, X_pool: Rows, state: State) -> None:
    """Write all files; each replaces its older self at once, so none is ever half written."""
    place = Path(folder)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as wrong:
        raise InputError(f"{place} cannot be made a folder: {wrong}") from wrong
    committee = None if isinstance(settings.ensemble, int | None) else list(settings.ensemble)
    kept = {name: getattr(settings, name) for name in (*_NAMED, *_PLAIN)}
    about = {
        "format": _FORMAT,
        "pool": fingerprint(X_pool),
        "ensemble": settings.ensemble if committee is None else None,
        **{name: None if callable(value) else value for name, value in kept.items()},
    }
    _write(place / "model.joblib", lambda path: _dump([settings.model, committee], path))
    _write(place / "draws.parquet", state.draws.to_parquet)
    _write(place / "labels.parquet", lambda path: _write_labels(path, state))
    _write(place / "settings.json", lambda path: path.write_text(json.dumps(about, indent=1)))


def load(
    folder: str | Path, X_pool: Rows, given: Mapping[str, Any]
) -> tuple[dict[str, Any], State]:
    """The parameters of the learner that was saved there, and its state.

    `given` are parameters that could not be saved, such as a score that is a function; a model
    that is given is not read from the folder.
    """
    place = Path(folder)
    about = _settings(place)
    if about["pool"] != fingerprint(X_pool):
        raise InputError(
            f"X_pool ({n_rows(X_pool)} rows) is not the pool that the learner in {place} draws "
            f"from ({about['pool']['rows']} rows): its rows differ. Draws are rows of that pool."
        )
    params = {name: about[name] for name in (*_NAMED, *_PLAIN, "ensemble")}
    if given.get("model") is None:
        params["model"], committee = _undump(place / "model.joblib")
        params["ensemble"] = params["ensemble"] if committee is None else committee
    params |= {name: value for name, value in given.items() if value is not None}
    for name in _NAMED:
        if params[name] is None:
            raise InputError(
                f"The {name} of the learner in {place} was a function, which is not saved: give "
                f"it again, load(folder, X_pool, {name}=...)."
            )
    return params, _state(place)


def fingerprint(X_pool: Rows) -> dict[str, Any]:
    """The number of rows, and a hash of at most 1,000 of them, evenly spaced."""
    N = n_rows(X_pool)
    part = take(X_pool, np.unique(np.linspace(0, N - 1, _SAMPLED).astype(np.int64)))
    if hasattr(part, "tocsr"):
        part = part.toarray()
    values = part if isinstance(part, list) else np.asarray(part).tolist()
    return {"rows": N, "sha256": hashlib.sha256(repr(values).encode()).hexdigest()}


def _write(path: Path, write: Callable[[Path], object]) -> None:
    new = path.with_name(f".{path.name}.new")
    try:
        write(new)
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)


def _write_labels(path: Path, state: State) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({"row": list(state.answers), "label": list(state.answers.values())})
    pq.write_table(table, path)


def _dump(kept: object, path: Path) -> None:
    import joblib

    try:
        joblib.dump(kept, path)
    except (pickle.PicklingError, AttributeError, TypeError, ValueError) as wrong:
        raise InputError(f"The model cannot be saved by joblib: {wrong}") from wrong


def _undump(path: Path) -> Any:  # noqa: ANN401
    import joblib

    try:
        return joblib.load(path)
    except Exception as wrong:  # whatever the model's own code raises
        raise InputError(
            f"The model in {path} cannot be read back here ({type(wrong).__name__}: {wrong}). Give "
            f"it again: load(folder, X_pool, model=...)."
        ) from wrong


def _settings(place: Path) -> dict[str, Any]:
    try:
        about: dict[str, Any] = json.loads((place / "settings.json").read_text())
    except (OSError, ValueError) as wrong:
        raise InputError(f"There is no saved learner in {place}: {wrong}") from wrong
    if about.get("format") != _FORMAT:
        raise InputError(
            f"The learner in {place} is of format {about.get('format')!r}; this version of "
            f"Levelled reads format {_FORMAT}."
        )
    return about


def _state(place: Path) -> State:
    import pyarrow as pa
    import pyarrow.parquet as pq

    draws = Draws.from_parquet(place / "draws.parquet")
    try:
        table = pq.read_table(place / "labels.parquet")
    except (OSError, pa.ArrowInvalid) as wrong:
        raise InputError(f"The labels in {place} cannot be read: {wrong}") from wrong
    return told(State(draws), table["row"].to_numpy(), table["label"].to_pylist())
