"""`levelled demo`: the first thing a newcomer runs."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["demo"]


def demo(
    out: Annotated[Path, typer.Option(help="Where the figure and the table go.")] = Path("demo"),
    labels: Annotated[int, typer.Option(min=2, help="Labels bought in each repetition.")] = 100,
    repetitions: Annotated[int, typer.Option(min=2, help="How often it is done anew.")] = 2000,
    seed: Annotated[int, typer.Option(min=0, help="Where the randomness starts.")] = 0,
) -> None:
    """Evaluate a digit classifier from a few chosen labels, again and again.

    The true error rate is known here, so one can see which estimates centre on it.
    """
    from levelled.cli.show import show_rows, tell, with_progress
    from levelled.studies import digits

    settings = digits.Settings(labels=labels, repetitions=repetitions, seed=seed)
    table = digits.run(settings, backend=with_progress(map, "Labelling, again and again"))
    rows = digits.summary(table)
    columns = ["", "mean", "bias", "(± s.e.)", "spread (s.d.)", "RMSE", "95% interval holds"]
    show_rows(
        f"Error rate of a digit classifier from {labels} chosen labels of {table['n_pool'][0]}, "
        f"{repetitions:,} times",
        columns,
        [
            (
                row.name,
                f"{row.mean:.2%}",
                f"{row.bias:+.2%}",
                f"{row.bias_stderr:.2%}",
                f"{row.spread:.2%}",
                f"{row.rmse:.2%}",
                "" if row.coverage is None else f"{row.coverage:.1%}",
            )
            for row in rows
        ],
    )
    for path in digits.save(table, settings, out):
        tell(f"written: {path}")
