"""Run a study so that it can be interrupted at any point and taken up again."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from levelled.backends import Backend
from levelled.errors import StudyError
from levelled.studies.study import Claim, Settings, Study

__all__ = ["Results", "load", "run"]


@dataclass(frozen=True, slots=True, eq=False)
class Results:
    """A finished study: its table, what it says about each claim, and the files written."""

    table: pa.Table
    claims: Sequence[Claim]
    files: Sequence[Path]
    already_done: bool


def run(study: Study, settings: Settings, out: Path, *, backend: Backend = map) -> Results:
    """Run what is not there yet, then write the table, the figures and the claims to `out`.

    Every part is saved under `out/parts` the moment it is finished. Results of other settings
    in the same folder are refused, never overwritten or mixed.
    """
    out.mkdir(parents=True, exist_ok=True)
    _same_settings(study, settings, out)
    tasks = list(study.tasks(settings))
    missing = [at for at, task in enumerate(tasks) if not _part(out, task).exists()]
    files = _files(study, out)
    if not missing and files:
        return Results(_read(out, tasks), load(out), files, already_done=True)
    for _ in backend(partial(_run_part, study, settings, out, tasks), missing):
        pass  # each part saves itself
    table = _read(out, tasks)
    claims = study.claims(table, settings)
    pacsv.write_csv(table, out / "table.csv")
    for name, figure in study.figures(table, settings).items():
        figure.savefig(out / f"{name}.png", dpi=150)
        figure.savefig(out / f"{name}.svg", metadata={"Date": None})  # the same file every time
    # Written last: it says that everything else is there.
    _write(out / "claims.json", [asdict(claim) for claim in claims])
    return Results(table, claims, _files(study, out), already_done=False)


def load(out: Path) -> list[Claim]:
    """The claims that a finished study left in its folder."""
    return [Claim(**claim) for claim in json.loads((out / "claims.json").read_text())]


def _run_part(study: Study, settings: Settings, out: Path, tasks: Sequence[str], at: int) -> None:
    seeds = np.random.SeedSequence(settings.seed).spawn(len(tasks))
    table = study.run(settings, tasks[at], np.random.default_rng(seeds[at]))
    path = _part(out, tasks[at])
    path.parent.mkdir(exist_ok=True)
    unfinished = path.with_suffix(".unfinished")
    pq.write_table(table, unfinished)
    unfinished.replace(path)


def _part(out: Path, task: str) -> Path:
    return out / "parts" / f"{task}.parquet"


def _read(out: Path, tasks: Sequence[str]) -> pa.Table:
    tables = [pq.read_table(_part(out, task)) for task in tasks]
    return pa.concat_tables(tables, promote_options="default")  # a part may lack every value


def _files(study: Study, out: Path) -> list[Path]:
    """What a finished study wrote; nothing while it is unfinished."""
    if not (out / "claims.json").exists():
        return []
    return sorted(path for path in out.iterdir() if path.is_file())


def _same_settings(study: Study, settings: Settings, out: Path) -> None:
    path, now = out / "settings.json", {"study": study.name, **asdict(settings)}
    if not path.exists():
        _write(path, now)
        return
    before = json.loads(path.read_text())
    if before != json.loads(json.dumps(now)):
        told = ", ".join(
            f"{key} {before.get(key)!r}, not {now.get(key)!r}"
            for key in sorted(before.keys() | now.keys())
            if json.dumps(before.get(key)) != json.dumps(now.get(key))
        )
        raise StudyError(
            f"{out} holds results of other settings ({told}). Choose another folder with --out, "
            f"or remove that one."
        )


def _write(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=1) + "\n")
