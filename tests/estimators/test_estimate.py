import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import levelled as lv
from levelled._check import FloatArray
from levelled.errors import InputError, LossError
from paths import LOSSES

DRAWS = lv.Draws(np.array([4, 1, 0, 7]), np.array([0.2, 0.05, 0.1, 0.02]), pool_size=20)
values = arrays(np.float64, 4, elements=st.floats(-100, 100))


@given(values)
def test_permuting_the_pool_changes_nothing(losses: FloatArray) -> None:
    renamed = lv.Draws(19 - DRAWS.index, DRAWS.probability, 20)
    assert lv.estimate(losses, renamed) == lv.estimate(losses, DRAWS)


@given(values, st.sampled_from([0.5, 2.0, 1024.0]), st.sampled_from(["lure", "pure", "naive"]))
def test_an_estimate_scales_with_its_losses(
    losses: FloatArray, scale: float, estimator: str
) -> None:
    one = lv.estimate(losses, DRAWS, estimator, interval="none")
    many = lv.estimate(scale * losses, DRAWS, estimator, interval="none")
    assert one.value is not None
    assert one.stderr is not None
    assert many.value == pytest.approx(scale * one.value, abs=1e-9)
    assert many.stderr == pytest.approx(scale * one.stderr, abs=1e-9)


@given(values, st.floats(-10, 10))
def test_a_constant_added_to_uniform_losses_is_added_to_the_estimate(
    losses: FloatArray, constant: float
) -> None:
    uniform = lv.Draws(np.arange(4), 1 / np.array([20, 19, 18, 17]), 20)
    one, other = lv.estimate(losses, uniform), lv.estimate(losses + constant, uniform)
    assert one.value is not None
    assert other.value == pytest.approx(one.value + constant, abs=1e-9)
    assert other.stderr == pytest.approx(one.stderr, abs=1e-6)


def test_the_control_that_predicts_every_loss_leaves_no_error() -> None:
    control = LOSSES[[4, 1, 0]]
    draws = lv.Draws(np.array([4, 1, 0]), np.array([0.2, 0.5, 0.1]), pool_size=5)
    left = LOSSES.sum() - np.append(0, np.cumsum(control)[:-1])
    result = lv.estimators.moments(
        LOSSES[draws.index], draws.probability, 5, control=control, control_left=left
    )
    assert result.value == pytest.approx(LOSSES.mean())
    assert result.variance == pytest.approx(0, abs=1e-20)


def test_one_label_has_no_standard_error_and_the_logical_interval() -> None:
    est = lv.estimate([1.0], DRAWS[:1])
    assert est.stderr is None
    assert (est.low, est.high) == (1 / 20, 1.0)
    assert "one label" in est.warnings[0]


def test_one_label_of_an_unbounded_loss_has_no_upper_limit() -> None:
    est = lv.estimate([2.5], DRAWS[:1])
    assert (est.low, est.high) == (2.5 / 20, np.inf)


@pytest.mark.parametrize("loss", [0.0, 1.0, 2.5, -3.0])
def test_a_pool_of_one_is_known_after_one_label(loss: float) -> None:
    est = lv.estimate([loss], lv.Draws(np.array([0]), np.array([1.0]), 1))
    assert (est.value, est.low, est.high) == (loss, loss, loss)


def test_the_whole_pool_leaves_only_the_point() -> None:
    draws = lv.Draws(np.arange(5), np.array([0.1, 0.2, 0.3, 0.4, 1.0]), 5)
    est = lv.estimate(LOSSES, draws)
    assert est.value == pytest.approx(LOSSES.mean())
    assert est.low == est.high == pytest.approx(LOSSES.mean())


def test_ten_labels_of_a_pool_of_a_million_million() -> None:
    N = 10**12
    draws = lv.Draws(N - 1 - np.arange(10), np.full(10, 1e-12), N)
    losses = np.arange(10.0)
    est = lv.estimate(losses, draws)
    assert est.value == pytest.approx(4.5)
    assert est.stderr == pytest.approx(losses.std(ddof=1) / np.sqrt(10))


def test_items_that_could_never_be_drawn_widen_the_interval_by_all_they_may_lose() -> None:
    q = np.full(8, 0.05)
    full, bounded = lv.Draws(np.arange(8), q, 20), lv.Draws(np.arange(8), q, 20, excluded=4)
    losses = [0.0, 1.0] * 4
    all_drawable, est = lv.estimate(losses, full), lv.estimate(losses, bounded)
    assert est.value == all_drawable.value
    assert est.high == pytest.approx(min(all_drawable.high + 4 / 20, 16 / 20))
    assert est.low == all_drawable.low
    assert "never be drawn" in est.warnings[-1]
    assert lv.estimate([0.5, 1.5] * 4, bounded).high == np.inf


def test_the_naive_estimate_warns() -> None:
    assert "biased" in lv.estimate([0.0, 1.0, 0.0, 1.0], DRAWS, "naive").warnings[0]


def test_an_estimate_prints_as_one_line_and_goes_into_json() -> None:
    est = lv.estimate([0.0, 1.0, 0.0, 1.0], DRAWS)
    assert str(est).count("\n") == 0
    assert json.loads(json.dumps(est.as_dict()))["n_labels"] == 4


@pytest.mark.parametrize(
    ("error", "words", "arguments"),
    [
        (InputError, "draws has 4", {"losses": [1.0, 2.0]}),
        (InputError, "finite", {"losses": [1.0, np.nan, 1.0, 1.0]}),
        (InputError, "numbers", {"losses": ["a", "b", "c", "d"]}),
        (InputError, "level", {"level": 1.5}),
        (InputError, "estimator must be one of", {"estimator": "best"}),
        (InputError, "interval must be one of", {"interval": "wide"}),
        (InputError, "interval must be one of", {"interval": np.array(["t"])}),
        (LossError, "outside the declared bounds", {"bounds": (0, 0.5)}),
        (InputError, "at least one label", {"losses": [], "draws": DRAWS[:0]}),
    ],
)
def test_bad_input_is_refused_in_words(
    error: type[Exception], words: str, arguments: dict[str, Any]
) -> None:
    usual: dict[str, Any] = {"losses": [1.0, 0.0, 1.0, 1.0], "draws": DRAWS}
    with pytest.raises(error, match=words):
        lv.estimate(**(usual | arguments))


def test_an_estimate_shows_itself_in_a_notebook() -> None:
    shown = lv.estimate([0.0, 1.0, 0.0, 1.0], DRAWS)._repr_html_()
    assert shown.startswith("<b>0.997</b> [0.1, 0.9]<br>")
    assert "raise the floor" in shown


def test_a_series_in_another_order_than_the_draws_is_refused() -> None:
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    losses = pd.Series(rng.random(20) < 0.3, dtype=float)
    draws = lv.samplers.race(np.ones(20), 8, seed=1)
    in_order = losses.loc[draws.index]
    assert lv.estimate(in_order, draws) == lv.estimate(in_order.to_numpy(), draws)
    assert lv.estimate(in_order.reset_index(drop=True), draws) == lv.estimate(in_order, draws)
    with pytest.raises(InputError, match="in the order of the draws"):
        lv.estimate(in_order.sort_index(), draws)


def test_probabilities_of_being_drawn_at_all_are_noticed() -> None:
    inclusion = np.full(50, 0.5)  # of 50 in 100, where a draw has 1/100, 1/99, ...
    est = lv.estimate(np.zeros(50), lv.Draws(np.arange(50), inclusion, 100))
    assert any("instead of at each draw" in warning for warning in est.warnings)
    uniform = lv.Draws(np.arange(50), 1 / np.arange(100, 50, -1), 100)
    assert not lv.estimate(np.zeros(50), uniform).warnings


def test_one_error_in_many_uniform_labels_is_as_wide_as_clopper_and_pearson() -> None:
    from scipy.special import betaincinv

    for M, errors in ((100, 1), (200, 2), (500, 3)):
        draws = lv.Draws(np.arange(M), 1 / (100_000 - np.arange(float(M))), 100_000)
        est = lv.estimate(np.arange(M) < errors, draws)
        low, high = (
            betaincinv(errors, M - errors + 1, 0.025),
            betaincinv(errors + 1, M - errors, 0.975),
        )
        assert est.high - est.low == pytest.approx(high - low, rel=0.02)


def test_all_that_can_be_drawn_gives_the_exact_value() -> None:
    losses = np.array([1.0, 0.0, 1.0, 1.0])
    q = np.array([0.4, 0.2, 0.6, 1.0])
    draws = lv.Draws(np.arange(4), q, pool_size=5, excluded=1)
    est = lv.estimate(losses, draws)
    assert (est.value, est.stderr, est.low, est.high) == pytest.approx((0.6, 0.0, 0.6, 0.8))


def test_worth_is_the_number_of_random_labels_of_the_same_variance(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rate = rng.beta(0.3, 3, 5000)
    losses = (rng.random(5000) < rate).astype(float)
    weights = 0.5 / 5000 + 0.5 * np.sqrt(rate) / np.sqrt(rate).sum()
    estimates = [
        lv.estimate(losses[d.index], d)
        for d in (lv.samplers.race(weights, 400, seed=1000 * seed + i) for i in range(200))
    ]
    spread = float(np.var([est.value or 0.0 for est in estimates]))
    true = losses.var(ddof=1) / (spread + losses.var(ddof=1) / 5000)
    # The variance of 200 values is known to about 10%; off by half is beyond five times that.
    assert np.mean([est.worth for est in estimates if est.worth]) == pytest.approx(true, rel=0.5)


def test_the_value_with_a_control_is_in_the_difference_form(seed: int) -> None:
    rng = np.random.default_rng(seed)
    judge = rng.random(300)
    losses = np.clip(judge + rng.normal(0, 0.05, 300), 0, 1)
    draws = lv.samplers.race(0.5 + judge, 80, seed=seed)
    g = judge[draws.index]
    est = lv.estimate(losses[draws.index], draws, control=g, control_mean=judge.mean())
    residual = lv.estimate(losses[draws.index] - g, draws, bounds=(-1, 1))
    assert residual.value is not None
    assert est.value == pytest.approx(judge.mean() + residual.value, abs=1e-12)
    assert not est.warnings


@pytest.mark.parametrize(("surprises", "warned"), [(0, True), (1, True), (4, True), (12, False)])
def test_a_control_with_hardly_any_residuals_comes_with_a_warning(
    surprises: int, warned: bool
) -> None:
    """A tree's confidences are 0 and 1: without an unexpected error the variance would be 0."""
    draws = lv.Draws(np.arange(100), 1 / np.arange(1000, 900, -1), 1000)
    confidence = np.repeat([1.0, 0.0], [10, 90])  # that the item is an error
    losses = confidence.copy()
    losses[10 : 10 + surprises] = 1
    est = lv.estimate(losses, draws, control=confidence, control_mean=0.1)
    assert est.high - est.low > 0.01
    assert any("too few to judge the control" in text for text in est.warnings) == warned
    if surprises == 1:
        assert est.warnings[-1].endswith("compare with the estimate without it")
    assert not lv.estimate(losses, draws).warnings


def test_a_control_whose_residuals_all_differ_needs_no_warning(seed: int) -> None:
    rng = np.random.default_rng(seed)
    draws = lv.Draws(np.arange(100), 1 / np.arange(1000, 900, -1), 1000)
    losses = rng.random(100)
    for scale in (1e-9, 1.0, 1e9):  # 1e-9: loss and control nearly agree
        control = losses + scale * rng.normal(size=100)
        est = lv.estimate(losses, draws, control=control, control_mean=0.5)
        assert not any("control" in text for text in est.warnings)
