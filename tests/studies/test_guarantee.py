"""The study `guarantee`: labellers that move errors, its claim, and the smallest size."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from levelled_studies import find
from levelled_studies.guarantee import move_errors
from levelled_studies.runner import run

(STUDY,) = find("guarantee")


@pytest.mark.parametrize(
    ("labeller", "budget", "error"),
    [("ordinary", 8, 3), ("hiding", 8, 2), ("turning", 8, 5), ("turning", 4, 2)],
)
def test_a_labeller_moves_the_error_that_is_left_and_no_label_that_was_given(
    labeller: str, budget: int, error: int
) -> None:
    wrong = np.array([0, 1, 0, 1, 0, 0], dtype=bool)
    move_errors(labeller, wrong, np.arange(1, 7) / 10, [0, 1], budget)
    assert np.flatnonzero(wrong).tolist() == [1, error]


@pytest.mark.parametrize(("misses", "verdict"), [(0.04, "holds"), (0.09, "does not hold")])
def test_the_claim_holds_only_where_no_labeller_is_missed_too_often(
    misses: float, verdict: str
) -> None:
    rows = [
        {"labels": "ordinary", "misses": 0.01, "misses_se": 0.003},
        {"labels": "hiding", "misses": misses, "misses_se": 0.007},
    ]
    (claim,) = STUDY.claims(pa.Table.from_pylist(rows), STUDY.presets["cpu"])
    assert claim.verdict == verdict


def test_the_smallest_size_runs_and_is_drawn(tmp_path: Path) -> None:
    smoke: Any = STUDY.presets["smoke"]
    results = run(STUDY, replace(smoke, labellers=("turning",)), tmp_path)
    assert results.table["misses"].to_pylist()[0] <= 1
    assert "misses.png" in {path.name for path in results.files}
