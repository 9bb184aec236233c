"""Paired differences of ratios."""

import json

import numpy as np
import pytest

import levelled as lv
from levelled import metrics
from levelled.errors import InputError, LossError
from levelled_studies.exact import every_path
from levelled_studies.trajectories import frozen
from metrics.samples import FOUR, WEIGHTED, enough, everything, mail, trajectory
from paths import uniform

A, B = [1, 0, 1, 0], [0, 0, 1, 0]


def test_the_difference_is_the_weighted_mean_of_the_differences() -> None:
    found = metrics.compare(A, B, WEIGHTED)
    weights = lv.lure_weights(WEIGHTED)
    assert found.difference.value == pytest.approx(np.mean(weights * np.subtract(A, B)))
    mirrored = metrics.compare(B, A, WEIGHTED).difference
    assert (mirrored.low, mirrored.high) == pytest.approx(
        (-found.difference.high, -found.difference.low)
    )


def test_without_disagreement_nothing_is_certain() -> None:
    found = metrics.compare(A, A, FOUR)
    assert found.better is None
    assert found.difference.low < -0.5
    assert found.difference.high > 0.5
    assert found.difference.interval in ("cp_safe", "logical")
    assert found.verdict.startswith("cannot tell yet")
    unbounded = metrics.compare([0.5, 2.5, 0.1, 0.0], [0.5, 2.5, 0.1, 0.0], FOUR).difference
    assert (unbounded.low, unbounded.high) == (-np.inf, np.inf)


def test_the_whole_pool_decides() -> None:
    rng = np.random.default_rng(0)
    a, b, draws = rng.random(50), rng.random(50) + 0.1, everything(50, rng)
    found = metrics.compare(a[draws.index], b[draws.index], draws, names=("old", "new"))
    assert found.difference.value == pytest.approx((a - b).mean())
    assert found.better == "old"
    assert found.verdict.startswith("old is better by")
    assert metrics.compare(b[draws.index], a[draws.index], draws).better == "b"
    same = metrics.compare(a[draws.index], a[draws.index], draws)
    assert "equally good" in same.verdict


def test_shared_labels_tell_models_apart_sooner() -> None:
    rng = np.random.default_rng(1)
    shared = rng.random(2000)
    a, b = shared, shared + 0.05 + rng.normal(0, 0.02, 2000)
    draws = everything(2000, rng)[:100]
    found = metrics.compare(a[draws.index], b[draws.index], draws)
    assert found.better == "a"
    separate = [lv.estimate(loss[draws.index], draws) for loss in (a, b)]
    assert separate[0].high > separate[1].low


def test_declared_bounds_are_those_of_each_loss() -> None:
    a, b = [0.5, 2.0, 0.1, 0.0], [0.5, 1.0, 0.4, 0.0]
    found = metrics.compare(a, b, FOUR, bounds=(0, 2), interval="betting").difference
    assert -2 < found.low < found.high < 2
    with pytest.raises(LossError, match=r"outside.*bounds"):
        metrics.compare(a, b, FOUR, bounds=(0, 1))


def test_the_difference_of_two_error_rates_is_covered(seed: int) -> None:
    rng = np.random.default_rng([seed, 2])
    covered = []
    for _ in range(3):
        pool = mail(5000, rng, signal=1.5)
        a = (pool.label != pool.pred).astype(float)
        b = np.where(rng.random(5000) < 0.1, 1 - a, a)  # another model, mostly alike
        rows = pool.trajectories(300, 100, rng)
        for row in range(100):
            draws = trajectory(rows, row, 5000)
            found = metrics.compare(a[draws.index], b[draws.index], draws).difference
            covered.append(found.low <= (a - b).mean() <= found.high)
    assert enough(np.array(covered), 0.925)


def test_against_the_best_every_pair_counts_against_a_baseline_only_its_own() -> None:
    losses = {"v1": A, "v2": B, "v3": [0, 0, 0, 0], "v4": [1, 1, 1, 0]}
    best = metrics.compare_all(losses, FOUR)
    assert (best.against, best.n_compared) == ("v3", 6)
    assert list(best.risks) == ["v3", "v2", "v1", "v4"]
    assert all(row.difference.level == pytest.approx(1 - 0.05 / 6) for row in best.comparisons)
    base = metrics.compare_all(losses, FOUR, baseline="v1")
    assert (base.against, base.n_compared) == ("v1", 3)
    assert {row.model for row in base.comparisons} == {"v2", "v3", "v4"}
    assert all(row.difference.level == pytest.approx(1 - 0.05 / 3) for row in base.comparisons)


def test_two_models_need_no_correction() -> None:
    both = metrics.compare_all({"a": A, "b": B}, FOUR)
    assert both.n_compared == 1
    assert both.comparisons[0].difference == metrics.compare(A, B, FOUR).difference


def test_a_ranking_prints_and_goes_into_json() -> None:
    ranking = metrics.compare_all({"v1": A, "v2": B}, FOUR)
    assert "0.95 (Bonferroni over 1)" in str(ranking)
    rows = json.loads(json.dumps(ranking.as_dicts()))
    assert rows[0]["model"] == "v1"
    assert rows[0]["against"] == "v2"


def test_a_printed_ranking_tells_each_warning_once_and_whose_it_is() -> None:
    thin = lv.Draws(np.arange(6), np.array([0.2, 0.3, 0.00001, 0.3, 0.2, 0.25]), 100)
    ranking = metrics.compare_all({"v1": [1, 0] * 3, "v2": [0, 1] * 3}, thin)
    notes = [line for line in str(ranking).splitlines() if line.startswith("note (")]
    warnings = {told for risk in ranking.risks.values() for told in risk.warnings}
    warnings |= set(ranking.comparisons[0].difference.warnings)
    assert warnings
    assert {note.partition("): ")[2] for note in notes} == warnings
    assert "risk of v1, risk of v2" in notes[0] or "risk of v2, risk of v1" in notes[0]


def test_bad_input_is_refused_in_words() -> None:
    for wrong in ([A, B], {1: A, 2: B}):
        with pytest.raises(InputError, match=r"losses.*each model"):
            metrics.compare_all(wrong, FOUR)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="losses of a has 3"):
        metrics.compare([1, 0, 1], B, FOUR)
    with pytest.raises(InputError, match="two models"):
        metrics.compare_all({"a": A}, FOUR)
    with pytest.raises(InputError, match="baseline must be"):
        metrics.compare_all({"a": A, "b": B}, FOUR, baseline="c")
    with pytest.raises(InputError, match="finite"):
        metrics.compare([1, 0, np.nan, 0], B, FOUR)
    with pytest.raises(InputError, match="need two names"):
        metrics.compare(A, B, FOUR, names=("same", "same"))


def test_one_sign_everywhere_the_model_minus_the_other() -> None:
    found = metrics.compare(A, B, FOUR, names=("v1", "v2"))
    (row,) = metrics.compare_all({"v1": A, "v2": B}, FOUR, baseline="v2").as_dicts()
    assert found.as_dict() == row
    assert (row["model"], row["against"], row["value"]) == ("v1", "v2", 0.25)


def test_where_more_is_better_the_larger_mean_is() -> None:
    draws = everything(4, np.random.default_rng(0))
    ratings = metrics.compare([5, 4, 5, 4], [4, 4, 4, 4], draws, higher_is_better=True)
    assert ratings.better == "a"
    assert ratings.verdict.startswith("a is better by 0.5")
    assert metrics.compare([5, 4, 5, 4], [4, 4, 4, 4], draws).better == "b"


LABELS = ["spam", "ham", "spam", "ham"]
OLD, NEW = ["spam", "spam", "ham", "ham"], ["spam", "ham", "ham", "ham"]
RATIOS: list[str] = ["precision", "recall", "specificity", "f1"]


@pytest.mark.parametrize("metric", RATIOS)
@pytest.mark.parametrize("draws", [FOUR, WEIGHTED])
def test_the_value_is_the_difference_of_the_two_estimates(metric: str, draws: lv.Draws) -> None:
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
def test_all_labels_make_it_exact(metric: str) -> None:
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
    assert "equally good" in same.verdict


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
    assert "label 'spam' seen" in est.warnings[0]


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
        which: str = "f1" if metric == "f1" else "precision"
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


def test_bad_input_for_ratios_is_refused_in_words() -> None:
    with pytest.raises(InputError, match="need two names"):
        metrics.compare_metric("f1", LABELS, NEW, OLD, FOUR, positive="spam", names=("v", "v"))
    with pytest.raises(InputError, match=r"'spma'.*classes"):
        metrics.compare_metric("f1", LABELS, NEW, OLD, FOUR, positive="spma")
    with pytest.raises(InputError, match="metric must be"):
        metrics.compare_metric("mse", LABELS, NEW, OLD, FOUR, positive="spam")
    with pytest.raises(InputError, match="auto, cp_safe, none"):
        metrics.compare_metric("f1", LABELS, NEW, OLD, FOUR, positive="spam", interval="betting")
    with pytest.raises(InputError, match="pred"):
        metrics.compare_metric("f1", LABELS, NEW[:3], OLD, FOUR, positive="spam")
