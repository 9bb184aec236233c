"""What a learner promises whatever its model, written once. Inherit and say which model."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import levelled as lv
from levelled.errors import InputError
from levelled.learning import ActiveLearner
from levelled.models import Model

N = 80


def features() -> NDArray[np.float64]:
    return np.random.default_rng(3).standard_normal((N, 4))


class LearnerContract:
    """Provide `model`, and `score` where the default does not fit."""

    score: str = "entropy"
    ensemble: int | None = None

    @pytest.fixture
    def model(self) -> Model:
        raise NotImplementedError

    @pytest.fixture
    def y(self) -> NDArray[Any]:
        X = features()
        return np.where(X[:, 0] + 0.5 * X[:, 1] > 0.3, "spam", "ham")

    def learner(self, model: Model, **more: Any) -> ActiveLearner:  # noqa: ANN401
        given: dict[str, Any] = {"score": self.score, "ensemble": self.ensemble, "weights": "lure"}
        return ActiveLearner(model, features(), **(given | more))

    def test_a_loop_trains_with_the_weights_of_its_own_draws(
        self, model: Model, y: NDArray[Any]
    ) -> None:
        learner = self.learner(model)
        run(learner, y, 25)
        learner.fit()
        assert len(learner) == 25
        assert len(set(learner.draws.index.tolist())) == 25
        np.testing.assert_array_equal(learner.sample_weight_, lv.lure_weights(learner.draws))
        np.testing.assert_array_equal(learner.labels_, y[learner.index_])
        assert len(learner.predict(features())) == N

    def test_draws_are_not_uniform_once_there_are_labels(
        self, model: Model, y: NDArray[Any]
    ) -> None:
        learner = self.learner(model)
        run(learner, y, 25)
        uniform = 1 / (N - np.arange(25.0))
        np.testing.assert_allclose(learner.draws.probability[:10], uniform[:10], rtol=1e-12)
        assert np.ptp(learner.draws.probability[10:] / uniform[10:]) > 0.05

    def test_the_same_seed_gives_the_same_draws(self, model: Model, y: NDArray[Any]) -> None:
        one, two, other = (self.learner(model, seed=seed) for seed in (5, 5, 6))
        for learner in (one, two, other):
            run(learner, y, 20)
        np.testing.assert_array_equal(one.draws.index, two.draws.index)
        np.testing.assert_array_equal(one.draws.probability, two.draws.probability)
        assert one.draws.index.tolist() != other.draws.index.tolist()

    def test_a_saved_learner_draws_on_as_if_never_saved(
        self, model: Model, y: NDArray[Any], tmp_path: Path
    ) -> None:
        kept = self.learner(model)
        run(kept, y, 15)
        kept.save(tmp_path)
        loaded = ActiveLearner.load(tmp_path, features())
        for learner in (kept, loaded):
            run(learner, y, 25)
            learner.fit()
        np.testing.assert_array_equal(kept.draws.index, loaded.draws.index)
        np.testing.assert_array_equal(kept.draws.probability, loaded.draws.probability)
        np.testing.assert_array_equal(kept.predict(features()), loaded.predict(features()))

    def test_neither_the_pool_nor_the_model_is_changed(self, model: Model, y: NDArray[Any]) -> None:
        X, before = features(), dict(vars(model))
        learner = ActiveLearner(model, X, score=self.score, ensemble=self.ensemble, weights="lure")
        run(learner, y, 15)
        learner.fit()
        assert learner.X_pool is X
        assert learner.model is model
        assert dict(vars(model)) == before
        np.testing.assert_array_equal(X, features())

    def test_a_pool_that_is_labelled_throughout_needs_no_weights(
        self, model: Model, y: NDArray[Any]
    ) -> None:
        learner = self.learner(model)
        run(learner, y, 75, batch=25)
        assert len(learner.ask(10)) == 5
        assert "5 of 10 rows" in str(learner.note)
        learner.tell(learner.pending, y[learner.pending])
        with pytest.raises(InputError, match=r"All 80 rows.*labels"):
            learner.ask(1)
        learner.fit()
        np.testing.assert_array_equal(learner.sample_weight_, np.ones(N))

    def test_auto_weights_train_and_say_why(self, model: Model, y: NDArray[Any]) -> None:
        learner = self.learner(model, weights="auto")
        run(learner, y, 35)
        learner.fit()
        blend = learner.correction_
        assert blend is not None
        assert learner.verdict_ is blend.verdict
        assert learner.verdict_.because
        assert (blend.share > 0) == bool(np.ptp(learner.sample_weight_) > 0)
        assert learner.weights_ == ("auto" if blend.share else "none")
        np.testing.assert_array_equal(learner.predict(features()), blend.predict(features()))


def run(learner: ActiveLearner, y: NDArray[Any], until: int, batch: int = 5) -> None:
    """Ask and tell until there are so many labels."""
    while len(learner) < until:
        asked = learner.ask(min(batch, until - len(learner)))
        learner.tell(asked, y[asked])
