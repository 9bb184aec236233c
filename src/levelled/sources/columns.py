"""The role of each column of a pool, by its name, and lengths of text as features.

A judge that favours long outputs is wrong in a way that lengths predict:

length:COLUMN    log(1 + characters), summed over the messages of a conversation
length:B/A       the same of B less that of A: the ratio of two lengths
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from levelled._check import FloatArray, IntArray
from levelled.errors import PoolError
from levelled.labels import Id, class_text, list_names
from levelled.sources.choices import ColumnChoices

Columns = tuple[str, ...]
Group = dict[str, str] | str
"""Probabilities: a column for each class, or one column for them all."""

PRED = ("pred", "prediction", "y_pred")
_PROBA = ("proba", "prediction_proba")
_SURROGATE = "surrogate_"
_GUIDES = (*PRED, *_PROBA, "score", "loss_hat")
_PREFIXES = ("pred@", "proba@", "proba_", "prediction_proba_", _SURROGATE, "__index_level_")


INPUTS = ("text", "input", "inputs", "question", "prompt", "message", "messages", "request")
"""Names of what a model was given: it is never hidden for what it says."""
OUTPUTS = ("output", "outputs", "response", "completion", "target")
"""Names of what judges look at: few outputs may well have one verdict each."""
_CONFIDENCE = ("confidence", "conf", "max_proba", "prob_max")
_TELLING = ("scores", "verdict", "explanation", "rationale", "justification", "reason", "logits")
_GOLD = ("label", "labels", "gold", "ground_truth", "y_true")
_TARGET = ("target", "targets")
_WHY_HIDDEN = {
    **dict.fromkeys((*_TELLING, "prob", "proba", "probability"), "tells the prediction"),
    **dict.fromkeys((*_GOLD, *_TARGET), "holds labels; to use them, --known-column {}"),
    **dict.fromkeys(_CONFIDENCE, "to use it, --role {}=confidence"),
    "score": "to use it, --role {}=score",
}
"""Why labellers do not see a column: by its name, also after the name of a model."""


def guides_draws(name: str) -> bool:
    """True for a name by which a column holds predictions or scores, or the index of a frame."""
    return name in _GUIDES or name.startswith(_PREFIXES)


@dataclass(frozen=True, slots=True)
class Roles:
    """The columns of a pool by their role; without a column of ids, `id` is empty.

    `proba` has, for each model, one column a class in the order of `classes`, or a single one
    for them all. The model of `pred` and `proba_<class>` has the empty name.
    """

    id: str
    classes: Columns | None = None
    pred: Mapping[str, str] = field(default_factory=dict)
    proba: Mapping[str, Columns] = field(default_factory=dict)
    surrogate: Columns = ()
    score: str | None = None
    loss_hat: str | None = None
    slices: Columns = ()
    features: Columns = ()
    unused: Columns = ()
    """Columns of predictions in whose place the user named others."""
    confidence: str | None = None
    """The column of the only model's chance that its predicted class is right."""
    judges: Columns = ()
    """Models in the order in which a user, or a tool, names them."""

    @property
    def models(self) -> Columns:
        """The models with predictions: that without a name, then judges, then others by name."""
        found = {*self.pred, *self.proba}
        named = [one for one in ("", *self.judges) if one in found]
        return tuple(dict.fromkeys([*named, *sorted(found)]))

    @property
    def numbers(self) -> Columns:
        """The columns that must hold numbers."""
        several = [column for columns in self.proba.values() for column in columns]
        singles = [*filter(None, (self.score, self.loss_hat, self.confidence))]
        plain = [name for name in self.features if not is_length(name)]
        return (*several, *self.surrogate, *singles, *plain)

    @property
    def texts(self) -> Columns:
        """The columns that may hold text, besides the id."""
        return tuple(dict.fromkeys([*self.pred.values(), *self.slices, *self.measured]))

    @property
    def measured(self) -> Columns:
        """The columns whose length is a feature."""
        lengths = filter(is_length, self.features)
        return tuple(column for name in lengths for column in length_columns(name))

    @property
    def used(self) -> Columns:
        """All columns that are read when a pool is opened."""
        return tuple(dict.fromkeys([self.id, *self.texts, *self.numbers]))


def roles_of(
    schema: pa.Schema,
    *,
    classes: Sequence[str] | None,
    slices: Sequence[str],
    choices: ColumnChoices,
) -> Roles:
    """The roles of the columns of a schema; one that is no pool is refused."""
    # A list of names would be searched once for each name: a table may have 20,000 of them.
    check_repeats(schema.names, "The pool")
    names, id_column = dict.fromkeys(schema.names), choices.id_column
    for name in choices.roles or ():
        check_column(name, names, "to give a role")
    advice = " Add one, or say which column it is (id_column, --id-column)."
    check_column(id_column, names, "for the ids", advice=advice)
    for name in slices:
        check_column(name, names, "to slice by")
    for name in (*(choices.show or ()), *choices.hide):
        check_column(name, names, "to show" if choices.show is not None else "to hide")
    free = dict.fromkeys(name for name in names if not choices.replaces_name(name))
    by_name = _predictions(free, own=choices.pred_column is None)
    declared = None
    if classes is not None:
        given = classes.split(",") if isinstance(classes, str) else classes
        declared = tuple(class_text(name) for name in given)
        if len(set(declared)) < max(len(declared), 2):
            raise PoolError(
                f"classes must be two different names or more; they are {list_names(declared, 12)}."
            )
    pred = _named_predictions(by_name, names, choices)
    groups = _probabilities(schema, declared, [*pred], free, choices)
    surrogate, used = _by_class(free, _SURROGATE), {*pred.values()}
    all_classes = _all_classes(declared, [*groups.values(), *([surrogate] if surrogate else [])])
    said = {role: next(iter(choices.said(role)), None) for role in ("score", "loss_hat")}
    by_its_name = ["loss_hat", *(["score"] if choices.roles is None else [])]
    said |= {role: role for role in by_its_name if role in free and said[role] is None}
    roles = Roles(
        id_column,
        all_classes,
        pred,
        {model: _ordered(group, all_classes) for model, group in groups.items()},
        _ordered(surrogate, all_classes) if surrogate else (),
        said["score"],
        said["loss_hat"],
        tuple(dict.fromkeys((*slices, *choices.said("slice")))),
        unused=tuple(one for one in (*by_name.values(), *PRED) if one not in used and one in free),
        judges=() if choices.reader == "plain" and not choices.judge_columns else tuple(pred),
        confidence=next(iter(choices.said("confidence")), None),
    )
    if roles.confidence and (why := _why_no_confidence(schema, roles)):
        raise PoolError(f"The column {roles.confidence!r} cannot be the confidence: {why}.")
    return roles


def _why_no_confidence(schema: pa.Schema, roles: Roles) -> str:
    """The reason why no column can be the confidence in the predicted class, or ""."""
    better = (*roles.surrogate, *roles.proba.values(), *filter(None, [roles.loss_hat]))
    if better or len(roles.pred) != 1:
        return "it goes with one column of predictions, and without probabilities and loss_hat"
    (column,) = roles.pred.values()
    if roles.classes is None and is_number(schema.field(column).type):
        return f"{column!r} holds numbers; say that they are classes (--classes 0,1)"
    return ""


def guess_confidence(schema: pa.Schema, roles: Roles, choices: ColumnChoices) -> str | None:
    """The column that was said to be a confidence, or is by its name in a plain pool of a model."""
    said = {*choices.hide, *roles.used, *filter(choices.replaces_name, choices.roles or ())}
    found = [one for one in _CONFIDENCE if one in schema.names and one not in said]
    is_plain = choices.reader == "plain" and choices.roles is not None and [*roles.pred] == [""]
    if roles.confidence or not is_plain or len(found) != 1:
        return roles.confidence
    fits = is_number(schema.field(found[0]).type) and not _why_no_confidence(schema, roles)
    return found[0] if fits else None


def check_column(
    name: str, names: Iterable[str], purpose: str, *, source: str = "The pool", advice: str = ""
) -> None:
    """Refuse the name of a column that is not there, with the ones that are."""
    if name not in names:
        lower = {other.lower(): other for other in names}
        near = difflib.get_close_matches(name.lower(), [*lower], n=1)
        hint = f" (perhaps {lower[near[0]]!r})" if near else ""
        raise PoolError(
            f"{source} has no column {name!r} {purpose}; it has {list_names([*names], 12)}{hint}."
            f"{advice}"
        )


def check_repeats(names: Sequence[str], source: str) -> None:
    """Refuse two columns of one name."""
    if len({*names}) < len(names):
        twice, _ = Counter(names).most_common(1)[0]
        raise PoolError(f"{source} has two columns {twice!r}: rename one of them.")


MOST_COLUMNS = 50_000
"""Columns of the widest table that is read: opening takes 60 us and some kilobytes for each."""


def check_columns(names: Collection[object], source: str) -> None:
    """Refuse a table with so many columns that opening it takes too long."""
    if len(names) > MOST_COLUMNS:
        raise PoolError(
            f"{source} has {len(names):,} columns, and up to {MOST_COLUMNS:,} are read: leave out "
            f"those that no campaign needs, or write numbers that go together as a list in one."
        )


def shown_columns(schema: pa.Schema, roles: Roles) -> Columns:
    """The columns a labeller sees: neither predictions nor features nor the id."""
    hidden = {roles.id, "embedding", *roles.pred.values(), *roles.numbers, *roles.unused}
    hidden |= {f"p_{name}" for name in roles.classes or ()}
    return tuple(
        field.name
        for field in schema
        if field.name not in hidden
        and not field.name.startswith("__index_level_")  # of a pandas frame
        and not (field.name.startswith("f_") and is_number(field.type))
    )


def why_hidden(name: str, roles: Roles) -> str:
    """The reason why labellers do not see a column of this name, also after that of a model.

    >>> why_hidden("explanation@grader", Roles("id"))
    'tells the prediction'
    """
    for model in ("field.", *PRED, *roles.models, *roles.pred.values()):
        word = name.removeprefix(model).lstrip("_.-:/ ").lower().partition("@")[0]
        word = word.rpartition("/")[2]  # of MLflow's NAME/v1/score
        # Judges and people compare an output with its target, which is no label of theirs.
        if word in _WHY_HIDDEN and not (word in _TARGET and "" not in roles.models):
            return _WHY_HIDDEN[word].format(name)
    return ""


def shorten(texts: Sequence[str], most: int = 3) -> str:
    """The first texts with commas between them, and dots if there are more."""
    return ", ".join(texts[:most]) + (", ..." if len(texts) > most else "")


def is_number(kind: pa.DataType) -> bool:
    """True for a column of numbers."""
    types = pa.types
    return types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)


def is_text(kind: pa.DataType) -> bool:
    """True for a column of text."""
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def is_list(kind: pa.DataType) -> bool:
    """True for a column with a list a row."""
    types = pa.types
    return types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)


def _named_predictions(
    by_name: Mapping[str, str], names: Collection[str], choices: ColumnChoices
) -> dict[str, str]:
    """The predictions that the names of columns tell, with those that the user named instead."""
    pred = dict(by_name)
    if choices.pred_column is not None:
        check_column(choices.pred_column, names, "of predictions")
        pred[""] = choices.pred_column
    if choices.judge_columns:
        pred = {model: column for model, column in pred.items() if not model}
    for judge in choices.judge_columns:
        column = judge if judge in names else by_name.get(judge, judge)
        check_column(column, names, "of a judge")
        pred[judge] = column
    if choices.id_column in pred.values():
        raise PoolError(f"The column {choices.id_column!r} cannot be ids and predictions at once.")
    return pred


def _predictions(names: Collection[str], *, own: bool) -> dict[str, str]:
    """The column of predictions of each model; with `own` also that without a name."""
    found = [name for name in PRED if name in names] if own else []
    if len(found) > 1:
        raise PoolError(
            f"The columns {found[0]!r} and {found[1]!r} both look like the prediction. Keep "
            f"one, or name the other {found[0]}@NAME after its model."
        )
    columns = {"": found[0]} if found else {}
    for name in names:
        if name.startswith("pred@"):
            columns[_model_name(name, name.removeprefix("pred@"))] = name
    return columns


def _probabilities(
    schema: pa.Schema,
    declared: Columns | None,
    models: Sequence[str],
    names: Collection[str],
    choices: ColumnChoices,
) -> dict[str, Group]:
    """The columns of probabilities of each model, among these names and those that were said."""
    own = _by_class(names, "proba_") or _by_class(names, "prediction_proba_")
    single = [*choices.said("probability"), *(name for name in _PROBA if name in names)]
    if not own and not single:  # numeric columns p_<class>: two or more, or all that were declared
        numbers = [field.name for field in schema if is_number(field.type)]
        shown = choices.said("shown")  # such as the price p_eur
        short = _by_class([one for one in numbers if one in names and one not in shown], "p_")
        wanted = {*short} if declared is None else {*declared}
        short = {name: column for name, column in short.items() if name in wanted}
        own = short if len(short) >= len(declared or ("", "")) else {}
    if len(single) + bool(own) > 1:
        both = list_names([*single, *own.values()][:2])
        raise PoolError(f"The columns {both} both hold probabilities: keep one.")
    groups: dict[str, Group] = {"": own or single[0]} if own or single else {}
    known, labels = {*models} - {""}, {*(declared or own)}
    for name in names:
        if not name.startswith("proba@"):
            continue
        rest = name.removeprefix("proba@")
        alone = is_list(schema.field(name).type) or "_" not in rest
        # Either part of NAME_<class> may have a _ of its own: the longest model that is known
        # counts, then the longest class.
        ways = [(rest[:at], rest[at + 1 :]) for at, sign in enumerate(rest) if sign == "_"]
        by_model = [way for way in reversed(ways) if way[0] in known]
        by_class = [way for way in ways if way[1] in labels]
        model, label = (rest, "") if alone else [*by_model, *by_class, *ways][0]
        group = groups.setdefault(_model_name(name, model), name if alone else {})
        if isinstance(group, str) != alone:
            raise PoolError(f"The column {name!r} and another hold probabilities of one model.")
        if isinstance(group, dict):
            group[class_text(label)] = name
    return groups


def _by_class(names: Iterable[str], prefix: str) -> dict[str, str]:
    columns = [name for name in names if name.startswith(prefix)]
    if prefix in columns:
        raise PoolError(f"The column {prefix!r} names no class: write {prefix}<class>.")
    return {class_text(name.removeprefix(prefix)): name for name in columns}


def _all_classes(declared: Columns | None, groups: Sequence[Group]) -> Columns | None:
    """The classes that were declared, or those that the first columns name."""
    names = declared
    for group in groups:
        if names is None and not isinstance(group, str):
            names = tuple(group)
            if len(names) < 2:
                raise PoolError(
                    f"The column {group[names[0]]!r} is the only one with probabilities. Add one "
                    f"for each other class; for two classes, name it proba and say which two they "
                    f"are (classes)."
                )
    single = next((group for group in groups if isinstance(group, str)), None)
    if single is not None and names is None:
        raise PoolError(
            f"The column {single!r} holds the probabilities of all classes: say which they are and "
            f"in which order (classes), for example classes ham,spam."
        )
    return names


def _ordered(group: Group, classes: Columns | None) -> Columns:
    """The columns of a group in the order of the classes."""
    if isinstance(group, str) or classes is None:
        return (group,) if isinstance(group, str) else tuple(group.values())
    missing = [name for name in classes if name not in group]
    known = {*classes}
    extra = [name for name in group if name not in known]
    if missing or extra:
        columns = list_names([*group.values()], 12)
        why = f"class {missing[0]!r} has none" if missing else f"{extra[0]!r} is no class"
        raise PoolError(
            f"The classes are {list_names(classes, 12)}, and the columns {columns} do not fit: "
            f"{why}."
        )
    return tuple(group[name] for name in classes)


def _model_name(column: str, name: str) -> str:
    if not name:
        raise PoolError(f"The column {column!r} names no model after the @.")
    return name


_PREFIX = "length:"
_CONTENT = ("content", "text", "value")
"""The field of a message that holds what was said."""


def is_length(feature: str) -> bool:
    """True for the name of a feature that is a length."""
    return feature.startswith(_PREFIX)


def length_columns(feature: str) -> tuple[str, ...]:
    """The column whose length a feature is, or the two whose ratio it is.

    >>> length_columns("length:second/first")
    ('second', 'first')
    """
    return tuple(feature.removeprefix(_PREFIX).split("/", 1))


def log_lengths(batch: pa.RecordBatch, feature: str) -> FloatArray:
    """The feature for each row of a batch; text that is missing has no characters.

    >>> batch = pa.RecordBatch.from_pydict({"a": ["Hi!", None], "b": ["Hello, you!", "x"]})
    >>> log_lengths(batch, "length:b/a").round(3)
    array([1.099, 0.693])
    """
    parts = []
    for name in length_columns(feature):
        column = batch.column(name)
        if pa.types.is_dictionary(column.type) and is_text(column.type.value_type):
            each = pc.utf8_length(column.dictionary)
            lengths = pc.fill_null(pc.take(each, column.indices), 0).to_numpy()
        elif is_text(column.type):
            lengths = pc.fill_null(pc.utf8_length(column), 0).to_numpy()
        else:  # one by one: a text that is coded becomes another one for each row
            lengths = [_count(value.as_py()) for value in column]
        parts.append(np.log1p(np.asarray(lengths, dtype=np.float64)))
    return parts[0] if len(parts) == 1 else parts[0] - parts[1]


def _count(value: object) -> int:
    """The characters of text anywhere in a value; of a message, those of its content."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        said = [value[name] for name in _CONTENT if name in value]
        return sum(map(_count, said or value.values()))
    return sum(map(_count, value)) if isinstance(value, list) else 0


_ROWS = 16_384  # ids hashed at once: as objects of Python they stay in the cache
_COMPARED = 1 << 20  # keys compared at once, so that the result of the comparison stays small
_WHOLE_ID = re.compile(r"0|-?[1-9][0-9]{0,18}")


def batch_ids(batch: pa.RecordBatch, name: str, start: int) -> pa.Array:
    """The ids of a batch as text or int64, refusing gaps; `start` is the pool row of its first.

    Without the name of a column they are the numbers of the rows.
    """
    if not name:
        return pa.array(np.arange(start, start + len(batch)))
    column = batch.column(name)
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.dictionary_decode()
        kind = column.type
    if pa.types.is_integer(kind):
        try:
            column = column.cast(pa.int64())
        except pa.ArrowInvalid as wrong:
            raise PoolError(
                f"The column {name!r} holds whole numbers beyond 63 bits: write ids as text."
            ) from wrong
    elif not is_text(kind) and not pa.types.is_null(kind):
        raise PoolError(
            f"Ids are text or whole numbers; the column {name!r} holds {kind}. Write them as text."
        )
    missing = pc.is_null(column)
    if is_text(kind):
        missing = pc.or_kleene(missing, pc.equal(column, ""))
    at = np.flatnonzero(missing.to_numpy(zero_copy_only=False))
    if at.size:
        raise PoolError(
            f"Row {start + at[0]} (counted from 0) has no id in the column {name!r}. Every item "
            f"needs one, so that its label finds it again."
        )
    return column


def join_ids(ids: list[pa.Array], name: str) -> pa.ChunkedArray:
    """The ids of all batches, of one type."""
    kinds = {one.type for one in ids if len(one)}
    if len(kinds) == 1:
        return pa.chunked_array([one for one in ids if len(one)])
    if pa.int64() in kinds:
        raise PoolError(
            f"The column {name!r} holds whole numbers in some places and text in others. Write "
            f"all ids as text."
        )
    return pa.chunked_array([one.cast(pa.large_string()) for one in ids])


def check_unique(ids: pa.ChunkedArray) -> None:
    """Refuse an id that occurs twice."""
    refuse_repeats(np.concatenate([id_keys(chunk) for chunk in ids.chunks]), lambda: ids.chunks)


def id_keys(ids: pa.Array) -> IntArray:
    """64 bits for each id: equal for equal ids, and almost never for different ones."""
    if pa.types.is_integer(ids.type):
        return np.asarray(ids.to_numpy())
    pieces = (ids.slice(start, _ROWS) for start in range(0, len(ids), _ROWS))
    texts = chain.from_iterable(one.to_numpy(zero_copy_only=False) for one in pieces)
    return np.fromiter(map(hash, texts), dtype=np.int64, count=len(ids))


def refuse_repeats(keys: IntArray, again: Callable[[], Iterable[pa.Array]]) -> None:
    """Refuse an id that occurs twice, by the keys of all ids, which are put in order in place.

    Ids need not be kept: only those whose keys are equal are compared, and `again` gives all ids
    once more for it.
    """
    keys.sort()
    parts = [
        keys[start : start + _COMPARED + 1] for start in range(0, max(len(keys), 1), _COMPARED)
    ]
    twice = np.unique(np.concatenate([one[1:][one[1:] == one[:-1]] for one in parts]))
    if not twice.size:
        return
    seen: dict[Id, int] = {}
    start = 0
    for chunk in again():
        for at in np.flatnonzero(np.isin(id_keys(chunk), twice)).tolist():
            name, row = chunk[at].as_py(), start + at
            if name in seen:
                raise PoolError(
                    f"The id {name!r} is in row {seen[name]} and again in row {row} (counted from "
                    f"0). Every item needs an id of its own: take out copies, or number the rows."
                )
            seen[name] = row
        start += len(chunk)


def rows_of(ids: Iterable[pa.Array], wanted: Sequence[Id], *, where: str = "The pool") -> IntArray:
    """The rows of some ids, as `find_rows` gives them.

    `where` names the rows if an id is not among them.
    """
    rows = find_rows(ids, wanted)
    if -1 in rows:
        n_missing = rows.count(-1)
        raise PoolError(
            f"{where} has no row for the id {wanted[rows.index(-1)]!r}"
            + (f", nor for {n_missing - 1} others." if n_missing > 1 else ".")
        )
    return np.array(rows, dtype=np.int64)


def find_rows(ids: Iterable[pa.Array], wanted: Sequence[Id]) -> list[int]:
    """The rows of some ids, from the ids of all rows in order; -1 for an id that is not there.

    A number and its text find each other.
    """
    row_of: dict[str, int] = {}
    names = {str(one) for one in wanted}
    # The text of a whole number finds it in a file of numbers, if it fits 64 bits.
    numbers = [
        int(one) for one in names if _WHOLE_ID.fullmatch(one) and -(2**63) <= int(one) < 2**63
    ]
    start = 0
    for chunk in ids:
        number = pa.types.is_integer(chunk.type)
        values = pa.array(numbers if number else sorted(names), type=chunk.type)
        place = pc.is_in(chunk, value_set=values).to_numpy(zero_copy_only=False)
        for row in np.flatnonzero(place).tolist():
            row_of[str(chunk[row].as_py())] = start + row
        start += len(chunk)
    return [row_of.get(str(one), -1) for one in wanted]
