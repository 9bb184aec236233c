import json
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import levelled as lv
from levelled._check import FloatArray
from levelled.errors import InputError, LossError
from levelled.estimators.moments import uniform_probability
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
        (InputError, "estimator", {"estimator": "best"}),
        (InputError, "interval", {"interval": "wide"}),
        (InputError, "interval", {"interval": np.array(["t"])}),
        (LossError, "outside.*bounds", {"bounds": (0, 0.5)}),
        (InputError, "one label", {"losses": [], "draws": DRAWS[:0]}),
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
    assert shown.startswith("<b>0.9</b> [0.1, 0.9]<br>")
    assert "raise the floor" in shown


def test_a_series_in_another_order_than_the_draws_is_refused() -> None:
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    losses = pd.Series(rng.random(20) < 0.3, dtype=float)
    draws = lv.samplers.race(np.ones(20), 8, seed=1)
    in_order = losses.loc[draws.index]
    assert lv.estimate(in_order, draws) == lv.estimate(in_order.to_numpy(), draws)
    assert lv.estimate(in_order.reset_index(drop=True), draws) == lv.estimate(in_order, draws)
    with pytest.raises(InputError, match=r"order.*draws"):
        lv.estimate(in_order.sort_index(), draws)


def test_probabilities_of_being_drawn_at_all_are_noticed() -> None:
    inclusion = np.full(50, 0.5)  # of 50 in 100, where a draw has 1/100, 1/99, ...
    est = lv.estimate(np.zeros(50), lv.Draws(np.arange(50), inclusion, 100))
    assert any("each draw" in warning for warning in est.warnings)
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
    assert any("judge the control" in text for text in est.warnings) == warned
    if surprises == 1:
        assert est.warnings[-1].endswith("estimate without it")
    assert not lv.estimate(losses, draws).warnings


def test_a_control_whose_residuals_all_differ_needs_no_warning(seed: int) -> None:
    rng = np.random.default_rng(seed)
    draws = lv.Draws(np.arange(100), 1 / np.arange(1000, 900, -1), 1000)
    losses = rng.random(100)
    for scale in (1e-9, 1.0, 1e9):  # 1e-9: loss and control nearly agree
        control = losses + scale * rng.normal(size=100)
        est = lv.estimate(losses, draws, control=control, control_mean=0.5)
        assert not any("control" in text for text in est.warnings)


def drawn(n: int, pool_size: int = 1000, dispersion: float | None = None) -> lv.Draws:
    design = None if dispersion is None else {"dispersion": np.full(n, dispersion)}
    return lv.Draws(np.arange(n), uniform_probability(pool_size, n), pool_size, design=design)


RNG = np.random.default_rng(0)
ERRORS = (RNG.random(100) < 0.2).astype(float)
POSITIVE = RNG.gamma(1.0, 1.0, 100)
SIGNED = RNG.normal(size=100)
SPARSE = ERRORS * RNG.random(100)


@pytest.mark.parametrize(
    ("losses", "bounds", "dispersion", "method"),
    [
        (ERRORS, None, 1.0, "cp_safe"),
        (ERRORS, None, 50.0, "cp_safe"),
        (np.zeros(100), None, 1.0, "cp_safe"),
        (POSITIVE, None, 1.0, "log_t"),
        (POSITIVE, None, 10.0, "betting"),
        (POSITIVE, (0, 20), 1.0, "cp_safe"),
        (SPARSE, (0, 1), 1.0, "cp_safe"),
        (SPARSE, None, 1.0, "log_t"),
        (SIGNED, None, 1.0, "t"),
        (SIGNED, (-10, 10), 10.0, "cp_safe"),
        (SIGNED, None, 10.0, "logical"),
        (np.zeros(100), (-1, 1), 1.0, "cp_safe"),
        (np.append(1.0, np.zeros(99)), (-1, 1), 1.0, "cp_safe"),
        (np.full(100, 0.5), (0, 1), 1.0, "cp_safe"),
    ],
)
def test_auto_follows_the_table_of_defaults(
    losses: FloatArray, bounds: tuple[float, float] | None, dispersion: float, method: str
) -> None:
    est = lv.estimate(losses, drawn(100, dispersion=dispersion), bounds=bounds)
    assert est.interval == method
    assert est.low < est.high
    assert np.isfinite(est.low) or bounds is None


def test_errors_not_seen_yet_do_not_make_the_interval_a_point() -> None:
    est = lv.estimate(np.zeros(25), drawn(25))
    assert est.low == 0
    assert 0.05 < est.high < 0.2


@pytest.mark.parametrize("interval", ["t", "log_t", "cp_safe", "anytime", "betting"])
def test_every_interval_lies_within_what_is_logically_possible(interval: str) -> None:
    losses = ERRORS[:50]
    est = lv.estimate(losses, drawn(50, pool_size=60), interval=interval)
    assert losses.sum() / 60 <= est.low <= est.high <= (losses.sum() + 10) / 60


@pytest.mark.parametrize("interval", ["auto", "t", "cp_safe", "anytime", "betting", "none"])
def test_the_whole_pool_leaves_the_point(interval: str) -> None:
    est = lv.estimate(ERRORS, drawn(100, pool_size=100), interval=interval)
    assert est.low == est.high == pytest.approx(ERRORS.mean())


def test_an_estimate_below_what_is_known_for_certain_gets_the_logical_interval() -> None:
    q = np.full(30, 0.9)  # drawn almost surely, so each error counts for next to nothing
    draws = lv.Draws(np.arange(30), q, 40)
    est = lv.estimate(np.append(np.zeros(15), np.full(15, 2.0)), draws, interval="t")
    assert est.interval == "logical"
    assert est.low == 0.75
    assert any("logically possible" in warning for warning in est.warnings)


def test_a_thin_design_warns_and_a_hopeless_one_is_refused() -> None:
    warned = lv.estimate(POSITIVE, drawn(100, dispersion=5.0))
    assert "100 labels behave like 20" in warned.warnings[0]
    with pytest.raises(InputError, match="betting"):
        lv.estimate(POSITIVE, drawn(100, dispersion=50.0), interval="log_t")


def test_unbounded_losses_of_a_thin_design_have_a_lower_limit_only() -> None:
    est = lv.estimate(POSITIVE, drawn(100, dispersion=10.0))
    assert 0 < est.low < est.value  # type: ignore[operator]
    assert est.high == np.inf


def test_watched_intervals_are_wider_than_fixed_ones() -> None:
    fixed = lv.estimate(ERRORS, drawn(100))
    for interval in ("anytime", "betting"):
        watched = lv.estimate(ERRORS, drawn(100), interval=interval)
        assert watched.high - watched.low > fixed.high - fixed.low


def test_the_asymptotic_sequence_starts_at_25_labels() -> None:
    assert lv.estimate(ERRORS[:24], drawn(24), interval="anytime").interval == "logical"
    assert lv.estimate(ERRORS[:25], drawn(25), interval="anytime").interval == "anytime"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"interval": "log_t", "losses": SIGNED}, "use 't'"),
        ({"interval": "anytime", "losses": SIGNED}, "betting"),
        ({"interval": "cp_safe", "losses": POSITIVE}, r"bounds=\(0, 1\)"),
        ({"bounds": (1, 0)}, "below the upper"),
        ({"bounds": 3}, "two numbers"),
        ({"control_mean": 0.1}, "give control"),
        ({"control": np.ones(100)}, "control_mean"),
        ({"control": np.ones(3), "control_mean": 1.0}, "control has 3"),
        ({"control": "design"}, "with_design"),
        ({"control": "best"}, "one of design"),
        ({"population": True, "interval": "betting"}, "population"),
    ],
)
def test_what_cannot_be_had_is_refused_in_words(arguments: dict[str, Any], words: str) -> None:
    usual: dict[str, Any] = {"losses": ERRORS, "draws": drawn(100)}
    with pytest.raises(InputError, match=words):
        lv.estimate(**(usual | arguments))


def test_a_loss_above_the_declared_bound_is_an_error_not_a_clip() -> None:
    with pytest.raises(LossError, match=r"outside.*bounds"):
        lv.estimate([0.5, 1.5], drawn(2), bounds=(0, 1), interval="betting")


def test_a_good_control_makes_the_interval_narrower() -> None:
    pool = np.random.default_rng(1).gamma(1.0, 1.0, 1000)
    draws = drawn(100)
    losses = pool[draws.index]
    control = 0.9 * losses + 0.05
    plain = lv.estimate(losses, draws)
    better = lv.estimate(losses, draws, control=control, control_mean=0.9 * pool.mean() + 0.05)
    assert better.stderr is not None
    assert plain.stderr is not None
    assert better.stderr < 0.2 * plain.stderr
    assert abs(better.value - pool.mean()) < abs(plain.value - pool.mean())


def test_the_control_of_the_design_is_the_fixed_one_given_by_hand() -> None:
    control = POSITIVE * 1.1
    left = 1000 * 1.2 - (np.cumsum(control) - control)
    plain = drawn(100)
    design = {"control": control, "control_left": left}
    designed = lv.Draws(plain.index, plain.probability, 1000, design=design)
    by_hand = lv.estimate(POSITIVE, plain, control=control, control_mean=1.2)
    assert lv.estimate(POSITIVE, designed, control="design").value == pytest.approx(by_hand.value)


def test_the_population_is_less_certain_than_its_pool() -> None:
    pool = lv.estimate(POSITIVE, drawn(100, pool_size=150))
    population = lv.estimate(POSITIVE, drawn(100, pool_size=150), population=True)
    assert population.value == pool.value
    assert population.stderr == pytest.approx(POSITIVE.std() / 10, rel=0.05)
    assert population.high - population.low > pool.high - pool.low
    complete = lv.estimate(POSITIVE, drawn(100, pool_size=100), population=True)
    assert complete.low < complete.value < complete.high  # type: ignore[operator]


def test_nothing_but_its_bounds_is_certain_of_a_population() -> None:
    none = lv.estimate(np.zeros(100), drawn(100, pool_size=100), population=True)
    assert none.low == 0
    assert 0.02 < none.high < 0.06
    same = lv.estimate(np.full(100, 0.3), drawn(100, pool_size=100), population=True, bounds=(0, 1))
    assert 0 < same.low < 0.3 < same.high < 1
    pool = lv.estimate(np.zeros(40), drawn(40, pool_size=100))
    assert none.low <= pool.low
    assert lv.estimate(np.zeros(40), drawn(40, pool_size=100), population=True).high > pool.high


def test_labels_that_contradict_their_probabilities_are_told_so() -> None:
    losses = np.append(np.ones(50), np.zeros(50))  # uniform draws hardly ever come in this order
    est = lv.estimate(losses, drawn(100, pool_size=200), interval="betting")
    assert (est.value, est.low, est.high, est.interval) == (0.5, 0.25, 0.75, "logical")
    assert "order of the draws" in est.warnings[0]


def test_where_no_value_is_possible_at_all_there_is_none() -> None:
    losses = np.append(np.ones(100), np.zeros(100))
    est = lv.estimate(losses, drawn(200, pool_size=400), interval="betting")
    assert (est.value, est.low, est.high) == (None, 0.25, 0.75)
    assert est.interval == "contradiction"
    assert str(est).startswith("contradiction [0.25, 0.75]")
    assert "order of the draws" in est.warnings[0]


def test_a_control_that_does_not_help_is_left_out() -> None:
    noise = np.random.default_rng(3).normal(0, 5, 100)
    plain = lv.estimate(POSITIVE, drawn(100))
    assert lv.estimate(POSITIVE, drawn(100), control=noise, control_mean=0.0) == plain
    perfect = lv.estimate(ERRORS, drawn(100), control=ERRORS, control_mean=0.2)
    assert "left out" in perfect.warnings[-1]
    assert replace(perfect, warnings=()) == lv.estimate(ERRORS, drawn(100))


def test_a_value_far_beyond_its_interval_is_moved_to_the_limit_with_a_warning() -> None:
    draws = lv.Draws(np.arange(30), np.full(30, 0.001), 40)
    est = lv.estimate(np.ones(30), draws)
    assert est.value == est.high == 1
    assert any(re.search(r"25\.53.*moved", warning) for warning in est.warnings)


@pytest.mark.parametrize(
    ("losses", "words"),
    [
        (np.full(100, 1e160), "larger units"),
        (np.ma.masked_equal(ERRORS, 1.0), "masked"),
        (np.full(100, "1"), "numbers"),
        (np.full(100, 1j), "numbers"),
        (np.zeros(100, dtype="datetime64[s]"), "numbers"),
        ([10**400] * 100, "numbers"),
    ],
)
def test_what_is_no_usable_number_is_refused(losses: Any, words: str) -> None:  # noqa: ANN401
    with pytest.raises(InputError, match=words):
        lv.estimate(losses, drawn(100))


def test_draws_of_another_type_are_refused_in_words() -> None:
    for work in (lv.lure_weights, lv.pure_weights, lambda draws: lv.running(ERRORS, draws)):
        with pytest.raises(InputError, match="must be Draws"):
            work(np.arange(100))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="floor"):
        lv.estimate(ERRORS[:1], lv.Draws(np.array([0]), np.array([1e-200]), 10))
