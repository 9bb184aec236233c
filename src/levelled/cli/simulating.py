"""`levelled simulate`: each method on labels that are known."""

from pathlib import Path
from typing import Annotated, Any

import click

import levelled as lv
from levelled.campaigns.options import OPTIONS
from levelled.cli import show
from levelled.cli.options import Address, BackendName, Format, Workers, flag, takes


@takes(*(OPTIONS[name] for name in ("features", "classes", "id_column")))
def simulate(
    pool: Annotated[str, flag("File, folder or pattern with predictions and labels.")],
    label: Annotated[str, flag("Column of the labels.")] = "label",
    metric: Annotated[
        str, flag("error, accuracy, brier, log_loss:CAP, f1:CLASS, recall:CLASS, mse, ...")
    ] = "error",
    methods: Annotated[
        str,
        flag(
            "all, or some of uniform, static, adaptive, guaranteed (slow, not in all), "
            "active-testing, ppi, with-replacement, with commas between."
        ),
    ] = "all",
    budgets: Annotated[str, flag("Numbers of labels, as 100,500.")] = "100,500",
    repetitions: Annotated[int, flag("Number of repetitions.", min=2)] = 200,
    seed: Annotated[int, flag("Seed of all random numbers.", min=0)] = 0,
    workers: Workers = 1,
    backend: BackendName = "local",
    address: Address = None,
    out: Annotated[Path | None, flag("A PNG or SVG file for a plot of the factors.")] = None,
    form: Format = None,
    **columns: Any,  # noqa: ANN401
) -> None:
    """Compare methods on a pool whose labels are known.

    The label factor is the number of random labels that one label of the method is worth. The
    width factor says the same of the interval that is shown. Coverage of static and adaptive
    campaigns is that of five planned looks at once.
    """
    from levelled._optional import optional
    from levelled.backends import named
    from levelled.simulation import (
        METHODS,
        applicable_methods,
        known_losses,
        plot_factors,
        repeat_methods,
    )
    from levelled.simulation.methods import SLOW
    from levelled.simulation.running import check_budgets, check_methods, factor_table

    if out is not None:
        if out.suffix.lower() not in (".png", ".svg", ".pdf") or not out.parent.is_dir():
            raise lv.errors.InputError(
                f"--out must be a .png, .svg or .pdf file in a folder that exists: {out}."
            )
        optional("matplotlib", extra="plots")
    run = show.with_progress(named(backend, workers=workers, address=address), "simulating")
    known = known_losses(pool, label, metric, **columns)
    names = check_methods(applicable_methods(known) if methods == "all" else methods.split(","))
    parts = [part.strip() for part in budgets.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise click.BadParameter(f"--budgets must be whole numbers, as 100,500; it is {budgets!r}.")
    sizes = check_budgets([int(part) for part in parts], len(known))
    show.tell(f"{len(known):,} items, {known.metric} {known.risk:.4g} from all labels")
    left_out = [name for name in METHODS if name not in (*names, *SLOW)]
    if methods == "all" and left_out:
        show.tell(f"note: left out for lack of columns that they need: {', '.join(left_out)}")
    chosen = {name: METHODS[name] for name in names}
    rows = repeat_methods(known, chosen, sizes, repetitions, seed=seed, backend=run)
    about = f"{known.metric} of {len(known):,} items, {repetitions} repetitions"
    show.data(form, rows, lambda: show.show_rows(about, *factor_table(rows)))
    if out is not None:
        plot_factors(rows, about=about).savefig(out, dpi=200)
        show.tell(f"written: {out}")
