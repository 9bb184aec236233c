from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import levelled as lv
from levelled._check import FloatArray
from levelled.errors import InputError, LossError
from levelled.estimators.moments import uniform_probability


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
    with pytest.raises(LossError, match="outside the declared bounds"):
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
    assert (est.low, est.high) == (0.25, 0.75)
    assert any("order of the draws" in warning for warning in est.warnings)


def test_a_control_that_does_not_help_is_left_out() -> None:
    noise = np.random.default_rng(3).normal(0, 5, 100)
    plain = lv.estimate(POSITIVE, drawn(100))
    assert lv.estimate(POSITIVE, drawn(100), control=noise, control_mean=0.0) == plain
    perfect = lv.estimate(ERRORS, drawn(100), control=ERRORS, control_mean=0.2)
    assert perfect.warnings[-1].endswith("too few to judge the control by: it is left out")
    assert replace(perfect, warnings=()) == lv.estimate(ERRORS, drawn(100))


def test_an_estimate_outside_its_interval_says_so() -> None:
    draws = lv.Draws(np.arange(30), np.full(30, 0.001), 40)
    est = lv.estimate(np.ones(30), draws)
    assert est.value is not None
    assert est.value > est.high
    assert any("outside its interval" in warning for warning in est.warnings)


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
