"""What a finished folder tells: every part has its own numbers, in order, and claims come last."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pytest
from numpy.random import Generator

from levelled_studies.runner import run
from levelled_studies.study import Claim, Resumable, Row, Study, StudySettings


@dataclass(frozen=True, slots=True)
class Dice(StudySettings):
    parts: tuple[str, ...] = ("b", "a", "c")


def claims(table: pa.Table, settings: Dice) -> list[Claim]:
    return [Claim("dice", "here", "They fall.", f"{len(table)} throws", "holds")]


def throw(settings: Dice, task: str, rng: Generator) -> pa.Table:
    return pa.table({"part": [task], "eyes": [rng.random()]})


STUDY = Study(
    name="dice",
    title="Dice",
    presets={"smoke": Dice()},
    tasks=lambda settings: settings.parts,
    run=throw,
    figures=lambda table, settings: {},
    claims=claims,
)


def test_parts_have_numbers_of_their_own_and_stand_in_the_order_of_the_tasks(
    tmp_path: Path,
) -> None:
    table = run(STUDY, Dice(), tmp_path).table
    assert table["part"].to_pylist() == ["b", "a", "c"]
    assert len(set(table["eyes"].to_pylist())) == 3
    again = run(STUDY, Dice(seed=1), tmp_path / "other").table
    assert not set(table["eyes"].to_pylist()) & set(again["eyes"].to_pylist())


def test_there_are_no_claims_before_there_are_figures(tmp_path: Path) -> None:
    """claims.json says that everything else is there."""

    def fails(table: pa.Table, settings: Dice) -> dict[str, object]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(replace(STUDY, figures=fails), Dice(), tmp_path)
    assert not (tmp_path / "claims.json").exists()
    assert not run(STUDY, Dice(), tmp_path).already_done


def walk(settings: Dice, task: str, rng: Generator, done: Sequence[Row]) -> Iterator[Row]:
    for at in range(len(done), 2):
        yield {"part": task, "step": at, "eyes": rng.random()}


def test_fewer_trajectories_of_the_same_home_are_judged_anew(tmp_path: Path) -> None:
    """All parts are there, and still the claims are those of more of them."""

    def made_of(settings: Dice) -> Mapping[str, object]:
        return {"seed": settings.seed}

    shared = replace(STUDY, run=Resumable("walks", walk, made_of))
    assert run(shared, Dice(), tmp_path).claims[0].measured == "6 throws"
    fewer = run(shared, Dice(parts=("b",)), tmp_path)
    assert not fewer.already_done
    assert fewer.claims[0].measured == "2 throws"
