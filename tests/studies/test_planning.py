from pathlib import Path

import pyarrow as pa
import pytest

from levelled_studies import find
from levelled_studies.planning import SMOKE, claims
from levelled_studies.runner import run


def test_the_study_of_plans_runs_at_its_smallest_size(tmp_path: Path) -> None:
    (study,) = find("planning")
    results = run(study, SMOKE, tmp_path)
    assert {"planning.png", "table.csv", "claims.json"} <= {path.name for path in results.files}
    assert {claim.name for claim in results.claims} >= {"likely-0", "likely-50", "range-50-real"}


@pytest.mark.parametrize(("needed", "verdict"), [(100, "holds"), (400, "does not hold")])
def test_claims_compare_plans_with_the_labels_needed(needed: int, verdict: str) -> None:
    row = {"pool": "digits", "metric": "error", "needed": needed, "low": 50, "likely": 100}
    rows = [
        {**row, "high": 200, "labels": labels, "resampled": again}
        for labels in (0, 50)
        for again in (0, 1)
    ]
    assert {claim.verdict for claim in claims(pa.Table.from_pylist(rows), SMOKE)} == {verdict}
