"""Results of a SELECT that draws, read from the file that an engine wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING

from levelled.errors import PoolError
from levelled.sources.files import PathName, files_of, format_of, json_objects

if TYPE_CHECKING:
    import pyarrow as pa

_WHOLE = r"^(0|-?[1-9][0-9]{0,17})$"


def read_result(path: PathName) -> pa.Table:
    """The rows of a Parquet, CSV or JSONL file, for `levelled.samplers.draws_from_result`.

    In CSV all is text, so ids are numbers if all of them are written as whole numbers are.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    from levelled.sources.origin import name_unreadable, open_csv

    paths = files_of(path)
    if len(paths) > 1:
        raise PoolError(f"{path} are {len(paths)} files; the result of a SELECT is one.")
    kind = format_of(paths[0])
    with name_unreadable(path, kind):
        if kind == "parquet":
            return pq.read_table(paths[0])
        if kind == "jsonl":
            with paths[0].open("rb") as file:
                return pa.Table.from_pylist([*json_objects(file, paths[0].name)])
        with open_csv(paths[0]) as reader:
            names = reader.schema.names
        with open_csv(paths[0], kinds=dict.fromkeys(names, pa.string())) as reader:
            return _with_whole_ids(reader.read_all())


def _with_whole_ids(table: pa.Table) -> pa.Table:
    import pyarrow as pa
    import pyarrow.compute as pc

    for at, name in enumerate(table.column_names):
        column = table.column(at)
        if name.lower() == "id" and pc.all(pc.match_substring_regex(column, _WHOLE)).as_py():
            return table.set_column(at, name, column.cast(pa.int64()))
    return table
