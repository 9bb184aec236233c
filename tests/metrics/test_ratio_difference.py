"""Paired differences of ratios."""

import numpy as np
import pytest

import levelled as lv
from levelled import metrics
from levelled.errors import InputError
from levelled.metrics.classification import ClassMetric
from levelled_studies.exact import every_path
from levelled_studies.trajectories import frozen
from metrics.samples import FOUR, WEIGHTED, enough, everything, mail
from paths import uniform

LABELS = ["spam", "ham", "spam", "ham"]
OLD, NEW = ["spam", "spam", "ham", "ham"], ["spam", "ham", "ham", "ham"]
RATIOS: list[ClassMetric] = ["precision", "recall", "specificity", "f1"]


@pytest.mark.parametrize("metric", RATIOS)
@pytest.mark.parametrize("draws", [FOUR, WEIGHTED])
def test_the_value_is_the_difference_of_the_two_estimates(
    metric: ClassMetric, draws: lv.Draws
) -> None:
    found = metrics.compare_metric(metric, LABELS, NEW, OLD, draws, positive="spam")
    one, other = (
        metrics.per_class(metric, LABELS, pred, draws)["spam"].value or 0 for pred in (NEW, OLD)
    )
    assert found.difference.value == pytest.approx(one - other)
    turned = metrics.compare_metric(metric, LABELS, OLD, NEW, draws, positive="spam").difference
    assert (turned.low, turned.high) == pytest.approx(
        (-found.difference.high, -found.difference.low)
    )


def test_without_a_class_it_is_the_difference_of_the_macro_averages() -> None:
    found = metrics.compare_metric("recall", LABELS, NEW, OLD, WEIGHTED)
    one, other = (metrics.macro("recall", LABELS, pred, WEIGHTED).value or 0 for pred in (NEW, OLD))
    assert found.difference.value == pytest.approx(one - other)
    assert found.metric == "recall:macro"


@pytest.mark.parametrize("metric", RATIOS)
def test_all_labels_make_it_exact(metric: ClassMetric) -> None:
    rng = np.random.default_rng(3)
    pool = mail(60, rng)
    other = np.where(rng.random(60) < 0.2, "spam", pool.pred)
    draws = everything(60, rng)
    at = draws.index
    found = metrics.compare_metric(
        metric, pool.label[at], other[at], pool.pred[at], draws, positive="spam"
    )
    one, two = (
        metrics.per_class(metric, pool.label[at], pred[at], draws)["spam"].value or 0
        for pred in (other, pool.pred)
    )
    est = found.difference
    assert est.interval == "point"
    assert est.low == est.high == est.value == pytest.approx(one - two)
    same = metrics.compare_metric(
        metric, pool.label[at], other[at], other[at], draws, positive="spam"
    )
    assert (same.difference.low, same.difference.high) == (0, 0)
    assert same.verdict == "a and b are equally good on this pool"


def test_models_that_have_not_differed_yet_may_still_differ() -> None:
    draws = everything(200, np.random.default_rng(0))[:50]
    labels = ["spam", "ham"] * 25
    est = metrics.compare_metric("f1", labels, labels, labels, draws, positive="spam").difference
    assert est.value == 0
    assert -0.5 < est.low < -0.02
    assert est.high == pytest.approx(-est.low)


def test_few_units_say_so() -> None:
    est = metrics.compare_metric("recall", ["ham"] * 4, OLD, NEW, FOUR, positive="spam").difference
    assert est.value is None
    assert (est.low, est.high) == (-1, 1)
    assert "no label 'spam' seen yet" in est.warnings[0]


def test_the_interval_holds_the_difference_on_every_path() -> None:
    label = np.array(["spam", "ham", "spam", "ham", "spam"])
    old = np.array(["spam", "spam", "ham", "ham", "spam"])
    new = np.array(["spam", "ham", "ham", "ham", "spam"])
    whole = everything(5, np.random.default_rng(0))
    at = whole.index
    truth = metrics.compare_metric("f1", label[at], new[at], old[at], whole, positive="spam")
    missed = 0.0
    for draws, chance in every_path(5, 3, uniform):
        at = draws.index
        est = metrics.compare_metric(
            "f1", label[at], new[at], old[at], draws, positive="spam", classes=["ham", "spam"]
        ).difference
        value = truth.difference.value or 0
        missed += chance * (not est.low - 1e-12 <= value <= est.high + 1e-12)
    assert missed <= 0.05


@pytest.mark.parametrize("metric", ["precision", "f1", "error"])
def test_it_holds_where_the_proposal_hardly_looks_at_the_differences(
    metric: str, seed: int
) -> None:
    rng = np.random.default_rng([seed, 5])
    N, M = 3000, 300
    y = np.where(rng.random(N) < 0.3, "spam", "ham")
    old = np.where(rng.random(N) < 0.05, np.where(y == "spam", "ham", "spam"), y)
    new = np.where((y == "spam") & (rng.random(N) < 0.1), "ham", old)
    score = np.where(new == old, 1.0, 1e-3)
    found = frozen(0.1 / N + 0.9 * score / score.sum(), M, 100, control=score, bound=1.0, rng=rng)
    whole = everything(N, rng)

    def difference(draws: lv.Draws) -> lv.Estimate:
        at = draws.index
        if metric == "error":
            wrong = [(pred[at] != y[at]).astype(float) for pred in (new, old)]
            return metrics.compare(wrong[0], wrong[1], draws).difference
        predictions = y[at], new[at], old[at]
        which: ClassMetric = "f1" if metric == "f1" else "precision"
        return metrics.compare_metric(which, *predictions, draws, positive="spam").difference

    truth = difference(whole).value or 0
    covered = []
    for row in range(100):
        design = {name: column[row] for name, column in found.design.items()}
        est = difference(lv.Draws(found.index[row], found.probability[row], N, design=design))
        covered.append(est.low <= truth <= est.high)
    assert enough(np.array(covered), 0.93)


def test_items_that_could_never_be_drawn_widen_it() -> None:
    plain = everything(200, np.random.default_rng(0))[:50]
    labels = ["spam", "ham"] * 25
    other = ["spam", "ham", "ham", "ham", "spam"] * 10
    wide = lv.Draws(plain.index, plain.probability, 200, excluded=20)
    one, more = (
        metrics.compare_metric("f1", labels, other, labels, draws, positive="spam").difference
        for draws in (plain, wide)
    )
    assert more.low < one.low
    assert more.high > one.high


def test_bad_input_is_refused_in_words() -> None:
    with pytest.raises(InputError, match="need two names"):
        metrics.compare_metric("f1", LABELS, NEW, OLD, FOUR, positive="spam", names=("v", "v"))
    with pytest.raises(InputError, match="'spma' is none of the classes"):
        metrics.compare_metric("f1", LABELS, NEW, OLD, FOUR, positive="spma")
    with pytest.raises(InputError, match="metric must be one of"):
        metrics.compare_metric("mse", LABELS, NEW, OLD, FOUR, positive="spam")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="interval must be one of auto, cp_safe, none"):
        metrics.compare_metric("f1", LABELS, NEW, OLD, FOUR, positive="spam", interval="betting")
    with pytest.raises(InputError, match="pred"):
        metrics.compare_metric("f1", LABELS, NEW[:3], OLD, FOUR, positive="spam")
