"""Draws with replacement in the linear experiment, and test data that differ from the pool."""

from itertools import product

import numpy as np
import pyarrow as pa
import pytest

from levelled_studies import find
from levelled_studies.linear import data, experiment
from levelled_studies.linear.fits import features, fit
from levelled_studies.linear.replacement import (
    count_different,
    draw_again,
    fit_importance_weighted,
)
from levelled_studies.linear.settings import BUDGETS
from levelled_studies.linear.shift import MOVED, SHARE, claims
from levelled_studies.tables import summarise
from levelled_studies.trajectories import Trajectories

X = np.array([-1.0, 0.2, 0.4, 1.3])


def probabilities(drawn: list[int]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The geometric proposal over the whole pool, written out."""
    scores = np.array([sum((x - X[k]) ** 2 for k in drawn) for x in X])
    z = (scores - scores.mean()) / scores.std() if drawn else np.zeros(len(X))
    return np.exp(z) / np.exp(z).sum()


def test_every_draw_is_from_the_whole_pool_with_the_probability_written_down(seed: int) -> None:
    rng = np.random.default_rng(seed)
    draws = draw_again(experiment.geometric(), X, 6, 20, rng=rng)
    for index, written in zip(draws.index.tolist(), draws.probability, strict=True):
        expected = [probabilities(index[:m])[index[m]] for m in range(6)]
        np.testing.assert_allclose(written, expected, rtol=1e-9)
    assert any(len(set(index)) < 6 for index in draws.index.tolist())


def test_plain_importance_weights_are_unbiased_with_replacement() -> None:
    losses, mean = np.array([3.0, 0.5, 8.0, 1.0]), 0.0
    for path in product(range(4), repeat=3):
        q = [probabilities(list(path[:m]))[path[m]] for m in range(3)]
        mean += float(np.prod(q)) * float(np.mean(losses[list(path)] / (4 * np.array(q))))
    assert mean == pytest.approx(losses.mean(), abs=1e-12)


def test_a_line_fitted_with_importance_weights_is_weighted_least_squares() -> None:
    pool = data.Points(X, data.label(X))
    draws = Trajectories(np.array([[0, 1, 1, 3]]), np.array([[0.4, 0.1, 0.2, 0.3]]), {})
    line = fit_importance_weighted(pool, draws, least=3)
    for place, n in enumerate((3, 4)):
        index, w = draws.index[0, :n], 1 / draws.probability[0, :n]
        slope, intercept = np.polyfit(X[index], pool.y[index], 1, w=np.sqrt(w))
        assert line.slope[0, place] == pytest.approx(slope)
        assert line.intercept[0, place] == pytest.approx(intercept)
    assert fit(features(X, 2 * X).mean(axis=-1)).slope == pytest.approx(2)


def test_a_point_drawn_again_is_not_counted_again() -> None:
    found = count_different(np.array([[5, 5, 2, 5, 0], [1, 2, 3, 4, 5]]))
    assert found.tolist() == [[1, 1, 2, 2, 3], [1, 2, 3, 4, 5]]


@pytest.mark.parametrize(
    ("error", "verdict"), [(0.3, "holds"), (0.2, "does not hold"), (0.1, "does not hold")]
)
def test_draws_with_replacement_are_compared_label_for_label(error: float, verdict: str) -> None:
    spread = np.linspace(-0.001, 0.001, 10)[:, None]
    flat = np.zeros(len(BUDGETS))
    series = dict.fromkeys(("naive", "PURE", "LURE"), flat + 0.2 + spread)
    series |= {f"naive - {name}": flat + spread for name in ("PURE", "LURE")}
    series |= {"with replacement": flat + error + spread}
    series |= {"different points": BUDGETS / 2 + 0 * spread}
    (study,) = find("linear-training")
    made = study.claims(summarise(series, BUDGETS), study.presets["smoke"])
    (claim,) = (claim for claim in made if claim.name == "with-replacement")
    assert claim.verdict == verdict
    assert "hold 15.0 different points" in claim.measured
    assert "30 different points take 60 draws" in claim.measured


def rule(gains: list[float], share_gains: list[float]) -> str:
    rows = [
        {"kind": kind, "shift": 0.1 * k, "gain": gain, "gain_se": 0.01, "alb": -0.2}
        | {"shift_bias": 0.3 * k}
        for kind, every in ((MOVED, gains), (SHARE, share_gains))
        for k, gain in enumerate(every)
    ]
    (study,) = find("linear-shift")
    (claim,) = claims(pa.Table.from_pylist(rows), study.presets["smoke"])  # type: ignore[arg-type]
    return claim.verdict


def test_the_fourth_rule_holds_where_weights_matter_less_and_not_where_they_harm() -> None:
    assert rule([0.3, 0.2, 0.1], [0.3, 0.2, 0.1]) == "holds"
    assert rule([0.3, 0.2, 0.1], [0.3, -0.2, -0.4]) == "holds partly"
    assert rule([0.3, 0.4, 0.4], [0.3, -0.2, -0.4]) == "does not hold"
