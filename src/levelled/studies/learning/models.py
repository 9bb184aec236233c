"""The models that are trained, by name, at settings that suit two hundred labels."""

from collections.abc import Callable

from levelled._check import choice
from levelled._optional import optional
from levelled.models import Model

__all__ = ["MODELS", "model"]


def model(name: str) -> Model:
    """A model that has learned nothing yet."""
    return MODELS[choice("The model", name, tuple(MODELS))]()


def _ridge() -> Model:
    found: Model = optional("sklearn.linear_model", extra="sklearn").Ridge(alpha=1.0)
    return found


def _logistic() -> Model:
    linear = optional("sklearn.linear_model", extra="sklearn")
    found: Model = linear.LogisticRegression(max_iter=5000)
    return found


def _tree() -> Model:
    found: Model = optional("sklearn.tree", extra="sklearn").DecisionTreeClassifier(max_depth=3)
    return found


def _forest() -> Model:
    ensemble = optional("sklearn.ensemble", extra="sklearn")
    found: Model = ensemble.RandomForestClassifier(n_estimators=30)
    return found


def _boosted(leaves: int) -> Model:
    ensemble = optional("sklearn.ensemble", extra="sklearn")
    found: Model = ensemble.HistGradientBoostingClassifier(
        max_iter=30, max_leaf_nodes=leaves, min_samples_leaf=5
    )
    return found


MODELS: dict[str, Callable[[], Model]] = {
    "ridge": _ridge,
    "logistic": _logistic,
    "tree": _tree,
    "forest": _forest,
    "boosting": lambda: _boosted(15),
    "stumps": lambda: _boosted(2),
}
