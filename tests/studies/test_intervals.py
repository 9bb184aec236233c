"""Quick versions of the coverage tables, and the studies of intervals at their smallest size."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom

from levelled_studies import find, intervals, labels_saved, looks, ratios
from levelled_studies.interval_claims import average_claims, ratio_claims
from levelled_studies.runner import run
from levelled_studies.study import StudySettings

REPETITIONS = 200
ALARM = 1e-7
"""The chance that a method with exactly the coverage of its bar fails one of these checks."""


def cells(pool: str, size: int, budgets: tuple[int, ...], proposal: str, seed: int) -> list[Any]:
    settings = intervals.IntervalSettings(
        trajectories=REPETITIONS, widths_per_pool=0, size=(size, budgets), dense=()
    )
    rng = np.random.default_rng([seed, size])
    rows: list[Any] = intervals.run(settings, f"{pool}; {size}; {proposal}", rng).to_pylist()
    return rows


def reaches(row: dict[str, Any], bar: float) -> bool:
    return bool(row["coverage"] * REPETITIONS >= binom.ppf(ALARM, REPETITIONS, bar))


@pytest.mark.parametrize("proposal", ["uniform", "floor 0.1", "floor 0.5", "Boltzmann 3"])
@pytest.mark.parametrize("pool", ["errors 5%", "errors 0.5%", "errors 5%, a third unseen"])
def test_the_default_holds_for_rare_errors_and_poor_proposals(
    pool: str, proposal: str, seed: int
) -> None:
    for row in cells(pool, 1000, (25, 100), proposal, seed):
        if row["method"] == "default":
            assert reaches(row, 0.935 if row["design_size"] >= 15 else 0.92), row
        if row["method"] == "betting, watched":
            assert reaches(row, 0.95), row


@pytest.mark.parametrize("proposal", ["floor 0.1", "floor 0.5"])
@pytest.mark.parametrize(
    "pool",
    [
        "overconfident, errors",
        "overconfident, Brier",
        "overconfident, log loss up to 10",
        "squared error up to 9",
        "difference in 1%",
        "difference in 1%, unseen",
    ],
)
def test_the_default_holds_where_it_failed_before_its_repair(
    pool: str, proposal: str, seed: int
) -> None:
    for row in cells(pool, 2000, (100, 200), proposal, seed):
        if row["method"] == "default":
            assert reaches(row, 0.93), row


@pytest.mark.parametrize("budget", [100, 180, 194])
def test_the_default_holds_when_most_of_the_pool_is_labelled(budget: int, seed: int) -> None:
    for row in cells("errors 5%", 200, (budget,), "floor 0.5", seed):
        if row["method"] == "default":
            assert reaches(row, 0.935), row


@pytest.mark.parametrize("proposal", ["floor 0.5", "adaptive"])
@pytest.mark.parametrize("pool", ["heavy log loss", "squared error", "Brier"])
def test_the_default_and_the_watched_intervals_hold_for_positive_losses(
    pool: str, proposal: str, seed: int
) -> None:
    for row in cells(pool, 1000, (100,), proposal, seed):
        if row["method"].startswith("default"):
            assert reaches(row, 0.925), row
        if row["method"] == "betting, watched":
            assert reaches(row, 0.95), row
        if row["method"] == "anytime, watched":
            assert reaches(row, 0.94), row


def test_a_t_interval_fails_in_the_same_harness(seed: int) -> None:
    """The negative controls: a check passes wrongly less than once in 10**7 runs."""
    watched = cells("errors 5%", 10_000, (25, 200), "uniform", seed)
    few = binom.ppf(1 - ALARM, REPETITIONS, 0.65) / REPETITIONS
    assert [row["coverage"] < few for row in watched if row["method"] == "t, M-1 df, watched"] == [
        True
    ]
    rare = cells("errors 0.5%", 10_000, (25,), "uniform", seed)
    few = binom.ppf(1 - ALARM, REPETITIONS, 0.30) / REPETITIONS
    assert [row["coverage"] < few for row in rare if row["method"] == "t, M-1 df"] == [True]


@pytest.mark.parametrize(
    "pool", ["positives 1%, errors known", "5 classes, errors known", "slice 1%, errors known"]
)
def test_ratios_of_what_is_rare_hold_where_the_errors_are_known(pool: str, seed: int) -> None:
    settings = ratios.RatioSettings(trajectories=100, budgets=(100,))
    table = ratios.run(settings, f"{pool}; 5000; floor 0.1", np.random.default_rng(seed))
    for row in table.to_pylist():
        assert row["coverage"] * 100 >= binom.ppf(ALARM, 100, 0.93), row


def test_all_that_a_campaign_shows_holds_at_once(seed: int) -> None:
    settings = looks.LookSettings(
        trajectories=200, per_pool=100, paths_per_pool=3, pool_size=2000, budgets=(100,)
    )
    task, rng = "errors 5%, a third unseen; floor 0.5", np.random.default_rng(seed)
    (row,) = looks.run(settings, task, rng).to_pylist()
    assert row["coverage"] * 200 >= binom.ppf(ALARM, 200, 0.945)
    assert row["last_coverage"] >= row["coverage"]
    assert 1.0 < row["width_ratio"] < 1.2


def test_labelling_stops_at_the_first_narrow_interval() -> None:
    widths = np.array([0.9, 0.5, 0.2, 0.1, 0.05])
    assert [looks._stop(widths, wanted) for wanted in (0.3, 0.01)] == [2, 4]


def test_uniform_labels_give_the_width_of_clopper_and_pearson() -> None:
    """Half of 4 items are errors: 1 of 2 labels shows it with chance 2/3, or none or both."""
    from levelled.estimators.intervals.limits import clopper_pearson

    n = 2 * 3 / 2
    widths = [np.ptp(clopper_pearson(n * k / 2, n, 0.95)) for k in (0, 1, 2)]
    expected = widths[0] / 6 + widths[1] * 2 / 3 + widths[2] / 6
    assert labels_saved._random_width(2, 4, 2) == pytest.approx(expected, abs=1e-12)


def rows_with(coverage: float, warned: float = 0.0) -> pa.Table:
    row = {
        "kind": "0/1 losses",
        "pool": "errors 5%",
        "pool_size": 10_000,
        "proposal": "floor 0.5",
        "method": "default",
        "labels": 100,
        "repetitions": 1000,
        "coverage": coverage,
        "warned": warned,
        "silent_coverage": coverage if warned <= 0.5 else None,
        "width": 1.0,
        "design_size": 80.0,
    }
    return pa.Table.from_pylist([row, row | {"method": "F1", "coverage": 0.99}])


@pytest.mark.parametrize(("coverage", "verdict"), [(0.94, "holds"), (0.90, "does not hold")])
def test_a_claim_holds_if_the_worst_cell_reaches_the_bar(coverage: float, verdict: str) -> None:
    for make in (average_claims, ratio_claims):
        claims = {claim.name: claim for claim in make(rows_with(coverage), StudySettings())}
        claim = claims["errors" if make is average_claims else "ratios"]
        assert claim.verdict == verdict
        assert f"{coverage:.3f} in the worst cell" in claim.measured
        assert "allowance, 0.024" in claim.measured


def test_cells_with_a_warning_do_not_count_for_claims_about_those_without() -> None:
    claims = [claim.name for claim in average_claims(rows_with(0.5, warned=1.0), StudySettings())]
    assert claims == ["errors-everywhere"]


@pytest.mark.parametrize(
    ("name", "plots"),
    [
        ("intervals", {"coverage.png", "width.png"}),
        ("ratios", {"coverage.png", "width.png"}),
        ("looks", {"looks.png"}),
        ("labels-saved", {"labels-saved.png"}),
    ],
)
def test_the_studies_run_at_their_smallest_size(
    name: str, plots: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEVELLED_DATA", str(tmp_path / "data"))  # what it keeps is not downloaded
    (study,) = find(name)
    results = run(study, study.presets["smoke"], tmp_path / "out")
    assert {*plots, "table.csv", "claims.json"} <= {path.name for path in results.files}
    assert len(results.claims) >= 3
