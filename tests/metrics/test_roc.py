import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import levelled as lv
from levelled import metrics
from levelled._check import FloatArray
from levelled.errors import InputError
from metrics.samples import FOUR, NAMES, WEIGHTED, enough, everything, mail, trajectory


def test_the_whole_pool_gives_the_figure_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    pool, draws = mail(300, rng), everything(300, rng)
    score = pool.proba[:, 2].round(1)  # many ties
    found = metrics.auc(pool.label[draws.index], score[draws.index], draws, positive="spam")
    assert found.value == pytest.approx(roc_auc_score(pool.label == "spam", score), abs=1e-12)
    assert found.low == found.high == found.value
    all_ = metrics.auc(
        pool.label[draws.index], pool.proba[draws.index], draws, classes=NAMES.tolist()
    )
    expected = roc_auc_score(pool.label, pool.proba, multi_class="ovr", labels=NAMES)
    assert all_.value == pytest.approx(expected, abs=1e-12)


def by_pairs(positive: FloatArray, score: FloatArray, weights: FloatArray) -> float:
    total = above = 0.0
    for i in np.flatnonzero(positive):
        for j in np.flatnonzero(~positive.astype(bool)):
            pair = weights[i] * weights[j]
            total += pair
            above += pair * ((score[i] > score[j]) + (score[i] == score[j]) / 2)
    return above / total


def test_weighted_draws_give_the_weighted_share_of_pairs() -> None:
    rng = np.random.default_rng(1)
    pool = mail(200, rng)
    draws = trajectory(pool.trajectories(60, 1, rng), 0, 200)
    score = pool.proba[draws.index, 2].round(2)
    label = pool.label[draws.index]
    found = metrics.auc(label, score, draws, positive="spam")
    expected = by_pairs(label == "spam", score, lv.lure_weights(draws))
    assert found.value == pytest.approx(expected, abs=1e-12)


def test_only_the_order_of_the_scores_matters() -> None:
    rng = np.random.default_rng(2)
    pool = mail(200, rng)
    draws = trajectory(pool.trajectories(60, 1, rng), 0, 200)
    score, label = pool.proba[draws.index, 2], pool.label[draws.index]
    one = metrics.auc(label, score, draws, positive="spam")
    assert metrics.auc(label, np.log(score), draws, positive="spam") == one
    mirrored = metrics.auc(label, -score, draws, positive="spam")
    assert one.value is not None
    assert mirrored.value == pytest.approx(1 - one.value)
    assert (mirrored.low, mirrored.high) == pytest.approx((1 - one.high, 1 - one.low))


@pytest.mark.parametrize(("label", "what"), [("ham", "label 'spam'"), ("spam", "other than")])
def test_one_class_alone_leaves_it_undefined(label: str, what: str) -> None:
    found = metrics.auc([label] * 4, [0.1, 0.2, 0.3, 0.4], FOUR, positive="spam")
    assert (found.value, found.low, found.high) == (None, 0, 1)
    assert what in found.warnings[0]


def test_a_perfect_ranking_so_far_is_not_certain() -> None:
    found = metrics.auc([1, 0, 1, 0], [0.9, 0.1, 0.8, 0.2], FOUR, positive=1)
    assert found.value == found.high == 1
    assert found.low < 0.5


def test_a_thin_design_is_told_to_raise_its_floor() -> None:
    thin = metrics.auc([1, 0, 1, 0], [0.9, 0.1, 0.1, 0.2], WEIGHTED, positive=1)
    assert "a floor of at least 0.5" in thin.warnings[-1]
    assert metrics.auc([1, 0, 1, 0], [0.9, 0.1, 0.1, 0.2], FOUR, positive=1).warnings == ()


def test_the_interval_covers(seed: int) -> None:
    rng = np.random.default_rng([seed, 3])
    covered = []
    for _ in range(3):
        pool = mail(5000, rng, signal=1.5)
        truth = roc_auc_score(pool.label == "spam", pool.proba[:, 2])
        rows = pool.trajectories(300, 100, rng)
        for row in range(100):
            draws = trajectory(rows, row, 5000)
            found = metrics.auc(
                pool.label[draws.index], pool.proba[draws.index, 2], draws, positive="spam"
            )
            covered.append(found.low <= truth <= found.high)
    assert enough(np.array(covered), 0.925)


@pytest.mark.parametrize(
    ("scores", "how", "words"),
    [
        ([0.1, 0.2, 0.3], {"positive": "a"}, "scores has 3"),
        ([0.1, 0.2, 0.3, np.nan], {"positive": "a"}, "finite"),
        ([0.1, 0.2, 0.3, 0.4], {}, "positive class"),
        ([0.1, 0.2, 0.3, 0.4], {"positive": 1}, "none of the labels"),
        ([0.1, 0.2, 0.3, 0.4], {"positive": "c", "classes": ["a", "b"]}, "'c', which is none"),
        ([[0.1, 0.9]] * 4, {"classes": ["a", "b", "c"]}, "names of their C"),
        ([0.1, 0.2, 0.3, 0.4], {"positive": "a", "interval": "t"}, "interval must be"),
    ],
)
def test_bad_input_is_refused_in_words(scores: object, how: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        metrics.auc(["a", "b", "a", "b"], scores, FOUR, **how)  # type: ignore[arg-type]
