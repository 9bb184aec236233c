from dataclasses import replace

import numpy as np
import pytest

from levelled.draws import Draws
from levelled.errors import InputError
from levelled.estimators import Estimate
from levelled.metrics import correlation, judge, kappa
from levelled.metrics.judging import decide_unattended
from levelled.metrics.named import Kappa

N = 400


def everything() -> tuple[np.ndarray, np.ndarray, Draws]:
    rng = np.random.default_rng(1)
    label = rng.random(N) < 0.6
    verdict = np.where(rng.random(N) < 0.8, label, ~label)
    names = np.array(["fail", "pass"])
    draws = Draws(rng.permutation(N), 1 / (N - np.arange(N)), pool_size=N)
    return names[label.astype(int)], names[verdict.astype(int)], draws


def test_with_all_labels_every_figure_is_exact() -> None:
    y, v, draws = everything()
    at = draws.index
    report = judge(y[at], v[at], draws, pool_verdicts=v, positive="pass")
    assert report.raw == np.mean(v == "pass")
    assert report.rate.value == pytest.approx(np.mean(y == "pass"))
    figures = {name: one.value for name, one in report.figures.items()}
    assert figures["TPR"] == pytest.approx(np.mean(v[y == "pass"] == "pass"))
    assert figures["TNR"] == pytest.approx(np.mean(v[y == "fail"] == "fail"))
    assert figures["precision"] == pytest.approx(np.mean(y[v == "pass"] == "pass"))
    assert figures["agreement"] == pytest.approx(np.mean(y == v))
    assert report.decision is not None
    assert report.decision.answer == "no"


def test_part_of_the_labels_gives_intervals_around_the_truth() -> None:
    y, v, draws = everything()
    some = draws[:120]
    report = judge(y[some.index], v[some.index], some, pool_verdicts=v, positive="pass")
    assert report.rate.low < np.mean(y == "pass") < report.rate.high
    chance = sum(np.mean(y == one) * np.mean(v == one) for one in ("fail", "pass"))
    kappa = (np.mean(y == v) - chance) / (1 - chance)
    assert report.figures["kappa"].low < kappa < report.figures["kappa"].high
    assert [row["figure"] for row in report.as_dicts()][:2] == ["share of pass", "TPR"]
    assert "used unattended?" in str(report)


def test_ratings_have_bias_difference_and_correlation() -> None:
    rng = np.random.default_rng(1)
    y = np.clip(np.round(rng.normal(3, 1, N)), 1, 5)
    v = np.clip(y + rng.choice([0.0, 1.0], N), 1, 5)
    draws = Draws(rng.permutation(N), 1 / (N - np.arange(N)), pool_size=N)
    at = draws.index
    report = judge(y[at], v[at], draws, pool_verdicts=v, bounds=(1, 5))
    assert report.figures["bias"].value == pytest.approx(np.mean(v - y))
    assert report.figures["mean absolute difference"].value == pytest.approx(np.mean(abs(v - y)))
    assert report.figures["correlation"].value == pytest.approx(np.corrcoef(y, v)[0, 1])
    assert report.decision is None


def test_what_is_no_judge_is_refused() -> None:
    draws = Draws(np.array([0, 1]), np.array([0.25, 1 / 3]), pool_size=4)
    with pytest.raises(InputError, match="verdict counts"):
        judge(["a", "b"], ["a", "b"], draws, pool_verdicts=["a", "b", "a", "b"])
    with pytest.raises(InputError, match="Every verdict is 'a'"):
        judge(["a", "b"], ["a", "a"], draws, pool_verdicts=["a"] * 4, positive="a")


def known(low: float, high: float, n: int = 200) -> Estimate:
    return Estimate((low + high) / 2, low, high, 0.95, 0.01, n, 5000, n, 1.0, "lure", "wilson")


@pytest.mark.parametrize(
    ("tpr", "tnr", "answer"),
    [
        ((0.91, 0.95), (0.92, 0.96), "yes"),
        ((0.91, 0.95), (0.80, 0.89), "no"),
        ((0.85, 0.97), (0.92, 0.96), "not shown yet"),
    ],
)
def test_a_judge_is_used_unattended_only_if_both_lower_limits_allow_it(
    tpr: tuple[float, float], tnr: tuple[float, float], answer: str
) -> None:
    assert decide_unattended(known(*tpr), known(*tnr), 0.9, 0.9).answer == answer


def test_the_labels_that_decide_grow_with_the_square_of_the_width() -> None:
    decision = decide_unattended(known(0.88, 0.96), known(0.95, 0.99), 0.9, 0.9)
    assert decision.labels == 810  # 200 ((0.92 - 0.88) / (0.92 - 0.9))^2, rounded up
    undefined = replace(known(0.0, 1.0), value=None)
    assert decide_unattended(undefined, known(0.95, 0.99), 0.9, 0.9).labels is None


def test_a_correlation_needs_ratings_that_differ() -> None:
    draws = Draws(np.array([0, 1]), np.array([0.25, 1 / 3]), pool_size=4)
    assert correlation([1, 1], [2, 3], draws).value is None


def test_ratings_take_numbers_as_bounds_and_no_class() -> None:
    draws = Draws(np.array([0, 1]), np.array([0.25, 1 / 3]), pool_size=4)
    ratings = [1.0, 2.0, 3.0, 4.0]
    with pytest.raises(InputError, match="no positive class"):
        judge([1, 2], [1, 2], draws, pool_verdicts=ratings, bounds=(1, 5), positive=5)
    assert judge([1, 2], [1, 2], draws, pool_verdicts=ratings, bounds=("1", "5")).raw == 2.5  # type: ignore[arg-type]


LABELS = np.array(["a", "b", "c", "a", "a", "b"])
VERDICTS = np.array(["a", "b", "a", "a", "c", "a"])


def cohen(labels: np.ndarray, verdicts: np.ndarray) -> float:
    classes = np.unique([*labels, *verdicts])
    chance = sum(np.mean(labels == one) * np.mean(verdicts == one) for one in classes)
    return float((np.mean(labels == verdicts) - chance) / (1 - chance))


def uniform(order: list[int]) -> Draws:
    N = len(LABELS)
    return Draws(np.array(order), 1 / (N - np.arange(len(order))), pool_size=N)


def test_with_all_labels_it_is_cohens_kappa() -> None:
    draws = uniform([3, 1, 0, 5, 4, 2])
    found = kappa(LABELS[draws.index], VERDICTS[draws.index], draws, pool_pred=VERDICTS)
    assert found.value == pytest.approx(cohen(LABELS, VERDICTS), abs=1e-12)


def test_both_means_of_the_ratio_are_unbiased() -> None:
    metric = Kappa.of({"a": 4, "b": 1, "c": 1})
    values = metric.values(LABELS, VERDICTS)
    assert values.denominators is not None
    ratio = values.losses.mean() / values.denominators.mean()
    assert 1 - -metric.slope * ratio == pytest.approx(cohen(LABELS, VERDICTS), abs=1e-12)
    assert (values.losses <= values.denominators + 1e-12).all()
    assert values.denominators.max() <= metric.d_max


def test_a_judge_that_is_always_wrong_has_a_negative_kappa() -> None:
    labels = np.array(["a", "b"] * 3)
    draws = uniform([0, 1, 2, 3])
    found = kappa(labels[:4], labels[::-1][:4], draws, pool_pred=labels[::-1])
    assert found.value == pytest.approx(-1.0)


def test_one_verdict_for_all_items_is_refused() -> None:
    with pytest.raises(InputError, match="Every verdict is 'a'"):
        Kappa.of({"a": 5, "b": 0})
