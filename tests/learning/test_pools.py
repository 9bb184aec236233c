"""Pools of every container give the same draws as the array they were made from."""

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from contracts.learners import run
from levelled.errors import InputError
from levelled.learning import ActiveLearner

RNG = np.random.default_rng(0)
X = RNG.standard_normal((50, 3))
Y = (X[:, 0] > 0.2).astype(int)


def pandas_frame() -> Any:  # noqa: ANN401
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(X, columns=["a", "b", "c"], index=range(100, 150))


def polars_frame() -> Any:  # noqa: ANN401
    return pytest.importorskip("polars").DataFrame(X, schema=["a", "b", "c"])


POOLS: dict[str, Callable[[], Any]] = {
    "pandas": pandas_frame,
    "polars": polars_frame,
    "csr matrix": lambda: sparse.csr_matrix(X),
    "csr array": lambda: sparse.csr_array(X),
    "coo array": lambda: sparse.coo_array(X),
    "csc matrix": lambda: sparse.csc_matrix(X),
    "float32": lambda: X.astype(np.float32),
    "columns first": lambda: np.asfortranarray(X),
    "read-only": lambda: np.broadcast_to(X, X.shape),
}


@pytest.mark.parametrize("kind", POOLS)
def test_a_pool_of_any_container_is_drawn_from_trained_on_and_predicted(kind: str) -> None:
    pool = POOLS[kind]()
    made, plain = (ActiveLearner(LogisticRegression(), one, weights="lure") for one in (pool, X))
    for learner in (made, plain):
        run(learner, Y, 25)
        learner.fit()
    assert made.draws.index.tolist() == plain.draws.index.tolist()
    np.testing.assert_allclose(made.draws.probability, plain.draws.probability, rtol=1e-3)
    assert (made.predict(pool) == plain.predict(X)).mean() > 0.95


@pytest.mark.parametrize("kind", ["pandas", "polars", "csr matrix"])
def test_the_trees_of_a_forest_vote_on_any_container(kind: str) -> None:
    made = ActiveLearner(RandomForestClassifier(5), POOLS[kind](), score="bald", weights="none")
    run(made, Y, 20)
    assert np.ptp(made.draws.probability[10:]) > 0


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_distances_are_those_of_the_numbers_in_a_frame(kind: str) -> None:
    made, plain = (
        ActiveLearner(LogisticRegression(), one, score="geometric", weights="none")
        for one in (POOLS[kind](), X)
    )
    for learner in (made, plain):
        run(learner, Y, 20)
    np.testing.assert_allclose(made.draws.probability, plain.draws.probability)


def test_a_pool_may_be_a_list_of_texts() -> None:
    texts = [
        ("cheap pills " if label else "dear friend ") + f"word{n % 7}" for n, label in enumerate(Y)
    ]
    model = make_pipeline(TfidfVectorizer(), LogisticRegression())
    made = ActiveLearner(model, texts, weights="lure")
    run(made, np.where(Y, "spam", "ham"), 25)
    made.fit()
    assert made.predict(["cheap word3", "friend word1"]).tolist() == ["spam", "ham"]
    with pytest.raises(InputError, match="X_pool is a list"):
        made.set_params(score="geometric")


def test_a_pool_without_distances_is_refused_where_they_would_be_the_score() -> None:
    pandas = pytest.importorskip("pandas")
    words = pandas.DataFrame({"a": ["x", "y"], "b": ["z", "z"]})
    for pool, says in [
        (sparse.csr_matrix(X), r"csr_matrix.*ensemble=10"),
        (["a", "b"], "X_pool is a list"),
        ([{"a": 1}], r"X_pool.*numbers"),
        (words, r"X_pool.*numbers"),
    ]:
        with pytest.raises(InputError, match=says):
            ActiveLearner(Ridge(), pool)
        ActiveLearner(Ridge(), pool, score="uniform")


@pytest.mark.parametrize(
    "labels", [Y, Y * 1.0, Y.astype(bool), np.where(Y, "ä", "b"), Y.astype(np.int8)]
)
def test_labels_are_kept_as_they_are(labels: Any) -> None:  # noqa: ANN401
    made = ActiveLearner(LogisticRegression(), X, weights="lure")
    run(made, labels, 15)
    made.fit()
    np.testing.assert_array_equal(made.labels_, labels[made.index_])
    np.testing.assert_array_equal(made.classes_, np.unique(labels))


def test_labels_may_be_a_series_or_a_list() -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    made = ActiveLearner(LogisticRegression(), X)
    for kind in (list, pandas.Series, polars.Series):
        rows = made.ask(4)
        made.tell(rows, kind(["a", "b", "a", "b"]))
    assert len(made) == 12


def test_a_large_pool_is_scored_in_blocks_and_never_copied() -> None:
    wide = np.random.default_rng(1).standard_normal((70_000, 60))
    labels = (wide[:, 0] > 0).astype(int)
    made = ActiveLearner(LogisticRegression(), wide, weights="none")
    run(made, labels, 12, batch=12)
    sizes: list[int] = []

    class Counting(LogisticRegression):  # type: ignore[misc]
        def predict_proba(self, rows: Any) -> Any:  # noqa: ANN401
            sizes.append(len(rows))
            return super().predict_proba(rows)

    made.set_params(model=Counting())
    tracemalloc.start()
    made.ask(5)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert sizes == [65_536, 4_464]
    assert peak < wide.nbytes / 3


def test_a_list_of_rows_of_numbers_has_distances() -> None:
    made, plain = (ActiveLearner(Ridge(), one, weights="lure") for one in (X.tolist(), X))
    for learner in (made, plain):
        run(learner, X[:, 0], 20)
        learner.fit()
    np.testing.assert_array_equal(made.draws.probability, plain.draws.probability)
    np.testing.assert_array_equal(made.predict(X.tolist()), plain.predict(X))


@pytest.mark.parametrize("kind", ["float32", "pandas", "polars", "csr array", "columns first"])
def test_a_model_that_overwrites_its_inputs_changes_neither_the_pool_nor_the_draws(
    kind: str,
) -> None:
    careless, careful = (
        ActiveLearner(
            make_pipeline(
                StandardScaler(copy=copy, with_mean=False),
                MaxAbsScaler(copy=copy),
                LogisticRegression(),
            ),
            POOLS[kind](),
        )
        for copy in (False, True)
    )
    for learner in (careless, careful):
        run(learner, Y, 25)
        learner.fit().predict(learner.X_pool)
        learner.should_stop(0.1)
    differ = careless.X_pool != careful.X_pool
    assert not (differ.nnz if hasattr(differ, "nnz") else np.asarray(differ).any())
    np.testing.assert_array_equal(careless.draws.probability, careful.draws.probability)
    np.testing.assert_array_equal(careless.predict(POOLS[kind]()), careful.predict(POOLS[kind]()))


def test_a_score_of_ones_own_cannot_write_to_the_pool() -> None:
    def rescaled(model: Any, rows: Any) -> Any:  # noqa: ANN401
        rows *= 2
        return rows[:, 0]

    made = ActiveLearner(LogisticRegression(), X.copy(), score=rescaled)
    with pytest.raises(InputError, match=r"rescaled .*read-only"):
        run(made, Y, 20)
    np.testing.assert_array_equal(made.X_pool, X)
