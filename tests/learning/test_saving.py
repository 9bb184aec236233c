import json
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from contracts.learners import run
from levelled.draws import Draws
from levelled.errors import InputError
from levelled.learning import ActiveLearner
from levelled.learning.saving import fingerprint

X = np.random.default_rng(0).standard_normal((60, 3))
Y = np.where(X[:, 0] > 0, "spam", "ham")


def begun(**more: Any) -> ActiveLearner:  # noqa: ANN401
    made = ActiveLearner(LogisticRegression(C=3), X, **{"weights": "lure", **more})
    run(made, Y, 15)
    return made


def test_files_are_plain_but_for_the_model(tmp_path: Path) -> None:
    made = begun()
    made.ask(2)
    made.save(tmp_path / "learner")
    names = sorted(path.name for path in (tmp_path / "learner").iterdir())
    assert names == [
        "draws.parquet",
        "hazards.parquet",
        "labels.parquet",
        "model.joblib",
        "settings.json",
    ]
    assert len(Draws.from_parquet(tmp_path / "learner/draws.parquet")) == 17
    assert pq.read_table(tmp_path / "learner/labels.parquet").num_rows == 15
    assert json.loads((tmp_path / "learner/settings.json").read_text())["proposal"] == "boltzmann"


def test_everything_comes_back(tmp_path: Path) -> None:
    made = begun(
        score="bald", proposal="power:2", ensemble=[LogisticRegression(), GaussianNB()], floor=0.2
    )
    made.tell(made.ask(1), None)
    made.ask(2)
    made.save(tmp_path)
    loaded = ActiveLearner.load(tmp_path, X)
    assert repr(loaded) == repr(made)
    assert loaded.pending.tolist() == made.pending.tolist()
    assert loaded.model.get_params() == made.model.get_params()
    for name in ("score", "proposal", "weights", "floor", "start", "seed"):
        assert getattr(loaded, name) == getattr(made, name)
    assert loaded.ask(5).tolist() == made.ask(5).tolist()


@pytest.mark.parametrize("labels", [np.arange(60) % 3, np.arange(60) / 7, X[:, 0] > 0, Y])
def test_labels_keep_their_type(tmp_path: Path, labels: Any) -> None:  # noqa: ANN401
    made = ActiveLearner(LogisticRegression(), X, score="uniform")
    run(made, labels, 12)
    made.save(tmp_path)
    before, after = made._state.settled(), ActiveLearner.load(tmp_path, X)._state.settled()
    np.testing.assert_array_equal(before.labels, after.labels)
    assert before.labels.dtype == after.labels.dtype


def test_saving_again_replaces_what_was_there(tmp_path: Path) -> None:
    made = begun()
    made.save(tmp_path)
    run(made, Y, 30)
    made.save(tmp_path)
    assert len(ActiveLearner.load(tmp_path, X)) == 30


def test_a_learner_that_has_drawn_nothing_can_be_saved(tmp_path: Path) -> None:
    ActiveLearner(LogisticRegression(), X).save(tmp_path)
    assert len(ActiveLearner.load(tmp_path, X).draws) == 0


def test_another_pool_is_refused(tmp_path: Path) -> None:
    begun().save(tmp_path)
    for other in (X[:-1], X[::-1], X + 1e-9, X[:, :2]):
        with pytest.raises(InputError, match=r"X_pool \(\d+ rows\)"):
            ActiveLearner.load(tmp_path, other)


def test_a_fingerprint_knows_rows_of_every_container() -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    same = [X, X.copy(order="F"), sparse.csr_array(X), sparse.coo_matrix(X), pandas.DataFrame(X)]
    assert len({fingerprint(pool)["sha256"] for pool in [*same, polars.DataFrame(X)]}) == 1
    assert fingerprint(["a", "b"]) != fingerprint(["a", "c"])
    long = np.arange(5000.0)[:, None]
    assert fingerprint(long)["rows"] == 5000


def test_functions_are_not_saved_and_are_asked_for_again(tmp_path: Path) -> None:
    def score(model: LogisticRegression, rows: Any) -> Any:  # noqa: ANN401
        return np.abs(model.decision_function(rows))

    def proposal(scores: Any) -> Any:  # noqa: ANN401
        return (1 + scores) / (1 + scores).sum()

    made = begun(score=score, proposal=proposal)
    made.save(tmp_path)
    with pytest.raises(InputError, match=r"score .*function.*score=\.\.\."):
        ActiveLearner.load(tmp_path, X, proposal=proposal)
    loaded = ActiveLearner.load(tmp_path, X, score=score, proposal=proposal)
    assert loaded.ask(5).tolist() == made.ask(5).tolist()


def test_a_model_that_is_given_is_not_read_from_the_folder(tmp_path: Path) -> None:
    begun().save(tmp_path)
    (tmp_path / "model.joblib").write_bytes(b"something else")
    with pytest.raises(InputError, match="read back"):
        ActiveLearner.load(tmp_path, X)
    model = LogisticRegression(C=3)
    assert ActiveLearner.load(tmp_path, X, model=model).model is model


def test_a_folder_without_a_learner_or_of_another_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no saved learner"):
        ActiveLearner.load(tmp_path, X)
    begun().save(tmp_path)
    kept = json.loads((tmp_path / "settings.json").read_text())
    (tmp_path / "settings.json").write_text(json.dumps(kept | {"format": 99}))
    with pytest.raises(InputError, match="format 99"):
        ActiveLearner.load(tmp_path, X)
    (tmp_path / "settings.json").write_text(json.dumps(kept))
    (tmp_path / "labels.parquet").write_bytes(b"nothing")
    with pytest.raises(InputError, match=r"labels in .*read"):
        ActiveLearner.load(tmp_path, X)


def test_a_model_that_cannot_be_saved_is_asked_for_again(tmp_path: Path) -> None:
    made = begun()
    made.save(tmp_path)
    assert made.note is None
    made.model.hook = lambda: None
    made.save(tmp_path)
    assert "joblib" in str(made.note)
    with pytest.raises(InputError, match=r"not saved.*load\(.*model="):
        ActiveLearner.load(tmp_path, X)
    loaded = ActiveLearner.load(tmp_path, X, model=LogisticRegression(C=3))
    assert loaded.ask(5).tolist() == made.ask(5).tolist()


def test_a_committee_that_is_given_is_not_read_from_the_folder(tmp_path: Path) -> None:
    committee = [LogisticRegression(), GaussianNB()]
    made = begun(score="bald", ensemble=committee)
    made.save(tmp_path)
    (tmp_path / "model.joblib").write_bytes(b"something else")
    with pytest.raises(InputError, match=r"list.*ensemble=\[\.\.\.\]"):
        ActiveLearner.load(tmp_path, X, model=made.model)
    loaded = ActiveLearner.load(tmp_path, X, model=made.model, ensemble=committee)
    assert loaded.ask(5).tolist() == made.ask(5).tolist()


def test_files_that_are_not_a_learners_are_refused_in_words(tmp_path: Path) -> None:
    begun().save(tmp_path)
    kept = (tmp_path / "settings.json").read_text()
    for text, says in [("[]", "format None"), ('{"format": 2}', "pool, ensemble, score")]:
        (tmp_path / "settings.json").write_text(text)
        with pytest.raises(InputError, match=says):
            ActiveLearner.load(tmp_path, X)
    (tmp_path / "settings.json").write_text(kept)
    for pool in (None, X[:0]):
        with pytest.raises(InputError, match="X_pool"):
            ActiveLearner.load(tmp_path, pool)
    pq.write_table(pa.table({"label": ["a"]}), tmp_path / "labels.parquet")
    with pytest.raises(InputError, match=r"labels in .*row"):
        ActiveLearner.load(tmp_path, X)


def test_what_is_no_path_is_refused() -> None:
    with pytest.raises(InputError, match="A folder is wanted"):
        begun().save(None)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="A folder is wanted"):
        ActiveLearner.load(5, X)  # type: ignore[arg-type]


def test_a_wide_sparse_pool_is_never_made_dense() -> None:
    wide = sparse.random_array((1200, 20_000), density=1e-3, rng=np.random.default_rng(0))
    tracemalloc.start()
    found = fingerprint(wide.tocsr())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1200 * 20_000
    assert found != fingerprint(2 * wide)


def test_a_place_that_cannot_be_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="made a folder"):
        begun().save(tmp_path / "file")


@pytest.mark.filterwarnings("ignore:levelled.bayes is")  # the old name of a module is in the file
def test_a_folder_of_the_first_version_is_read() -> None:
    pytest.importorskip("torch")
    folder = Path(__file__).parent / "first_version"
    pool = np.random.default_rng(3).standard_normal((20, 2)).round(2)
    learner = ActiveLearner.load(folder, pool)
    assert repr(learner) == "ActiveLearner(RadialClassifier, 6 labels of 20, 2 waiting)"
    assert learner.draws.index.tolist() == [8, 1, 0, 18, 15, 2, 12, 16, 9]
    assert learner.pending.tolist() == [16, 9]
    expected = [0.99789, 0.86672, 0.14496]  # the model was fitted when it was given
    np.testing.assert_allclose(learner.model.predict_proba(pool[:3])[:, 1], expected, atol=1e-4)
    assert learner.ask(3).tolist() == [5, 13, 6]
    other = ActiveLearner.load(folder, pool, model=GaussianNB())
    assert other.draws.index.tolist() == [8, 1, 0, 18, 15, 2, 12, 16, 9]
    assert (other.score, other.proposal, other.weights, other.start) == (
        "margin", "boltzmann", "lure", 4,
    )  # fmt: skip


def test_the_share_is_the_same_after_loading(tmp_path: Path) -> None:
    made = begun(weights="auto", proposal="boltzmann:2")
    run(made, Y, 40)
    made.save(tmp_path)
    loaded = ActiveLearner.load(tmp_path, X)
    np.testing.assert_array_equal(loaded._state.hazards, made._state.hazards)
    assert loaded.advise() == made.advise()


def test_hazards_that_are_not_known_or_of_other_draws_are_not_read(tmp_path: Path) -> None:
    made = begun(weights="auto")
    made.save(tmp_path)
    settings = json.loads((tmp_path / "settings.json").read_text())
    assert settings["hazards"] == 15
    for known in (None, 14):
        (tmp_path / "settings.json").write_text(json.dumps(settings | {"hazards": known}))
        assert ActiveLearner.load(tmp_path, X)._state.hazards is None
    begun(proposal="rank").save(tmp_path)
    assert ActiveLearner.load(tmp_path, X)._state.hazards is None


def test_hazards_of_another_pool_are_refused(tmp_path: Path) -> None:
    begun().save(tmp_path)
    pq.write_table(pa.table({"hazard": [0.1] * 7}), tmp_path / "hazards.parquet")
    with pytest.raises(InputError, match=r"hazards.* 7,.* 60 rows"):
        ActiveLearner.load(tmp_path, X)
