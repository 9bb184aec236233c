import json
from typing import Any

import numpy as np
import pytest

from levelled._check import FloatArray
from levelled.errors import DrawsError, InputError, LevelledError, LossError
from levelled.estimators.intervals.betting import RatioBetting
from levelled_studies.betting_truth import ratio_rejected_at

N = 2000
Labels = list[dict[str, float]]


def labels_of(a: FloatArray, d: FloatArray, weights: FloatArray, budget: int, seed: int) -> Labels:
    """Draws in proportion to frozen weights, with the columns, ready for `update`."""
    rng = np.random.default_rng(seed)
    order = np.argsort(rng.exponential(size=len(a)) / weights)[:budget]
    left = np.ones(len(a), dtype=bool)
    labels = []
    for item in order:
        mass = weights[left].sum()
        labels.append(
            {
                "a": a[item],
                "d": d[item],
                "q": weights[item] / mass,
                "max_weight": (mass / weights[left]).max() / len(a),
                "max_weighted_denominator": (mass * d[left] / weights[left]).max() / len(a),
            }
        )
        left[item] = False
    return labels


def precision(seed: int, pool_size: int = N) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Numerator, denominator, and weights with a floor of 0.5 that prefer what counts."""
    rng = np.random.default_rng(seed)
    d = (rng.random(pool_size) < 0.1).astype(float)
    d[:2] = 1  # even in the smallest pool
    a = d * (rng.random(pool_size) < 0.8)
    return a, d, 0.5 / pool_size + 0.5 * d / d.sum()


def update_all(watch: RatioBetting, labels: Labels, *columns: str) -> RatioBetting:
    for label in labels:
        watch.update(**{name: label[name] for name in ("a", "d", "q", *columns)})
    return watch


@pytest.mark.parametrize("columns", [[], ["max_weight"], ["max_weighted_denominator"]])
@pytest.mark.parametrize("known", [False, True])
def test_wealth_falls_below_and_rises_above_along_the_candidates(
    columns: list[str], known: bool, seed: int
) -> None:
    a, d, weights = precision(seed)
    watch = RatioBetting(N, denominator_mean=d.mean() if known else None)
    wealth = update_all(watch, labels_of(a, d, weights, 200, seed), *columns)._wealth
    below, above = wealth.amounts[: wealth.n_below], wealth.amounts[wealth.n_below :]
    assert wealth.amounts.shape[2] > 50
    assert (np.diff(below, axis=2) <= 1e-9 * below[..., 1:]).all()
    assert (np.diff(above, axis=2) >= -1e-9 * above[..., 1:]).all()


def test_whatever_is_known_narrows_the_interval() -> None:
    a, d, weights = precision(0)
    labels, mean = labels_of(a, d, weights, 300, 0), float(d.mean())
    widths = []
    for watch, columns in (
        (RatioBetting(N), []),
        (RatioBetting(N), ["max_weight"]),
        (RatioBetting(N, denominator_mean=mean), ["max_weighted_denominator"]),
    ):
        low, high = update_all(watch, labels, *columns).interval()
        widths.append(high - low)
    assert widths[2] < widths[1] < widths[0]


@pytest.mark.parametrize("known", [False, True])
def test_the_whole_pool_gives_the_ratio(known: bool, seed: int) -> None:
    a, d, weights = precision(seed, pool_size=60)
    watch = RatioBetting(60, denominator_mean=d.mean() if known else None)
    low, high = update_all(watch, labels_of(a, d, weights, 60, seed)).interval()
    assert low == high == pytest.approx(a.sum() / d.sum())


def test_a_ratio_over_nothing_may_be_anything() -> None:
    watch = RatioBetting(2)
    assert watch.interval() == (0.0, 1.0)
    watch.update(0, 0, 0.5)
    watch.update(0, 0, 1.0)
    assert watch.interval() == (0.0, 1.0)


def test_one_minus_the_ratio_has_the_mirrored_interval(seed: int) -> None:
    a, d, weights = precision(seed)
    labels = labels_of(a, d, weights, 200, seed)
    other = [label | {"a": label["d"] - label["a"]} for label in labels]
    low, high = update_all(RatioBetting(N), labels, "max_weight").interval()
    mirrored = update_all(RatioBetting(N), other, "max_weight").interval()
    np.testing.assert_allclose(mirrored, (1 - high, 1 - low), rtol=0, atol=1e-9)


@pytest.mark.parametrize("at", [0, 1, 120])
def test_a_stored_game_goes_on_exactly(at: int, seed: int) -> None:
    a, d, weights = precision(seed)
    labels = labels_of(a, d, weights, 200, seed)
    watch = update_all(
        RatioBetting(N, level=0.9, denominator_mean=d.mean()), labels[:at], "max_weight"
    )
    again = RatioBetting.from_dict(json.loads(json.dumps(watch.to_dict(), allow_nan=False)))
    assert again.interval() == watch.interval()
    update_all(watch, labels[at:], "max_weight")
    update_all(again, labels[at:], "max_weight")
    assert again.to_dict() == watch.to_dict()


@pytest.mark.parametrize(
    ("label", "error", "word"),
    [
        ({"a": 1, "d": 0, "q": 0.1}, LossError, "0 <= a <= d"),
        ({"a": -1, "d": 0, "q": 0.1}, LossError, "0 <= a <= d"),
        ({"a": 1, "d": 3, "q": 0.1}, LossError, "d_max"),
        ({"a": 1, "d": 1, "q": 0}, DrawsError, "q must"),
        ({"a": np.nan, "d": 1, "q": 0.1}, InputError, "finite"),
        ({"a": 1, "d": 1, "q": 0.1, "max_weight": 0.2}, DrawsError, "weight"),
        ({"a": 0, "d": 2, "q": 0.1}, LossError, "denominator_mean"),
    ],
)
def test_a_label_that_cannot_be_is_refused_and_changes_nothing(
    label: dict[str, float], error: type[LevelledError], word: str
) -> None:
    watch = RatioBetting(10, d_max=2, denominator_mean=0.25)
    watch.update(0.5, 1, 0.1)
    before = watch.to_dict()
    with pytest.raises(error, match=word):
        watch.update(**label)
    assert watch.to_dict() == before


@pytest.mark.parametrize(
    "wrong",
    [{"pool_size": 0}, {"d_max": 0}, {"d_max": np.inf}, {"level": 2}, {"denominator_mean": 0}],
)
def test_a_game_that_cannot_be_played_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        RatioBetting(**({"pool_size": 10} | wrong))


def test_more_labels_than_items_and_arrays_that_do_not_fit_are_refused() -> None:
    watch = RatioBetting(1)
    watch.update(1, 1, 1.0)
    with pytest.raises(DrawsError, match="no label 2"):
        watch.update(1, 1, 1.0)
    with pytest.raises(InputError, match="to_dict"):
        RatioBetting.from_dict({})
    one, two = np.ones((1, 1)), np.ones((1, 2))
    with pytest.raises(InputError, match="One value a label"):
        ratio_rejected_at(0.5, one, one, two, 10)
    with pytest.raises(DrawsError, match="probability"):
        ratio_rejected_at(0.5, one, one, 0 * one, 10)
