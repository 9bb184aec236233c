"""Every bet is fair at the truth, exactly: wealth is summed over every path of small pools."""

from collections.abc import Callable

import numpy as np
import pytest

from levelled._check import FloatArray, IntArray
from levelled.draws import Draws
from levelled.estimators.intervals.betting import MeanGame, RatioGame
from levelled.estimators.intervals.wealth import (
    Columns,
    Sides,
    Variants,
    Wealth,
    bet_table,
    equal_prior,
    grow,
)
from levelled_studies.exact import Propose, every_path
from paths import chase_large_losses, ignoring, uniform

BOUNDED = np.array([0.3, 0.0, 1.0, 0.7, 0.2])
SIGNED = np.array([1.0, 0.0, -0.5, 0.0, 1.0])
SHIFTED = np.array([2.5, 3.0, 2.0, 2.2, 4.0])
NUMERATOR = np.array([1.0, 0.0, 0.0, 0.5, 1.0])
DENOMINATOR = np.array([1.0, 0.0, 1.0, 1.0, 1.5])

Labels = Callable[[Draws], list[tuple[Sides, Columns]]]
"""The bets of each label of a path, and its columns."""


def refitted(losses: FloatArray, drawn: IntArray) -> FloatArray:
    """A prediction of every loss that follows the labels seen so far, within their range."""
    seen = losses[drawn].mean() if len(drawn) else losses.mean()
    return np.asarray(0.6 * seen + 0.4 * np.sort(losses)[::-1])


def mean_labels(
    losses: FloatArray, bounds: tuple[float, float], propose: Propose, n_excluded: int = 0
) -> Labels:
    """The bets of each label of a path, with all the columns."""
    N = len(losses)
    game = MeanGame(N, bounds, 0.95, n_excluded)

    def labels(draws: Draws) -> list[tuple[Sides, Columns]]:
        rounds: list[tuple[Sides, Columns]] = []
        for m, (item, q) in enumerate(zip(draws.index, draws.probability, strict=True)):
            drawn = draws.index[:m]
            left = np.setdiff1d(np.arange(N), drawn)
            proposal = propose(tuple(drawn.tolist()), left)
            left, proposal = left[proposal > 0], proposal[proposal > 0]
            weights, g = 1 / (N * proposal), refitted(losses, drawn)
            columns = {
                "max_weight": weights.max(),
                "control": g[item],
                "control_left": g[left].sum(),
                "max_weighted_control": (weights * g[left]).max(),
                "max_weighted_headroom": (weights * (bounds[1] - g[left])).max(),
            }
            before = losses[drawn].sum()
            rounds.append((game.bets(m + 1, (losses[item],), q, (before,), columns), columns))
        return rounds

    return labels


def ratio_labels(propose: Propose, *, known: bool) -> Labels:
    N = len(NUMERATOR)
    game = RatioGame(N, 1.5, 0.95, float(DENOMINATOR.mean()) if known else None)

    def labels(draws: Draws) -> list[tuple[Sides, Columns]]:
        rounds: list[tuple[Sides, Columns]] = []
        for m, (item, q) in enumerate(zip(draws.index, draws.probability, strict=True)):
            drawn = draws.index[:m]
            left = np.setdiff1d(np.arange(N), drawn)
            weights = 1 / (N * propose(tuple(drawn.tolist()), left))
            reach = (weights * DENOMINATOR[left]).max() if known else 1.5 * weights.max()
            before = NUMERATOR[drawn].sum(), DENOMINATOR[drawn].sum()
            label = NUMERATOR[item], DENOMINATOR[item]
            columns = {"max_weighted_denominator": reach}
            rounds.append((game.bets(m + 1, label, q, before, columns), columns))
        return rounds

    return labels


def expected_wealth(
    truth: float, labels: Labels, pool_size: int, budget: int, propose: Propose, mirror: float = 0
) -> FloatArray:
    """The exact mean wealth [variants, fractions] after `budget` labels, if the truth is tested."""
    expected: FloatArray | float = 0.0
    for draws, chance in every_path(pool_size, budget, propose):
        rounds = labels(draws)
        expected = expected + chance * final_amounts(truth, rounds, names_of(rounds), mirror)
    return np.asarray(expected)


def names_of(rounds: list[tuple[Sides, Columns]]) -> Variants:
    """The variants for which the first label has the columns."""
    (below, above), _ = rounds[0]
    return tuple(below), tuple(above)


def final_amounts(
    truth: float, rounds: list[tuple[Sides, Columns]], names: Variants, mirror: float = 0
) -> FloatArray:
    """The wealth [variants, fractions] against the truth at the end of a path."""
    wealth = Wealth.start(np.array([truth]), names, equal_prior(names), 0, 0)
    amounts, t = wealth.amounts, wealth.coordinates(mirror)
    for m, (sides, _) in enumerate(rounds, start=1):
        amounts, impossible = grow(amounts, t, bet_table(sides, names), m=m, scale=1)
        assert impossible is None
    return amounts[..., 0]


@pytest.mark.parametrize("budget", [1, 2, 3, 5])
@pytest.mark.parametrize(
    ("losses", "bounds"),
    [
        (BOUNDED, (0.0, 1.0)),
        (BOUNDED, (0.0, 2.0)),
        (SIGNED, (-1.0, 1.0)),
        (-SIGNED, (-1.0, 0.7)),
        (SHIFTED, (2.0, 4.0)),
        (-SHIFTED, (-4.0, -1.0)),
        (BOUNDED, (0.0, np.inf)),
    ],
)
@pytest.mark.parametrize("chasing", [False, True])
def test_every_bet_on_the_mean_is_fair_whatever_the_proposal_learns(
    losses: FloatArray, bounds: tuple[float, float], budget: int, chasing: bool
) -> None:
    propose = chase_large_losses(losses) if chasing else uniform
    labels = mean_labels(losses, bounds, propose)
    wealth = expected_wealth(float(losses.mean()), labels, len(losses), budget, propose)
    np.testing.assert_allclose(wealth, 1, rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    ("losses", "bounds"), [(BOUNDED, (0.0, 1.0)), (SIGNED, (-1.0, 1.0)), (BOUNDED, (0.0, np.inf))]
)
@pytest.mark.parametrize("budget", [1, 3, 5])
def test_the_average_under_an_uneven_design_is_fair_because_its_prior_ignores_the_draws(
    losses: FloatArray, bounds: tuple[float, float], budget: int
) -> None:
    propose, game = chase_large_losses(losses), MeanGame(len(losses), bounds, 0.95)
    labels, truth = mean_labels(losses, bounds, propose), float(losses.mean())
    averages, priors = np.zeros(2), []
    for draws, chance in every_path(len(losses), budget, propose):
        rounds = labels(draws)
        names = names_of(rounds)
        priors.append(game.prior(names, rounds[0][1])[..., 0])
        weighted = priors[-1] * final_amounts(truth, rounds, names)
        n_below = len(names[0])
        averages += chance * np.array([weighted[:n_below].sum(), weighted[n_below:].sum()])
    sides = [1, 1] if np.isfinite(bounds[1]) else [1, 0]
    np.testing.assert_allclose(averages, sides, rtol=0, atol=1e-10)
    assert all(np.array_equal(prior, priors[0]) for prior in priors)
    assert not np.allclose(priors[0], equal_prior(names)[..., 0])


def test_bets_are_fair_for_what_can_be_drawn_when_items_are_excluded() -> None:
    propose = ignoring(chase_large_losses(BOUNDED), lambda _: {0, 3})
    labels = mean_labels(BOUNDED, (0.0, 1.0), propose, n_excluded=2)
    truth = np.delete(BOUNDED, [0, 3]).sum() / len(BOUNDED)
    wealth = expected_wealth(float(truth), labels, len(BOUNDED), 3, propose)
    np.testing.assert_allclose(wealth, 1, rtol=0, atol=1e-10)


@pytest.mark.parametrize("budget", [1, 2, 3, 5])
@pytest.mark.parametrize("known", [False, True])
def test_every_bet_on_a_ratio_is_fair_whatever_the_proposal_learns(
    known: bool, budget: int
) -> None:
    propose = chase_large_losses(NUMERATOR)
    truth = float(NUMERATOR.sum() / DENOMINATOR.sum())
    labels = ratio_labels(propose, known=known)
    wealth = expected_wealth(truth, labels, len(NUMERATOR), budget, propose, mirror=1)
    np.testing.assert_allclose(wealth, 1, rtol=0, atol=1e-10)


def test_bets_against_another_value_than_the_truth_are_not_fair() -> None:
    labels = mean_labels(BOUNDED, (0.0, 1.0), uniform)
    truth = float(BOUNDED.mean())
    wealth = expected_wealth(0.9 * truth, labels, len(BOUNDED), 3, uniform)
    assert (wealth[:2] > 1.001).all()
    assert (wealth[2:] < 0.999).all()
