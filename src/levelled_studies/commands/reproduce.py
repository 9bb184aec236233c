"""`levelled reproduce`: run a study, or list them."""

from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from levelled.cli.show import Address, BackendName, Workers

if TYPE_CHECKING:
    from levelled.backends import Backend
    from levelled_studies.study import Study, StudySettings

__all__ = ["reproduce"]


def reproduce(
    name: Annotated[
        str, typer.Argument(help="Name of a study, or of a family such as 'linear'.")
    ] = "",
    list_: Annotated[bool, typer.Option("--list", help="List the studies and stop.")] = False,
    preset: Annotated[
        str, typer.Option(help="smoke (seconds), cpu (scaled down), or paper (full size).")
    ] = "cpu",
    out: Annotated[Path, typer.Option(help="Folder of the results; each study gets one in it.")] = (
        Path("results")
    ),
    trajectories: Annotated[
        int | None, typer.Option(min=1, help="Number of repetitions, instead of the preset's.")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed, instead of the preset's.")] = None,
    data: Annotated[
        str | None, typer.Option(help="Images for image-training, such as fashion-mnist.")
    ] = None,
    network: Annotated[
        str | None, typer.Option(help="Network for image-training: cnn, dropout or mlp.")
    ] = None,
    size: Annotated[
        int | None, typer.Option(help="Pixels a side of the images of image-training: 16 or 28.")
    ] = None,
    device: Annotated[
        str | None, typer.Option(help="Device that trains networks: cpu, or cuda for a GPU.")
    ] = None,
    workers: Workers = 1,
    backend: BackendName = "local",
    address: Address = None,
) -> None:
    """Run a study: write its table and figures, and print the verdict on each claim.

    On a cluster of several machines, --out must be a folder that all of them share.

    A study that was interrupted continues where it stopped. One that is finished is not run again.
    """
    import levelled_studies as studies
    from levelled.backends import named
    from levelled.cli.show import show_rows

    if list_ or not name:
        listed = [study for each in studies.NAMES for study in studies.find(each)]
        show_rows(
            "Studies", ["name", "what it shows"], [(s.name, s.title) for s in listed], figures=False
        )
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
