"""The study `adaptive-coverage`: its claim, and the smallest size."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("sklearn")

from levelled_studies import find
from levelled_studies.efficiency.pools import load_losses, load_task
from levelled_studies.runner import run

(STUDY,) = find("adaptive-coverage")


def row(**changes: object) -> dict[str, Any]:
    values: dict[str, Any] = {"task": "spam", "budget": 500, "coverage": 0.96}
    return values | {"coverage_se": 0.01, "warned": 0.0} | changes


def verdict(rows: list[dict[str, Any]]) -> str:
    (claim,) = STUDY.claims(pa.Table.from_pylist(rows), STUDY.presets["cpu"])
    return claim.verdict


def test_the_claim_holds_where_every_cell_covers() -> None:
    assert verdict([row(), row(budget=100)]) == "holds"


def test_one_cell_far_below_its_bar_breaks_the_claim_unless_campaigns_are_warned() -> None:
    assert verdict([row(), row(), row(coverage=0.8)]) == "does not hold"
    assert verdict([row(), row(), row(coverage=0.8, warned=0.9)]) == "holds"


def test_a_mean_below_its_bar_breaks_the_claim() -> None:
    assert verdict([row(coverage=0.925)] * 40) == "does not hold"


def test_losses_are_those_of_the_benchmark() -> None:
    assert (load_losses("sharp").losses == load_task("sharp")[0].losses).all()


def test_the_smallest_size_runs_and_is_drawn(tmp_path: Path) -> None:
    results = run(STUDY, STUDY.presets["smoke"], tmp_path)
    assert results.table["budget"].to_pylist() == [20, 40]
    sides = results.table.select(["coverage", "too_low", "too_high"]).to_pylist()
    assert all(one["coverage"] + one["too_low"] + one["too_high"] >= 1 for one in sides)
    assert "coverage.png" in {path.name for path in results.files}
