"""The study `gate`: its claims, and the smallest size."""

from pathlib import Path

import pyarrow as pa
import pytest

from levelled_studies import find
from levelled_studies.runner import run

(STUDY,) = find("gate")


@pytest.mark.parametrize(
    ("wrong", "finite", "verdicts"),
    [
        (0.04, 0.9, ["holds", "holds"]),
        (0.09, 0.9, ["does not hold", "holds"]),
        (0.04, 0.1, ["holds", "does not hold"]),
    ],
)
def test_the_claims_hold_only_where_words_are_right_and_labels_pay(
    wrong: float, finite: float, verdicts: list[str]
) -> None:
    rows = [
        {"claim": "error at most", "draws": draws, "wrong": 0.01, "wrong_se": 0.003, "shown": shown}
        for draws, shown in (("random", 0.3), ("finite", finite))
    ]
    rows.append({**rows[0], "claim": "better than", "wrong": wrong})
    claims = STUDY.claims(pa.Table.from_pylist(rows), STUDY.presets["cpu"])
    assert [claim.verdict for claim in claims] == verdicts


def test_the_smallest_size_runs_and_is_drawn(tmp_path: Path) -> None:
    results = run(STUDY, STUDY.presets["smoke"], tmp_path)
    assert len(results.table) == 12
    assert max(results.table["wrong"].to_pylist()) <= 1
    assert "gate.png" in {path.name for path in results.files}
