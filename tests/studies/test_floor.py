"""The study of the floor: the variance of evaluating, the pairs of floors, and its claims."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

pytest.importorskip("sklearn")
pytest.importorskip("matplotlib")

from levelled._check import FloatArray, IntArray
from levelled.draws import Draws
from levelled.estimators import lure_weights
from levelled_studies.exact import every_path
from levelled_studies.learning.floor import STUDIES, draw_variances, lure_variance
from levelled_studies.learning.floor_report import claims
from levelled_studies.learning.settings import FloorSettings
from levelled_studies.runner import Results, run
from paths import LOSSES

P = np.array([0.1, 0.2, 0.3, 0.15, 0.25])
STUDY = STUDIES["learning-floor"]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return run(STUDY, STUDY.presets["smoke"], tmp_path_factory.mktemp("floor"))


@pytest.mark.parametrize("budget", [1, 2, 3, 4])
def test_the_mean_of_the_variances_is_the_variance_of_the_estimate(budget: int) -> None:
    """Over every path of draws whose probabilities stay in proportion, as within a batch."""

    def propose(drawn: tuple[int, ...], left: IntArray) -> FloatArray:
        return P[left] / P[left].sum()

    mean = square = expected = 0.0
    for draws, chance in every_path(len(LOSSES), budget, propose):
        value = np.mean(lure_weights(draws) * LOSSES[draws.index])
        mean, square = mean + chance * value, square + chance * value**2
        expected += chance * lure_variance(draw_variances(LOSSES, P, draws), len(LOSSES))
    assert expected == pytest.approx(square - mean**2, abs=1e-10)


def test_items_that_were_drawn_before_a_batch_do_not_count() -> None:
    p = np.array([0.5, 0.0, 0.5])
    batch = Draws(np.array([0]), np.array([0.5]), pool_size=3)
    (found,) = draw_variances(np.array([1.0, 100.0, 3.0]), p, batch)
    assert found == pytest.approx((2 * (1 + 9) - 16) / 9)


def test_all_floors_draw_from_the_same_pools(ran: Results) -> None:
    rows = ran.table.to_pylist()
    assert {row["floor"] for row in rows} == {0.1, 0.2, 0.3, 0.5}
    assert len(rows) == 2 * 2 * 4 * 2
    assert all(row["variance"] > 0 for row in rows)
    assert {path.suffix for path in ran.files} == {".csv", ".json", ".png", ".svg"}


def made(floor: float, share: float, variance: float) -> list[dict[str, Any]]:
    return [
        {
            "data": "hours",
            "model": "ridge",
            "score": "geometric",
            "trajectory": at,
            "floor": floor,
            "labels": 60,
            "naive": 1.0,
            "LURE": 1.0,
            "share": share * (1 + at / 10),
            "variance": variance * (1 + at / 10),
        }
        for at in range(5)
    ]


@pytest.mark.parametrize(
    ("share", "variance", "training", "evaluation"),
    [
        (1.005, 0.7, "holds", "holds"),
        (1.02, 0.8, "does not hold", "does not hold"),
    ],
)
def test_a_floor_is_judged_by_its_cost_and_its_gain(
    share: float, variance: float, training: str, evaluation: str
) -> None:
    settings = FloorSettings(
        cases=("hours ridge geometric",), floors=(0.1, 0.2), checkpoints=(60,), trajectories=5
    )
    table = pa.Table.from_pylist(made(0.1, 1.0, 1.0) + made(0.2, share, variance))
    found = {claim.name: claim.verdict for claim in claims(table, settings)}
    assert found == {"floor-0.2-training": training, "floor-0.2-evaluation": evaluation}


def test_the_results_are_kept() -> None:
    kept = Path(__file__).parents[2] / "docs/results/learning-floor"
    assert {path.name for path in kept.iterdir()} == {
        *("claims.json", "settings.json", "table.csv", "floor.png")
    }
