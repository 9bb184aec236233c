"""Every registered metric by its name, from arrays."""

from functools import partial
from itertools import permutations

import numpy as np
import pytest
from sklearn import metrics as sk

import levelled as lv
from levelled.draws import Draws
from levelled.estimators.lure import lure_weights
from levelled.metrics import named
from levelled.metrics.named import PossibleLabels, parse_metric
from levelled.metrics.planning import plan

N = 60
RNG = np.random.default_rng(0)
LABEL = np.array(["a", "b", "c"])[RNG.integers(0, 3, N)]
PRED = np.where(RNG.random(N) < 0.7, LABEL, "a")
DRAWS = Draws(RNG.permutation(N), 1 / (N - np.arange(N)), pool_size=N)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("error", np.mean(LABEL != PRED)),
        ("micro_f1", sk.f1_score(LABEL, PRED, average="micro")),
        ("macro_f1", sk.f1_score(LABEL, PRED, average="macro")),
        ("macro_precision", sk.precision_score(LABEL, PRED, average="macro")),
        ("macro_recall", sk.recall_score(LABEL, PRED, average="macro")),
        ("balanced_accuracy", sk.balanced_accuracy_score(LABEL, PRED)),
        ("kappa", sk.cohen_kappa_score(LABEL, PRED)),
        ("f_beta:2:a", sk.fbeta_score(LABEL, PRED, beta=2, labels=["a"], average="macro")),
        ("specificity:a", np.mean(PRED[LABEL != "a"] != "a")),
    ],
)
def test_with_all_labels_a_metric_is_what_others_compute(name: str, value: float) -> None:
    at = DRAWS.index
    found = lv.metrics.estimate(name, LABEL[at], DRAWS, predictions=PRED[at], pool=PRED)
    assert found.value == pytest.approx(value, abs=1e-12)
    some = lv.metrics.estimate(name, LABEL[at][:20], DRAWS[:20], pool=PRED)
    assert some.low < value < some.high or some.low <= value == some.high


def test_rmse_is_the_root_of_mse_with_its_limits() -> None:
    y, p = RNG.normal(size=20), RNG.normal(size=20)
    root, square = (
        lv.metrics.estimate(name, y, DRAWS[:20], predictions=p) for name in ("rmse", "mse")
    )
    assert square.value is not None
    ends = np.sqrt([square.value, square.low, square.high])
    assert (root.value, root.low, root.high) == pytest.approx(tuple(ends))


@pytest.mark.parametrize(
    "name", ["error", "f_beta:2:a", "specificity:a", "kappa", "macro_f1", "share:a"]
)
def test_the_mean_of_each_column_is_unbiased_and_its_table_holds_it(name: str) -> None:
    label, pred = LABEL[:4], PRED[:4]
    counts = {one: int(np.sum(one == PRED)) for one in ("a", "b", "c")}
    metric = parse_metric(name).of_pool(counts, ("a", "b", "c"))
    codes = np.array(["abc".index(one) for one in pred])
    table = metric.tables(PossibleLabels(("a", "b", "c"), codes))
    told = table[:, np.arange(4), ["abc".index(one) for one in label]]
    values = metric.values(label, pred)
    below = np.ones_like(values.losses) if values.denominators is None else values.denominators
    np.testing.assert_array_equal(told, np.vstack([values.losses, below]))
    expected, weight = np.zeros(len(told)), np.array([0.1, 0.2, 0.3, 0.4])
    for path in permutations(range(4), 2):
        first, second = weight[list(path)]
        q = np.array([first, second / (1 - first)])
        draws = Draws(np.array(path), q, pool_size=4)
        expected += q.prod() * (told[:, list(path)] * lure_weights(draws)).mean(axis=1)
    np.testing.assert_allclose(expected, told.mean(axis=1), rtol=0, atol=1e-10)


def test_a_metric_added_in_one_entry_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = named.RatioTerms(lambda y, p, b: (y * p, y + p - y * p), "label or prediction {!r}")
    monkeypatch.setitem(named.RATIOS, "jaccard", entry)
    made = partial(named.ClassRatio, ratio="jaccard")
    monkeypatch.setitem(named._ENTRIES, "jaccard:CLASS", made)
    found = lv.metrics.estimate("jaccard:a", LABEL[DRAWS.index], DRAWS, pool=PRED)
    wanted = sk.jaccard_score(LABEL, PRED, labels=["a"], average="macro")
    assert found.value == pytest.approx(wanted, abs=1e-12)
    proba = np.tile([[0.9, 0.1], [0.3, 0.7]], (100, 1))
    assert plan(proba, metric="jaccard:1", width=0.2).likely > 0


def test_a_registered_function_is_known_by_its_name_and_recorded_with_its_module(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(named, "_REGISTERED", {})

    @lv.metrics.register("missed", most=1)
    def missed(labels: np.ndarray, predictions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return (labels == "a") & (predictions != "a"), labels == "a"

    metric = lv.metrics.figure("missed")
    assert metric.name == f"{__name__}:missed"
    assert parse_metric(metric.name) is metric
    found = lv.metrics.estimate("missed", LABEL[DRAWS.index], DRAWS, pool=PRED)
    assert found.value == pytest.approx(np.mean(PRED[LABEL == "a"] != "a"))


def test_known_labels_join_exactly() -> None:
    at, rest = DRAWS.index, Draws(np.arange(40), 1 / (40 - np.arange(40)), pool_size=40)
    known = (LABEL[at[40:]], PRED[at[40:]])
    for name in ("error", "recall:a"):
        found = lv.metrics.estimate(
            name, LABEL[at[:40]], rest, predictions=PRED[at[:40]], known=known
        )
        whole = lv.metrics.estimate(name, LABEL[at], DRAWS, predictions=PRED[at])
        assert found.value == pytest.approx(whole.value, abs=1e-12)
