"""The settings of a learner, checked once, when they are made."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from levelled._check import FloatArray, between, choice, whole
from levelled.errors import InputError, ProposalError
from levelled.learning.scoring import Ensemble, Score, check_distances, check_score, chosen_score
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
    wants_dense,
)
from levelled.proposals import named

Weights = Literal["lure", "pure", "none", "auto"]
Propose = Callable[[FloatArray], ArrayLike]
"""Scores of the items left -> their probabilities."""


@dataclass(frozen=True, slots=True, eq=False)
class LearnerSettings:
    """The parameters by which a learner scores, draws and trains."""

    model: Model
    score: str | Score = "auto"
    proposal: str | Propose = "boltzmann"
    weights: Weights = "auto"
    ensemble: Ensemble = None
    floor: float = 0.3
    start: int = 10
    seed: int = 0

    def __post_init__(self) -> None:
        check_model("model", self.model)
        _check_weights(self.weights, self.model)
        checked = {
            "ensemble": _check_ensemble(self.ensemble),
            "floor": between("floor", self.floor, 0, 1),
            "start": whole("start", self.start, least=0),
            "seed": whole("seed", self.seed, least=0),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        check_score(self.score, self.model, self.ensemble)
        _check_proposal(self.proposal, self.floor)

    @property
    def chosen_score(self) -> str | Score:
        """The score that "auto" stands for, or the score itself."""
        return chosen_score(self.score, self.model)


PARAMETERS = ("model", "X_pool", *(one.name for one in fields(LearnerSettings)[1:]))
"""The names of the parameters of a learner, in their order."""


def check_pool(settings: LearnerSettings, X_pool: Rows) -> int:
    """The number of rows of a pool, which is refused if a learner cannot draw from it."""
    N = n_rows(X_pool, "X_pool")
    if not N:
        raise InputError("X_pool must hold one row an item, and it has none.")
    _check_numbers(settings.model, X_pool)
    if not hasattr(X_pool, "tocsr"):
        _check_first_row(settings.model, X_pool)
    if settings.chosen_score == "geometric":
        check_distances(X_pool)
    return N


def parameter(name: str) -> property:
    """A property of a learner that reads this setting, and sets it by `set_params`."""

    def set_parameter(learner: Any, value: Any) -> None:  # noqa: ANN401
        learner.set_params(**{name: value})

    return property(lambda learner: getattr(learner._settings, name), set_parameter)


def change_settings(settings: LearnerSettings, params: Mapping[str, Any]) -> LearnerSettings:
    """The settings with other values of some; model__C sets C of a copy of the model."""
    plain = {name: value for name, value in params.items() if not name.startswith("model__")}
    fixed = [name for name in plain if name not in PARAMETERS or name == "X_pool"]
    if fixed:
        raise InputError(
            f"{fixed[0]!r} cannot be set; a learner has the parameters {', '.join(PARAMETERS)}, "
            f"and draws from one X_pool."
        )
    nested = {name[len("model__") :]: params[name] for name in params if name not in plain}
    if nested:
        model: Any = plain.get("model", settings.model)
        changed: Any = untrained_copy(model)
        call_model(model, f"set {', '.join(nested)}", lambda: changed.set_params(**nested))
        plain["model"] = changed
    return replace(settings, **plain)


def _check_numbers(model: Model, X_pool: Rows) -> None:
    """Refuse complex numbers, and a sparse pool if the model takes none."""
    if getattr(getattr(X_pool, "dtype", None), "kind", "") == "c":
        raise InputError(
            "Complex data not supported: X_pool holds complex numbers. Make their real and "
            "imaginary parts features of their own."
        )
    if hasattr(X_pool, "tocsr") and wants_dense(model):
        raise InputError(
            f"Sparse data is not supported by {type(model).__name__}, and X_pool is a "
            f"{type(X_pool).__name__}: make it dense, X_pool.toarray(), or take another model."
        )


def _check_first_row(model: Model, X_pool: Rows) -> None:
    """Refuse a pool of which no rows can be taken, or one number an item where rows are wanted."""
    first = take(X_pool, np.zeros(1, dtype=np.int64))
    plain = isinstance(first, np.ndarray) and first.ndim == 1 and first.dtype.kind in "biuf"
    if plain and wants_columns(model):
        raise InputError(
            f"X_pool has one number an item, shape {X_pool.shape}, and {type(model).__name__} "
            f"wants rows of features: write X_pool.reshape(-1, 1) for a single feature."
        )


def _check_weights(weights: str, model: Model) -> None:
    choice("weights", weights, (*KINDS, "auto"))
    if weights in ("lure", "pure") and not takes_weights(model):
        raise InputError(
            f"{type(model).__name__} takes no sample_weight, so its training cannot be corrected. "
            f'Choose another model=, or weights="none".'
        )


def _check_ensemble(ensemble: Any) -> Ensemble:  # noqa: ANN401
    if ensemble is None:
        return None
    if not isinstance(ensemble, list | tuple):
        return whole("ensemble", ensemble, least=2)
    if len(ensemble) < 2:
        raise InputError(f"A committee is a list of two models or more; this is {ensemble!r}.")
    for number, member in enumerate(ensemble):
        check_model(f"ensemble[{number}]", member)
    return ensemble


def _check_proposal(proposal: str | Propose, floor: float) -> None:
    """Refuse what is neither a function nor the name of a proposal, and a share of 0 for all."""
    if callable(proposal):
        return
    named.parse(proposal)
    if proposal == "epsilon_greedy" and not floor:
        raise ProposalError(
            f"proposal={proposal!r} is the best item alone, and floor=0 gives no other a "
            f"chance: raise floor=, as in floor=0.1."
        )
