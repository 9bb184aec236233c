"""`levelled simulate`: compare ways of choosing labels on data whose labels are known."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from levelled.campaigns.options import OPTIONS
from levelled.cli import show
from levelled.cli.options import Address, BackendName, Form, Format, Workers, takes

if TYPE_CHECKING:
    from levelled.backends import Backend


@takes(*(OPTIONS[name] for name in ("features", "classes", "id_column")))
def simulate(
    pool: Annotated[str, typer.Option(help="File, folder or pattern with predictions and labels.")],
    label: Annotated[str, typer.Option(help="Column of the labels.")] = "label",
    metric: Annotated[
        str,
        typer.Option(help="error, accuracy, brier, log_loss:CAP, f1:CLASS, recall:CLASS, mse, ..."),
    ] = "error",
    methods: Annotated[
        str,
        typer.Option(
            help="all, or some of uniform, static, adaptive, guaranteed (slow, not in all), "
            "active-testing, ppi, with-replacement, with commas between."
        ),
    ] = "all",
    budgets: Annotated[str, typer.Option(help="Numbers of labels, as 100,500.")] = "100,500",
    repetitions: Annotated[int, typer.Option(min=2, help="Number of repetitions.")] = 200,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all random numbers.")] = 0,
    workers: Workers = 1,
    backend: BackendName = "local",
    address: Address = None,
    out: Annotated[
        Path | None, typer.Option(help="A PNG or SVG file for a plot of the factors.")
    ] = None,
    form: Format = None,
    **columns: Any,  # noqa: ANN401
) -> None:
    """Compute what each method would have given on a pool whose labels are known.

    The label factor is the number of random labels that one label of the method is worth. The
    width factor says the same of the interval that is shown. Coverage of static and adaptive
    campaigns is that of five planned looks at once.
    """
    from levelled.backends import named
    from levelled.simulation import METHODS, applicable_methods, known_losses, repeat_methods
    from levelled.simulation.methods import SLOW
    from levelled.simulation.running import check_budgets, check_methods

    _check_out(out)
    run = _with_progress(named(backend, workers=workers, address=address))
    known = known_losses(pool, label, metric, **columns)
    names = check_methods(applicable_methods(known) if methods == "all" else methods.split(","))
    sizes = check_budgets(_numbers(budgets), len(known))
    show.tell(f"{len(known):,} items, {known.metric} {known.risk:.4g} from all labels")
    left_out = [name for name in METHODS if name not in (*names, *SLOW)]
    if methods == "all" and left_out:
        show.tell(f"note: left out for lack of columns that they need: {', '.join(left_out)}")
    chosen = {name: METHODS[name] for name in names}
    rows = repeat_methods(known, chosen, sizes, repetitions, seed=seed, backend=run)
    about = f"{known.metric} of {len(known):,} items, {repetitions} repetitions"
    if show.chosen(form) is Form.table:
        from levelled.simulation.plotting import factor_table

        show.show_rows(about, *factor_table(rows))
    else:
        show.records(rows, show.chosen(form))
    if out is not None:
        from levelled.simulation import plot_factors

        plot_factors(rows, about=about).savefig(out, dpi=200)
        show.tell(f"written: {out}")


def _with_progress(backend: "Backend") -> "Backend":
    return show.with_progress(backend, "simulating") if sys.stderr.isatty() else backend


def _numbers(text: str) -> list[int]:
    """The numbers of an option such as 100,500."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise typer.BadParameter(f"--budgets must be whole numbers, as 100,500; it is {text!r}.")
    return [int(part) for part in parts]


def _check_out(out: Path | None) -> None:
    """Refuse a file that no plot can be written to, before the work begins."""
    from levelled._optional import optional
    from levelled.errors import InputError

    if out is None:
        return
    if out.suffix.lower() not in (".png", ".svg", ".pdf") or not out.parent.is_dir():
        raise InputError(f"--out must be a .png, .svg or .pdf file in a folder that exists: {out}.")
    optional("matplotlib", extra="plots")
