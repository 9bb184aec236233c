"""The source of a pool: a frame, plain files, or the output of a tool, recognised by its content.

There is a module for each tool.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from levelled.errors import PoolError
from levelled.sources.files import (
    ENDINGS,
    PathName,
    ending_of,
    format_of,
    json_objects,
    local_path,
    local_places,
    name_unreadable,
    opener,
)
from levelled.sources.packed import ZIP, open_text
from levelled.sources.readers import (
    argilla,
    deepeval,
    doccano,
    hugging_face,
    inspect_ai,
    label_studio,
    lm_eval,
    mlflow,
    prodigy,
    promptfoo,
)
from levelled.sources.readers.items import (
    Contents,
    Outputs,
    check_size,
    make_outputs,
    plain_table,
    read_document,
)
from levelled.sources.rows import CsvFile, Files, Frame, Origin, as_table

if TYPE_CHECKING:
    from levelled.samplers.race import ArrowStream
    from levelled.sources.choices import ColumnChoices

PLAIN = "plain"
"""The reader of files whose columns say by their names what they hold."""

TITLES = {
    "inspect": "Inspect AI log",
    "lm-eval": "lm-evaluation-harness samples",
    "promptfoo": "promptfoo results",
    "deepeval": "deepeval test run",
    "mlflow": "MLflow evaluation",
    "huggingface": "Hugging Face data set",
    "label-studio": "Label Studio export",
    "argilla": "Argilla records",
    "doccano": "doccano export",
    "prodigy": "Prodigy data set",
}
"""What each reader reads, by its name."""


class _JsonReader(Protocol):
    """A module that reads JSON documents of one tool."""

    def matches(self, sample: Mapping[str, Any], *, is_list: bool) -> bool:
        """True for the document, or for the first object of a list or file of lines."""

    def read(self, document: Any, name: str) -> Contents:  # noqa: ANN401
        """The items of the document."""


_OF_JSON: Mapping[str, _JsonReader] = {
    "inspect": inspect_ai,
    "lm-eval": lm_eval,
    "promptfoo": promptfoo,
    "deepeval": deepeval,
    "mlflow": mlflow,
    "label-studio": label_studio,
    "argilla": argilla,
    "prodigy": prodigy,
    "doccano": doccano,
}


def find_source(
    source: PathName | Sequence[PathName] | ArrowStream, choices: ColumnChoices
) -> tuple[str | tuple[str, ...] | None, Origin, Outputs | None]:
    """The name of the source of a pool, its rows, and the output of a tool if it is one."""
    kind = f"{type(source).__module__}.{type(source).__name__}"
    if kind.startswith("datasets.") and kind.endswith(".Dataset"):
        outputs = hugging_face.as_outputs(source)  # it has no Arrow interface of its own
        return None, Frame(outputs.table), outputs
    # A pandas frame has an Arrow interface only in newer versions.
    is_pandas = kind.startswith("pandas") and kind.endswith(".DataFrame")
    if hasattr(source, "__arrow_c_stream__") or is_pandas:
        return None, Frame(as_table(source)), None
    if isinstance(source, str | PathLike):
        name, path = fspath(source), local_path(source)
        found = read_outputs(path, choices.reader) if name else None
        own = _own_columns(path, choices, found)
        if own is not None:
            return name, Frame(own, local_places([path])), None
        is_rows = path.suffix.lower() in ENDINGS
        # A user who names a raw column of ids wants the rows of the file as they are.
        if found is None or (is_rows and choices.id_column not in found.table.column_names):
            return name, Files(source), None
        paths = hugging_face.files_in(path) if path.is_dir() else (path,)
        return name, Frame(found.table, local_places(paths)), found
    if isinstance(source, list | tuple) and all(isinstance(one, str | PathLike) for one in source):
        return tuple(fspath(one) for one in source), Files(source), None
    raise PoolError(
        f"A pool is a path, a list of paths, or a frame of pandas, polars, duckdb or pyarrow; "
        f"this is a {type(source).__name__}."
    )


def _own_columns(path: Path, choices: ColumnChoices, found: Outputs | None) -> pa.Table | None:
    """The table in a file that pandas wrote in parts, if it is to be read by its own columns.

    That is said, or a column is named that MLflow's reader would rename, or the table holds
    predictions.
    """
    is_mlflow = found is not None and found.reader == "mlflow" and choices.reader is None
    if ending_of(path) in ENDINGS or not (
        is_mlflow or (choices.reader == PLAIN and path.is_file())
    ):
        return None
    try:
        document = read_document(path)
    except (PoolError, OSError):  # whoever reads it as plain rows says what is wrong
        return None
    if not mlflow.is_split(document):
        return None
    table = plain_table(mlflow.rows_of(document, str(path)))
    named = {choices.id_column, choices.pred_column, *choices.judge_columns, *choices.hide}
    named |= {*(choices.show or ()), *(choices.roles or ())}
    renamed = {*table.column_names} - {*(found.table.column_names if found else ())}
    is_own = found is None or not named.isdisjoint(renamed) or mlflow.has_predictions(table)
    return table if is_own else None


def read_outputs(path: Path, reader: str | None = None) -> Outputs | None:
    """The outputs of a tool in a file or folder; None if it is a plain pool.

    The tool is recognised by the content, unless the name of a reader says which it must be.
    """
    if reader == PLAIN:
        return None
    if reader is not None and reader not in TITLES:
        raise PoolError(f"There is no reader {reader!r}; there are {', '.join((*TITLES, PLAIN))}.")
    try:
        is_folder, is_file = path.is_dir(), path.is_file()
    except OSError:  # such as a name that is too long; files_of says so
        return None
    outputs = _read_file(path) if is_file else None
    if is_folder and hugging_face.is_folder(path):
        with name_unreadable(path, TITLES["huggingface"]):
            outputs = hugging_face.read_folder(path)
    if reader is not None and (outputs is None or outputs.reader != reader):
        what = "it looks like a plain pool" if outputs is None else f"it looks like {outputs.tool}"
        raise PoolError(f"{path} was to be read as {TITLES[reader]}, but {what}.")
    return outputs


def _read_file(path: Path) -> Outputs | None:
    ending = path.suffix.lower()
    with name_unreadable(path, ENDINGS.get(ending) or ending.removeprefix(".")):
        if ending_of(path) == ".json":
            return _of_document(path)
        with path.open("rb") as file:
            is_zip = file.read(len(ZIP)) == ZIP
        if ending == ".eval" or (is_zip and inspect_ai.is_archive(path)):
            contents = inspect_ai.read_archive(path)
            return make_outputs("inspect", TITLES["inspect"], contents, str(path))
        kind = format_of(path, opener(path))
        return _of_lines(path) if kind == "jsonl" else _of_table(path, kind)


def _of_document(path: Path) -> Outputs:
    document = read_document(path)
    is_list = isinstance(document, list)
    if is_list and not document:
        raise PoolError(f"{path} holds an empty list: there is nothing to label.")
    sample = document[0] if is_list else document
    name = _match(sample, is_list=is_list) if isinstance(sample, Mapping) else None
    if name is None:
        raise PoolError(
            f"{path} is JSON, but of no tool that is known: {', '.join(TITLES.values())}. To use "
            f"it as a pool of your own, write one object a line, with an id, to a file that ends "
            f"in .jsonl."
        )
    return _read_json(name, document, path)


def _of_lines(path: Path) -> Outputs | None:
    def lines() -> Iterator[Mapping[str, Any]]:
        with path.open("rb") as file, open_text(file, str(path)) as text:
            yield from json_objects(text, str(path))

    try:
        sample = next(lines(), None)
    except PoolError:
        if path.suffix.lower() not in ENDINGS:
            return _of_document(path)
        return None  # whoever reads the file as a plain pool says what is wrong
    name = None if sample is None else _match(sample, is_list=True)
    if name is None:
        return None
    check_size(path)
    return _read_json(name, [*lines()], path)


def _of_table(path: Path, kind: str) -> Outputs | None:
    if kind == "csv":
        file = CsvFile(str(path), opener(path))
        if not mlflow.is_table(file.schema.names):
            return None
        check_size(path)
        return _read_json("mlflow", file.read_all().to_pylist(), path)
    with pq.ParquetFile(path) as parquet:
        if hugging_face.is_schema(parquet.schema_arrow):
            return hugging_face.read_parquet(path)
        if not mlflow.is_table(parquet.schema_arrow.names):
            return None
        check_size(path)
        table = parquet.read()
    return _read_json("mlflow", table.to_pylist(), path)


def _match(sample: Mapping[str, Any], *, is_list: bool) -> str | None:
    return next(
        (name for name, one in _OF_JSON.items() if one.matches(sample, is_list=is_list)), None
    )


def _read_json(name: str, document: Any, path: Path) -> Outputs:  # noqa: ANN401
    if isinstance(document, list):
        for at, row in enumerate(document, start=1):
            if not isinstance(row, Mapping):
                raise PoolError(f"Entry {at} of {path} is no object, unlike the first.")
    return make_outputs(name, TITLES[name], _OF_JSON[name].read(document, str(path)), str(path))
