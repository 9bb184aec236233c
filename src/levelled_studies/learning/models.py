"""The models that are trained, by name, at settings that suit two hundred labels."""

from collections.abc import Callable
from typing import Any

from levelled._check import choice
from levelled._optional import optional
from levelled.models import Model

__all__ = ["MODELS", "make_sklearn", "model"]


def model(name: str) -> Model:
    """A model that has learned nothing yet."""
    return MODELS[choice("The model", name, tuple(MODELS))]()


def make_sklearn(module: str, name: str, *args: Any, **options: Any) -> Callable[[], Model]:  # noqa: ANN401
    """Makes that model of scikit-learn, which is imported when the first one is made."""

    def make() -> Model:
        model: Model = getattr(optional(f"sklearn.{module}", extra="sklearn"), name)(
            *args, **options
        )
        return model

    return make


def _boosted(leaves: int, kind: str = "Classifier") -> Callable[[], Model]:
    return make_sklearn(
        "ensemble",
        f"HistGradientBoosting{kind}",
        max_iter=15,
        learning_rate=0.2,
        max_leaf_nodes=leaves,
        min_samples_leaf=5,
    )


MODELS: dict[str, Callable[[], Model]] = {
    "ridge": make_sklearn("linear_model", "Ridge", alpha=1.0),
    "logistic": make_sklearn("linear_model", "LogisticRegression", max_iter=5000),
    "tree": make_sklearn("tree", "DecisionTreeClassifier", max_depth=3),
    "forest": make_sklearn("ensemble", "RandomForestClassifier", n_estimators=10),
    "boosting": _boosted(15),
    "stumps": _boosted(2),
    "boosted": _boosted(15, "Regressor"),
    "network": make_sklearn(
        "neural_network", "MLPClassifier", (10,), alpha=0.01, solver="lbfgs", max_iter=60
    ),
    "bayes": make_sklearn("naive_bayes", "GaussianNB"),
}
