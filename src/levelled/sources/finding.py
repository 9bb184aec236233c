"""The source of a pool: a frame in memory, plain files, or the output of a tool."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, TypeGuard

from levelled.errors import PoolError
from levelled.sources.files import ENDINGS, PathName, Stamps, files_of
from levelled.sources.origin import Files, FilesInMemory, Frame, Origin, as_table
from levelled.sources.pool import ColumnChoices
from levelled.sources.readers import files_of_outputs, read_outputs
from levelled.sources.readers.hugging_face import as_outputs, is_dataset
from levelled.sources.readers.items import Outputs

if TYPE_CHECKING:
    from levelled.samplers.race import ArrowStream


def find_source(
    source: PathName | Sequence[PathName] | ArrowStream, choices: ColumnChoices
) -> tuple[str | tuple[str, ...] | None, Origin, Outputs | None]:
    """The name of a source, its rows, and the output of a tool if it is one."""
    if is_dataset(source):
        outputs = as_outputs(source)
        return None, Frame(outputs.table), outputs
    if hasattr(source, "__arrow_c_stream__") or _is_pandas(source):
        return None, Frame(as_table(source)), None
    if isinstance(source, str | PathLike):
        name = fspath(source)
        path = Path(name).expanduser()
        found = _outputs(path, choices) if name else None
        if found is None:
            return name, Files(files_of(source)), None
        paths = files_of_outputs(path)
        return name, FilesInMemory(found.table, paths, Stamps(paths)), found
    if _are_paths(source):
        return tuple(fspath(one) for one in source), Files(files_of(source)), None
    raise PoolError(
        f"A pool is a path, a list of paths, or a frame of pandas, polars, duckdb or pyarrow; "
        f"this is a {type(source).__name__}."
    )


def _outputs(path: Path, choices: ColumnChoices) -> Outputs | None:
    """The output of a tool; None for a plain pool, and where the user names a raw column of ids."""
    outputs = read_outputs(path, choices.reader)
    raw = outputs is not None and choices.id_column not in outputs.table.column_names
    return None if raw and path.suffix.lower() in ENDINGS else outputs


def _are_paths(source: object) -> TypeGuard[Sequence[PathName]]:
    return isinstance(source, list | tuple) and all(
        isinstance(one, str | PathLike) for one in source
    )


def _is_pandas(source: object) -> bool:
    """True for a pandas frame of a version without an Arrow interface."""
    return type(source).__name__ == "DataFrame" and type(source).__module__.startswith("pandas")
