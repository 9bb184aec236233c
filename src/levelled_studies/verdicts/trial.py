"""Train each way many times on problems whose truth is known by simulation."""

import warnings
from dataclasses import dataclass
from functools import wraps
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.random import Generator

from levelled._check import whole
from levelled.learning import blend
from levelled.models import PredictionTask, fit_copy, make_task, seeded_copy, take
from levelled_studies import all_or_nothing
from levelled_studies.objectives import WEIGHTS
from levelled_studies.regret import WAYS
from levelled_studies.study import Row, StudySettings
from levelled_studies.tables import compact
from levelled_studies.verdicts.problems import Sample
from levelled_studies.verdicts.settings import SETTINGS, Setting

__all__ = ["VerdictSettings", "count_fits", "run", "tasks"]


@dataclass(frozen=True, slots=True)
class VerdictSettings(StudySettings):
    """Runs of each setting, runs in one task, and the settings to run."""

    trajectories: int = 100
    batch: int = 20
    names: tuple[str, ...] = tuple(SETTINGS)

    def __post_init__(self) -> None:
        whole("trajectories", self.trajectories, least=2)
        whole("batch", self.batch, least=2)


def tasks(settings: VerdictSettings) -> list[str]:
    """Settings x batches of runs."""
    firsts = range(0, settings.trajectories, settings.batch)
    return [f"{name}; {first}" for name in settings.names for first in firsts]


def run(settings: VerdictSettings, task: str, rng: Generator) -> pa.Table:
    """The runs of one batch, a row each."""
    name, _, first = task.rpartition("; ")
    numbers = range(int(first), min(int(first) + settings.batch, settings.trajectories))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a fit of few labels may not converge, and need not
        rows = [{"setting": name, "trajectory": n, **_run(SETTINGS[name], rng)} for n in numbers]
    return pa.Table.from_pylist(rows)


def _run(setting: Setting, rng: Generator) -> Row:
    """The risk in the population of models trained each way on the same labels."""
    sample, model = setting.sample(rng), seeded_copy(setting.model(), 0)
    draws = sample.draws
    X, y = take(sample.pool.X, draws.index), sample.pool.y[draws.index]
    task = make_task(model, sample.pool.y, "auto")
    risks = {
        way: _risk(task, fit_copy(model, task, X, y, weights and weights(draws)), sample)
        for way, weights in WEIGHTS.items()
    }
    if task.classes is not None and (y == y[0]).all():  # every model predicts that class
        alike = dict.fromkeys(WAYS, float(compact(np.asarray(risks["naive"]))[0]))
        few = "not enough labels"
        return {**alike, "amount": 0.0, "advice": few, "former": few, "fits": 0}
    n_fits = count_fits(model)
    share = blend(model, X, y, draws, weights=sample.weights)
    fits = n_fits[0]
    shuffled = blend(model, X, y, draws, weights=rng.permutation(share.sample_weight))
    former = all_or_nothing.advise(model, X, y, draws).advice
    risks |= {
        "verdict": risks["LURE" if former == "correct" else "naive"],
        "share": _risk(task, share, sample),
        "shuffled": _risk(task, shuffled, sample),
    }
    return {
        **{way: float(compact(np.asarray(risk))[0]) for way, risk in risks.items()},
        "amount": float(compact(np.asarray(share.share))[0]),
        "advice": share.verdict.advice,
        "former": former,
        "fits": fits,
    }


def _risk(task: PredictionTask, model: Any, sample: Sample) -> float:  # noqa: ANN401
    predictions = task.predictions(model, sample.unseen.X)
    return float(task.losses(sample.unseen.y, predictions).mean())


def count_fits(model: Any) -> list[int]:  # noqa: ANN401
    """A counter that goes up each time the model, or a copy of it, is fitted from now on."""
    kind, counter = type(model), [0]

    @wraps(kind.fit)
    def fit(self: Any, *args: Any, **options: Any) -> Any:  # noqa: ANN401
        counter[0] += 1
        return kind.fit(self, *args, **options)

    model.__class__ = type(kind.__name__, (kind,), {"fit": fit})
    return counter
