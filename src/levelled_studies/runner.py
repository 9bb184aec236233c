"""Run a study so that it can be interrupted at any point and taken up again."""

import json
import os
import sys
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
from numpy.random import Generator

from levelled._optional import optional
from levelled.backends import Backend
from levelled_studies.study import Claim, Plot, Resumable, Row, Study, StudyError, StudySettings

__all__ = ["Journal", "Results", "load", "open_journal", "run"]

if sys.platform != "win32":
    import fcntl


class Journal:
    """The rows of one unfinished part, in an open file that no other process has."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        lines = file.read().splitlines(keepends=True)
        whole = [line for line in lines if line.endswith(b"\n")]
        self.rows: list[Row] = [json.loads(line) for line in whole]
        file.truncate(sum(map(len, whole)))  # a process that was killed may leave half a row
        file.seek(0, os.SEEK_END)

    def append(self, row: Row) -> None:
        """Keep a row; it is on the disk when this returns."""
        self._file.write(json.dumps(row).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        self.rows.append(row)


@contextmanager
def open_journal(path: Path) -> Iterator[Journal]:
    """Open the journal at that path; waits while another process has it open, except on Windows."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as file:
        if sys.platform != "win32":
            fcntl.flock(file, fcntl.LOCK_EX)  # given up by the system however the process ends
        file.seek(0)
        yield Journal(file)


@dataclass(frozen=True, slots=True, eq=False)
class Results:
    """A finished study: its table, its claims, and the files written."""

    table: pa.Table
    claims: Sequence[Claim]
    files: Sequence[Path]
    already_done: bool


def run(
    study: Study,
    settings: StudySettings,
    out: Path,
    *,
    trajectories: Path | None = None,
    backend: Backend = map,
) -> Results:
    """Run what is not there yet, then write table, figures, caption and claims to `out`.

    Every part is saved under `out/parts` the moment it is finished, or under `trajectories` if
    the study shares its parts with others. Parts of other settings in the same folder are
    refused, never overwritten or mixed.
    """
    parts = _prepared(study, settings, out, trajectories)
    tasks = list(study.tasks(settings))
    missing = [at for at, task in enumerate(tasks) if not _part(parts, task).exists()]
    if (
        not missing
        and (out / "claims.json").exists()
        and _settings_record(study, settings) == _read_settings(out)
    ):
        return Results(_read(parts, tasks), load(out), _files(out), already_done=True)
    (out / "claims.json").unlink(missing_ok=True)  # of fewer parts
    # Workers of a cluster may run in another folder, so the path is absolute.
    for _ in backend(partial(_run_part, study, settings, parts.absolute(), tasks), missing):
        pass  # each part saves itself
    _check_parts(parts, [tasks[at] for at in missing])
    table = _read(parts, tasks)
    claims = study.claims(table, settings)
    pacsv.write_csv(table, out / "table.csv")
    for name, figure in study.figures(table, settings).items():
        _draw(figure, out / name)
    if caption := study.caption(settings):
        (out / "caption.txt").write_text(caption + "\n")
    _write(out / "settings.json", _settings_record(study, settings))
    # Written last: it says that everything else is there.
    _write(out / "claims.json", [asdict(claim) for claim in claims])
    return Results(table, claims, _files(out), already_done=False)


def load(out: Path) -> list[Claim]:
    """The claims that a finished study left in its folder."""
    return [Claim(**claim) for claim in json.loads((out / "claims.json").read_text())]


def _draw(figure: Plot, path: Path) -> None:
    """As PNG and as SVG, the same files every time."""
    matplotlib = optional("matplotlib", extra="plots")
    figure.savefig(path.with_name(f"{path.name}.png"), dpi=150)
    with matplotlib.rc_context({"svg.hashsalt": path.name}):
        figure.savefig(path.with_name(f"{path.name}.svg"), metadata={"Date": None})


def _prepared(study: Study, settings: StudySettings, out: Path, shared: Path | None) -> Path:
    """Make the folders, check that they hold the same settings, and return that of the parts."""
    if not isinstance(study.run, Resumable):
        _same_settings(out, _settings_record(study, settings))
        return out / "parts"
    home = study.run.folder(settings)
    parts = shared or out / home
    made_of = {"trajectories": home, "version": study.run.version}
    _same_settings(parts, made_of | dict(study.run.made_of(settings)))
    out.mkdir(parents=True, exist_ok=True)
    return parts / "parts"


def _run_part(
    study: Study, settings: StudySettings, parts: Path, tasks: Sequence[str], at: int
) -> None:
    if isinstance(study.run, Resumable):
        _follow(study.run, settings, parts, tasks[at])
        return
    seeds = np.random.SeedSequence(settings.seed).spawn(len(tasks))
    _save(study.run(settings, tasks[at], np.random.default_rng(seeds[at])), parts, tasks[at])


def _follow(trajectories: Resumable, settings: StudySettings, parts: Path, task: str) -> None:
    """Go on with a trajectory after the rows that are there, keeping each new one."""
    unfinished = parts / f"{task}.jsonl"
    with open_journal(unfinished) as journal:
        if not _part(parts, task).exists():  # another process may just have finished it
            rng = _rng_of(settings.seed, trajectories.stream(task))
            for row in trajectories.steps(settings, task, rng, tuple(journal.rows)):
                journal.append(row)
            _save(_table(journal.rows), parts, task)
    unfinished.unlink(missing_ok=True)


def _table(rows: Sequence[Row]) -> pa.Table:
    names = dict.fromkeys(name for row in rows for name in row)  # some rows say more than others
    return pa.table({name: [row.get(name) for row in rows] for name in names})


def _rng_of(seed: int, stream: str) -> Generator:
    """Random numbers that depend on a name alone, so that more tasks change nothing."""
    return np.random.default_rng([seed, zlib.crc32(stream.encode())])


def _save(table: pa.Table, parts: Path, task: str) -> None:
    parts.mkdir(parents=True, exist_ok=True)
    unfinished = parts / f"{task}.unfinished"
    pq.write_table(table, unfinished)
    unfinished.replace(_part(parts, task))


def _check_parts(parts: Path, tasks: Sequence[str]) -> None:
    """Refuse to go on if workers of a cluster have saved parts where they cannot be read here."""
    elsewhere = [task for task in tasks if not _part(parts, task).exists()]
    if elsewhere:
        raise StudyError(
            f"{len(elsewhere)} of {len(tasks)} parts were computed, but are not in {parts}. Choose "
            f"a folder that this machine and the workers of the cluster share, with --out."
        )


def _part(parts: Path, task: str) -> Path:
    return parts / f"{task}.parquet"


def _read(parts: Path, tasks: Sequence[str]) -> pa.Table:
    tables = [pq.read_table(_part(parts, task)) for task in tasks]
    return pa.concat_tables(tables, promote_options="default")  # a part may lack every value


def _files(out: Path) -> list[Path]:
    return sorted(path for path in out.iterdir() if path.is_file())


def _settings_record(study: Study, settings: StudySettings) -> dict[str, object]:
    """The settings as a file keeps them."""
    parts: dict[str, object] = json.loads(json.dumps({"study": study.name, **asdict(settings)}))
    return parts


def _read_settings(out: Path) -> object:
    return json.loads((out / "settings.json").read_text())


def _same_settings(folder: Path, now: Mapping[str, object]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "settings.json"
    if not path.exists():
        _write(path, now)
        return
    before = json.loads(path.read_text())
    differences = ", ".join(
        f"{key} {before.get(key)!r}, not {now.get(key)!r}"
        for key in sorted(before.keys() | now.keys())
        if json.dumps(before.get(key)) != json.dumps(now.get(key))
    )
    if differences:
        raise StudyError(
            f"{folder} holds results of other settings ({differences}). Choose another folder with "
            f"--out, or remove that one."
        )


def _write(path: Path, value: object) -> None:
    """The file is whole or not there, whenever the process ends."""
    unfinished = path.with_name(f"{path.name}.unfinished")
    unfinished.write_text(json.dumps(value, indent=1) + "\n")
    unfinished.replace(path)
