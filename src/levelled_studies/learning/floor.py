"""The floor of acquisition: what it costs training and gains when the same labels evaluate a model.

Learners with another floor draw from the same pools, with the same seeds. After each checkpoint the
model is trained on the labels and tested, and the labels evaluate a model that does not depend on
them, trained on 300 other items, by R_LURE. With u_m its levels and q_m the probabilities of the
N items left at draw m, of losses L,

    variance = sum_m u_m^2 (sum_n L_n^2 / q_m(n) - (sum_n L_n)^2) / N^2,

of which the mean over trajectories is exactly the variance of the estimate.
"""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.random import Generator

from levelled._check import FloatArray
from levelled.draws import Draws
from levelled.learning.drawing import LearnerState, add_draws, add_labels, empty_state, next_draws
from levelled.learning.settings import LearnerSettings
from levelled.learning.training import judge_settled, train
from levelled.models import fit_copy, seeded_copy
from levelled_studies.learning.data import Split, split
from levelled_studies.learning.floor_report import TRAINED, claims, figures
from levelled_studies.learning.loop import make_task
from levelled_studies.learning.models import model
from levelled_studies.learning.settings import Case, FloorSettings, tasks
from levelled_studies.study import Row, Study
from levelled_studies.tables import compact

__all__ = ["STUDIES", "draw_variances", "lure_variance", "run"]

CPU = FloorSettings(
    cases=(
        "hours ridge geometric",
        "amount ridge geometric",
        "adult logistic entropy",
        "fraud logistic entropy",
        "adult-coded stumps entropy",
    ),
    checkpoints=(120, 240),
)
SMOKE = replace(
    CPU,
    cases=("breast-cancer logistic entropy", "diabetes ridge geometric"),
    trajectories=2,
    checkpoints=(30, 40),
    n_fixed=50,
)


@dataclass(frozen=True, slots=True, eq=False)
class _Evaluated:
    """The losses of a fixed model on the pool, and the items to test trained models on."""

    losses: FloatArray
    data: Split


def run(settings: FloorSettings, task: str, rng: Generator) -> pa.Table:
    """Some trajectories of a case: a row for each floor and checkpoint of each."""
    *words, first = task.split()
    case = Case(*words)
    numbers = range(int(first), min(int(first) + settings.at_once, settings.trajectories))
    rows: list[Row] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a fit of few labels may not converge, and need not
        for number, own in zip(numbers, rng.spawn(len(numbers)), strict=True):
            data = split(case.data, settings.pool_size, settings.test_size, rng=own)
            seed = int(own.integers(2**31))
            evaluated = _fix_model(data, case, settings.n_fixed, seed)
            rows += [
                {**case._asdict(), "trajectory": number, "floor": floor, **row}
                for floor in settings.floors
                for row in _trajectory(settings, case, evaluated, floor, seed)
            ]
    return pa.Table.from_pylist(rows)


def _fix_model(data: Split, case: Case, n: int, seed: int) -> _Evaluated:
    """Losses of a model that was trained on the first n test items, which are then left out."""
    task = make_task(data, data.y_test[:n])
    own = seeded_copy(model(case.model), seed)
    fixed = fit_copy(own, task, data.X_test[:n], data.y_test[:n], None)
    losses = task.losses(data.y, task.predictions(fixed, data.X))
    return _Evaluated(losses, replace(data, X_test=data.X_test[n:], y_test=data.y_test[n:]))


def _trajectory(
    settings: FloorSettings, case: Case, evaluated: _Evaluated, floor: float, seed: int
) -> Iterator[Row]:
    data = evaluated.data
    drawing = LearnerSettings(
        model(case.model), case.score, weights="none", floor=floor, start=settings.start, seed=seed
    )
    state, variances = empty_state(len(data.y)), np.zeros(0)
    for labels in settings.checkpoints:
        while state.n_labels < labels:
            more, hazards = next_draws(drawing, data.X, state, settings.batch)
            assert hazards is not None
            assert state.hazards is not None
            p = (hazards - state.hazards) / len(more)
            p[state.draws.index] = 0
            variances = np.append(variances, draw_variances(evaluated.losses, p, more))
            state = add_draws(state, more, hazards)
            state = add_labels(state, more.index, data.y[more.index])
        row = _test(drawing, data, state)
        variance = lure_variance(variances, len(data.y))
        yield {"labels": labels, **row, "variance": float(compact(np.asarray(variance))[0])}


def draw_variances(losses: FloatArray, p: FloatArray, batch: Draws) -> FloatArray:
    """The variance of each term a_m of a batch, given the draws before it.

    `p` are the probabilities of all items at the first draw of the batch, 0 for those drawn
    before; later draws of the batch have the same, divided by their sum over what is left.
    """
    left = p > 0
    squares = np.divide(losses**2, p, out=np.zeros(len(p)), where=left)
    sums = [np.where(left, losses, 0.0), squares, p]
    first, second, mass = (
        each.sum() - np.append(0.0, np.cumsum(each[batch.index])[:-1]) for each in sums
    )
    return (mass * second - first**2) / len(p) ** 2


def lure_variance(variances: FloatArray, pool_size: int) -> float:
    """The variance of R_LURE after M draws, of terms with these variances.

    >>> round(lure_variance(np.array([0.02, 0.03]), 4), 4)
    0.0156
    """
    N, M = pool_size, len(variances)
    m = np.arange(1, M + 1)
    levels = N * (N - M) / ((N - m) * (N - m + 1)) / M
    return float(np.sum(levels**2 * variances))


def _test(drawing: LearnerSettings, data: Split, state: LearnerState) -> Row:
    """Test risks of models trained plainly, with weights, and by the share."""
    X, y = data.X[state.draws.index], data.y[state.draws.index]
    task = make_task(data, y)
    if task.classes is not None and (y == y[0]).all():
        models = dict.fromkeys(TRAINED, fit_copy(drawing.model, task, X, y, None))
    else:
        auto = replace(drawing, weights="auto")
        correction = judge_settled(auto, data.X, state)
        trained = (
            train(drawing, data.X, state),
            train(replace(drawing, weights="lure"), data.X, state),
            train(auto, data.X, state, correction),
        )
        models = {way: one["model_"] for way, one in zip(TRAINED, trained, strict=True)}
    return {
        way: float(compact(task.losses(data.y_test, task.predictions(one, data.X_test)).mean())[0])
        for way, one in models.items()
    }


STUDIES = {
    "learning-floor": Study(
        name="learning-floor",
        title="The floor of acquisition: training and evaluating with the same labels",
        presets={"smoke": SMOKE, "cpu": CPU, "paper": replace(CPU, trajectories=200)},
        tasks=tasks,
        run=run,
        figures=figures,
        claims=claims,
    )
}
