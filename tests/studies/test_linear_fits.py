import numpy as np
import pytest

from levelled._check import FloatArray
from levelled.estimators import lure
from levelled_studies.linear import data
from levelled_studies.linear.experiment import draw, geometric
from levelled_studies.linear.fits import Line, fit, risk, running_moments

LEAST = 10


@pytest.fixture(scope="module")
def drawn() -> tuple[FloatArray, FloatArray, FloatArray]:
    """x, y and probability along four trajectories through the whole pool."""
    pool = data.pool()
    found = draw(geometric(), pool.x, pool.y, 101, 4, rng=np.random.default_rng(0))
    return pool.x[found.index], pool.y[found.index], found.probability


@pytest.mark.parametrize("objective", ["naive", "PURE", "LURE"])
@pytest.mark.parametrize("budget", [10, 11, 50, 100, 101])
def test_lines_and_risks_from_cumulative_sums_are_those_of_weighted_least_squares(
    drawn: tuple[FloatArray, FloatArray, FloatArray], objective: str, budget: int
) -> None:
    moments = running_moments(*drawn, 101, least=LEAST)[objective][..., budget - LEAST]
    lines = fit(moments)
    risks = risk(lines, moments)
    for row, (x, y, q) in enumerate(zip(*(a[:, :budget] for a in drawn), strict=True)):
        weight = {
            "naive": np.ones(budget),
            "PURE": lure.plain_weights(q, 101),
            "LURE": lure.weights(q, 101),
        }[objective]
        root = np.sqrt(np.maximum(weight, 0))
        design = np.stack([root, root * x], axis=1)
        (intercept, slope), *_ = np.linalg.lstsq(design, root * y, rcond=None)
        assert lines.intercept[row] == pytest.approx(intercept, abs=1e-9)
        assert lines.slope[row] == pytest.approx(slope, abs=1e-9)
        expected = np.mean(weight * (y - intercept - slope * x) ** 2)
        assert risks[row] == pytest.approx(expected, abs=1e-9)


def test_a_fit_has_less_weighted_risk_than_its_neighbours(
    drawn: tuple[FloatArray, FloatArray, FloatArray],
) -> None:
    moments = running_moments(*drawn, 101, least=LEAST)["LURE"]
    best = fit(moments)
    for step in (-0.01, 0.01):
        moved = Line(best.intercept + step, best.slope)
        turned = Line(best.intercept, best.slope + step)
        assert (risk(moved, moments) > risk(best, moments)).all()
        assert (risk(turned, moments) > risk(best, moments)).all()
