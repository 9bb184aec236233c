"""Run `advise` many times on problems whose truth is known by simulation."""

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.random import Generator

from levelled._check import whole
from levelled.models import fit_copy, make_task, seeded_copy, take, takes_weights
from levelled_studies.all_or_nothing import Decision, advise
from levelled_studies.objectives import WEIGHTS
from levelled_studies.study import StudySettings
from levelled_studies.verdicts.problems import Sample
from levelled_studies.verdicts.settings import SETTINGS, Setting

__all__ = ["VERDICTS", "VerdictSettings", "run", "tasks"]

VERDICTS = ("correct", "do not correct", "no difference", "not enough labels")


@dataclass(frozen=True, slots=True)
class VerdictSettings(StudySettings):
    """Runs of each setting, runs in one task, and the settings to run."""

    trajectories: int = 500
    batch: int = 50
    names: tuple[str, ...] = tuple(SETTINGS)

    def __post_init__(self) -> None:
        whole("trajectories", self.trajectories, least=2)
        whole("batch", self.batch, least=2)


def tasks(settings: VerdictSettings) -> list[str]:
    """Settings x batches of runs."""
    firsts = range(0, settings.trajectories, settings.batch)
    return [f"{name}; {first}" for name in settings.names for first in firsts]


def run(settings: VerdictSettings, task: str, rng: Generator) -> pa.Table:
    """The verdicts of one batch and the truth in each of its runs, as one row of sums."""
    name, _, first = task.rpartition("; ")
    n_runs = min(settings.batch, settings.trajectories - int(first))
    runs = [_run(SETTINGS[name], rng) for _ in range(n_runs)]
    return pa.Table.from_pylist([{"setting": name, "runs": n_runs} | dict(_sum_outcomes(runs))])


def _run(setting: Setting, rng: Generator) -> tuple[Decision, Mapping[str, float]]:
    sample = setting.sample(rng)
    rows = sample.draws.index
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a fit of few labels may not converge, and need not
        verdict = advise(
            setting.model(), take(sample.pool.X, rows), sample.pool.y[rows], sample.draws
        )
        return verdict, _truth(setting, sample)


def _truth(setting: Setting, sample: Sample) -> dict[str, float]:
    """The risk in the population of models trained each way on all that was drawn."""
    model, draws = seeded_copy(setting.model(), 0), sample.draws
    X, y = take(sample.pool.X, draws.index), sample.pool.y[draws.index]
    task = make_task(model, sample.pool.y, "auto")
    risks = {}
    for way, weights in WEIGHTS.items():
        own = None if weights is None or not takes_weights(model) else weights(draws)
        predictions = task.predictions(fit_copy(model, task, X, y, own), sample.unseen.X)
        risks[way.lower()] = float(task.losses(sample.unseen.y, predictions).mean())
    return risks


def _sum_outcomes(
    runs: list[tuple[Decision, Mapping[str, float]]],
) -> Iterator[tuple[str, float]]:
    """Counts of verdicts, of runs of each in which weights lowered the risk, and sums of risks."""
    gain = np.array([truth["naive"] - truth["lure"] for _, truth in runs])
    advice_given = np.array([verdict.advice for verdict, _ in runs])
    for advice in VERDICTS:
        yield advice, int(np.sum(advice_given == advice))
        yield f"{advice}; lower", int(np.sum((advice_given == advice) & (gain > 0)))
        yield f"{advice}; higher", int(np.sum((advice_given == advice) & (gain < 0)))
    for way in runs[0][1]:
        yield way, float(sum(truth[way] for _, truth in runs))
    yield "gain squared", float(np.sum(gain**2))
