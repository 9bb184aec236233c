import numpy as np
import pytest

from levelled._check import FloatArray
from levelled.estimators import lure
from levelled.metrics.ratios import (
    combine_ratios,
    mean_limits,
    ratio_moments,
    wilson_limits,
)
from levelled.proposals import uniform
from levelled_studies.trajectories import frozen
from metrics.samples import NAMES, enough, mail

N = 10_000


def test_a_thousand_trajectories_are_one_call() -> None:
    rng = np.random.default_rng(0)
    pool = mail(500, rng)
    found = pool.trajectories(40, 6, rng)
    D = (pool.pred == "spam").astype(float)
    A = D * (pool.label == "spam")
    together = ratio_moments(A[found.index], D[found.index], found.probability, 500)
    limits = wilson_limits(together, 0.95)
    for row in range(6):
        at = found.index[row]
        alone = ratio_moments(A[at], D[at], found.probability[row], 500)
        v = lure.weights(found.probability[row], 500)
        assert alone.value == pytest.approx(np.sum(v * A[at]) / np.sum(v * D[at]))
        assert together.value[row] == alone.value
        assert together.residual.variance[row] == pytest.approx(alone.residual.variance)
        low, high = wilson_limits(alone, 0.95)
        assert limits[0][row] == pytest.approx(low)
        assert limits[1][row] == pytest.approx(high)


@pytest.mark.parametrize("right", [0.0, 1.0])
def test_no_spread_seen_is_not_taken_for_certainty(right: float) -> None:
    q = 1 / (100 - np.arange(10.0))
    D = np.array([1.0, 0, 1, 0, 1, 0, 1, 0, 1, 0])
    found = ratio_moments(right * D, D, q, 100)
    assert found.value == right
    low, high = wilson_limits(found, 0.95)
    assert high - low > 0.4
    parts = [found, found, found]
    mean_low, mean_high = mean_limits(parts, q, 0.95)
    assert 0.15 < mean_high - mean_low < high - low


def test_a_class_without_spread_adds_doubt_to_the_mean() -> None:
    q = 1 / (1000 - np.arange(200.0))
    rng = np.random.default_rng(1)
    large, small = (np.arange(200) >= 5).astype(float), (np.arange(200) < 5).astype(float)
    parts = [ratio_moments(large * (rng.random(200) < 0.9), large, q, 1000)]
    parts.append(ratio_moments(small, small, q, 1000))
    low, high = mean_limits(parts, q, 0.95)
    _, _, joint = combine_ratios(parts, q)
    assert high - low > 3 * 2 * np.sqrt(joint.variance)


def ratios(label: FloatArray, pred: FloatArray) -> dict[str, tuple[FloatArray, FloatArray]]:
    return {
        "precision": (label * pred, pred),
        "recall": (label * pred, label),
        "f1": (2 * label * pred, label + pred),
    }


@pytest.mark.parametrize("floor", [0.5, 1.0])
@pytest.mark.parametrize("budget", [100, 500])
def test_wilson_covers_precision_recall_and_f1(seed: int, budget: int, floor: float) -> None:
    rng = np.random.default_rng([seed, budget, int(10 * floor)])
    covered: dict[str, list[FloatArray]] = {}
    for _ in range(4):
        pool = mail(N, rng)
        found = pool.trajectories(budget, 100, rng, floor)
        label, pred = ((x == "spam").astype(float) for x in (pool.label, pool.pred))
        for name, (A, D) in ratios(label, pred).items():
            moments = ratio_moments(A[found.index], D[found.index], found.probability, N)
            low, high = wilson_limits(moments, 0.95)
            truth = A.sum() / D.sum()
            holds = (low <= truth) & (truth <= high) | ~moments.defined
            covered.setdefault(name, []).append(holds)
    for name, holds in covered.items():
        assert enough(np.concatenate(holds), 0.925), name


@pytest.mark.parametrize("budget", [100, 500])
def test_the_mean_of_the_recalls_is_covered(seed: int, budget: int) -> None:
    rng = np.random.default_rng([seed, budget])
    covered = []
    for _ in range(4):
        pool = mail(N, rng)
        found = pool.trajectories(budget, 100, rng)
        right = (pool.label == pool.pred).astype(float)
        sides = [(pool.label == name).astype(float) for name in NAMES]
        parts = [
            ratio_moments((right * D)[found.index], D[found.index], found.probability, N)
            for D in sides
        ]
        low, high = mean_limits(parts, found.probability, 0.95)
        truth = np.mean([(right * D).sum() / D.sum() for D in sides])
        covered.append((low <= truth) & (truth <= high))
    assert enough(np.concatenate(covered), 0.925)


@pytest.mark.parametrize(
    ("share", "found_share", "false_share", "budget"),
    [(0.03, 0.1, 0.02, 500), (0.1, 0.05, 0.01, 200)],
)
def test_a_mean_with_one_ratio_near_zero_and_one_near_one_is_covered(
    seed: int, share: float, found_share: float, false_share: float, budget: int
) -> None:
    rng = np.random.default_rng([seed, budget])
    covered = []
    for _ in range(5):
        label = (rng.random(5000) < share).astype(float)
        pred = (rng.random(5000) < np.where(label, found_share, false_share)).astype(float)
        found = frozen(uniform(5000), budget, 100, control=label, bound=1.0, rng=rng)
        sides = [ratios(label, pred)["f1"], ratios(1 - label, 1 - pred)["f1"]]
        parts = [
            ratio_moments(A[found.index], D[found.index], found.probability, 5000) for A, D in sides
        ]
        low, high = mean_limits(parts, found.probability, 0.95)
        truth = np.mean([A.sum() / D.sum() for A, D in sides])
        covered.append((low <= truth) & (truth <= high))
    assert enough(np.concatenate(covered), 0.925)


def test_taking_the_draws_for_uniform_does_not_cover(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pool = mail(N, rng)
    found = pool.trajectories(500, 200, rng)
    label, pred = ((x == "spam").astype(float) for x in (pool.label, pool.pred))
    A, D = label * pred, pred
    uniform = np.broadcast_to(1 / (N - np.arange(500.0)), found.probability.shape)
    low, high = wilson_limits(ratio_moments(A[found.index], D[found.index], uniform, N), 0.95)
    truth = A.sum() / D.sum()
    assert not enough((low <= truth) & (truth <= high), 0.925)
