import numpy as np
import pytest

from levelled._check import FloatArray, IntArray
from levelled.estimators import moments
from levelled.estimators.intervals.limits import cp_safe, effective, log_t_interval
from levelled.estimators.lure import ranked_weights
from levelled.metrics.design import (
    Design,
    Doubt,
    Outcomes,
    believe,
    fewest_labels,
    flatten,
    loss_scales,
    weighted_quantiles,
)
from levelled.metrics.ratios import ratio_moments, wilson_limits
from levelled.proposals import mixture, proportional, uniform
from levelled_studies import exact
from levelled_studies.trajectories import frozen

N = 2000


def chances(seed: int) -> FloatArray:
    return 0.5 * np.random.default_rng(seed).beta(0.4, 3.6, N)


def of_errors(chance: FloatArray) -> Outcomes:
    probability = np.stack([1 - chance, chance], axis=1)
    return Outcomes(probability, np.tile([0.0, 1.0], (len(chance), 1)), None, 1.0)


@pytest.mark.parametrize("floor", [0.5, 1.0])
@pytest.mark.parametrize("width", [0.04, 0.08])
def test_so_many_labels_give_about_the_wanted_width(seed: int, width: float, floor: float) -> None:
    rng, chance = np.random.default_rng(seed), chances(seed)
    q = mixture(proportional(np.sqrt(chance)), floor)
    budget = fewest_labels(Design.of(np.ones(N), q), of_errors(chance), 0.95, width)
    widths = []
    for _ in range(5):
        errors = (rng.random(N) < chance).astype(float)
        rows = frozen(q, budget, 40, control=chance, bound=1.0, rng=rng)
        drawn, weights = errors[rows.index], ranked_weights(rows.probability, N)
        low, high = cp_safe(
            effective(moments(drawn, rows.probability, N), drawn, weights, 0.95), N, 0.95
        )
        widths.append(high - low)
    assert 0.85 * width < np.median(widths) < 1.15 * width


def test_losses_without_a_bound_get_about_the_wanted_width(seed: int) -> None:
    rng = np.random.default_rng(seed)
    loss = rng.gamma(2.0, 0.5, (N, 1))
    outcomes, q = (
        Outcomes(np.ones((N, 1)), loss, None, np.inf),
        mixture(loss[:, 0] / loss.sum(), 0.5),
    )
    budget = fewest_labels(Design.of(np.ones(N), q), outcomes, 0.95, 0.1)
    rows = frozen(q, budget, 100, control=loss[:, 0], bound=np.inf, rng=rng)
    low, high = log_t_interval(moments(loss[:, 0][rows.index], rows.probability, N), 0.95)
    assert np.median(high - low) == pytest.approx(0.1, rel=0.1)


def test_a_ratio_gets_about_the_wanted_width(seed: int) -> None:
    rng = np.random.default_rng(seed)
    chance = rng.beta(0.3, 0.9, N)
    pred = (chance > 0.5).astype(float)
    losses = np.stack([np.zeros(N), 2 * pred], axis=1)
    outcomes = Outcomes(
        np.stack([1 - chance, chance], axis=1), losses, np.stack([pred, 1 + pred], axis=1), 1.0
    )
    q = mixture(proportional(np.sqrt(np.minimum(chance, 1 - chance))), 0.5)
    budget = fewest_labels(Design.of(np.ones(N), q), outcomes, 0.95, 0.12)
    widths = []
    for _ in range(5):
        y = (rng.random(N) < chance).astype(float)
        rows = frozen(q, budget, 40, control=chance, bound=1.0, rng=rng)
        A, D = (2 * y * pred)[rows.index], (y + pred)[rows.index]
        ratio = ratio_moments(A, D, rows.probability, N, rows.design["max_weight"])
        low, high = wilson_limits(ratio, 0.95)
        widths.append(high - low)
    assert np.median(widths) == pytest.approx(0.12, rel=0.15)


def test_the_variance_is_that_of_uniform_draws_without_replacement() -> None:
    loss = np.random.default_rng(0).exponential(size=1000)
    design = Design.of(np.ones(1000), uniform(1000))
    M = design.budgets[design.budgets <= 900]
    expected = (1 - M / 1000) / M * loss.var(ddof=1)
    np.testing.assert_allclose(design.variances(loss, loss**2)[: len(M)], expected, rtol=1e-2)


def test_groups_stand_for_their_items() -> None:
    loss = np.random.default_rng(0).exponential(size=50)
    q = mixture(proportional(loss), 0.5)
    one_by_one = Design.of(np.ones(1000), np.repeat(q, 20))
    grouped = Design.of(np.full(50, 20.0), q)
    np.testing.assert_allclose(
        grouped.variances(loss, loss**2),
        one_by_one.variances(np.repeat(loss, 20), np.repeat(loss, 20) ** 2),
        rtol=1e-9,
    )


@pytest.mark.parametrize("budget", [1, 2, 3])
def test_the_variance_is_close_to_the_enumerated_one_even_for_six_items(budget: int) -> None:
    loss = np.array([0.1, 0.9, 0.3, 0.5, 0.0, 0.7])
    q = mixture(proportional(loss + 0.2), 0.5)

    def propose(drawn: tuple[int, ...], left: IntArray) -> FloatArray:
        return q[left] / q[left].sum()

    expected = exact.lure_variance(loss, budget, propose)
    found = Design.of(np.ones(6), q).variances(loss, loss**2)[budget - 1]
    assert found == pytest.approx(expected, rel=0.15)


def test_a_power_of_one_leaves_probabilities_as_they_are() -> None:
    proba = np.array([[0.7, 0.2, 0.1], [0.1, 0.1, 0.8]])
    np.testing.assert_allclose(flatten(np.log(proba), 1.0, 0.0), proba)
    np.testing.assert_allclose(flatten(np.log(proba), 3.0, 1.0), 1 / 3)
    assert (flatten(np.log(proba), 2.0, 0.01).max(axis=1) > proba.max(axis=1)).all()
    assert (flatten(np.log(proba), 0.5, 0.01).max(axis=1) < proba.max(axis=1)).all()


@pytest.mark.parametrize("power", [0.3, 1.0, 3.0])
def test_labels_show_how_sure_a_model_should_be(power: float) -> None:
    rng = np.random.default_rng(0)
    proba = rng.dirichlet([0.5, 0.5], 4000)
    right = flatten(np.log(proba), power, 0.0)
    label = (rng.random(4000) < right[:, 1]).astype(int)
    pred = proba.argmax(axis=1)
    doubt = Doubt.prior().seen(np.log(proba), pred, (label != pred).astype(float), np.ones(4000))
    best = doubt.log_weight.argmax()
    assert doubt.power[best] == pytest.approx(power, rel=0.25)


def test_usual_error_rates_and_powers_weigh_more() -> None:
    prior = Doubt.prior()
    by_power = dict(zip(prior.power, prior.log_weight, strict=True))
    assert min(by_power, key=lambda b: abs(b - 0.8)) == max(by_power, key=by_power.__getitem__)
    typical = prior.typical(np.linspace(1e-4, 0.99, len(prior.power))).log_weight
    change = typical - prior.log_weight
    assert np.linspace(1e-4, 0.99, len(change))[change.argmax()] == pytest.approx(0.08, abs=0.01)


def test_belief_is_strongest_at_the_expected_value() -> None:
    values = np.array([0.01, 0.05, 0.2])
    assert believe(values, 0.05, is_share=True).argmax() == 1
    assert believe(100 * values, 20.0, is_share=False).argmax() == 2
    scales, log_weight = loss_scales()
    assert scales[log_weight.argmax()] == pytest.approx(1)


def test_quantiles_follow_the_weights() -> None:
    values = np.array([1.0, 2.0, 3.0])
    assert weighted_quantiles(values, np.array([0.0, 1.0, 0.0]), [0.4])[0] == pytest.approx(1.8)
    assert weighted_quantiles(values, np.array([1.0, 1.0, 98.0]), [0.5])[0] > 2.9
