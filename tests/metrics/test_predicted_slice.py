"""The mean loss of a slice with a predictor: exactly unbiased, and exact where all is known."""

from dataclasses import replace

import numpy as np
import pytest

from levelled._check import FloatArray, IntArray
from levelled.draws import Draws
from levelled.metrics.predicted import has_slice_columns, predicted_slice_estimate
from levelled.metrics.ratios import Look
from levelled.samplers import FrozenProposal, PoolSlices
from levelled_studies.exact import every_path

N, M = 6, 4
LOSSES = np.array([0.0, 2.0, 1.0, 2.0, 0.0, 1.0])
CONTROL = np.array([0.4, 1.3, 0.9, 0.2, 0.7, 1.5])
IN_A = np.array([True, True, False, True, False, False])
PROPOSAL = FrozenProposal(
    np.arange(N),
    N,
    np.array([0.1, 0.3, 0.2, 0.1, 0.05, 0.25]),
    CONTROL,
    2.0,
    np.full(N, 0.5),
    np.full(N, 0.1),
    slices=(PoolSlices(("part=a", "part=b"), np.where(IN_A, 0, 1)),),
)


def propose(drawn: tuple[int, ...], left: IntArray) -> FloatArray:
    weights = np.delete(PROPOSAL.weights, list(drawn))
    return weights / weights.sum()


def read(draws: Draws, proposal: FrozenProposal = PROPOSAL) -> float:
    """The estimated mean of (L - A) / (B - A) in part a, with losses between -1 and 3."""
    fixed = proposal.fixed(draws.index)
    inside = IN_A[draws.index]
    look = Look(fixed, 0.95, "none")
    possible = (-np.inf, np.inf)
    est = predicted_slice_estimate(
        LOSSES[draws.index], inside, "part=a", 3, (-1.0, 3.0), possible, look
    )
    assert est.value is not None
    return est.value


def test_the_estimate_of_a_slice_is_exactly_unbiased() -> None:
    paths = [*every_path(N, M, propose)]
    mean = sum(chance * read(draws) for draws, chance in paths if IN_A[draws.index].any())
    assert all(IN_A[draws.index].any() for draws, _ in paths)
    assert mean == pytest.approx((LOSSES[IN_A].mean() + 1) / 4, abs=1e-10)


def test_a_predictor_that_is_always_right_leaves_no_variance() -> None:
    exact = replace(PROPOSAL, control=LOSSES)
    values = [read(draws, exact) for draws, _ in every_path(N, M, propose)]
    assert values == pytest.approx([(LOSSES[IN_A].mean() + 1) / 4] * len(values))


def test_the_columns_of_slices_add_up_to_those_of_the_pool() -> None:
    draws = PROPOSAL.fixed(np.array([3, 0, 5]))
    design = draws.design or {}
    assert has_slice_columns(draws, "part=a")
    assert not has_slice_columns(draws, "part=c")
    for name in ("control_left", "predicted_variance", "predicted_skew"):
        both = design[f"{name} part=a"] + design[f"{name} part=b"]
        np.testing.assert_allclose(both, design[name], rtol=1e-12)


def test_a_proposal_without_a_predictor_has_no_columns_of_slices() -> None:
    plain = replace(PROPOSAL, spread=None, third_moment=None)
    assert not has_slice_columns(plain.fixed(np.array([1, 2])), "part=a")
