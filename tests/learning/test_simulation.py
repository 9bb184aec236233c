"""Simulated active learning: its draws, its test items and the summary of its risks."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from levelled.errors import PoolError
from levelled.learning import ActiveLearner
from levelled.learning.simulation import (
    LabelledPool,
    Simulation,
    checkpoints,
    label_counts,
    make_labelled_pool,
    split_pool,
    summarise,
    teach,
    trajectory_seeds,
)
from levelled.sources.features import Features

linear_model = pytest.importorskip("sklearn.linear_model")

N = 80


def features() -> Features:
    X = np.random.default_rng(1).standard_normal((N, 2))
    return Features(X, ("a", "b"), pa.chunked_array([pa.array(range(N))]))


def labels(rare: int = 0) -> list[str]:
    """Classes by a line, or the last few of the pool against all others."""
    X = features().X
    return ["yes" if (n >= N - rare if rare else X[n, 0] > 0) else "no" for n in range(N)]


def learner(**more: Any) -> ActiveLearner:  # noqa: ANN401
    model = linear_model.LogisticRegression()
    return ActiveLearner(model, features().X, **{"weights": "none", "start": 10, **more})


def known(rare: int = 0) -> LabelledPool:
    return make_labelled_pool(
        features(), labels(rare), linear_model.LogisticRegression(), loss="zero_one"
    )


def simulation(pool: LabelledPool, counts: list[int]) -> Simulation:
    model = linear_model.LogisticRegression()
    return Simulation(pool, model, counts, {"weights": "none", "start": 10})


def test_a_learner_is_told_the_labels_of_what_it_asks_for() -> None:
    made, pool = learner(), known()
    for n in label_counts(10, 7, 30):
        teach(made, pool, n)
        assert len(made) == n
    made.fit()
    np.testing.assert_array_equal(made.labels_, np.array(labels())[made.index_])


def test_without_a_test_set_the_items_not_drawn_judge() -> None:
    made, pool = learner(), known()
    teach(made, pool, 30)
    rest = np.setdiff1d(np.arange(N), made.draws.index)
    X, _ = pool.test_set(made.draws.index)
    np.testing.assert_array_equal(X, features().X[rest])
    error = np.mean(made.fit().predict(X) != np.array(labels())[rest])
    assert pool.risk(made.model_, made.draws.index) == pytest.approx(error)


def test_what_is_held_out_judges_and_is_not_drawn() -> None:
    pool, own, test = split_pool(features(), labels(), 0.25, rng=np.random.default_rng(0))
    assert (len(pool), len(own), len(test[0]), len(test[1])) == (60, 60, 20, 20)
    ids = pool.ids.to_pylist()
    assert own == [labels()[row] for row in ids]
    np.testing.assert_array_equal(pool.X, features().X[ids])
    aside = np.setdiff1d(np.arange(N), ids)
    np.testing.assert_array_equal(test[0], features().X[aside])
    assert test[1] == [labels()[row] for row in aside]
    made = make_labelled_pool(pool, own, linear_model.LogisticRegression(), loss="auto", test=test)
    X, y = made.test_set(np.arange(3))
    np.testing.assert_array_equal(X, test[0])
    assert y.tolist() == test[1]


@pytest.mark.parametrize("share", [0.001, 0.999])
def test_something_is_held_out_and_something_left(share: float) -> None:
    with pytest.raises(PoolError, match=r"some.*\bleft\b"):
        split_pool(features(), labels(), share, rng=np.random.default_rng(0))


def test_all_ways_of_training_share_the_draws() -> None:
    steps = [*simulation(known(), [10, 20, 30]).steps([3])]
    alone = learner(seed=3)
    for (n, risks), count in zip((step for step in steps if step), [10, 20, 30], strict=True):
        assert n == count
        teach(alone, known(), n)
        assert risks["naive"] == known().risk(alone.fit().model_, alone.draws.index)
        assert list(risks) == ["naive", "pure", "lure", "share"]


def test_there_are_no_risks_while_all_labels_are_of_one_class() -> None:
    (first,) = simulation(known(rare=1), [2]).steps([1])
    assert first == (2, {})


def test_checkpoints_are_few_and_end_with_the_budget() -> None:
    counts = [*range(10, 1000, 10), 995]
    found = checkpoints(counts)
    assert len(found) == 10
    assert found[-1] == 995


def test_no_two_seeds_share_a_trajectory() -> None:
    every = [one for seed in range(20) for one in trajectory_seeds(seed, 10)]
    assert len(set(every)) == 200


def risks(naive: float, lure: float, share: float = 1.0) -> dict[str, float]:
    return {"naive": naive, "pure": 1.0, "lure": lure, "share": share}


def test_a_summary_averages_over_trajectories() -> None:
    (row,) = summarise([(20, risks(3.0, 1.0, 1.0)), None, (20, risks(5.0, 2.0, 1.0))], 2)
    assert (row["naive"], row["naive_stderr"]) == (4.0, 1.0)
    assert (row["difference"], row["difference_stderr"]) == (2.5, 0.5)
    assert (row["share_difference"], row["share_difference_stderr"]) == (3.0, 1.0)


def test_one_trajectory_has_no_standard_error() -> None:
    (row,) = summarise([(20, risks(3.0, 1.0))], 1)
    assert (row["difference"], row["difference_stderr"]) == (2.0, None)


def test_a_trajectory_of_one_class_leaves_no_mean() -> None:
    (row,) = summarise([(20, risks(3.0, 1.0)), (20, {})], 2)
    assert row == {"labels": 20} | {
        name: None
        for way in ("naive", "pure", "lure", "share", "difference", "share_difference")
        for name in (way, f"{way}_stderr")
    }


def test_rounding_is_no_difference() -> None:
    noisy = [risks(3000.0, 3000.0 + off) for off in (5e-12, -2e-10)]
    (row,) = summarise([(20, one) for one in noisy], 2)
    assert (row["difference"], row["difference_stderr"]) == (0.0, 0.0)
    (row,) = summarise([(20, risks(3000.0, 3000.1))], 1)
    assert row["difference"] == pytest.approx(-0.1)
