"""Data sets of Hugging Face: Parquet files and saved folders, whose metadata name the classes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from levelled.errors import PoolError
from levelled.labels import list_names
from levelled.sources.columns import PRED, Roles, shown_columns
from levelled.sources.readers.items import Outputs, as_object, note_labels, objects, read_document

_MOST_BYTES = 1 << 31
"""Bytes of the largest data set that is read whole: in memory it takes as much again and more."""
_STATE, _INFO, _SPLITS = "state.json", "dataset_info.json", "dataset_dict.json"


def as_outputs(dataset: Any) -> Outputs:  # noqa: ANN401
    """A `datasets.Dataset` in memory."""
    table = dataset.with_format("arrow")[:]
    return _outputs(table.replace_schema_metadata(dataset.features.arrow_schema.metadata))


def is_folder(path: Path) -> bool:
    """True for a folder written by `save_to_disk`."""
    return (path / _SPLITS).is_file() or ((path / _STATE).is_file() and (path / _INFO).is_file())


def is_schema(schema: pa.Schema) -> bool:
    """True for a Parquet file of a data set that has names of classes, or no ids."""
    features = _features((schema.metadata or {}).get(b"huggingface"))
    return features is not None and ("id" not in schema.names or bool(_class_names(features)))


def files_in(folder: Path) -> tuple[Path, ...]:
    """The files of a saved folder: its description, and its rows in their order."""
    if (folder / _SPLITS).is_file():
        splits = _read_object(folder / _SPLITS).get("splits")
        several = [str(one) for one in splits] if isinstance(splits, list) else []
        raise PoolError(
            f"{folder} holds the splits {list_names(several)}: name the folder of one of them."
        )
    files = objects(_read_object(folder / _STATE).get("_data_files"))
    names = [str(one.get("filename") or "") for one in files]
    if not names or not all(one and one == Path(one).name for one in names):
        raise PoolError(f"{folder / _STATE} names no files of rows: save the data set again.")
    missing = [one for one in names if not (folder / one).is_file()]
    if missing:
        raise PoolError(f"{folder} lacks its file {missing[0]}: copy the whole folder.")
    return (folder / _INFO, *(folder / one for one in names))


def read_folder(folder: Path) -> Outputs:
    """A data set that `save_to_disk` wrote."""
    info, *rows = files_in(folder)
    _check_size(rows)
    tables = []
    for path in rows:
        with pa.memory_map(str(path)) as file:
            tables.append(pa.ipc.open_stream(file).read_all())
    return _outputs(pa.concat_tables(tables), _class_names(_read_object(info).get("features")))


def read_parquet(path: Path) -> Outputs:
    """A Parquet file that `Dataset.to_parquet` or the Hub wrote."""
    _check_size([path])
    return _outputs(pq.read_table(path))


def _outputs(table: pa.Table, names: Mapping[str, list[str]] | None = None) -> Outputs:
    """The table with names for codes of classes, and with ids if it has none."""
    if names is None:
        metadata = (table.schema.metadata or {}).get(b"huggingface")
        names = _class_names(_features(metadata))
    table = table.replace_schema_metadata(None)
    for column, classes in names.items():
        if column in table.column_names and pa.types.is_integer(table.schema.field(column).type):
            at = table.schema.get_field_index(column)
            table = table.set_column(at, column, _decode(table.column(at), classes, column))
    notes: tuple[str, ...] = ()
    if "id" not in table.column_names:
        ids = pa.array([str(row) for row in range(len(table))])
        table = table.add_column(0, "id", ids)
        notes = ("there is no column id: the ids are the numbers of the rows, from 0",)
    labels = [one for one in names if one not in PRED and not one.startswith("pred@")]
    shown = [one for one in shown_columns(table.schema, Roles("id")) if one not in labels]
    shown = [one for one in shown if one not in PRED and "@" not in one]
    for column in labels:
        if column in table.column_names:
            known = len(table) - table.column(column).null_count
            notes += note_labels(known, len(table), column)
    return Outputs("huggingface", "Hugging Face data set", table, tuple(shown), None, notes)


def _read_object(path: Path) -> Mapping[str, Any]:
    return as_object(read_document(path))


def _decode(codes: pa.ChunkedArray, classes: list[str], column: str) -> pa.Array:
    numbers = codes.to_pylist()
    wrong = [one for one in numbers if one is not None and not -1 <= one < len(classes)]
    if wrong:
        raise PoolError(
            f"The column {column!r} holds {wrong[0]}, and its metadata name {len(classes)} classes."
        )
    return pa.array([None if one is None or one < 0 else classes[one] for one in numbers])


def _features(metadata: bytes | None) -> Any:  # noqa: ANN401
    """The features in the metadata of a schema; None if there are none."""
    try:
        return json.loads(metadata)["info"]["features"] if metadata else None
    except (ValueError, RecursionError, KeyError, TypeError):
        return None


def _class_names(features: object) -> dict[str, list[str]]:
    """The names of the classes of each column that has them."""
    return {
        column: [str(name) for name in one["names"]]
        for column, one in as_object(features).items()
        if isinstance(one, Mapping)
        and one.get("_type") == "ClassLabel"
        and isinstance(one.get("names"), list)
    }


def _check_size(paths: list[Path]) -> None:
    size = sum(path.stat().st_size for path in paths)
    if size > _MOST_BYTES:
        raise PoolError(
            f"The data set has {size >> 20:,} MB, and one without ids is read up to "
            f"{_MOST_BYTES >> 20:,} MB. Write it to Parquet with a column id, and read it as plain."
        )
