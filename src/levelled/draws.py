"""Draws: the record of which items were drawn, in order, each with its probability."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from levelled._check import LARGEST, FloatArray, IntArray, check_order, floats, same_length, whole
from levelled.errors import DrawsError, InputError

_METADATA = b"levelled.draws"
_LEAST_PROBABILITY = 1e-100  # its weight times a loss is still a number


@dataclass(frozen=True, slots=True, eq=False)  # arrays have no single truth value
class Draws:
    """Pool indices in the order they were drawn, each with its probability.

    `probability[m]` is the chance that index had at its own step, among the items then still
    in the pool. It is written down when the draw is made and never recomputed: the model that
    produced it has been retrained since.

    `excluded` counts the items of the pool that could never be drawn. `design` holds optional
    columns, one value a draw, that describe what else could have been drawn at that step; see
    `levelled.samplers.with_design`. `ids` names the drawn items. Draws that an engine made of a
    table, whose rows have no numbers, have ids, and `index` only counts them: 0, 1, 2, ...

    >>> draws = Draws([2, 0], [0.5, 0.25], pool_size=4)
    >>> draws
    Draws(2 of 4, probabilities 0.25 to 0.5)
    >>> len(draws[:1])
    1
    """

    index: IntArray
    probability: FloatArray
    pool_size: int
    excluded: int = 0
    design: Mapping[str, FloatArray] | None = None
    ids: Sequence[str | int] | None = None

    def __post_init__(self) -> None:
        pool_size = whole("pool_size", self.pool_size, least=1)
        excluded = whole("excluded", self.excluded, least=0)
        index = _as_index(self.index, pool_size)
        probability = _as_probability(self.probability, len(index))
        if len(index) > pool_size - excluded:
            raise DrawsError(
                f"{len(index)} draws without replacement cannot come from a pool of {pool_size} "
                f"with {excluded} excluded."
            )
        object.__setattr__(self, "index", index)
        object.__setattr__(self, "probability", probability)
        object.__setattr__(self, "pool_size", pool_size)
        object.__setattr__(self, "excluded", excluded)
        if self.design is not None:
            object.__setattr__(self, "design", _as_design(self.design, len(index)))
        if self.ids is not None:
            object.__setattr__(self, "ids", _as_ids(self.ids, len(index)))

    def __len__(self) -> int:
        return len(self.index)

    def __getitem__(self, part: object) -> Draws:
        if not isinstance(part, slice) or part.start not in (None, 0) or part.step not in (None, 1):
            raise DrawsError(
                "Only a prefix of draws is draws again: write draws[:m]. A probability means "
                "something only after all the draws before it."
            )
        design = self.design and {name: column[part] for name, column in self.design.items()}
        ids = None if self.ids is None else self.ids[part]
        index, probability = self.index[part], self.probability[part]
        return Draws(index, probability, self.pool_size, self.excluded, design, ids)

    def __repr__(self) -> str:
        if not len(self):
            return f"Draws(0 of {self.pool_size})"
        low, high = self.probability.min(), self.probability.max()
        return f"Draws({len(self)} of {self.pool_size}, probabilities {low:.3g} to {high:.3g})"

    def to_parquet(self, path: str | PathLike[str]) -> None:
        """Write one row a draw: `draw` (1, 2, ...), `row` (the index), `id`, `probability`, design.

        The pool size and the number of excluded items are kept in the file's metadata.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        columns: dict[str, FloatArray | IntArray | Sequence[str | int]] = {
            "draw": np.arange(1, len(self) + 1),
            "row": self.index,
            **({} if self.ids is None else {"id": self.ids}),
            "probability": self.probability,
            **(self.design or {}),
        }
        about = {
            "pool_size": self.pool_size,
            "excluded": self.excluded,
            "design": None if self.design is None else list(self.design),
            "ids": self.ids is not None,
        }
        table = pa.table(columns).replace_schema_metadata({_METADATA: json.dumps(about)})
        pq.write_table(table, path)

    @classmethod
    def from_parquet(cls, path: str | PathLike[str]) -> Draws:
        """Read what `to_parquet` wrote."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            table = pq.read_table(path)
        except (OSError, pa.ArrowInvalid) as wrong:
            raise DrawsError(f"{path} cannot be read as a Parquet file: {wrong}") from wrong
        metadata = (table.schema.metadata or {}).get(_METADATA)
        if metadata is None or not {"draw", "row", "probability"} <= set(table.column_names):
            raise DrawsError(
                f"{path} holds no draws: it needs the columns draw, row and probability, and the "
                f"pool size, as Draws.to_parquet writes them."
            )
        about = json.loads(metadata)
        order = np.argsort(table.column("draw").to_numpy())
        columns = {name: table.column(name).to_numpy()[order] for name in table.column_names}
        names, ids = about["design"], columns["id"] if about.get("ids") else None
        return cls(
            columns["row"],
            columns["probability"],
            about["pool_size"],
            about["excluded"],
            None if names is None else {name: columns[name] for name in names},
            None if ids is None else ids.tolist(),
        )


def check_draws(draws: object, **columns: object) -> None:
    """Refuse what is not `Draws`, such as an array of indices without their probabilities.

    Columns, one value a draw, are refused if they are of pandas and their own index has the drawn
    rows in another order.
    """
    if not isinstance(draws, Draws):
        raise DrawsError(
            f"draws must be Draws, as levelled.samplers make them: items with their "
            f"probabilities. This is a {type(draws).__name__}."
        )
    check_order(draws.index, **columns)


def check_losses(losses: ArrayLike, draws: Draws) -> FloatArray:
    """Return `losses` as numbers, refusing what does not go with the draws, one each."""
    check_draws(draws, losses=losses)
    array = floats("losses", losses, ndim=1, largest=LARGEST)
    same_length(losses=array, draws=draws.index)
    if len(draws) and draws.probability.min() < _LEAST_PROBABILITY:
        raise InputError(
            f"An item had the probability {draws.probability.min():g} when it was drawn, and its "
            f"weight would drown all others: put a floor under the proposal."
        )
    return array


def check_pool_column(name: str, drawn: NDArray[Any], pool: NDArray[Any], draws: Draws) -> None:
    """Refuse `pool_<name>`, values of the whole pool, unless it has those of the drawn items."""
    if len(pool) != draws.pool_size:
        raise InputError(
            f"pool_{name} must have one value for each of the {draws.pool_size} items of the pool; "
            f"it has {len(pool)}."
        )
    differ = np.flatnonzero(pool[draws.index] != drawn)
    if differ.size:
        first = draws.index[differ[0]]
        raise InputError(
            f"{name} and pool_{name} differ at {differ.size} of {len(drawn)} drawn items: item "
            f"{first} is {drawn[differ[0]].item()!r} by {name} and {pool[first].item()!r} by "
            f"pool_{name}. pool_{name} goes by item, {name} by draw: "
            f"{name} = pool_{name}[draws.index]."
        )


def _as_index(values: IntArray, pool_size: int) -> IntArray:
    index = np.asarray(values)
    if index.ndim != 1:
        raise DrawsError(f"index must have one axis; it has shape {index.shape}.")
    if index.size and not np.issubdtype(index.dtype, np.integer):
        raise DrawsError(f"index must be whole numbers; it is an array of {index.dtype}.")
    index = index.astype(np.int64)
    outside = index[(index < 0) | (index >= pool_size)]
    if outside.size:
        raise DrawsError(f"Index {outside[0]} is outside the pool of {pool_size} items.")
    ordered = np.sort(index)
    repeated = ordered[1:][ordered[1:] == ordered[:-1]]
    if repeated.size:
        raise DrawsError(
            f"Index {repeated[0]} was drawn twice. Draws are without replacement: each item at "
            f"most once."
        )
    index.flags.writeable = False
    return index


def _as_probability(values: FloatArray, length: int) -> FloatArray:
    probability = floats("probability", values, ndim=1, finite=False).copy()
    if len(probability) != length:
        raise DrawsError(f"{length} indices need {length} probabilities, not {len(probability)}.")
    wrong = probability[~((probability > 0) & (probability <= 1))]
    if wrong.size:
        raise DrawsError(
            f"A drawn item had a probability above 0 and at most 1 when it was drawn; "
            f"{wrong.size} of {length} do not, the first is {wrong[0]}."
        )
    probability.flags.writeable = False
    return probability


def _as_design(design: Mapping[str, FloatArray], length: int) -> Mapping[str, FloatArray]:
    if not isinstance(design, Mapping):
        raise DrawsError(f"design must map names to columns; it is a {type(design).__name__}.")
    columns = {}
    for name, values in design.items():
        column = floats(f"design column {name!r}", values, ndim=1).copy()
        if len(column) != length or name in ("draw", "row", "id", "probability"):
            raise DrawsError(
                f"Design column {name!r} must have one value a draw ({length}; it has "
                f"{len(column)}) and a name of its own."
            )
        column.flags.writeable = False
        columns[name] = column
    return columns


def _as_ids(values: Sequence[str | int], length: int) -> tuple[str | int, ...]:
    ids = tuple(values)
    if len(ids) != length:
        raise DrawsError(f"{length} draws need {length} ids, not {len(ids)}.")
    if not (all(type(one) is str for one in ids) or all(type(one) is int for one in ids)):
        raise DrawsError("The ids of draws must be texts, or whole numbers, all of them.")
    if len(set(ids)) < length:
        repeated = Counter(ids).most_common(1)[0][0]
        raise DrawsError(
            f"The id {repeated!r} was drawn twice. Draws are without replacement: each item at "
            f"most once."
        )
    return ids
