"""The hedged interval: exactly fair, the same however it is computed, refused where it fails."""

import numpy as np
import pytest

import levelled as lv
from bounds import hoeffding
from levelled._check import FloatArray, IntArray
from levelled.draws import Draws
from levelled.estimators.intervals.hedged import (
    COLUMNS,
    SPLIT,
    Hedged,
    hedged_interval,
    new_prices,
)
from levelled.surrogates import Covariates, Driver, LossRun
from levelled_studies.exact import Propose
from paths import chase_large_losses, expectation

ERRORS = np.array([0.0, 1.0, 0.0, 0.0, 1.0])


def refitted(losses: FloatArray, drawn: IntArray) -> FloatArray:
    """A predicted error of every item that follows the labels seen so far."""
    seen = losses[drawn].mean() if len(drawn) else 0.4
    return np.asarray(np.clip(0.5 * seen + np.linspace(0.05, 0.4, len(losses)), 0.01, 0.99))


def final_prices(mu: float, losses: FloatArray, propose: Propose, draws: Draws) -> FloatArray:
    """The prices of both sides at mu after a path, each beginning with 0.02."""
    N, prices = len(losses), np.full((2, 1), 0.02)
    for m, (item, q) in enumerate(zip(draws.index, draws.probability, strict=True)):
        drawn = draws.index[:m]
        left = np.setdiff1d(np.arange(N), drawn)
        w, g = 1 / (N * propose(tuple(drawn.tolist()), left)), refitted(losses, drawn)
        at, seen = g[left], losses[drawn].sum()
        known = {
            "q": q,
            "control": g[item],
            "control_left": at.sum(),
            "predicted_variance": float(np.mean(w * at * (1 - at)) * len(left) / N),
            "predicted_skew": float(np.mean(w**2 * at * (1 - at) * (1 - 2 * at)) * len(left) / N),
            "max_weighted_control": float((w * at).max()),
            "max_weighted_headroom": float((w * (1 - at)).max()),
        }
        mus, n_left = np.array([mu]), len(draws) - m
        prices = new_prices(mus, prices, losses[item], known, seen, N, n_left)
    return prices[:, 0]


@pytest.mark.parametrize("budget", [1, 2, 4])
def test_prices_are_martingales_at_the_truth_whatever_the_proposal_learns(budget: int) -> None:
    propose, risk = chase_large_losses(ERRORS), float(ERRORS.mean())
    mean = expectation(
        lambda draws: final_prices(risk, ERRORS, propose, draws), len(ERRORS), budget, propose
    )
    np.testing.assert_allclose(mean, 0.02, rtol=0, atol=1e-12)


@pytest.mark.parametrize("away", [-0.2, -0.05, 0.05, 0.2])
def test_a_candidate_wrong_on_the_other_side_gains_nothing(away: float) -> None:
    propose = chase_large_losses(ERRORS)
    below, above = expectation(
        lambda draws: final_prices(float(ERRORS.mean()) + away, ERRORS, propose, draws),
        len(ERRORS),
        3,
        propose,
    )
    right, wrong = (above, below) if away < 0 else (below, above)
    assert right <= 0.02 + 1e-12 < wrong


def adaptive_draws(seed: int, n: int, pool_size: int = 400) -> tuple[FloatArray, Draws]:
    """Errors of a pool, and draws from the predictor's prior view of them."""
    rng = np.random.default_rng(seed)
    e = rng.uniform(0, 0.3, pool_size)
    losses = (rng.random(pool_size) < e).astype(float)
    driver = Driver(pool_size, lambda: [LossRun(Covariates.of(e))])
    frozen = driver.proposal(driver.first_predictor, np.zeros(0, dtype=np.int64), 0.75)
    return losses, frozen.draw(n, seed=seed)


def rows(losses: FloatArray, draws: Draws) -> list[dict[str, float]]:
    """The arguments of `Hedged.update` for each draw."""
    design = draws.design or {}
    return [
        {"loss": losses[item], "q": q, **{name: design[name][m] for name in COLUMNS}}
        for m, (item, q) in enumerate(zip(draws.index, draws.probability, strict=True))
    ]


def test_the_interval_goes_on_exactly_from_what_was_stored(seed: int) -> None:
    losses, draws = adaptive_draws(seed, 60)
    watch = Hedged(400, 60)
    for at, row in enumerate(rows(losses, draws)):
        watch.update(**row)
        if at == 30:
            watch = Hedged.from_dict(watch.to_dict())
    drawn, q = losses[draws.index], draws.probability
    assert len(watch) == 60
    assert watch.interval() == hedged_interval(drawn, q, 400, 60, design=draws.design or {})


def test_it_never_widens_and_another_budget_keeps_the_limits_so_far(seed: int) -> None:
    losses, draws = adaptive_draws(seed, 80)
    watch, before = Hedged(400, 40), (0.0, 1.0)
    for at, row in enumerate(rows(losses, draws)):
        watch.budget = 40 if at < 40 else 80
        watch.update(**row)
        low, high = watch.interval()
        assert before[0] <= low <= high <= before[1]
        before = low, high
    assert before[1] - before[0] < 0.5


def test_the_prices_at_the_truth_reach_one_no_more_often_than_they_may(seed: int) -> None:
    N, budget, repeats = 80, 25, 4000
    rng = np.random.default_rng(seed)
    g, losses = rng.uniform(0.02, 0.5, N), (rng.random(N) < 0.2).astype(float)
    weight = 0.5 + np.sqrt(g)
    order = np.argsort(rng.exponential(size=(repeats, N)) / weight, axis=1)  # races

    def left(values: FloatArray) -> FloatArray:
        """Sums of a value over the items left at each draw, [repeats, draws]."""
        return np.cumsum(values[order][:, ::-1], axis=1)[:, ::-1][:, :budget]

    total, spread, risk = left(weight), g * (1 - g), losses.mean()
    drawn = losses[order[:, :budget]]
    seen = np.cumsum(drawn, axis=1) - drawn
    columns = {
        "q": weight[order[:, :budget]] / total,
        "control": g[order[:, :budget]],
        "control_left": left(g),
        "predicted_variance": total * left(spread / weight) / N**2,
        "predicted_skew": total**2 * left(spread * (1 - 2 * g) / weight**2) / N**3,
        "max_weighted_control": total / N * (g / weight).max(),
        "max_weighted_headroom": total / N * ((1 - g) / weight).max(),
    }
    rates = 0.05 * np.array(SPLIT)
    prices, reached = np.repeat(rates[:, None], repeats, axis=1), np.zeros((2, repeats), bool)
    for m in range(budget):
        known, mus = (
            {name: column[:, m] for name, column in columns.items()},
            np.full(repeats, risk),
        )
        prices = new_prices(mus, prices, drawn[:, m], known, seen[:, m], N, budget - m)
        reached |= prices >= 1
    bound = hoeffding(repeats, comparisons=2, alarm=1e-9)  # fails at most 1 run in 10**9
    assert (reached.mean(axis=1) <= rates + bound).all()
    assert reached.any()


def test_estimate_gives_it_at_the_budget_narrower_than_betting() -> None:
    losses, draws = adaptive_draws(4, 200)
    drawn = losses[draws.index]
    hedged = lv.estimate(drawn, draws, "ramped", interval="hedged", budget=200)
    betting = lv.estimate(drawn, draws, "ramped", interval="betting")
    assert hedged.interval == "hedged"
    assert hedged.low <= losses.mean() <= hedged.high
    assert hedged.high - hedged.low < 0.9 * (betting.high - betting.low)


def test_what_it_cannot_do_is_refused_in_one_line_that_names_betting() -> None:
    losses, draws = adaptive_draws(0, 20)
    drawn, bare = losses[draws.index], Draws(draws.index, draws.probability, 400)
    for values, given, estimator, budget in [
        (drawn, draws, "ramped", None),
        (drawn / 2, draws, "ramped", 20),
        (drawn, draws, "lure", 20),
        (drawn, bare, "lure", 20),
    ]:
        with pytest.raises(lv.LevelledError, match="interval='betting'"):
            lv.estimate(values, given, estimator, interval="hedged", budget=budget, bounds=(0, 1))
    with pytest.raises(lv.LevelledError, match=r"budget.*at least 20"):
        lv.estimate(drawn, draws, "ramped", interval="hedged", budget=10)
    with pytest.raises(lv.LevelledError, match="losses of 0 and 1"):
        Hedged(400, 20).update(**{**rows(losses, draws)[0], "loss": 0.5})
