"""Pools and answers that follow from the ids alone, the same on every machine."""

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

Column = list[Any]


def uniform(*key: object) -> float:
    """A number from 0 to 1 that depends on the key alone."""
    digits = sha256(":".join(map(str, key)).encode()).digest()
    return (int.from_bytes(digits[:8]) >> 11) / 2**53


def ids(n: int) -> list[str]:
    return [f"r{at}" for at in range(n)]


def spam(n: int) -> dict[str, Column]:
    """A spam filter's probabilities, most of them sure, with features and a column to slice by."""
    chance = [_sure(name) for name in ids(n)]
    return {
        "id": ids(n),
        "proba_ham": [1 - one for one in chance],
        "proba_spam": chance,
        "country": [("de", "fr", "uk")[int(3 * uniform(name, "country"))] for name in ids(n)],
        "text": [f"text {name}, süß" for name in ids(n)],
    }


def _sure(name: str) -> float:
    u = uniform(name, "chance")
    return u * u if uniform(name, "side") < 0.6 else 1 - u * u


def features(n: int) -> dict[str, Column]:
    return {
        f"f_{at}": [2 * uniform(name, at) + _sure(name) - 1 for name in ids(n)] for at in range(3)
    }


def numbers(n: int) -> dict[str, Column]:
    """Predicted numbers from 0 to 20."""
    return {"id": ids(n), "pred": [20 * uniform(name, "pred") for name in ids(n)]}


def kind(name: object) -> str:
    """The true class of an item of `spam`."""
    return "spam" if uniform(name, "truth") < _sure(str(name)) else "ham"


def number(name: object) -> float:
    """The true value of an item of `numbers`."""
    return round(min(20.0, 20 * uniform(name, "pred") + 2 * uniform(name, "truth")), 3)


def verdicts(n: int) -> dict[str, Column]:
    """Answers of a system that two judges looked at."""
    columns: dict[str, Column] = {
        "id": ids(n),
        "question": [f"question {name}" for name in ids(n)],
        "topic": ["law" if uniform(name, "topic") < 0.4 else "tax" for name in ids(n)],
    }
    for judge, right in (("grader", 0.85), ("rules", 0.7)):
        columns[judge] = [
            passed(name) if uniform(name, judge) < right else _other(passed(name))
            for name in ids(n)
        ]
    return columns


def passed(name: object) -> str:
    """A person's verdict."""
    return "pass" if uniform(name, "passes") < 0.7 else "fail"


def _other(verdict: str) -> str:
    return "fail" if verdict == "pass" else "pass"


def weights(n: int) -> list[float]:
    """Weights that differ a thousandfold."""
    return [0.001 + uniform(at, "weight") ** 4 for at in range(n)]


def write_parquet(path: Path, columns: Mapping[str, Sequence[Any]], rows: int = 45) -> Path:
    """One file with several row groups."""
    path.parent.mkdir(exist_ok=True)
    pq.write_table(pa.table(dict(columns)), path, row_group_size=rows)
    return path


def write_folder(folder: Path, columns: Mapping[str, Sequence[Any]]) -> Path:
    """Three files with row groups of several sizes."""
    table = pa.table(dict(columns))
    ends = [len(table) // 3, len(table) // 3 + 10, len(table)]
    for number_, (start, end) in enumerate(zip([0, *ends], ends, strict=False)):
        part = table.slice(start, end - start)
        write_parquet(folder / f"part-{number_}.parquet", part.to_pydict())
    return folder


def write_csv(path: Path, columns: Mapping[str, Sequence[Any]]) -> Path:
    pacsv.write_csv(pa.table(dict(columns)), path)
    return path


def write_jsonl(path: Path, columns: Mapping[str, Sequence[Any]]) -> Path:
    rows = pa.table(dict(columns)).to_pylist()
    path.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows))
    return path
