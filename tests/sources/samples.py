"""Small pools, written in every format."""

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Columns = Mapping[str, Sequence[Any]]

MAIL: Columns = {
    "id": ["r0", "r1", "r2", "r3"],
    "pred": ["ham", "spam", "ham", "spam"],
    "proba_ham": [0.9, 0.25, 0.75, 0.5],
    "proba_spam": [0.1, 0.75, 0.25, 0.5],
    "country": ["de", "fr", None, "de"],
    "text": ["Lunch?", 'He said "hi",\nthen left', "", "=1+1; DROP TABLE x; <b>\x1b[31m"],
}


def rows_of(columns: Columns) -> list[dict[str, Any]]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def write(path: Path, columns: Columns, *, row_group_size: int | None = None) -> Path:
    """Write the columns in the format that the ending of the path names."""
    if path.suffix in (".parquet", ".pq"):
        pq.write_table(pa.table(dict(columns)), path, row_group_size=row_group_size)
    elif path.suffix in (".jsonl", ".ndjson"):
        path.write_text("".join(json.dumps(row) + "\n" for row in rows_of(columns)))
    else:
        with path.open("w", newline="") as file:
            writer = csv.writer(file, delimiter="\t" if path.suffix == ".tsv" else ",")
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))
    return path
