"""Networks trained on chosen labels: one plainly, one with weights, and their mean."""

import numpy as np
import pytest

pytest.importorskip("torch")

from levelled.learning import ActiveLearner
from levelled_studies.bayes import DropoutClassifier, RadialClassifier
from studies.bayes.samples import QUICK


@pytest.mark.parametrize("kind", [RadialClassifier, DropoutClassifier])
def test_a_learner_blends_two_networks(kind: type[RadialClassifier | DropoutClassifier]) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2)).astype(np.float32)
    y = np.where(X[:, 0] ** 2 + 0.3 * rng.normal(size=120) > 1, "far", "near")
    learner = ActiveLearner(kind("mlp", **QUICK | {"max_steps": 20}), X, proposal="boltzmann:2")
    while len(learner) < 40:
        index = learner.ask(20)
        learner.tell(index, y[index])
    blend = learner.fit().correction_
    assert blend is not None
    assert isinstance(blend.plain, kind)
    assert isinstance(blend.corrected, kind)
    plain, corrected = blend.plain.predict_proba(X), blend.corrected.predict_proba(X)
    assert np.abs(plain - corrected).max() > 1e-6
    mean = (1 - blend.share) * plain + blend.share * corrected
    np.testing.assert_allclose(learner.predict_proba(X), mean, atol=1e-12)
