import numpy as np
import pytest

from contracts.proposals import PositiveScoresContract, ProposalContract
from levelled._check import FloatArray
from levelled.errors import ProposalError
from levelled.proposals import optimal, optimal_for_gradient, uniform


class TestOptimal(PositiveScoresContract):
    propose = staticmethod(optimal)


class TestOptimalForGradient(ProposalContract):
    propose = staticmethod(optimal_for_gradient)


def estimates_on_the_way(losses: FloatArray, order: list[int], *, best: bool) -> list[float]:
    """a_m = L_m / (N q_m) + (losses drawn before) / N along one order of drawing."""
    left, found = list(range(len(losses))), []
    for item in order:
        q = optimal(losses[left]) if best else uniform(len(left))
        before = losses.sum() - losses[left].sum()
        found.append((losses[item] / q[left.index(item)] + before) / len(losses))
        left.remove(item)
    return found


def test_every_step_of_the_optimal_proposal_gives_the_pool_risk() -> None:
    # Theorem 7: R_PURE and R_LURE are averages of these a_m.
    losses = np.array([3.0, 0.25, 0.5, 8.0, 2.0])
    order = [4, 0, 1, 3, 2]
    exact = estimates_on_the_way(losses, order, best=True)
    np.testing.assert_allclose(exact, losses.mean(), rtol=1e-12)
    assert np.std(estimates_on_the_way(losses, order, best=False)) > 0.1


def test_an_item_without_loss_must_be_allowed() -> None:
    with pytest.raises(ProposalError, match="probability 0 to 1 of 2"):
        optimal([1.0, 0.0])
    np.testing.assert_array_equal(optimal([1.0, 0.0], allow_zero=True), [1, 0])


def test_the_sign_of_a_gradient_does_not_matter() -> None:
    np.testing.assert_array_equal(
        optimal_for_gradient([-1.0, 2.0, -5.0]), optimal_for_gradient([1.0, 2.0, 5.0])
    )
