"""`levelled draw` and `plan`: without a campaign, from a file alone."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from levelled.cli.options import Form, Format

if TYPE_CHECKING:
    from levelled.draws import Draws
    from levelled.sources import Pool
    from levelled.sources.reading import PoolColumns

__all__ = ["draw", "plan"]

PoolFiles = Annotated[str, typer.Argument(help="File, folder or pattern.", show_default=False)]


def draw(
    pool: PoolFiles,
    count: Annotated[int, typer.Option("-k", "--count", min=1, help="How many items to draw.")],
    weight: Annotated[
        str | None,
        typer.Option(help="The column of weights; without it all items weigh the same."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Where the randomness starts; chosen if not given.")
    ] = None,
    allow_zero: Annotated[
        bool, typer.Option("--allow-zero", help="Leave items of weight 0 out of the pool.")
    ] = False,
    id_column: Annotated[str, typer.Option(help="The column of ids.")] = "id",
    out: Annotated[Path | None, typer.Option(help="A Parquet file; without it, to stdout.")] = None,
    form: Format = None,
) -> None:
    """Draw items without replacement, in proportion to a weight, each with its probability."""
    import secrets

    import numpy as np

    from levelled.cli import show
    from levelled.samplers import race

    read = _weighed(pool, weight, id_column)
    seed = secrets.randbits(32) if seed is None else seed
    weights = np.ones(len(read.ids)) if read.score is None else read.score
    draws = race(weights, count, seed=seed, design=True, allow_zero=allow_zero)
    ids = [read.ids[row].as_py() for row in draws.index.tolist()]
    if out is not None:
        _write(draws, ids, out)
    else:
        _print(draws, ids, show.chosen(form))
    show.tell(f"{len(draws)} of {draws.pool_size} items drawn with seed {seed}")


def plan(
    pool: Annotated[str, typer.Option(help="File, folder or pattern with the predictions.")],
    width: Annotated[float, typer.Option(help="How narrow the interval should be.")],
    metric: Annotated[
        str, typer.Option(help="error, accuracy, log_loss[:CAP] or brier.")
    ] = "error",
    level: Annotated[float, typer.Option(help="How often an interval must hold.")] = 0.95,
    floor: Annotated[float, typer.Option(help="The share of draws made uniformly.")] = 0.5,
    classes: Annotated[
        str | None, typer.Option(help="The classes, as a,b,c, where no columns name them.")
    ] = None,
    form: Format = None,
) -> None:
    """Say how many labels a wanted width will take, from the predictions alone."""
    from dataclasses import asdict

    from levelled import metrics
    from levelled.cli import show
    from levelled.sources import open_pool

    opened = open_pool(pool, classes=None if classes is None else classes.split(","))
    found = metrics.plan(
        _probabilities(opened, metric),
        width,
        metric,
        label=opened.predictions().surrogate,
        level=level,
        floor=floor,
    )
    chosen = show.chosen(form)
    if chosen is Form.table:
        typer.echo(f"{found}.")
    else:
        show.records([asdict(found)], chosen)


def _weighed(pool: str, weight: str | None, id_column: str) -> "PoolColumns":
    """The ids and the weights of a pool; no other column is read."""
    from levelled.errors import PoolError
    from levelled.sources.columns import Roles
    from levelled.sources.files import files_of
    from levelled.sources.origin import Files
    from levelled.sources.reading import read_columns

    origin = Files(files_of(pool))
    for name in filter(None, (id_column, weight)):
        if name not in origin.schema.names:
            there = ", ".join(map(repr, origin.schema.names[:12]))
            raise PoolError(f"{pool} has no column {name!r}; it has {there}.")
    roles = Roles(id_column, score=weight)
    return read_columns(origin.batches(roles), roles)


def _write(draws: "Draws", ids: Sequence[Any], out: Path) -> None:
    """What `Draws.to_parquet` writes, with the ids beside the rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    draws.to_parquet(out)
    table = pq.read_table(out)
    pq.write_table(table.add_column(2, "id", pa.array(ids)), out)


def _print(draws: "Draws", ids: Sequence[Any], form: Form) -> None:
    from levelled.cli import show

    columns = ["draw", "row", "id", "probability"]
    rows = [
        dict(zip(columns, row, strict=True))
        for row in zip(
            range(1, len(draws) + 1),
            draws.index.tolist(),
            ids,
            draws.probability.tolist(),
            strict=True,
        )
    ]
    if form is Form.table:
        show.show_rows("", columns, [[show.plain(cell) for cell in r.values()] for r in rows])
    else:
        show.records(rows, form)


def _probabilities(pool: "Pool", metric: str) -> Any:  # noqa: ANN401
    from levelled.errors import PoolError

    proba = pool.predictions().proba
    if proba is None:
        raise PoolError(
            f"A plan for {metric} needs the model's probabilities (columns proba_<class>), and "
            f"this pool has none."
        )
    return proba
