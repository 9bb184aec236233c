"""Exact checks: recorded probabilities are the true ones, and weights on them are unbiased."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from bounds import chernoff
from levelled._check import FloatArray, IntArray
from levelled.draws import Draws
from levelled.errors import InputError, ProposalError
from levelled.estimators import lure_weights, naive_weights
from levelled.learning import ActiveLearner
from levelled.learning.drawing import (
    LearnerState,
    add_draws,
    add_labels,
    empty_state,
    next_draws,
    probabilities,
    propose,
    seed_for,
)
from levelled.learning.settings import LearnerSettings
from levelled.proposals import NAMES, boltzmann, mixture, power
from levelled_studies.exact import every_path

X = np.array([[-2.0, 0.3], [-0.4, 1.0], [0.1, -0.5], [0.6, 0.2], [1.9, -1.0]])
Y = np.array([0, 0, 1, 0, 1])
N = len(Y)
SCORES = np.array([0.0, 0.5, 3.0, 1.0])


def settings(**more: Any) -> LearnerSettings:  # noqa: ANN401
    given: dict[str, Any] = {
        "model": LogisticRegression(C=10),
        "score": "entropy",
        "proposal": "boltzmann:2",
        "weights": "lure",
        "ensemble": None,
        "floor": 0.1,
        "start": 2,
        "seed": 0,
    }
    return LearnerSettings(**(given | more))


def after(rows: tuple[int, ...]) -> LearnerState:
    """The state in which these rows were drawn and labelled."""
    state = LearnerState(Draws(np.array(rows, dtype=np.int64), np.full(len(rows), 0.5), N))
    return add_labels(state, list(rows), Y[list(rows)])


def chance(rows: tuple[int, ...], left: IntArray) -> FloatArray:
    state = after(rows)
    np.testing.assert_array_equal(state.rows_left(np.arange(state.n_left)), left)
    return propose(settings(), X, state)[0]


@pytest.mark.parametrize("budget", [2, 3, 4, 5])
def test_a_fixed_models_risk_is_unbiased_over_every_path_of_the_learner(budget: int) -> None:
    losses = np.array([0.3, 2.0, 0.1, 4.0, 0.7])
    paths = list(every_path(N, budget, chance))
    means = {
        weights: sum(p * np.mean(weights(draws) * losses[draws.index]) for draws, p in paths)
        for weights in (lure_weights, naive_weights)
    }
    assert means[lure_weights] == pytest.approx(losses.mean(), abs=1e-10)
    if 3 <= budget < N:
        assert abs(means[naive_weights] - losses.mean()) > 1e-3  # the test can fail


def test_a_held_out_risk_of_the_trained_model_is_unbiased_over_what_was_left() -> None:
    first = (0, 2)
    model = LogisticRegression().fit(X[list(first)], Y[list(first)])
    left = np.array([1, 3, 4])
    losses = -np.log(model.predict_proba(X[left])[np.arange(3), Y[left]])

    def later(rows: tuple[int, ...], remaining: IntArray) -> FloatArray:
        return chance((*first, *left[list(rows)].tolist()), left[remaining])

    found = sum(
        p * np.mean(lure_weights(draws) * losses[draws.index])
        for draws, p in every_path(3, 2, later)
    )
    assert found == pytest.approx(losses.mean(), abs=1e-12)


def test_recorded_probabilities_are_those_of_each_step_within_a_batch() -> None:
    state = after((0, 2))
    left, _ = propose(settings(), X, state)
    found, _ = next_draws(settings(), X, state, 3)
    remaining = dict(zip([1, 3, 4], left.tolist(), strict=True))
    for row, probability in zip(found.index.tolist(), found.probability.tolist(), strict=True):
        assert probability == pytest.approx(remaining[row] / sum(remaining.values()), rel=1e-12)
        del remaining[row]


def test_draws_come_as_often_as_their_probabilities_say(seed: int) -> None:
    state, n = after((0, 2)), 600
    firsts = np.array(
        [
            next_draws(settings(seed=seed * n + i, score="geometric"), X, state, 1)[0].index[0]
            for i in range(n)
        ]
    )
    left, _ = propose(settings(score="geometric"), X, state)
    counts = np.array([np.count_nonzero(firsts == row) for row in (1, 3, 4)])
    assert chernoff(counts, n, left, alarm=1e-9)


def test_the_recorded_largest_weight_is_never_too_small() -> None:
    rng = np.random.default_rng(0)
    inputs = rng.standard_normal((40, 2))
    labels = (inputs[:, 0] > 0).astype(int)
    state = empty_state(40)
    for _ in range(6):
        before = state
        state = add_draws(state, *next_draws(settings(), inputs, state, 4))
        state = add_labels(state, state.pending, labels[state.pending])
        p, _ = propose(settings(), inputs, before)
        assert _largest(state)[len(before.draws)] == pytest.approx(1 / (40 * p.min()))
    assert (_largest(state) * 40 * state.draws.probability >= 1 - 1e-12).all()


def _largest(state: LearnerState) -> FloatArray:
    assert state.draws.design is not None
    return state.draws.design["max_weight"]


def test_draws_are_uniform_until_there_is_something_to_go_by() -> None:
    for rows in [(), (0,), (0, 1), (0, 1, 3)]:  # too few labels, then one class
        p, _ = propose(settings(), X, after(rows))
        np.testing.assert_allclose(p, 1 / (N - len(rows)))
    p, _ = propose(settings(), X, after((0, 2)))
    assert np.ptp(p) > 0.01


def test_scores_that_are_all_equal_give_uniform_draws() -> None:
    def same(model: object, rows: FloatArray) -> FloatArray:
        return np.full(len(rows), 3.0)

    for proposal in ("boltzmann", "proportional", "epsilon_greedy", "rank", "power:2", "uniform"):
        p, _ = propose(settings(score=same, proposal=proposal), X, after((0, 2)))
        np.testing.assert_allclose(p, 1 / 3)


def test_a_pool_that_is_used_up_has_nothing_to_draw() -> None:
    with pytest.raises(InputError, match=r"All 5 rows.* 5 of"):
        next_draws(settings(), X, after((0, 1, 2, 3, 4)), 3)


def test_asking_in_two_steps_or_with_pending_labels_never_repeats_a_row() -> None:
    learner = ActiveLearner(LogisticRegression(), X, start=1)
    rows = [*learner.ask(2), *learner.ask(2), *learner.ask(2)]
    assert sorted(rows) == list(range(N))
    np.testing.assert_allclose(learner.draws.probability, 1 / (N - np.arange(N)))


def test_streams_of_randomness_differ_by_purpose_step_and_seed() -> None:
    seeds = {seed_for(s, purpose, n) for s in range(3) for purpose in range(3) for n in range(3)}
    assert len(seeds) == 27


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
        with pytest.raises(ProposalError, match=r"0 to . of.* 4 .*floor="):
            probabilities(name, SCORES, floor=0.0)


def test_the_best_item_alone_is_refused_before_there_are_scores() -> None:
    with pytest.raises(ProposalError, match=r"floor=0.*raise floor="):
        settings(proposal="epsilon_greedy", floor=0.0)
    settings(proposal="epsilon_greedy", floor=0.1)
    settings(proposal="boltzmann", floor=0.0)


def test_a_complaint_of_ones_own_proposal_is_one_line_that_names_it() -> None:
    def by_hope(scores: FloatArray) -> FloatArray:
        raise KeyError("hope")

    def too_cold(scores: FloatArray) -> FloatArray:
        return boltzmann(scores, -1)

    for proposal, says in [
        (by_hope, r"by_hope .*KeyError: 'hope'"),
        (too_cold, r"too_cold .*beta"),
    ]:
        with pytest.raises(InputError, match=says):
            probabilities(proposal, SCORES, floor=0.1)


def test_scores_are_not_changed() -> None:
    before: FloatArray = SCORES.copy()
    for name in NAMES:
        probabilities(name, SCORES, floor=0.1)
    np.testing.assert_array_equal(SCORES, before)


def test_the_first_batch_gives_every_row_the_same_hazard() -> None:
    _, hazards = next_draws(settings(), X, empty_state(N), 2)
    assert hazards is not None
    np.testing.assert_allclose(hazards, 2 / N)


@pytest.mark.parametrize("proposal", ["boltzmann", "boltzmann:2", "power:2", "proportional"])
def test_a_drawn_row_has_the_probability_of_a_row_left_with_its_score(proposal: str) -> None:
    """Rows 0 and 3 have the same score: one was drawn, the other is left."""
    scores = np.array([2.0, 1.0, 0.5, 2.0, 3.0])
    own = settings(score=lambda model, rows: scores, proposal=proposal, floor=0.2)
    state = replace(after((0, 2)), hazards=np.full(N, 0.1))
    left, drawn = propose(own, X, state)
    assert drawn is not None
    assert drawn[0] == pytest.approx(left[1], rel=1e-12)
    assert 0.2 / 3 <= drawn[1] < left[0]
    more, hazards = next_draws(own, X, state, 2)
    assert hazards is not None
    np.testing.assert_allclose(hazards[[1, 3, 4]], 0.1 + 2 * left)
    np.testing.assert_allclose(hazards[[0, 2]], 0.1 + 2 * drawn)
    assert add_draws(state, more, hazards).hazards is hazards


def test_scores_far_above_those_left_give_finite_hazards() -> None:
    scores = np.array([1e6, 1.0, 0.5, 2.0, 3.0])
    own = settings(score=lambda model, rows: scores)
    _, hazards = next_draws(own, X, replace(after((0, 2)), hazards=np.zeros(N)), 1)
    assert hazards is not None
    assert np.isfinite(hazards).all()
    assert hazards[0] > 100


@pytest.mark.parametrize("proposal", ["rank", "epsilon_greedy", lambda s: np.full(3, 1 / 3)])
def test_proposals_that_depend_on_all_scores_give_no_hazards(proposal: Any) -> None:  # noqa: ANN401
    state = replace(after((0, 2)), hazards=np.zeros(N))
    assert next_draws(settings(proposal=proposal), X, state, 1)[1] is None


def test_hazards_once_lost_stay_unknown() -> None:
    assert next_draws(settings(), X, after((0, 2)), 1)[1] is None
