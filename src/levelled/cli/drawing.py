"""`levelled draw`: items drawn from a file or in a database, without a campaign."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import click

import levelled as lv
from levelled.cli import show
from levelled.cli.options import ClassNames, Form, Format, argument, flag, refuse

_FOR_FILES = ("log", "metric", "classes", "floor", "design", "threads")
"""Options of draws from files."""


class DialectName(StrEnum):
    """Engines that a SELECT can be written for."""

    duckdb = "duckdb"
    postgresql = "postgresql"
    spark = "spark"
    bigquery = "bigquery"
    snowflake = "snowflake"


def draw(
    pools: Annotated[
        list[str],
        argument("File, folder, 'pattern' or address (s3://...).", metavar="[POOL]"),
    ] = [],  # noqa: B006
    count: Annotated[int | None, flag("Number of items to draw.", "-k", "--count", min=1)] = None,
    weight: Annotated[
        str | None,
        flag("The column of weights; without it all items weigh the same."),
    ] = None,
    log: Annotated[bool, flag("The column holds logarithms of weights.")] = False,
    metric: Annotated[
        str | None,
        flag("Weigh items by the loss that their predictions let expect, e.g. error."),
    ] = None,
    classes: ClassNames = None,
    floor: Annotated[
        float | None,
        flag(
            "Share of the probability spread evenly over all items, those of weight 0 too; by "
            "default 0.5 with --metric, else 0. It takes a further pass.",
            min=0,
            max=1,
        ),
    ] = None,
    design: Annotated[
        bool,
        flag(
            "Add columns about what else could be drawn, which make intervals safer.",
            "--design/--no-design",
        ),
    ] = True,
    seed: Annotated[int | None, flag("Seed of the draws; chosen if not given.", min=0)] = None,
    allow_zero: Annotated[bool, flag("Leave items of weight 0 out of the pool.")] = False,
    id_column: Annotated[str, flag("The column of ids.")] = "id",
    threads: Annotated[int | None, flag("Threads that read; by default one a core.", min=1)] = None,
    sql: Annotated[
        DialectName | None,
        flag("Print the SELECT by which this engine draws from --table by key."),
    ] = None,
    table: Annotated[str | None, flag("The table to draw from, for --sql: [schema.]table.")] = None,
    from_result: Annotated[
        Path | None, flag("Read the draws from the result of that SELECT.")
    ] = None,
    out: Annotated[Path | None, flag("A Parquet file; without it, to stdout.")] = None,
    form: Format = None,
) -> None:
    """Draw items without a campaign, each with its probability.

    Draws are without replacement, in proportion to a weight. Files may be larger than memory: they
    are read once, a row group at a time. Data in a database is drawn there: --sql prints a SELECT,
    --from-result reads what it gave.
    """
    import secrets

    pool = pools[0] if pools else None
    if len(pools) > 1:
        raise click.UsageError(
            f"A pool is one name, and {show.plain(pools[1])} is a further one. Put a "
            f"pattern in quotes: levelled draw 'pool/*.parquet'."
        )
    if sum(one is not None for one in (pool, sql, from_result)) != 1:
        raise click.UsageError("Name one of a pool, --sql with --table, and --from-result.")
    if (sql is None) != (table is None):
        raise click.UsageError("--sql and --table go together.")
    if count is None and from_result is None:
        raise click.UsageError("Say how many items to draw, as by -k 100.")
    seed = secrets.randbits(32) if seed is None else seed
    if from_result is not None:
        others = ("count", "weight", "seed", "allow_zero", "id_column")
        refuse("does not go with --from-result", *_FOR_FILES, *others)
        _check_out(out, str(from_result))
        draws = lv.samplers.draws_from_result(lv.sources.read_result(from_result))
        _show_draws(draws, out, form, ["draw", "id", "probability"])
        show.tell(f"{_count(draws)}, as {from_result} says")
    elif sql is not None:
        refuse("does not go with --sql", *_FOR_FILES, "out", "format")
        statement = lv.samplers.select_statement(
            sql,
            table or "",
            count or 0,
            seed=seed,
            key=id_column,
            weight=weight,
            allow_zero=allow_zero,
        )
        click.echo(statement)
    elif pool is not None:
        if weight is None:
            refuse("needs --weight", "log")
        else:
            refuse("does not go with --weight", "metric")
        if metric is None:
            refuse("needs --metric", "classes")
        if weight is None and metric is None:
            refuse("needs --weight or --metric", "floor", "allow_zero")
        _check_out(out, pool)
        notes: list[str] = []
        with show.progress_bar(f"opening {pool}") as progress:
            draws = lv.campaigns.draw_from_file(
                pool,
                count or 0,
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
                progress=lambda done, total: progress(f"{done:,} rows", done, total),
                note=notes.append,
            )
        _show_draws(draws, out, form, ["draw", "row", "id", "probability"])
        for line in (*notes, f"{_count(draws)}, with seed {seed}"):
            show.tell(line)


def _check_out(out: Path | None, source: str) -> None:
    """Refuse to write draws into what they are drawn from, or under a name that misleads."""
    from levelled.sources.files import ENDINGS, is_one_of

    if out is None:
        return
    refuse("does not go with --out", "format")
    if ENDINGS.get(out.suffix.lower()) != "parquet":
        raise lv.errors.InputError(f"--out writes a Parquet file: {out} must end in .parquet.")
    if is_one_of(out, source):
        raise lv.errors.InputError(
            f"--out {out} is, or would be, one of the files that {source} stands for, so the draws "
            f"would spoil what they are drawn from. Name a file elsewhere."
        )


def _count(draws: "lv.Draws") -> str:
    """The numbers of items in words."""
    counts = f"{len(draws)} of {draws.pool_size} items drawn"
    if not draws.excluded:
        return counts
    weight = "its weight" if draws.excluded == 1 else "their weights"
    return f"{counts}, {draws.excluded} left out for {weight} of 0"


def _show_draws(draws: "lv.Draws", out: Path | None, form: Form | None, columns: list[str]) -> None:
    """Write draws to a file or print these columns of them."""
    if out is not None:
        draws.to_parquet(out)
        return
    values = {
        "draw": range(1, len(draws) + 1),
        "row": draws.index.tolist(),
        "id": draws.ids or (),
        "probability": draws.probability.tolist(),
    }
    cells = [*zip(*(values[name] for name in columns), strict=True)]
    rows = [dict(zip(columns, row, strict=True)) for row in cells]
    texts = ([show.plain(cell) for cell in row] for row in cells)
    show.data(form, rows, lambda: show.show_rows("", columns, texts))
