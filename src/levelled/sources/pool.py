"""A pool: the items that may be drawn, their predictions, what a labeller sees, and its columns."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import cached_property
from itertools import chain, groupby
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from levelled._check import IntArray
from levelled.errors import PoolError
from levelled.labels import Id, is_number, list_names
from levelled.predictions import Categorical, PoolPredictions
from levelled.sources.choices import ColumnChoices
from levelled.sources.columns import (
    INPUTS,
    OUTPUTS,
    Roles,
    check_column,
    find_rows,
    guess_confidence,
    is_list,
    is_text,
    roles_of,
    rows_of,
    shown_columns,
    why_hidden,
)
from levelled.sources.content import as_json
from levelled.sources.features import described_by, feature_columns, numbers_of
from levelled.sources.files import PathName
from levelled.sources.readers import find_source
from levelled.sources.readers.items import Outputs
from levelled.sources.reading import PoolColumns, StreamedColumns, columns_of
from levelled.sources.rows import Files, Frame, Origin
from levelled.sources.telling import told_by
from levelled.sources.untrusted import refuse_bomb

if TYPE_CHECKING:
    from levelled.samplers.race import ArrowStream

_MOST_LENGTHS, _LEAST_LENGTH = 3, 20
"""Lengths that are features by default: of so many columns, with so many characters a row.

Three are input, output and target; shorter columns hold names and codes. No study chose these
numbers: a feature that says nothing costs some labels, a missing one loses what it would say.
"""


def _names(columns: Sequence[str]) -> tuple[str, ...]:
    """Distinct names; a text in place of a list names columns with commas between."""
    names = columns.split(",") if isinstance(columns, str) else columns
    return tuple(dict.fromkeys(names))


_COMPARED, _CELLS, _WITHIN = (10, 100, 500), 200_000, 100_000
"""Guard: rows that are compared with predictions at least, at least and at most if there are more,
cells of all columns, and the rows among which they are."""
_EXAMPLES = 1000
"""The first rows, which are searched for an example of a column and for what is no time."""
_BLOCK = 1000
"""Columns that are read at once, so that wide tables need little memory."""


class Pool:
    """The items of a pool in the order of their rows; made by `open_pool`.

    Parameters
    ----------
    source, choices : The path and the columns, as `open_pool` was given them.
    origin : The frame or the files that rows are read from.
    roles : The role of each column.
    columns : The columns with a role, in memory or read in runs.
    outputs : The output of a tool that the pool was made of, if it was.
    """

    def __init__(
        self,
        source: str | tuple[str, ...] | None,
        origin: Origin,
        roles: Roles,
        columns: PoolColumns | StreamedColumns,
        choices: ColumnChoices,
        outputs: Outputs | None,
    ) -> None:
        self.source = source
        """The path or pattern as it was given; None for a frame in memory."""
        self.choices = choices
        """The columns that were named when the pool was opened, and the reader."""
        self._origin, self._roles, self._columns = origin, roles, columns
        self._outputs = outputs

    def __len__(self) -> int:
        return len(self._columns)

    def __repr__(self) -> str:
        classes = f", classes {', '.join(self.classes)}" if self.classes else ""
        return f"Pool({len(self)} items{classes})"

    @property
    def table(self) -> Any:  # noqa: ANN401
        """All columns of a pool that is a frame."""
        return self._origin.table if isinstance(self._origin, Frame) else None

    @property
    def fingerprint(self) -> str:
        """The sha256 of the content; for files that of all their bytes, as `sha256sum` gives it.

        Of Parquet files of more than 1 GB together only a sample of the bytes is read, and the
        fingerprint begins with "parquet-sample:". Content is read once for it; a file that has
        changed since the pool was opened is refused.
        """
        return self._origin.fingerprint()

    def fingerprint_like(self, recorded: str) -> str:
        """The fingerprint of the kind that another one has: of all bytes, or of a sample."""
        return self._origin.fingerprint(recorded)

    @property
    def changed(self) -> bool:
        """True if a file has changed since the pool was opened, or is gone."""
        return self._origin.changed_file() is not None

    @property
    def in_runs(self) -> bool:
        """True if the pool is read a run of rows at a time, because it is too large to be held.

        Those are Parquet files with more bytes than `stream_above` of `open_pool`. `runs` and
        `predictions_at` then need little memory, and what gives all rows at once needs a lot.
        """
        return isinstance(self._columns, StreamedColumns)

    @property
    def classes(self) -> tuple[str, ...] | None:
        """The classes that were declared or that columns of probabilities name."""
        return self._roles.classes

    @property
    def column_names(self) -> list[str]:
        """All columns of the file or frame."""
        return [*self._origin.schema.names]

    @property
    def features(self) -> tuple[str, ...]:
        """The columns of numbers that describe the items."""
        return self._roles.features

    @property
    def models(self) -> tuple[str, ...]:
        """The models with predictions; the empty name is that of `pred` and `proba_<class>`."""
        return self._roles.models

    @property
    def group(self) -> str | None:
        """The column of the sample of which several items are outputs, if there is one."""
        tools = None if self._outputs is None else self._outputs.group
        return next(iter(self.choices.said("group")), tools)

    @cached_property
    def n_groups(self) -> int | None:
        """The number of samples of which the items are outputs."""
        return None if self.group is None else len({*self.values(self.group)})

    @cached_property
    def recognised(self) -> Recognised:
        """A description of what was recognised; `print` shows it."""
        predictions: dict[str, Mapping[str, float]] = {}
        for model in self.models:
            if self.predictions_at([0], model).number is None:
                predictions[model] = self.pred_counts(model)
                continue
            parts = [one.number for one in self.runs(model) if one.number is not None]
            low, high = min(one.min() for one in parts), max(one.max() for one in parts)
            predictions[model] = {"low": float(low), "high": float(high)}
        others = {*self.shown_columns, self._roles.id, self.group}
        hidden = [one for one in self._origin.schema.names if one not in others]
        first = dict[str, Any]()
        for n_rows in (1, _EXAMPLES):  # further rows are read where the first has gaps
            gaps = [one for one in self._origin.schema.names if first.get(one) in (None, "")]
            rows = self._origin.rows(np.arange(min(len(self), n_rows)), gaps) if gaps else []
            for row in reversed(rows):
                first |= {name: one for name, one in row.items() if one not in (None, "")}
        columns = [
            {"name": name, "role": ", ".join(roles) or "hidden", "why": why}
            | {"example": f"{as_json(first.get(name, ''))!s:.200}"}
            for name, (roles, why) in self.column_roles.items()
        ]
        return Recognised(
            self.choices.reader or "plain",
            "columns by their names" if self._outputs is None else self._outputs.tool,
            len(self),
            tuple(self.ids(range(min(2, len(self))))),
            predictions,
            self.shown_columns,
            tuple(hidden),
            self.group,
            self.n_groups,
            () if self._outputs is None else self._outputs.notes,
            tuple(columns),
        )

    @cached_property
    def column_roles(self) -> dict[str, tuple[tuple[str, ...], str]]:
        """The roles of each column, none if it is only hidden, and why it has them."""
        roles, choices, schema = self._roles, self.choices, self._origin.schema
        named = [(getattr(roles, one), one) for one in ("id", "confidence", "score", "loss_hat")]
        for model, column in roles.pred.items():
            named.append((column, "judge" if model in roles.judges else "prediction"))
        lists = {"probability": chain(*roles.proba.values()), "surrogate": roles.surrogate}
        lists |= {"feature": roles.features, "slice": roles.slices, "time": choices.said("time")}
        lists |= {"group": (self.group or "",), "shown": self.shown_columns}
        named += [(one, role) for role, columns in lists.items() for one in columns]
        found: dict[str | None, list[str]] = {name: [] for name in schema.names}
        for name, role in named:
            found.get(name, []).append(role)
        said = {*(choices.roles or ()), choices.pred_column, *choices.judge_columns}
        said |= {one for one in choices.hide if not found[one]}  # else it is hidden anyway
        said |= {*roles.slices, *(choices.show or ())} | ({roles.id} - {"id"})
        said |= {*roles.features} - {*described_by(schema)}
        usual = "by name" if self._outputs is None else "by the tool"

        def why(name: str) -> str:
            if name in said or (choices.show is not None and not found[name]):
                return "said"
            if "confidence" in found[name]:
                return "by name and content"
            plain = "no other role" if found[name] == ["shown"] else usual
            return self._seen[1].get(name, plain)

        return {name: (tuple(found[name]), why(name)) for name in schema.names}

    @property
    def kept_choices(self) -> ColumnChoices:
        """The choices as logs keep them: without roles where names alone decide the same."""
        uses = (self.choices.roles, self._roles.confidence, self._seen[1])
        same = not any(uses) and "score" not in self._origin.schema.names
        return replace(self.choices, roles=None) if same else self.choices

    def columns_of(self, role: str) -> tuple[str, ...]:
        """The columns that have a role, such as "time" or "shown"."""
        return tuple(name for name, (roles, _) in self.column_roles.items() if role in roles)

    def ids(self, rows: ArrayLike) -> list[Id]:
        """The ids of some rows."""
        return self._columns.ids_at(self._check_rows(rows))

    def rows_of(self, ids: Sequence[Id]) -> IntArray:
        """The rows of some ids; a number and its text find each other."""
        where = ", ".join(self.source) if isinstance(self.source, tuple) else self.source
        return rows_of(self._columns.id_chunks(), ids, where=where or "The frame")

    def find_rows(self, ids: Sequence[Id]) -> list[int]:
        """The rows of some ids, -1 for those that the pool does not have."""
        return find_rows(self._columns.id_chunks(), ids)

    def predictions(self, model: str | None = None) -> PoolPredictions:
        """One model's predictions for every item, of the first of `models` unless it is named.

        Where a model has only probabilities, it predicts the most probable class.
        """
        return self._columns.held().predictions(self._model(model))

    def runs(self, model: str | None = None) -> Iterator[PoolPredictions]:
        """The same for a run of rows at a time, in a new pass over the files of a large pool."""
        name = self._model(model)
        for run in self._columns.runs():
            yield run.predictions(name)

    def predictions_at(self, rows: ArrayLike, model: str | None = None) -> PoolPredictions:
        """The same for some rows, in their order."""
        return self.at(rows).predictions(self._model(model))

    def pred_counts(self, model: str | None = None) -> dict[str, int]:
        """The number of predictions of each class; empty if there are none, or too many classes."""
        return self._columns.pred_counts(self._model(model))

    def at(self, rows: ArrayLike) -> PoolColumns:
        """The columns of some rows, which are read from the files of a large pool."""
        return self._columns.at(self._check_rows(rows))

    def _model(self, model: str | None) -> str:
        if model is None:
            model = self.models[0] if self.models else ""
        if model not in (self.models or ("",)):
            raise PoolError(
                f"The pool has no predictions of a model {model!r}; it has "
                f"{list_names(self.models) or 'none'}."
            )
        return model

    def with_scores(self, other: Pool) -> Pool:
        """This pool with the surrogate and the predicted losses of another, found by their ids.

        Columns that the other pool does not have stay as they are.
        """
        old, new, file = self._columns.held(), other._columns.held(), other.source or "The frame"
        columns = {"surrogate": new.surrogate, "loss_hat": new.loss_hat}
        found = {name: column for name, column in columns.items() if column is not None}
        if not found:
            raise PoolError(
                f"{file} has no predicted losses: it needs a column loss_hat or columns "
                f"surrogate_<class>."
            )
        try:
            rows = other.rows_of(old.ids.to_pylist())
        except PoolError as wrong:
            raise PoolError(
                f"{wrong} Draws need a predicted loss for every item of the pool."
            ) from wrong
        aligned: dict[str, Any] = {name: column[rows] for name, column in found.items()}
        return self._with(replace(old, **aligned), self._roles)

    def _with(self, columns: PoolColumns, roles: Roles) -> Pool:
        return Pool(self.source, self._origin, roles, columns, self.choices, self._outputs)

    def slice_values(self, name: str) -> Categorical:
        """The slice of each item; `np.asarray` makes it an array of text."""
        if name not in self._columns.slices:
            slices = list_names([*self._columns.slices]) or "none"
            raise PoolError(
                f"The pool was opened without the slice {name!r}; its slices are {slices}. Name it "
                f"when opening: slices=[{name!r}]."
            )
        return self._columns.slices[name]

    def values(self, column: str) -> list[Any]:
        """The values of any column, one an item, None where one is missing."""
        check_column(column, self._origin.schema.names, "of values")
        batches = self._origin.batches(Roles(self._roles.id, slices=(column,)))
        return [value for batch in batches for value in batch.column(column).to_pylist()]

    def shown(self, rows: ArrayLike) -> list[dict[str, Any]]:
        """The columns a labeller sees of some rows, as values that JSON can hold."""
        wanted, columns = self._check_rows(rows), self.shown_columns
        if not columns or not len(wanted):
            return [{} for _ in wanted]
        distinct, place = np.unique(wanted, return_inverse=True)
        values = [
            {name: as_json(value) for name, value in row.items()}
            for row in self._origin.rows(distinct, columns)
        ]
        return [values[at] for at in place.tolist()]

    def read_through(self) -> None:
        """Read all columns of files once, to see that they can be read."""
        if isinstance(self._origin, Files):
            self._origin.read_through()

    @property
    def shown_columns(self) -> tuple[str, ...]:
        """The columns that a labeller sees."""
        return self._seen[0]

    @cached_property
    def _seen(self) -> tuple[tuple[str, ...], dict[str, str]]:
        """The columns that a labeller sees, and why others are hidden: they tell the prediction."""
        if self.choices.show is not None:
            return self.choices.show, {}
        said, hide = dict.fromkeys(self.choices.said("shown")), {*self.choices.hide}
        usual = shown_columns(self._origin.schema, self._roles)
        if self._outputs is not None:
            known = {*usual}
            usual = tuple(one for one in self._outputs.shown if one in known)
        columns = tuple(one for one in {**dict.fromkeys(usual), **said} if one not in hide)
        if self.choices.roles is None:
            return columns, {}
        others = [one for one in columns if one not in said]
        by_name = {one: f"by name: {why_hidden(one, self._roles)}" for one in others}
        telling = {one: why for one, why in by_name.items() if why != "by name: "}
        others = [one for one in others if one not in telling and one not in INPUTS]
        telling |= dict.fromkeys(self._telling(others), "by content: tells the prediction")
        return tuple(one for one in columns if one not in telling), telling

    def _telling(self, columns: Sequence[str]) -> list[str]:
        """The columns from which a labeller could tell the predictions of a model."""
        n_columns, found = max(len(columns), 1), list[str]()
        n_rows = int(np.clip(_CELLS // n_columns, *_COMPARED[1:]))
        last = min(len(self), _WITHIN) - 1
        rows = np.unique(np.linspace(0, last, n_rows).astype(np.int64))
        if len(rows) < _COMPARED[0]:
            return found
        order = np.random.default_rng(0).permutation(len(rows))
        several = (self.predictions_at(rows, one).of(order) for one in self.models)
        tests = [told_by(pred) for pred in several if pred]
        for start in range(0, len(columns) if tests else 0, _BLOCK):
            names = columns[start : start + _BLOCK]
            sample = self._origin.rows(rows, names)
            for name in names:
                values, is_output = [sample[at].get(name) for at in order], name in OUTPUTS
                found += [name] if any(tells(values, is_output) for tells in tests) else []
        return found

    def _check_rows(self, rows: ArrayLike) -> IntArray:
        at = np.atleast_1d(np.asarray(rows, dtype=np.int64))
        outside = at[(at < 0) | (at >= len(self))]
        if outside.size:
            raise PoolError(f"Row {outside[0]} is outside the pool of {len(self)} items.")
        return at


def open_pool(
    source: PathName | Sequence[PathName] | ArrowStream,
    *,
    classes: Sequence[str] | None = None,
    slices: Sequence[str] = (),
    features: Sequence[str] | None = (),
    id_column: str = "id",
    pred_column: str | None = None,
    judge_columns: Sequence[str] = (),
    show: Sequence[str] | None = None,
    hide: Sequence[str] = (),
    reader: str | None = None,
    roles: Mapping[str, str | Sequence[str]] | None = {},
    stream_above: int | None = None,
) -> Pool:
    """Open a pool: a frame, files, or the output of an evaluation or labelling tool.

    Outputs of tools are recognised by their content, and `Pool.recognised` says what was found.

    Parameters
    ----------
    source : A frame, or the path or address (file://, s3://, gs:// and those of fsspec) of a file
        or folder, a pattern, or a list of these. Files end in .parquet, .csv, .tsv, .jsonl or
        .xlsx, those of text also in .gz or .zip, and others are known by their content. Several
        must have the same columns, and their rows follow each other in the order of their names.
    classes : The classes, needed where no columns proba_<class> name them.
    slices : Columns to report by.
    features : Columns of numbers that describe the items, or patterns such as f_*; None takes a
        list column `embedding` or the columns f_*, if there are any.
    id_column : The column of ids.
    pred_column : The column of the model's predictions, if its name does not say so.
    judge_columns : Columns with the verdicts of a judge each, which is a model named after the
        column.
    show : Exactly the columns that a labeller sees; by default all that have no role.
    hide : Columns that a labeller does not see.
    reader : The name of the tool whose output it must be; "plain" reads columns by their names.
    roles : The role of each column that is not as its name says, or several with commas between:
        id, prediction, judge, probability, confidence, score, loss_hat, feature, shown, hidden,
        slice, group, time. None lets names alone decide, as campaigns from before roles do.
    stream_above : Bytes of columns in Parquet files above which they are not held in memory, but
        read a run of rows at a time; by default LEVELLED_STREAM_ABOVE, or 64 MB.

    >>> import pyarrow as pa
    >>> table = pa.table({"id": [7, 8], "proba_ham": [0.9, 0.2], "proba_spam": [0.1, 0.8],
    ...                   "text": ["Lunch?", "You won"]})
    >>> pool = open_pool(table)
    >>> pool
    Pool(2 items, classes ham, spam)
    >>> pool.predictions().of([0, 1]), pool.shown([1])
    (['ham', 'spam'], [{'text': 'You won'}])
    """
    options = dict(locals())
    refuse_bomb(options.pop("source"), options)
    judges, shown = _names(judge_columns), None if show is None else _names(show)
    choices = ColumnChoices(id_column, pred_column, judges, shown, _names(hide), reader)
    choices = choices.fold(roles)
    name, origin, outputs = find_source(source, choices)
    choices = replace(choices, reader="plain" if outputs is None else outputs.reader)
    by = (slices,) if isinstance(slices, str) else tuple(slices)
    known = roles_of(origin.schema, classes=classes, slices=by, choices=choices)
    by_name = [one for one in described_by(origin.schema) if not choices.replaces_name(one)]
    wanted = [*(by_name if features is None else features), *choices.said("feature")]
    if wanted:
        own = feature_columns(origin.schema, wanted, others=[known.id], name="the pool")
        known = replace(known, features=own)
    guess = guess_confidence(origin.schema, known, choices)
    try:
        columns = columns_of(origin, replace(known, confidence=guess), stream_above)
        known = replace(known, confidence=guess)
    except PoolError:  # the column that was guessed may be something else
        columns = columns_of(origin, known, stream_above)
    pool = Pool(name, origin, known, columns, choices, outputs)
    for column in choices.said("time"):
        for row in origin.rows(np.arange(min(len(pool), _EXAMPLES)), [column]):
            if not _is_time(row.get(column)):
                raise PoolError(
                    f"The column {column!r} cannot be the time: {row[column]!r:.80} is none. Times "
                    f"are written as 2024-03-01 or 2024-03-01T07:30, or are numbers."
                )
    return pool


def _is_time(value: object) -> bool:
    try:
        if isinstance(value, str) and value and not is_number(value):
            datetime.fromisoformat(value.strip())
    except ValueError:
        return False
    return value is None or isinstance(value, str | int | float | date)


def with_lengths(pool: Pool, without: Collection[str] = ()) -> Pool:
    """A pool with the lengths of its longest texts as features, if it has nothing but verdicts.

    A pool that is read in runs stays as it is.
    They are those of up to three columns that labellers see, apart from `without`, with at least
    20 characters on average. A name with a slash is left out, because it would mean a ratio.
    """
    roles, origin, texts = pool._roles, pool._origin, _texts_of(pool, without)
    if not texts or pool.in_runs:
        return pool
    X = numbers_of(origin, tuple(f"length:{name}" for name in texts), roles.id)[0]
    mean = np.expm1(X).mean(axis=0)
    longest = np.argsort(-mean, kind="stable")[:_MOST_LENGTHS]
    kept = [at for at in sorted(longest.tolist()) if mean[at] >= _LEAST_LENGTH]
    if not kept:
        return pool
    names = tuple(f"length:{texts[at]}" for at in kept)
    columns = replace(pool._columns.held(), features=X[:, kept])
    return pool._with(columns, replace(roles, features=names))


def lengths_left_out(pool: Pool) -> list[str]:
    """The lengths of text that may be named as features of a pool that is read in runs.

    They are those that `with_lengths` considers in a pool in memory.
    """
    return [f"length:{name}" for name in _texts_of(pool)] if pool.in_runs else []


def _texts_of(pool: Pool, without: Collection[str] = ()) -> list[str]:
    """The columns of text that labellers see, of a pool that has nothing but verdicts."""
    roles, schema = pool._roles, pool._origin.schema
    knows = (roles.proba, roles.surrogate, roles.score, roles.loss_hat, roles.features)
    if any((*knows, roles.confidence)) or not roles.pred:
        return []
    others = {*without, roles.id, *roles.pred.values()}
    shown = [name for name in pool.shown_columns if name not in others]
    kinds = {name: schema.field(name).type for name in shown}
    lengthy = [name for name, kind in kinds.items() if is_text(kind) or is_list(kind)]
    return [name for name in lengthy if "/" not in name]


_MOST_CLASSES = 8
"""Classes whose counts are listed: they fit a line or two of a terminal."""
_MOST_ALIKE, _LONGEST_EXAMPLE = 5, 40
"""Columns in a row with the same role that are listed each; characters of an example."""


@dataclass(frozen=True, slots=True)
class Recognised:
    """The tool whose output was recognised, the roles of its columns, and what is hidden.

    `predictions` holds for each model or judge the count of each class, or "low" and "high" of
    its ratings. The model without a name has the empty one.
    """

    reader: str
    tool: str
    n_items: int
    ids: tuple[str | int, ...]
    """The first ids, as examples."""
    predictions: Mapping[str, Mapping[str, float]]
    shown: tuple[str, ...]
    hidden: tuple[str, ...]
    group: str | None = None
    n_groups: int | None = None
    notes: tuple[str, ...] = ()
    columns: tuple[Mapping[str, str], ...] = ()
    """Name, role, the reason for it (why) and an example of each column."""

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {name: getattr(self, name) for name in self.__slots__}

    def lines(self) -> list[str]:
        """The description, a line for each part and for each column."""
        return [*self.facts(), *self.table(), *(f"note: {note}" for note in self.notes)]

    def table(self) -> list[str]:
        """The columns with their roles, of many alike the first and the last."""
        keys = ("name", "role", "why", "example")
        rows: list[tuple[str, ...]] = [("column", *keys[1:])]
        for _, alike in groupby(self.columns, lambda one: (one["role"], one["why"])):
            several = [*alike]
            if len(several) > _MOST_ALIKE:
                name = f"{several[0]['name']} ... {several[-1]['name']} ({len(several):,} columns)"
                several = [{**several[0], "name": name}]
            rows += [tuple(" ".join(one[key].split()) for key in keys) for one in several]
        widths = [max(len(row[at]) for row in rows) for at in range(3)]
        cells = ([*map(str.ljust, row, widths), row[3][:_LONGEST_EXAMPLE]] for row in rows)
        return ["  ".join(one).rstrip() for one in cells]

    def facts(self) -> list[str]:
        """The items and the predictions, a line for each part."""
        lines = [
            f"recognised: {self.tool}",
            f"items: {self.n_items:,}, with ids such as {list_names(self.ids, 2)}",
        ]
        if self.group is not None:
            lines.append(
                f"groups: {self.n_groups:,} samples with several outputs, each of which is an item "
                f"(column {self.group})"
            )
        for model, counts in self.predictions.items():
            lines.append(f"verdicts of {model}: " if model else "predictions: ")
            if "low" in counts and "high" in counts and len(counts) == 2:
                lines[-1] += f"numbers from {counts['low']:g} to {counts['high']:g}"
                continue
            most = sorted(counts.items(), key=lambda one: -one[1])[:_MOST_CLASSES]
            lines[-1] += ", ".join(f"{name} {count:,}" for name, count in most)
            if len(counts) > len(most):
                lines[-1] += f", and {len(counts) - len(most)} more classes"
        if not self.predictions:
            lines.append("predictions: none")
        return lines

    def command(self, source: str, options: Sequence[str] = ()) -> str:
        """A command that creates a campaign of this pool."""
        words = ["levelled", "create", "NAME", "--pool", source, *options]
        return shlex.join([*words, "--metric", self.metric])

    @property
    def metric(self) -> str:
        """A metric that goes with the predictions: a share, the error, or a mean."""
        classes = [counts for counts in self.predictions.values() if "low" not in counts]
        if any("pass" in counts for counts in classes):
            return "share:pass"
        return "error" if classes else "mean" if self.predictions else "share:CLASS"
