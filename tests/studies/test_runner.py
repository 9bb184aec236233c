"""What the runner promises of every study: nothing lost, nothing run twice, nothing mixed."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pytest
from numpy.random import Generator

from levelled_studies.runner import open_journal, run
from levelled_studies.study import Claim, Resumable, Row, Study, StudyError, StudySettings


@dataclass(frozen=True, slots=True)
class Walk(StudySettings):
    trajectories: int = 2
    length: int = 5
    pause: float = 0.0


def steps(settings: Walk, task: str, rng: Generator, done: Sequence[Row]) -> Iterator[Row]:
    jumps = rng.normal(size=settings.length)
    for at in range(len(done), settings.length):
        time.sleep(settings.pause)
        yield {"walk": task, "step": at, "place": float(jumps[: at + 1].sum())}


def claims(table: pa.Table, settings: Walk) -> list[Claim]:
    return [Claim("walk", "here", "It walks.", f"{len(table)} steps", "holds")]


def walking(name: str = "walk") -> Study:
    return Study(
        name=name,
        title="Random walks",
        presets={"smoke": Walk()},
        tasks=lambda settings: [f"walk-{at}" for at in range(settings.trajectories)],
        run=Resumable("walks", steps, _made_of),
        figures=lambda table, settings: {},
        claims=claims,
    )


def _made_of(settings: Walk) -> Mapping[str, object]:
    return {"seed": settings.seed, "length": settings.length}


def test_a_trajectory_goes_on_after_its_last_row_with_the_same_numbers(tmp_path: Path) -> None:
    whole = run(walking(), Walk(), tmp_path / "whole").table
    journal = tmp_path / "cut" / "walks" / "parts" / "walk-0.jsonl"
    with open_journal(journal) as kept:
        for row in whole.to_pylist()[:3]:
            kept.append(row)
    assert run(walking(), Walk(), tmp_path / "cut").table.equals(whole)
    assert not journal.exists()


def test_half_a_row_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "walk.jsonl"
    path.write_bytes(b'{"step": 0}\n{"step": 1, "pla')
    with open_journal(path) as journal:
        assert journal.rows == [{"step": 0}]
        journal.append({"step": 1})
    assert [json.loads(line) for line in path.read_text().splitlines()] == [
        {"step": 0},
        {"step": 1},
    ]


def test_a_killed_process_loses_and_repeats_nothing(tmp_path: Path) -> None:
    settings = Walk(trajectories=1, length=300, pause=0.02)
    script = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "from pathlib import Path\n"
        "from test_runner import Walk, walking\n"
        "from levelled_studies.runner import run\n"
        f"run(walking(), {settings!r}, Path({str(tmp_path / 'cut')!r}))\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script])
    journal = tmp_path / "cut" / "walks" / "parts" / "walk-0.jsonl"
    while process.poll() is None and not (journal.exists() and journal.stat().st_size > 200):
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    before = journal.read_bytes().count(b"\n")
    assert 0 < before < settings.length
    quick = replace(settings, pause=0.0)
    cut = run(walking(), quick, tmp_path / "cut").table
    assert cut.equals(run(walking(), quick, tmp_path / "whole").table)


def test_more_trajectories_leave_the_first_as_they_are(tmp_path: Path) -> None:
    few = run(walking(), Walk(), tmp_path)
    many = run(walking(), Walk(trajectories=4), tmp_path)
    assert many.table.slice(0, len(few.table)).equals(few.table)
    assert not many.already_done
    assert run(walking(), Walk(trajectories=4), tmp_path).already_done


def test_parts_that_workers_saved_elsewhere_are_missed(tmp_path: Path) -> None:
    def on_another_machine(function: object, items: Sequence[int]) -> Iterator[None]:
        yield from (None for _ in items)

    with pytest.raises(StudyError, match=r"2 of 2.*--out"):
        run(walking(), Walk(), tmp_path, backend=on_another_machine)


def test_studies_that_share_a_home_run_a_trajectory_once(tmp_path: Path) -> None:
    home = tmp_path / "walks"
    run(walking("one"), Walk(), tmp_path / "one", trajectories=home)
    part = home / "parts" / "walk-0.parquet"
    written = part.stat().st_mtime_ns
    run(walking("other"), Walk(trajectories=3), tmp_path / "other", trajectories=home)
    assert part.stat().st_mtime_ns == written
    assert (home / "parts" / "walk-2.parquet").exists()


def test_claims_of_fewer_trajectories_do_not_outlive_an_interrupted_run(tmp_path: Path) -> None:
    def interrupted(table: pa.Table, settings: Walk) -> list[Claim]:
        raise KeyboardInterrupt

    run(walking(), Walk(), tmp_path)
    with pytest.raises(KeyboardInterrupt):
        run(replace(walking(), claims=interrupted), Walk(trajectories=4), tmp_path)
    (claim,) = run(walking(), Walk(trajectories=4), tmp_path).claims
    assert claim.measured == "20 steps"


def test_parts_of_one_stream_meet_the_same_numbers(tmp_path: Path) -> None:
    paired = replace(walking(), run=Resumable("walks", steps, _made_of, stream=lambda task: "one"))
    places = run(paired, Walk(), tmp_path).table["place"].to_pylist()
    assert places[:5] == places[5:]


def test_parts_of_an_older_version_are_refused(tmp_path: Path) -> None:
    run(walking(), Walk(), tmp_path)
    newer = replace(walking(), run=Resumable("walks", steps, _made_of, version=2))
    with pytest.raises(StudyError, match="version 1, not 2"):
        run(newer, Walk(), tmp_path)


def test_trajectories_of_other_settings_are_refused(tmp_path: Path) -> None:
    run(walking(), Walk(), tmp_path)
    with pytest.raises(StudyError, match=r"length 5, not 6"):
        run(walking(), Walk(length=6), tmp_path)
