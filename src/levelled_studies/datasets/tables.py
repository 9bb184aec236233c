"""Tables out of CSV files: columns of numbers as they are, categories as one column each."""

from __future__ import annotations

import io
import json

import numpy as np
from numpy.typing import NDArray

from levelled.errors import PoolError
from levelled_studies.datasets.archives import Members
from levelled_studies.datasets.record import Parts

__all__ = ["adult_files", "fraud_table", "judgements"]

_ADULT = (
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "income",
)


def adult_files(members: Members) -> Parts:
    """The census files adult.data and adult.test; `?` is a category like the others.

    A line is the fields separated by commas. The test file has a first line that is none, and
    writes a full stop behind the income.
    """
    train, test = (_adult_rows(members[name]) for name in sorted(members))
    columns, names = [], []
    for at, name in enumerate(_ADULT[:-1]):
        values = np.concatenate([train[:, at], test[:, at]])
        column, inside = _column(name, values)
        columns.append(column)
        names += inside
    X = np.column_stack(columns)
    y = (np.concatenate([train[:, -1], test[:, -1]]) == ">50K").astype(np.int64)
    n = len(train)
    return {"X": X[:n], "y": y[:n], "X_test": X[n:], "y_test": y[n:], "features": tuple(names)}


def _adult_rows(content: bytes) -> NDArray[np.str_]:
    lines = content.decode("ascii", "replace").splitlines()
    rows = [line.rstrip(".").split(", ") for line in lines if line and not line.startswith("|")]
    if not rows or {len(row) for row in rows} != {len(_ADULT)}:
        raise PoolError(f"Lines of Adult must have {len(_ADULT)} fields.")
    strange = sorted({row[-1] for row in rows} - {"<=50K", ">50K"})
    if strange:
        raise PoolError(f"The income in Adult is <=50K or >50K; there is {strange[0]!r}.")
    return np.array(rows)


def _column(name: str, values: NDArray[np.str_]) -> tuple[NDArray[np.float64], list[str]]:
    """One column of numbers, or one of 0 and 1 for every category, in alphabetical order."""
    try:
        return values.astype(np.float64)[:, None], [name]
    except ValueError:
        categories, codes = np.unique(values, return_inverse=True)
        return np.eye(len(categories))[codes], [f"{name}={category}" for category in categories]


def fraud_table(members: Members) -> Parts:
    """Card payments: time, 28 principal components and the amount; the last column is the class."""
    import pyarrow.csv as pacsv

    (content,) = members.values()
    table = pacsv.read_csv(io.BytesIO(content))
    *names, last = table.column_names
    X = np.column_stack([table[name].to_numpy().astype(np.float64) for name in names])
    return {"X": X, "y": table[last].to_numpy().astype(np.int64), "features": tuple(names)}


def judgements(members: Members) -> Parts:
    """Two judges on the same pairs of outputs: the first is a feature, the second the label.

    Members are JSON lists, that of the first judge before that of the second in the alphabet.
    Pairs that either of them calls equal are left out. Further features are the numbers of
    characters of instruction and outputs.
    """
    first, second = (json.loads(members[name]) for name in sorted(members))
    verdicts = {_pair(row): row["preference"] for row in first}
    rows = [
        (verdicts[_pair(row)], row)
        for row in second
        if verdicts.get(_pair(row)) in (1, 2) and row["preference"] in (1, 2)
    ]
    columns = ("instruction", "output_1", "output_2")
    X = [[judge - 1, *(len(row[name]) for name in columns)] for judge, row in rows]
    names = ("prefers_second", *(f"length_{name}" for name in columns))
    y = np.array([row["preference"] - 1 for _, row in rows], dtype=np.int64)
    return {"X": np.array(X, dtype=np.float64), "y": y, "features": names}


def _pair(row: dict[str, str]) -> tuple[str, ...]:
    return tuple(row[name] for name in ("instruction", "output_1", "output_2"))
