"""Learners that go on: saved in a folder and loaded again, or begun with the labels of a campaign.

draws.parquet    as `Draws.to_parquet` writes them
labels.parquet   row, label; no label for an item that cannot be labelled
hazards.parquet  a number for each row of the pool; not there if they are not known
model.joblib     the model and the committee as they were given, in joblib's own format; not there
                 if joblib cannot write them
settings.json    everything else, and the fingerprint of the pool; written last
"""

import hashlib
import json
import os
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import ArrayLike, NDArray

from levelled._files import replace_file
from levelled.campaigns.figures.settled import settled_draws
from levelled.draws import Draws
from levelled.errors import InputError
from levelled.learning.drawing import LearnerState, add_labels
from levelled.learning.settings import LearnerSettings
from levelled.models import Rows, error_line, n_rows, take

if TYPE_CHECKING:
    from levelled.campaigns.log.state import CampaignState

_FORMAT = 2
_NAMED = ("score", "proposal")
_PLAIN = ("weights", "floor", "start", "seed")
_COMMITTEE = "committee"
"""The entry in the settings of an ensemble that is a list of models."""
_SAMPLED = 1000  # rows hashed: enough to notice another pool, in milliseconds


def save(
    folder: str | Path, settings: LearnerSettings, X_pool: Rows, state: LearnerState
) -> str | None:
    """Write all files; each replaces its older self at once.

    Returns a note on a model that joblib cannot write, which is left out.
    """
    place = _folder(folder)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{place} cannot be made a folder: {error}") from error
    committee = None if isinstance(settings.ensemble, int | None) else list(settings.ensemble)
    plain = {name: getattr(settings, name) for name in (*_NAMED, *_PLAIN)}
    content = {
        "format": _FORMAT,
        "pool": fingerprint(X_pool),
        "ensemble": settings.ensemble if committee is None else _COMMITTEE,
        "hazards": None if state.hazards is None else len(state.draws),
        **{name: None if callable(value) else value for name, value in plain.items()},
    }
    note = _write_models([settings.model, committee], place / "model.joblib")
    replace_file(place / "draws.parquet", state.draws.to_parquet)
    labels = pa.table({"row": list(state.labels), "label": list(state.labels.values())})
    replace_file(place / "labels.parquet", lambda path: pq.write_table(labels, path))
    if state.hazards is not None:
        hazards = pa.table({"hazard": state.hazards})
        replace_file(place / "hazards.parquet", lambda path: pq.write_table(hazards, path))
    text = json.dumps(content, indent=1)
    replace_file(place / "settings.json", lambda path: path.write_text(text))
    return note


def load(
    folder: str | Path, X_pool: Rows, replacements: Mapping[str, Any]
) -> tuple[dict[str, Any], LearnerState]:
    """The parameters of the learner that was saved there, and its state.

    `replacements` are parameters that could not be saved, such as a score that is a function. A
    model and a committee that are among them are not read from the folder.
    """
    place = _folder(folder)
    content = _read_settings(place)
    N = n_rows(X_pool, "X_pool")
    if content["pool"]["rows"] != N or content["pool"] != fingerprint(X_pool):
        raise InputError(
            f"X_pool ({N} rows) is not the pool that the learner in {place} draws "
            f"from ({content['pool']['rows']} rows): its rows differ. Draws are rows of that pool."
        )
    params = {name: content[name] for name in (*_NAMED, *_PLAIN, "ensemble")}
    params |= {name: value for name, value in replacements.items() if value is not None}
    for name in _NAMED:
        if params[name] is None:
            raise InputError(
                f"The {name} of the learner in {place} was a function, which is not saved: give "
                f"it again, load(folder, X_pool, {name}=...)."
            )
    return params | _read_models(place, params), _read_state(place, content.get("hazards"))


def fingerprint(X_pool: Rows) -> dict[str, Any]:
    """The number of rows, and a hash of at most 1,000 of them, evenly spaced.

    Numbers are hashed with their places, without zeros, so that sparse rows have the hash of
    dense ones.
    """
    N = n_rows(X_pool, "X_pool")
    part = take(X_pool, np.unique(np.linspace(0, N - 1, _SAMPLED).astype(np.int64)))
    return {"rows": N, "sha256": hashlib.sha256(_content(part)).hexdigest()}


def _content(part: Rows) -> bytes:
    if hasattr(part, "tocsr"):
        part = part.tocsr().copy()
        part.sum_duplicates()
        part.eliminate_zeros()
        entries = part.tocoo()
        return _number_bytes(part.shape, entries.row, entries.col, entries.data)
    if isinstance(part, list):
        return repr(part).encode()
    array = np.asarray(part)
    if array.dtype.kind not in "biuf":
        return repr(array.tolist()).encode()
    rows = array.reshape(len(array), -1)
    row, column = np.nonzero(rows)
    return _number_bytes(array.shape, row, column, rows[row, column])


def _number_bytes(
    shape: tuple[int, ...], row: NDArray[Any], column: NDArray[Any], value: NDArray[Any]
) -> bytes:
    places = np.array([row, column], dtype=np.int64)
    return repr(shape).encode() + places.tobytes() + value.astype(np.float64).tobytes()


def _folder(folder: str | Path) -> Path:
    if not isinstance(folder, str | os.PathLike):
        raise InputError(f"A folder is wanted, by its path; this is {folder!r}.")
    return Path(folder)


def _write_models(models: object, path: Path) -> str | None:
    import joblib

    try:
        replace_file(path, lambda unfinished: joblib.dump(models, unfinished))
    except (pickle.PicklingError, AttributeError, TypeError, ValueError) as error:
        path.unlink(missing_ok=True)  # it would be an older one
        return (
            f"joblib cannot write the model ({error_line(error)}), so it is not saved: give it "
            f"again, load(folder, X_pool, model=...)"
        )
    return None


def _read_models(place: Path, params: Mapping[str, Any]) -> dict[str, Any]:
    """The model and the committee, unless they are given.

    If the model is given, joblib reads nothing: it would run code of a folder that may not be
    trusted.
    """
    import joblib

    is_committee = params["ensemble"] == _COMMITTEE
    if "model" in params:
        if is_committee:
            raise InputError(
                f"The ensemble of the learner in {place} was a list of models, which is not read "
                f"where the model is given: give it too, load(folder, X_pool, model=..., "
                f"ensemble=[...])."
            )
        return {}
    path = place / "model.joblib"
    if not path.exists():
        raise InputError(
            f"The model of the learner in {place} was not saved: give it again, "
            f"load(folder, X_pool, model=...)."
        )
    try:
        model, committee = joblib.load(path)
    except Exception as error:  # whatever the model's own code raises
        raise InputError(
            f"The model in {path} cannot be read back here ({type(error).__name__}: {error}). Give "
            f"it again: load(folder, X_pool, model=...)."
        ) from error
    return {"model": model, "ensemble": committee if is_committee else params["ensemble"]}


def _read_settings(place: Path) -> dict[str, Any]:
    try:
        content: Any = json.loads((place / "settings.json").read_text())
    except (OSError, ValueError) as error:
        raise InputError(f"There is no saved learner in {place}: {error}") from error
    version = content.get("format") if isinstance(content, dict) else None
    if version != _FORMAT:
        raise InputError(
            f"The learner in {place} is of format {version!r}; this version of Levelled reads "
            f"format {_FORMAT}."
        )
    lacking = [name for name in ("pool", "ensemble", *_NAMED, *_PLAIN) if name not in content]
    if lacking:
        raise InputError(f"The settings of the learner in {place} lack {', '.join(lacking)}.")
    return dict(content)


def _read_state(place: Path, n_hazards: int | None) -> LearnerState:
    """The state; its hazards are those of `n_hazards` draws, and count only if these are all."""
    draws = Draws.from_parquet(place / "draws.parquet")
    table = _read_table(place, "labels", "row", "label")
    rows, labels = table["row"].to_numpy(), table["label"].to_pylist()
    hazards = None
    if n_hazards == len(draws):
        hazards = _read_table(place, "hazards", "hazard")["hazard"].to_numpy()
        if len(hazards) != draws.pool_size:
            raise InputError(
                f"The hazards in {place} are {len(hazards)}, and the pool has {draws.pool_size} "
                f"rows: one each is needed."
            )
    return add_labels(LearnerState(draws, hazards=hazards), rows, labels)


def _read_table(place: Path, name: str, *columns: str) -> pa.Table:
    try:
        return pq.read_table(place / f"{name}.parquet").select(columns)
    except (OSError, KeyError, pa.ArrowInvalid) as error:
        raise InputError(f"The {name} in {place} cannot be read: {error_line(error)}") from error


def state_from_campaign(
    campaign: "CampaignState", X_size: int, ids: ArrayLike | None = None
) -> LearnerState:
    """The settled draws of a campaign with their labels; draws after a gap are left out.

    Rows are those of the campaign's pool, or the places of its ids in `ids`.
    """
    N = campaign.settings.pool_size
    if X_size != N:
        raise InputError(
            f"X_pool has {X_size} rows and the pool of {campaign.settings.name!r} has {N} items: "
            f"the probabilities of its draws are among all of them."
        )
    base = settled_draws(campaign)
    rows = base.draws.index
    if ids is not None:
        array = np.asarray(ids)
        names = [str(one) for one in array.tolist()] if array.ndim == 1 else []
        if len(set(names)) != N or len(names) != N:
            raise InputError(
                f"ids must be {N} different ids, one for each row of X_pool; there are "
                f"{len(names)}, {len(set(names))} of them different."
            )
        row_of = {name: row for row, name in enumerate(names)}
        drawn = [str(item.id) for item in campaign.draws[: len(base)]]
        unknown = [one for one in drawn if one not in row_of]
        if unknown:
            raise InputError(f"The campaign drew the item {unknown[0]!r}, which is not among ids.")
        rows = np.array([row_of[one] for one in drawn], np.int64)
    most = (base.draws.design or {}).get("max_weight")
    design = None if most is None else {"max_weight": most}
    draws = Draws(rows, base.draws.probability, N, design=design)
    return LearnerState(draws, dict(zip(rows.tolist(), base.labels, strict=True)))
