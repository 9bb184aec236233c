import numpy as np
import pytest

from levelled._check import FloatArray
from levelled.errors import InputError, ProposalError
from levelled.learning.proposing import check_proposal, probabilities
from levelled.proposals import boltzmann, mixture, power
from levelled.proposals.named import NAMES

SCORES = np.array([0.0, 0.5, 3.0, 1.0])


@pytest.mark.parametrize("name", NAMES)
def test_every_named_proposal_keeps_the_floor_under_every_item(name: str) -> None:
    p = probabilities(name, SCORES, floor=0.1)
    assert p.sum() == pytest.approx(1)
    assert p.min() >= 0.1 / 4 * (1 - 1e-12)
    assert p.argmax() == 2 or name == "uniform"


def test_names_stand_for_documented_defaults() -> None:
    np.testing.assert_allclose(
        probabilities("boltzmann", SCORES, floor=0.1),
        mixture(boltzmann(SCORES, beta=1, normalise="z"), share=0.1),
    )
    np.testing.assert_allclose(
        probabilities("power:2", SCORES, floor=0.3),
        mixture(power(SCORES, 2, allow_zero=True), share=0.3),
    )
    assert probabilities("epsilon_greedy", SCORES, floor=0.1)[2] == pytest.approx(0.925)


def test_a_function_decides_on_its_own_floor_and_may_leave_nobody_out() -> None:
    np.testing.assert_allclose(
        probabilities(lambda s: (s + 1) / (s + 1).sum(), SCORES, floor=0.9),
        (SCORES + 1) / (SCORES + 1).sum(),
    )
    with pytest.raises(ProposalError, match="probability 0 to 1 of 4"):
        probabilities(lambda s: s / s.sum(), SCORES, floor=0.1)
    with pytest.raises(ProposalError, match="sum to one"):
        probabilities(lambda s: s + 1, SCORES, floor=0.1)
    with pytest.raises(ProposalError, match="1 probabilities for the 4"):
        probabilities(lambda s: np.ones(1), SCORES, floor=0.1)


@pytest.mark.parametrize("name", ["argmax", "boltzmann:hot", "uniform:2", "", None, 3])
def test_what_is_no_proposal_is_refused(name: object) -> None:
    with pytest.raises(InputError, match="proposal"):
        probabilities(name, SCORES, floor=0.1)  # type: ignore[arg-type]


def test_no_floor_and_an_item_of_no_interest_is_refused() -> None:
    for name in ("proportional", "epsilon_greedy"):
        with pytest.raises(ProposalError, match=r"probability 0 to . of the 4 items.*raise floor="):
            probabilities(name, SCORES, floor=0.0)


def test_the_best_item_alone_is_refused_before_there_are_scores() -> None:
    with pytest.raises(ProposalError, match="floor=0 gives no other a chance: raise floor="):
        check_proposal("epsilon_greedy", floor=0.0)
    check_proposal("epsilon_greedy", floor=0.1)
    check_proposal("boltzmann", floor=0.0)


def test_a_complaint_of_ones_own_proposal_is_one_line_that_names_it() -> None:
    def by_hope(scores: FloatArray) -> FloatArray:
        raise KeyError("hope")

    def too_cold(scores: FloatArray) -> FloatArray:
        return boltzmann(scores, -1)

    for proposal, says in [
        (by_hope, "by_hope could not propose: KeyError: 'hope'"),
        (too_cold, "too_cold could not propose: beta must be between"),
    ]:
        with pytest.raises(InputError, match=says):
            probabilities(proposal, SCORES, floor=0.1)


def test_scores_are_not_changed() -> None:
    before: FloatArray = SCORES.copy()
    for name in NAMES:
        probabilities(name, SCORES, floor=0.1)
    np.testing.assert_array_equal(SCORES, before)
