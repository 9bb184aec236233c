"""What a learner was made with, checked once."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np

from levelled._check import between, choice, whole
from levelled.errors import InputError
from levelled.learning.posterior import Ensemble
from levelled.learning.proposing import Propose, check_proposal
from levelled.learning.scoring import Score, check_distances, check_score, chosen_score
from levelled.learning.weights import KINDS
from levelled.models import (
    Model,
    Rows,
    call_model,
    check_model,
    n_rows,
    take,
    takes_weights,
    untrained_copy,
    wants_columns,
)

__all__ = ["LearnerSettings", "Weights", "pool_size", "settings_of", "with_params"]

Weights = Literal["lure", "pure", "none", "auto"]


@dataclass(frozen=True, slots=True, eq=False)
class LearnerSettings:
    """How a learner scores, draws and trains."""

    model: Model
    score: str | Score
    proposal: str | Propose
    weights: Weights
    ensemble: Ensemble
    floor: float
    start: int
    seed: int

    def __post_init__(self) -> None:
        check_model("model", self.model)
        _check_weights(self.weights, self.model)
        ensemble = _checked_ensemble(self.ensemble)
        check_score(self.score, self.model, ensemble)
        floor = between("floor", self.floor, 0, 1)
        check_proposal(self.proposal, floor=floor)
        plain = {
            "ensemble": ensemble,
            "floor": floor,
            "start": whole("start", self.start, least=0),
            "seed": whole("seed", self.seed, least=0),
        }
        for name, value in plain.items():
            object.__setattr__(self, name, value)

    @property
    def chosen_score(self) -> str | Score:
        """The score, with "auto" decided."""
        return chosen_score(self.score, self.model)


def settings_of(params: Mapping[str, Any]) -> LearnerSettings:
    """The settings among the parameters of a learner, which has a pool besides."""
    return LearnerSettings(**{name: value for name, value in params.items() if name != "X_pool"})


def pool_size(settings: LearnerSettings, X_pool: Rows) -> int:
    """The number of rows of a pool that a learner with these settings can draw from."""
    N = n_rows(X_pool, "X_pool")
    if not N:
        raise InputError("X_pool must hold one row an item, and it has none.")
    _check_rows(settings.model, X_pool)
    if settings.chosen_score == "geometric":
        check_distances(X_pool)
    return N


def _check_rows(model: Model, X_pool: Rows) -> None:
    """Refuse a pool of which no rows can be taken, or one number an item where rows are wanted."""
    if hasattr(X_pool, "tocsr"):
        return
    first = take(X_pool, np.zeros(1, dtype=np.int64))
    plain = isinstance(first, np.ndarray) and first.ndim == 1 and first.dtype.kind in "biuf"
    if plain and wants_columns(model):
        raise InputError(
            f"X_pool has one number an item, shape {X_pool.shape}, and {type(model).__name__} "
            f"wants rows of features: write X_pool.reshape(-1, 1) for a single feature."
        )


def with_params(model: Model, nested: Mapping[str, Any]) -> Model:
    """A copy of the model in which its own parameters are set, by names such as model__C."""
    changed: Any = untrained_copy(model)
    own = {name.removeprefix("model__"): value for name, value in nested.items()}
    call_model(model, f"set {', '.join(own)}", lambda: changed.set_params(**own))
    return cast(Model, changed)


def _check_weights(weights: str, model: Model) -> None:
    choice("weights", weights, (*KINDS, "auto"))
    if weights in ("lure", "pure") and not takes_weights(model):
        raise InputError(
            f"{type(model).__name__} takes no sample_weight, so its training cannot be corrected: "
            f'choose a model that takes them, or weights="none".'
        )


def _checked_ensemble(ensemble: Any) -> Ensemble:  # noqa: ANN401
    if ensemble is None:
        return None
    if not isinstance(ensemble, list | tuple):
        return whole("ensemble", ensemble, least=2)
    if len(ensemble) < 2:
        raise InputError(f"A committee is a list of two models or more; this is {ensemble!r}.")
    for at, one in enumerate(ensemble):
        check_model(f"ensemble[{at}]", one)
    return list(ensemble)
