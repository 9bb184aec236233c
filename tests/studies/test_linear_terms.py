import numpy as np
import pytest

from levelled_studies.exact import every_path, naive_moments
from levelled_studies.linear.terms import naive_terms
from paths import LOSSES, uniform


def test_terms_of_all_paths_together_are_those_of_theorem_6() -> None:
    """Uniform paths are equally likely, so all of them are one pool's trajectories."""
    N, M = len(LOSSES), 3
    index = np.array([draws.index for draws, _ in every_path(N, M, uniform)])
    seen = LOSSES[index]
    before = np.cumsum(seen, axis=1) - seen
    left = N - np.arange(M)
    design = {
        "mean": (LOSSES.sum() - before) / left,
        "square": (np.sum(LOSSES**2) - np.cumsum(seen**2, axis=1) + seen**2) / left,
    }
    K = len(index)
    found = naive_terms(design, before, K)
    exact = naive_moments(LOSSES, M, uniform)
    assert found["2"][0, -1] == pytest.approx(exact.sampling)
    assert found["3"][0, -1] * (K - 1) / K == pytest.approx(exact.drifting)
    assert found["4"][0, -1] * (K - 1) / K == pytest.approx(exact.covariance)
