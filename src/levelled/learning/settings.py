"""What a learner was made with, checked once."""

from dataclasses import dataclass
from typing import Any, Literal

from levelled._check import between, choice, whole
from levelled.advice.models import Model
from levelled.errors import InputError
from levelled.learning.posterior import Ensemble
from levelled.learning.proposing import Propose, check_proposal
from levelled.learning.scoring import Score, check_score
from levelled.learning.weights import KINDS

__all__ = ["Settings", "Weights"]

Weights = Literal["lure", "pure", "none", "auto"]


@dataclass(frozen=True, slots=True, eq=False)
class Settings:
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
        for name in ("fit", "predict"):
            if isinstance(self.model, type) or not hasattr(self.model, name):
                raise InputError(
                    f"model must be an object with fit and predict, such as LogisticRegression(); "
                    f"it is {self.model!r}."
                )
        check_score(self.score)
        check_proposal(self.proposal)
        choice("weights", self.weights, (*KINDS, "auto"))
        plain = {
            "ensemble": _checked_ensemble(self.ensemble),
            "floor": between("floor", self.floor, 0, 1),
            "start": whole("start", self.start, least=0),
            "seed": whole("seed", self.seed, least=0),
        }
        for name, value in plain.items():
            object.__setattr__(self, name, value)


def _checked_ensemble(ensemble: Any) -> Ensemble:  # noqa: ANN401
    if ensemble is None:
        return None
    if not isinstance(ensemble, list | tuple):
        return whole("ensemble", ensemble, least=2)
    if len(ensemble) < 2 or not all(hasattr(one, "fit") for one in ensemble):
        raise InputError(
            f"A committee is a list of two models or more, each with fit; this is {ensemble!r}."
        )
    return list(ensemble)
