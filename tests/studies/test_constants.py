"""The study `constants`: values are set and restored, its claim, and the smallest size."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

pytest.importorskip("sklearn")

from levelled.surrogates import driver
from levelled_studies import find
from levelled_studies.constants import CONSTANTS, Constant, changed, effects, write
from levelled_studies.runner import run

(STUDY,) = find("constants")
NARROW = {"squared_width": 0.9, "squared_width_se": 0.01}
FLOOR = "surrogates.driver._FIRST_FLOOR"


def row(**changes: object) -> dict[str, Any]:
    about = {"constant": FLOOR, "side": "half", "group": "campaign", "pool": "spam", "budget": 100}
    ratios = {"variance": 1.02, "variance_se": 0.01, "squared_width": 1.0, "squared_width_se": 0.1}
    return about | ratios | {"coverage": 0.95, "coverage_before": 0.95} | changes


def verdict(*rows: dict[str, Any]) -> str:
    (claim,) = STUDY.claims(pa.Table.from_pylist([*rows]), STUDY.presets["cpu"])
    return claim.verdict


def test_a_constant_has_another_value_for_the_time_of_a_block_only() -> None:
    before = driver.floor_after(0)
    with changed({FLOOR: 0.5}):
        assert driver.floor_after(0) == 0.5
    with pytest.raises(ZeroDivisionError), changed({FLOOR: 0.5}):
        _ = 1 / 0
    assert driver.floor_after(0) == before


def test_a_constant_that_there_is_not_changes_none() -> None:
    before = driver.floor_after(0)
    with pytest.raises(AttributeError), changed({FLOOR: 0.5, "surrogates.driver._NONE": 1}):
        pass
    assert driver.floor_after(0) == before


@pytest.mark.parametrize("constant", CONSTANTS, ids=lambda constant: constant.place)
@pytest.mark.parametrize("side", ["half", "twice"])
def test_every_constant_that_is_measured_is_one_of_the_product(
    constant: Constant, side: str
) -> None:
    assert constant.value is not None
    with changed(constant.changes(side)):
        now = constant.value
    assert now is not constant.value or constant.place not in constant.changes(side)


def test_a_number_is_halved_and_doubled_and_stays_whole() -> None:
    fit = Constant("surrogates.driver._FIRST_FIT")
    assert [*fit.changes("half").values(), *fit.changes("twice").values()] == [5, 20]
    assert isinstance(fit.changes("half")[fit.place], int)


def test_the_effect_is_the_geometric_mean_over_pools() -> None:
    rows = [row(variance=2.0), row(variance=0.5, pool="digits")]
    (effect,) = effects(pa.Table.from_pylist(rows))
    assert effect.judged[0] == pytest.approx(1.0)
    assert (effect.lowest, effect.highest) == pytest.approx((0.5, 2.0))


def test_the_claim_holds_where_no_other_value_is_better() -> None:
    assert verdict(row(), row(side="twice", variance=0.98)) == "holds"


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ({"variance": 0.9}, {"variance": 0.9, "variance_se": 0.05}),
        ({"variance": 0.9}, {"variance": 0.9, "coverage": 0.9}),
        (NARROW | {"group": "interval"}, NARROW),
        (NARROW | {"group": "betting", "coverage": 0.9}, NARROW | {"coverage": 0.9}),
    ],
)
def test_the_claim_breaks_where_another_value_is_surely_better(
    better: dict[str, Any], worse: dict[str, Any]
) -> None:
    assert verdict(row(**better)) == "does not hold"
    assert verdict(row(**worse)) == "holds"


def test_the_smallest_size_runs_and_is_drawn(tmp_path: Path) -> None:
    results = run(STUDY, STUDY.presets["smoke"], tmp_path)
    groups = {one["group"] for one in results.table.to_pylist()}
    assert groups == set(STUDY.presets["smoke"].groups)  # type: ignore[attr-defined]
    assert np.isfinite(results.table["variance"].to_numpy()).all()
    assert "constants.png" in {path.name for path in results.files}


def test_the_page_shows_the_kept_results(tmp_path: Path) -> None:
    docs = Path(__file__).parents[2] / "docs"
    kept = (docs / "paper/studies.md").read_text()
    (tmp_path / "paper").mkdir()
    (tmp_path / "results").symlink_to(docs / "results")
    page = tmp_path / "paper/studies.md"
    page.write_text(kept.replace("| `SLOPE`", "| typed in by hand"))
    write(tmp_path)
    assert page.read_text() == kept, "write it anew: python -m levelled_studies.constants docs"
