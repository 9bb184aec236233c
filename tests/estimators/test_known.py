"""Labels that are known without a draw: exact sums beside the draws, by enumeration."""

import numpy as np
import pytest

from levelled._check import FloatArray, IntArray
from levelled.draws import Draws
from levelled.errors import InputError, LossError
from levelled.estimators import Betting, estimate
from levelled.estimators.moments import GivenValues, estimator_shares
from levelled.metrics.ratios import Look, Pairs, figure_estimate
from levelled_studies.exact import every_path
from paths import POSITIVE, chase_large_losses, expectation

LOSSES = np.array([0.3, 1.0, 0.1, 4.0, 0.7, 2.0, 1.5])
N, BUDGET, AFTER = len(LOSSES), 4, 2
WIDE = (-1e3, 1e3)
"""Bounds beyond which no estimate lies: a value beyond what is possible is moved there."""


def given_item(drawn: IntArray) -> int:
    """The item whose label becomes known after two draws: chosen with the labels so far."""
    left = [item for item in range(N) if item not in drawn[:AFTER].tolist()]
    largest = LOSSES[drawn[:AFTER]].max() > 1
    return left[0] if largest else left[-1]


def propose(drawn: tuple[int, ...], left: IntArray) -> FloatArray:
    """Adaptive, and with no chance for an item whose label is known."""
    weight = np.exp(-np.abs(left - (drawn[-1] if drawn else 0)) * 0.7) + 0.05 * len(drawn)
    if len(drawn) >= AFTER:
        weight = weight * (left != given_item(np.array(drawn)))
    return weight / weight.sum()


def given_of(draws: Draws) -> GivenValues:
    return GivenValues(np.array([AFTER + 1]), LOSSES[[given_item(draws.index)]])


def test_known_losses_join_the_estimate_of_the_other_items_exactly() -> None:
    known = np.array([5.0, 0.0, 2.5])
    mean = np.append(POSITIVE, known).mean()
    value = expectation(
        lambda draws: (
            estimate(POSITIVE[draws.index], draws, interval="none", known=known).value or 0.0
        ),
        len(POSITIVE),
        3,
        chase_large_losses(POSITIVE),
    )
    assert value == pytest.approx(mean, abs=1e-10)


def test_the_interval_is_that_of_the_other_items_on_the_scale_of_all() -> None:
    draws = Draws(np.arange(40), 1 / np.arange(100, 60, -1), pool_size=100)
    alone = estimate([1, 0, 0, 0] * 10, draws)
    joined = estimate([1, 0, 0, 0] * 10, draws, known=[1.0] * 30 + [0.0] * 70)
    assert joined.pool_size == 200
    assert joined.low == pytest.approx((30 + 100 * alone.low) / 200)
    assert joined.high == pytest.approx((30 + 100 * alone.high) / 200)
    assert joined.n_labels == 40


@pytest.mark.parametrize("estimator", ["lure", "pure"])
def test_labels_that_become_known_between_draws_leave_the_estimate_unbiased(estimator: str) -> None:
    value = expectation(
        lambda draws: (
            estimate(
                LOSSES[draws.index],
                draws,
                estimator,
                interval="none",
                bounds=WIDE,
                given=given_of(draws),
            ).value
            or 0.0
        ),
        N,
        BUDGET,
        propose,
    )
    assert value == pytest.approx(LOSSES.mean(), abs=1e-10)


def test_their_variance_is_estimated_without_bias() -> None:
    paths = [
        (estimate(LOSSES[d.index], d, interval="none", bounds=WIDE, given=given_of(d)), chance)
        for d, chance in every_path(N, BUDGET, propose)
    ]
    spread = sum(chance * ((est.value or 0.0) - LOSSES.mean()) ** 2 for est, chance in paths)
    estimated = sum(chance * (est.stderr or 0.0) ** 2 for est, chance in paths)
    assert estimated == pytest.approx(spread, abs=1e-10)


def test_without_them_the_same_draws_are_biased() -> None:
    value = expectation(
        lambda draws: (
            estimate(LOSSES[draws.index], draws, interval="none", bounds=WIDE).value or 0.0
        ),
        N,
        BUDGET,
        propose,
    )
    assert abs(float(value) - LOSSES.mean()) > 0.01


def test_levels_that_follow_what_is_left_would_be_biased() -> None:
    """Shares of a pool from which the given items are taken out depend on the labels so far."""

    def value(draws: Draws) -> float:
        item = given_item(draws.index)
        terms = (LOSSES[draws.index] / draws.probability) / N
        before = np.cumsum(LOSSES[draws.index]) - LOSSES[draws.index]
        before[AFTER:] += LOSSES[item]
        n_left = N - 1 if LOSSES[draws.index[:AFTER]].max() > 1 else N - 2
        shares = estimator_shares("lure", n_left, BUDGET)
        return float(shares @ (terms + before / N))

    assert abs(float(expectation(value, N, BUDGET, propose)) - LOSSES.mean()) > 1e-4


def test_a_pool_of_which_everything_is_known_has_an_exact_value() -> None:
    draws = Draws(np.array([0, 1, 2]), np.array([0.2, 0.25, 0.5]), pool_size=5)
    given = GivenValues(np.array([3, 3]), np.array([4.0, 0.5]))
    est = estimate([1.0, 0.0, 2.0], draws, given=given)
    assert (est.interval, est.value, est.low, est.high) == ("point", 1.5, 1.5, 1.5)


def test_bets_stay_fair_when_labels_become_known() -> None:
    """The wealth against the true mean is a martingale: of mean 1 over all paths."""
    losses = LOSSES / 5
    total = 0.0
    for draws, chance in every_path(N, BUDGET, propose):
        watch = Betting(N, (0.0, 1.0), 1 - 1e-12, tested=[losses.mean()])  # rejects nothing
        given = GivenValues(np.array([AFTER + 1]), losses[[given_item(draws.index)]])
        for m, (item, q) in enumerate(zip(draws.index, draws.probability, strict=True), start=1):
            watch.give(*given.at(m))
            watch.update(losses[item], q)
        at = np.argmin(np.abs(watch._wealth.candidates - losses.mean()))
        amounts = watch._wealth.amounts[..., at]
        below = watch._wealth.n_below
        total += chance * float((amounts * watch._wealth.prior[..., 0])[:below].sum())
    assert total == pytest.approx(1, abs=1e-10)


def test_known_items_join_numerator_and_denominator_of_a_ratio() -> None:
    A, D = np.array([1.0, 0, 0, 1]), np.array([1.0, 1, 0, 1])
    draws = Draws(np.array([4, 1, 0, 7]), np.array([0.05, 1 / 19, 1 / 18, 1 / 17]), pool_size=20)
    unseen = [(16, [(0.0, 0.0), (0.0, 1.0), (1.0, 1.0)])]
    look = Look(draws, 0.95, "auto")
    pairs = Pairs(A, D, unseen, "positive", known=(6.0, 30.0))
    est = figure_estimate([pairs], look)
    # 20 items hold 20 x 3/4 = 15 of D and 10 of A, beside 30 and 6 that are known.
    assert est.value == pytest.approx(16 / 45)
    assert est.low <= 16 / 45 <= est.high
    alone = figure_estimate([Pairs(A, D, unseen, "positive")], look)
    assert est.high - est.low < alone.high - alone.low


def test_a_ratio_known_only_by_labels_without_draws_is_bounded_by_what_is_possible() -> None:
    draws = Draws(np.array([4, 1]), np.array([0.05, 1 / 19]), pool_size=20)
    unseen = [(18, [(0.0, 0.0), (0.0, 1.0), (1.0, 1.0)])]
    pairs = Pairs(np.zeros(2), np.zeros(2), unseen, "positive", known=(6.0, 30.0))
    est = figure_estimate([pairs], Look(draws, 0.95, "auto"))
    assert est.value == pytest.approx(0.2)
    assert (est.low, est.high) == pytest.approx((6 / 48, 24 / 48))


def test_known_losses_are_checked_like_drawn_ones() -> None:
    draws = Draws(np.array([4, 1, 0]), np.array([0.05, 1 / 19, 1 / 18]), pool_size=20)
    with pytest.raises(LossError):
        estimate([1, 0, 0], draws, bounds=(0, 1), known=[2.0])
    with pytest.raises(InputError, match="population"):
        estimate([1, 0, 0], draws, known=[1.0], population=True)
