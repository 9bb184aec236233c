"""The study `judges`: its pools, its claims, and the smallest size."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from levelled_studies import find
from levelled_studies.judges import JudgeSettings, make_pool
from levelled_studies.runner import run

(STUDY,) = find("judges")


def test_a_pool_has_exactly_the_rates_that_were_asked_for() -> None:
    pool = make_pool(1000, 0.1, 0.8, 0.98)
    assert pool.label.mean() == 0.1
    assert pool.verdict[pool.label].mean() == pytest.approx(0.8)
    assert np.mean(~pool.verdict[~pool.label]) == pytest.approx(0.98, abs=1e-3)


def row(pool: str, figure: str, method: str, factor: float, coverage: float) -> dict[str, Any]:
    return {
        "pool": pool,
        "figure": figure,
        "method": method,
        "budget": 200,
        "label_factor": factor,
        "label_factor_se": 0.01,
        "label_factor_mse": None,
        "coverage": coverage,
        "repetitions": 400,
    }


@pytest.mark.parametrize(
    ("factor", "coverage", "verdict"),
    [(1.5, 0.97, "holds"), (1.1, 0.80, "does not hold")],
)
def test_claims_hold_only_where_they_should(factor: float, coverage: float, verdict: str) -> None:
    pool = "AlpacaEval"
    rows = [row(pool, "rate", "adaptive", factor, coverage), row(pool, "rate", "ppi", 1.2, 0.95)]
    rows += [row(pool, "kappa", "adaptive", factor, coverage)]
    found = STUDY.claims(pa.Table.from_pylist(rows), JudgeSettings(pools=(pool,)))
    assert {claim.verdict for claim in found} == {verdict}


def test_the_smallest_size_runs_and_is_drawn(tmp_path: Path) -> None:
    results = run(STUDY, STUDY.presets["smoke"], tmp_path)
    assert {"rate", "TPR", "TNR", "precision", "kappa"} == {*results.table["figure"].to_pylist()}
    assert {"factors.png", "coverage.png"} <= {path.name for path in results.files}
