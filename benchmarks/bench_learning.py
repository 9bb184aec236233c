"""Time of a round of active learning beside what it cannot do without: a fit and the scores.

pytest benchmarks/bench_learning.py --benchmark-only
python benchmarks/bench_learning.py          the learner's own share, part by part
"""

from collections.abc import Callable
from timeit import repeat
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from levelled.learning import ActiveLearner
from levelled.scores import entropy

ROWS, FEATURES, LABELS, BATCH = 100_000, 50, 200, 5


def pool(n_classes: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((ROWS, FEATURES))
    return X, (X @ rng.standard_normal((FEATURES, n_classes))).argmax(axis=1)


class Free:
    """A classifier that costs nothing, so that a round with it is the learner's own work."""

    def fit(self, X: object, y: object, sample_weight: object = None) -> "Free":
        return self

    def predict_proba(self, X: object) -> None:
        raise NotImplementedError

    predict = predict_proba


def begun(n_classes: int, *, free: bool = False) -> tuple[ActiveLearner, NDArray[np.int64]]:
    """A learner with 200 labels, whose model and scores may be free."""
    X, y = pool(n_classes)
    known = np.random.default_rng(1).random(ROWS)
    if free:
        learner = ActiveLearner(Free(), X, score=lambda model, X: known, weights="lure")
    else:
        learner = ActiveLearner(LogisticRegression(), X, weights="lure")
    first = learner.ask(LABELS)
    learner.tell(first, y[first])
    return learner, y


def round_of(learner: ActiveLearner, y: NDArray[np.int64]) -> None:
    asked = learner.ask(BATCH)
    learner.tell(asked, y[asked])


def needed(learner: ActiveLearner, y: NDArray[np.int64]) -> None:
    """The model on the labels, and the scores of the whole pool once."""
    rows = learner.draws.index
    model = LogisticRegression().fit(learner.X_pool[rows], y[rows])
    entropy(model.predict_proba(learner.X_pool))


@pytest.mark.parametrize("what", [round_of, needed])
@pytest.mark.parametrize("n_classes", [2, 10])
def test_a_round_of_a_large_pool(
    benchmark: Any,  # noqa: ANN401
    what: Callable[[ActiveLearner, NDArray[np.int64]], None],
    n_classes: int,
) -> None:
    learner, y = begun(n_classes)
    benchmark.pedantic(what, args=(learner, y), rounds=10)
    assert len(learner) >= LABELS


def report(n_classes: int) -> str:
    learner, y = begun(n_classes, free=True)
    whole, _ = begun(n_classes)
    base = min(repeat(lambda: needed(learner, y), number=1, repeat=25))
    own = min(repeat(lambda: round_of(learner, y), number=1, repeat=25))
    total = min(repeat(lambda: round_of(whole, y), number=1, repeat=25))
    return (
        f"{n_classes} classes, pool {ROWS:,} x {FEATURES}, {LABELS} labels: fit and scores "
        f"{base * 1e3:.1f} ms, a whole round {total * 1e3:.1f} ms; the learner's own work "
        f"{own * 1e3:.2f} ms, {own / base:.1%} (<= 10%)"
    )


def main() -> None:
    for n_classes in (2, 10):
        print(report(n_classes))


if __name__ == "__main__":
    main()
