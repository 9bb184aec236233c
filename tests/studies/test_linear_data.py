import numpy as np
import pytest

from bounds import hoeffding
from levelled_studies.linear import data


def test_the_pool_is_that_of_the_appendix() -> None:
    pool = data.pool()
    assert len(pool) == 101
    low, high = data.CLUSTERS.T
    inside = (pool.x[:, None] >= low) & (pool.x[:, None] <= high)
    assert inside.sum(axis=0).tolist() == [5, 48, 48]
    assert np.allclose(np.diff(pool.x[5:53]), 0.5 / 48)  # evenly spaced quantiles
    assert (pool.y[:5] == 0).all()


def test_the_densities_of_the_paper_integrate_to_a_little_less_than_one() -> None:
    mass = data.DENSITY @ np.diff(data.CLUSTERS)
    assert mass.item() == pytest.approx(0.998)
    assert data.shares().sum() == pytest.approx(1)


def test_the_ideal_line_has_the_risk_found_out_beforehand() -> None:
    pool, unseen = data.pool(), data.unseen()
    ideal = data.best_line(pool)
    assert pool.risk(ideal) == pytest.approx(0.198, abs=5e-4)
    assert unseen.risk(ideal) == pytest.approx(0.196, abs=5e-4)
    assert pool.squared_errors(ideal).mean() == pytest.approx(float(pool.risk(ideal)))
    slope, intercept = np.polyfit(pool.x, pool.y, 1)
    assert ideal.slope == pytest.approx(slope)
    assert ideal.intercept == pytest.approx(intercept)


def test_sampled_points_come_from_the_clusters_in_their_shares(seed: int) -> None:
    n = 100_000
    points = data.sample_points((n,), rng=np.random.default_rng(seed))
    low, high = data.CLUSTERS.T
    inside = (points.x[:, None] >= low) & (points.x[:, None] <= high)
    assert (inside.sum(axis=1) == 1).all()
    bound = hoeffding(n, comparisons=3, alarm=1e-9)  # fails at most 1 run in 10**9
    np.testing.assert_allclose(inside.mean(axis=0), data.shares(), rtol=0, atol=bound)
    np.testing.assert_array_equal(points.y, data.label(points.x))
