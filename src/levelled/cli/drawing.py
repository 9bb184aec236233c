"""`levelled draw`: items drawn from a file, each with its probability, without a campaign."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

import levelled as lv
from levelled.cli import show
from levelled.cli.options import ClassNames, Form, Format

__all__ = ["draw"]


def draw(
    pool: Annotated[
        str, typer.Argument(help="File, folder, pattern or address (s3://...).", show_default=False)
    ],
    count: Annotated[int, typer.Option("-k", "--count", min=1, help="Number of items to draw.")],
    weight: Annotated[
        str | None,
        typer.Option(help="The column of weights; without it all items weigh the same."),
    ] = None,
    log: Annotated[
        bool, typer.Option("--log", help="The column holds logarithms of weights.")
    ] = False,
    metric: Annotated[
        str | None,
        typer.Option(help="Weigh items by the loss that their predictions let expect, e.g. error."),
    ] = None,
    classes: ClassNames = None,
    floor: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help="Share of the probability spread evenly over all items; by default 0.5 with "
            "--metric, else 0. It takes a further pass.",
        ),
    ] = None,
    design: Annotated[
        bool,
        typer.Option(
            "--design/--no-design",
            help="Add columns about what else could be drawn, which make intervals safer.",
        ),
    ] = True,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Seed of the draws; chosen if not given.")
    ] = None,
    allow_zero: Annotated[
        bool, typer.Option("--allow-zero", help="Leave items of weight 0 out of the pool.")
    ] = False,
    id_column: Annotated[str, typer.Option(help="The column of ids.")] = "id",
    threads: Annotated[
        int | None, typer.Option(min=1, help="Threads that read; by default one a core.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="A Parquet file; without it, to stdout.")] = None,
    form: Format = None,
) -> None:
    """Draw items without replacement, in proportion to a weight, each with its probability.

    Files may be larger than memory: they are read once, a row group at a time.
    """
    import secrets

    seed = secrets.randbits(32) if seed is None else seed
    with show.row_counter() as progress:
        draws, ids = lv.campaigns.draw_from_file(
            pool,
            count,
            seed=seed,
            weight=weight,
            log=log,
            metric=metric,
            classes=None if classes is None else classes.split(","),
            floor=floor,
            design=design,
            allow_zero=allow_zero,
            id_column=id_column,
            threads=threads,
            progress=progress,
        )
    if out is not None:
        _write_draws(draws, ids, out)
    else:
        _print_draws(draws, ids, show.chosen(form))
    show.tell(f"{len(draws)} of {draws.pool_size} items drawn with seed {seed}")


def _write_draws(draws: "lv.Draws", ids: Sequence[str | int], out: Path) -> None:
    """Write what `Draws.to_parquet` writes, with a column of ids."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    draws.to_parquet(out)
    table = pq.read_table(out)
    pq.write_table(table.add_column(2, "id", pa.array(ids)), out)


def _print_draws(draws: "lv.Draws", ids: Sequence[str | int], chosen: Form) -> None:
    numbers = range(1, len(draws) + 1)
    cells = zip(numbers, draws.index.tolist(), ids, draws.probability.tolist(), strict=True)
    columns = ["draw", "row", "id", "probability"]
    if chosen is Form.table:
        show.show_rows("", columns, [[show.plain(cell) for cell in row] for row in cells])
    else:
        show.records([dict(zip(columns, row, strict=True)) for row in cells], chosen)
