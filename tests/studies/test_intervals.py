"""Quick versions of the coverage tables, and the study at its smallest size."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from levelled_studies import find, intervals
from levelled_studies.runner import run

REPETITIONS = 400
ALARM = 1e-7
"""The chance that a method with exactly the coverage of its bar fails one of these checks."""


def cells(pool: str, size: int, budgets: tuple[int, ...], proposal: str, seed: int) -> list[Any]:
    settings = intervals.IntervalSettings(
        trajectories=REPETITIONS, widths_per_pool=0, sizes=((size, budgets),), dense=()
    )
    rng = np.random.default_rng([seed, size])
    table = intervals.run(settings, f"{pool}; {size}; {budgets[-1]}; {proposal}", rng)
    rows: list[Any] = table.to_pylist()
    return rows


def reaches(row: dict[str, Any], bar: float) -> bool:
    return bool(row["coverage"] * REPETITIONS >= binom.ppf(ALARM, REPETITIONS, bar))


@pytest.mark.parametrize("proposal", ["uniform", "floor 0.1", "floor 0.5", "Boltzmann 3"])
@pytest.mark.parametrize("pool", ["errors 5%", "errors 0.5%", "errors 5%, a third unseen"])
def test_cp_safe_holds_for_rare_errors_and_poor_proposals(
    pool: str, proposal: str, seed: int
) -> None:
    for row in cells(pool, 1000, (25, 100), proposal, seed):
        if row["method"] == "cp_safe":
            assert reaches(row, 0.935 if row["design_size"] >= 15 else 0.92), row
        if row["method"] == "betting, watched":
            assert reaches(row, 0.95), row


@pytest.mark.parametrize("budget", [100, 180, 194])
def test_cp_safe_holds_when_most_of_the_pool_is_labelled(budget: int, seed: int) -> None:
    for row in cells("errors 5%", 200, (budget,), "floor 0.5", seed):
        if row["method"] == "cp_safe":
            assert reaches(row, 0.935), row


@pytest.mark.parametrize("proposal", ["floor 0.5", "adaptive"])
@pytest.mark.parametrize("pool", ["heavy log loss", "squared error", "Brier"])
def test_log_t_and_the_watched_intervals_hold_for_positive_losses(
    pool: str, proposal: str, seed: int
) -> None:
    for row in cells(pool, 1000, (100,), proposal, seed):
        if row["method"] in ("log_t", "log_t, control"):
            assert reaches(row, 0.925), row
        if row["method"] == "betting, watched":
            assert reaches(row, 0.95), row
        if row["method"] == "anytime, watched" and proposal == "floor 0.5":
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


def test_the_study_runs_at_its_smallest_size(tmp_path: Path) -> None:
    (study,) = find("intervals")
    results = run(study, study.presets["smoke"], tmp_path)
    assert {"coverage.png", "width.png", "table.csv", "claims.json"} <= {
        path.name for path in results.files
    }
    assert len(results.claims) >= 3


def test_the_study_of_ratios_runs_at_its_smallest_size(tmp_path: Path) -> None:
    (study,) = find("ratios")
    results = run(study, study.presets["smoke"], tmp_path)
    assert all(claim.verdict == "holds" for claim in results.claims)
