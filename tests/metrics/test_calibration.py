import json

import numpy as np
import pytest
from sklearn.calibration import calibration_curve
from sklearn.metrics import roc_auc_score

import levelled as lv
from levelled import metrics
from levelled._check import FloatArray
from levelled.errors import InputError
from metrics.samples import FOUR, NAMES, WEIGHTED, enough, everything, mail, trajectory


def test_the_whole_pool_gives_the_curve_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    pool, draws = mail(500, rng), everything(500, rng)
    p = pool.proba[:, 2]
    found = metrics.calibration(
        pool.label[draws.index], p[draws.index], draws, p, positive="spam", bins=5
    )
    hits, confidence = calibration_curve(pool.label == "spam", p, n_bins=5)
    assert [bin_.accuracy.value for bin_ in found.bins] == pytest.approx(hits)
    assert [bin_.confidence for bin_ in found.bins] == pytest.approx(confidence)
    share = np.array([bin_.share for bin_ in found.bins])
    assert share.sum() == pytest.approx(1)
    expected = np.sum(share * np.abs(hits - confidence))
    assert found.error.value == found.error.low == found.error.high == pytest.approx(expected)
    assert found.error.interval == "point"


def test_with_all_probabilities_the_most_probable_class_counts() -> None:
    rng = np.random.default_rng(1)
    pool, draws = mail(500, rng), everything(500, rng)
    found = metrics.calibration(
        pool.label[draws.index],
        pool.proba[draws.index],
        draws,
        pool.proba,
        classes=NAMES.tolist(),
        bins=[0, 0.5, 0.8, 1],
    )
    confidence, right = pool.proba.max(axis=1), pool.label == pool.pred
    for bin_ in found.bins:
        inside = (confidence >= bin_.low) & ((confidence < bin_.high) | (bin_.high == 1))
        assert bin_.pool_size == inside.sum()
        assert bin_.confidence == pytest.approx(confidence[inside].mean())
        assert bin_.accuracy.value == pytest.approx(right[inside].mean())


def test_a_bin_without_labels_is_undefined_and_counts_as_calibrated() -> None:
    p = np.full(20, 0.9)
    p[15] = 0.2
    found = metrics.calibration([1, 1, 0, 1], p[FOUR.index], FOUR, p, positive=1, bins=2)
    empty, full = found.bins
    assert empty.accuracy.value is None
    assert (empty.accuracy.low, empty.accuracy.high) == (0, 1)
    assert full.accuracy.value == 0.75
    assert found.error.value == pytest.approx(0.95 * 0.15)
    assert "biased upwards" in found.error.warnings[0]
    assert "5.0% of the pool" in found.error.warnings[1]


def test_the_interval_of_the_error_covers_it(seed: int) -> None:
    rng = np.random.default_rng([seed, 4])
    pool = mail(3000, rng, signal=1.2)
    classes = NAMES.tolist()
    everyone = everything(3000, rng)
    truth = metrics.calibration(
        pool.label[everyone.index],
        pool.proba[everyone.index],
        everyone,
        pool.proba,
        classes=classes,
        bins=5,
    ).error.value
    assert truth is not None
    rows, covered = pool.trajectories(300, 60, rng), []
    for row in range(60):
        draws = trajectory(rows, row, 3000)
        found = metrics.calibration(
            pool.label[draws.index],
            pool.proba[draws.index],
            draws,
            pool.proba,
            classes=classes,
            bins=5,
        ).error
        covered.append(found.low <= truth <= found.high)
    assert enough(np.array(covered), 0.95)


def test_noise_counts_as_miscalibration() -> None:
    p, label = np.full(20, 0.5), np.arange(20) % 2
    draws = everything(20, np.random.default_rng(2))[:9]
    found = metrics.calibration(label[draws.index], p[draws.index], draws, p, positive=1).error
    assert found.value is not None
    assert found.value > 0.05  # although the pool is calibrated
    assert found.low == 0
    assert "biased upwards" in found.warnings[0]


def test_a_calibration_prints_and_goes_into_json() -> None:
    p = np.linspace(0.01, 0.99, 20)
    found = metrics.calibration([1, 0, 0, 1], p[FOUR.index], FOUR, p, positive=1, bins=2)
    assert str(found).splitlines()[0].split()[0] == "confidence"
    assert "expected calibration error" in str(found)
    rows = json.loads(json.dumps(found.as_dicts()))
    assert rows[0]["from"] == 0
    assert rows[1]["to"] == 1
    assert rows[1]["pool_size"] == 10


P = np.full(20, 0.7)


def test_a_printed_calibration_tells_the_warnings_of_its_bins() -> None:
    p = np.array([0.2] * 12 + [0.9] * 8)
    found = metrics.calibration([1, 0, 0, 1], p[FOUR.index], FOUR, p, positive=1, bins=2)
    assert "note (0.5 to 1)" in str(found)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"pool_proba": P[:19]}, "each of the 20"),
        ({"pool_proba": P / 2}, "proba = pool_proba"),
        ({"proba": np.full(4, 1.7), "pool_proba": P + 1}, "between 0 and 1"),
        ({"positive": None}, r"name.*class"),
        ({"positive": "a"}, r"none.*labels"),
        ({"bins": 0}, "bins must be"),
        ({"bins": [0, 0.5]}, "bins must be"),
        ({"bins": [0, 0.5, 0.5, 1]}, "bins must be"),
        ({"labels": [1, 0, 1]}, "labels has 3"),
        ({"interval": "t"}, "interval must be"),
        ({"proba": np.full((4, 2), 0.7), "pool_proba": np.full((20, 2), 0.7)}, "sum to one"),
    ],
)
def test_bad_input_is_refused_in_words(wrong: dict[str, object], words: str) -> None:
    given = {
        "labels": [1, 0, 1, 0],
        "proba": P[:4],
        "draws": FOUR,
        "pool_proba": P,
        "positive": 1,
    } | wrong
    with pytest.raises(InputError, match=words):
        metrics.calibration(**given)  # type: ignore[arg-type]


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
        ([0.1, 0.2, 0.3, 0.4], {"positive": 1}, r"none.*labels"),
        ([0.1, 0.2, 0.3, 0.4], {"positive": "c", "classes": ["a", "b"]}, "'c', which is none"),
        ([[0.1, 0.9]] * 4, {"classes": ["a", "b", "c"]}, "names of their C"),
        ([0.1, 0.2, 0.3, 0.4], {"positive": "a", "interval": "t"}, "interval must be"),
    ],
)
def test_bad_input_of_an_area_is_refused_in_words(
    scores: object, how: dict[str, object], words: str
) -> None:
    with pytest.raises(InputError, match=words):
        metrics.auc(["a", "b", "a", "b"], scores, FOUR, **how)  # type: ignore[arg-type]
