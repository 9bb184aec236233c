import numpy as np
import pytest

from levelled._check import FloatArray
from levelled.errors import DrawsError, InputError, LossError
from levelled.estimators.intervals.betting import Betting, RatioBetting
from levelled.estimators.intervals.hedged import COLUMNS, Hedged
from levelled.estimators.intervals.wealth import spread_candidates
from levelled_studies.betting_truth import hedged_rejected_at, ratio_rejected_at, rejected_at
from levelled_studies.pools import POOLS
from levelled_studies.trajectories import frozen

N, BUDGET = 300, 200


def first_outside(limits: list[tuple[float, float]], value: float) -> int:
    for m, (low, high) in enumerate(limits, start=1):
        if not low < value < high:
            return m
    return 0


@pytest.mark.parametrize("name", ["errors 5%", "Brier", "difference of two models"])
@pytest.mark.parametrize("with_design", [False, True])
def test_a_candidate_is_rejected_at_the_label_at_which_the_interval_loses_it(
    name: str, with_design: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    pool = POOLS[name](N, rng)
    weights = 0.3 / N + 0.7 * pool.predictor / pool.predictor.sum()
    drawn = frozen(weights, BUDGET, 3, control=pool.predictor, bound=pool.bounds[1], rng=rng)
    losses = pool.losses[drawn.index]
    grid = spread_candidates(*pool.bounds, N)
    design = dict(drawn.design) if with_design else {}
    design.pop("dispersion", None)
    limits = [
        rejecting(
            losses[row], drawn.probability[row], pool.bounds, {k: v[row] for k, v in design.items()}
        )
        for row in range(3)
    ]
    values = grid[::20]
    for row, seen in enumerate(limits):
        columns = {name: repeated(column[row], values) for name, column in design.items()}
        same, q = repeated(losses[row], values), repeated(drawn.probability[row], values)
        when = rejected_at(values, same, q, N, pool.bounds, design=columns)
        assert when.tolist() == [first_outside(seen, mu) for mu in values]


def repeated(one: FloatArray, values: FloatArray) -> FloatArray:
    """The same trajectory once for each value."""
    return np.tile(one, (len(values), 1))


def rejecting(
    losses: FloatArray, q: FloatArray, bounds: tuple[float, float], design: dict[str, FloatArray]
) -> list[tuple[float, float]]:
    """The nearest rejected candidates after each label, before the logical limits."""
    watch = Betting(N, bounds)
    limits = []
    for m in range(len(losses)):
        watch.update(losses[m], q[m], **{name: column[m] for name, column in design.items()})
        limits.append((watch._wealth.low, watch._wealth.high))
    return limits


def test_a_ratio_is_rejected_at_the_label_at_which_the_interval_loses_it(seed: int) -> None:
    rng = np.random.default_rng(seed)
    d = (rng.random((2, BUDGET)) < 0.5).astype(float)
    a = d * (rng.random((2, BUDGET)) < 0.7)
    q = np.tile(1 / (N - np.arange(float(BUDGET))), (2, 1))
    limits = []
    for row in range(2):
        watch, seen = RatioBetting(N), []
        for m in range(BUDGET):
            watch.update(a[row, m], d[row, m], q[row, m], max_weight=1 / (N * q[row, m]))
            seen.append((watch._wealth.low, watch._wealth.high))
        limits.append(seen)
    values = spread_candidates(0.0, 1.0, N)[::20]
    for row, seen in enumerate(limits):
        a_, d_, q_ = (repeated(part[row], values) for part in (a, d, q))
        reach = 1 / (N * q_)
        when = ratio_rejected_at(values, a_, d_, q_, N, max_weighted_denominator=reach)
        assert when.tolist() == [first_outside(seen, theta) for theta in values]


def test_one_truth_a_trajectory_may_be_given() -> None:
    losses, q = np.array([[1.0, 1, 1, 1], [1, 1, 1, 1]]), np.full((2, 4), 0.01)
    assert rejected_at([0.05, 0.9], losses, q, 100).tolist()[1] == 0
    assert rejected_at([0.05, 0.9], losses, q, 100).tolist()[0] > 0


@pytest.mark.parametrize(
    ("change", "error", "word"),
    [
        ({"losses": [[0.0, 2.0]]}, LossError, "bounds"),
        ({"losses": [0.0, 1.0]}, InputError, "axes"),
        ({"probability": [[0.1, 0.0]]}, DrawsError, "probability"),
        ({"probability": [[0.1]]}, InputError, "probability is"),
        ({"design": {"max_weight": [[0.01, 0.01]]}}, DrawsError, "max_weight"),
        ({"pool_size": 1}, DrawsError, "no label 2"),
    ],
)
def test_what_cannot_be_is_refused(
    change: dict[str, object], error: type[Exception], word: str
) -> None:
    given = {"losses": [[0.0, 1.0]], "probability": [[0.1, 0.1]], "pool_size": 10} | change
    with pytest.raises(error, match=word):
        rejected_at(0.5, **given)  # type: ignore[arg-type]


def test_a_risk_is_rejected_at_the_label_at_which_the_hedged_interval_loses_it(seed: int) -> None:
    rng = np.random.default_rng(seed)
    M = 80
    losses = (rng.random(M) < 0.5).astype(float)
    q = 1 / (N - np.arange(float(M)))
    left = N - np.arange(float(M))
    share = left / N
    control = np.full(M, 0.2)
    values = [control, 0.2 * left, 0.16 * share**2, 0.096 * share**3, 0.2 * share, 0.8 * share]
    design = dict(zip(COLUMNS, values, strict=True))
    watch, limits = Hedged(N, M), []
    for m in range(M):
        columns = {name: float(column[m]) for name, column in design.items()}
        watch.update(losses[m], q[m], **columns)
        limits.append((watch._low, watch._high))
    grid = spread_candidates(0.0, 1.0, N)
    for mu in grid[np.searchsorted(grid, [0.05, 0.1, 0.2, 0.7])]:
        one = {name: column[None] for name, column in design.items()}
        when = hedged_rejected_at(mu, losses[None], q[None], N, M, design=one)
        assert when.tolist() == [first_outside(limits, mu)]
