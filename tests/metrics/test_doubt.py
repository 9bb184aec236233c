import numpy as np
import pytest

from levelled.metrics.doubt import Doubt, believe, flatten, loss_scales, weighted_quantiles


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
