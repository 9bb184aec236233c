"""The settings of a learner, checked once, when they are made."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from levelled import scores
from levelled._check import FloatArray, IntArray, between, choice, floats, whole
from levelled.errors import InputError, ProposalError
from levelled.models import (
    Model,
    PredictionTask,
    Rows,
    aligned_proba,
    at_last_step,
    call_function,
    call_model,
    check_model,
    fit_copy,
    last_step,
    make_task,
    model_kind,
    n_rows,
    proba,
    read_only,
    take,
    takes_weights,
)
from levelled.proposals import parse_proposal

Score = Callable[[Model, Rows], ArrayLike]
"""A trained model and rows -> a score for each row."""

_OF_PROBA = {
    "entropy": scores.entropy,
    "margin": scores.margin,
    "least_confidence": scores.least_confidence,
}
_OF_SAMPLES: dict[str, Callable[[ArrayLike], FloatArray]] = {
    "bald": scores.bald,
    "variation_ratio": scores.variation_ratio,
    "variance": lambda samples: np.var(np.asarray(samples, np.float64), axis=1),
}
SCORES = (*_OF_PROBA, *_OF_SAMPLES, "geometric", "uniform")
_BLOCK = 2**20
"""Numbers held in memory at once, so that memory does not grow with the pool."""

_SAMPLES = 20
"""Samples of a model that can make any number, as in the study image-training; 100 in the paper."""
FLOOR = 0.3  # study learning-floor: beside 0.1, 22% less variance of evaluating
START = 10  # as in the paper's experiments
Ensemble = int | Sequence[Model] | None
Sampler = Callable[[Rows], FloatArray]
"""Rows -> samples of their predictions."""


def chosen_score(score: str | Score, model: Model) -> str | Score:
    """The score that "auto" stands for: "entropy" for classifiers, "geometric" for others."""
    if score != "auto":
        return score
    return "entropy" if model_kind(model) == "classifier" else "geometric"


def check_score(score: str | Score, model: Model, ensemble: Ensemble) -> None:
    """Refuse what is neither a function nor the name of a score that the model can have."""
    if callable(score):
        return
    choice("score", score, ("auto", *SCORES))
    score = chosen_score(score, model)
    if score in _OF_PROBA and hasattr(model, "predict"):  # without it, fit adds both
        _check_proba(model)
    if score in _OF_SAMPLES:
        wrong, right = ("classifier", "bald") if score == "variance" else ("regressor", "variance")
        if model_kind(model) == wrong:
            raise InputError(
                f"score={score!r} does not fit {type(model).__name__}, which is a {wrong}: use "
                f"{right!r}."
            )
        check_samples(model, ensemble)


def pool_scores(
    settings: "LearnerSettings",
    X_pool: Rows,
    rows: IntArray,
    labels: NDArray[Any],
    drawn: IntArray,
    *,
    rng: Generator,
) -> FloatArray | None:
    """A score for each row of the pool, of the model trained on the labelled rows.

    None while draws are uniform: until there are `start` labels and, for a classifier, two
    classes. The model that scores is trained without weights: estimates are unbiased whatever the
    scores, since each draw records its probability. Labelled rows get a score too, which costs
    less than copying the others out of the pool.
    """
    model, ensemble, X = settings.model, settings.ensemble, take(X_pool, rows)
    score = chosen_score(settings.score, model)
    if score == "uniform" or len(rows) < max(settings.start, 1):
        return None
    if score == "geometric":
        near = np.asarray(take(X_pool, drawn))
        parts = blocks(X_pool, near[:1].size)
        return np.concatenate([scores.geometric(np.asarray(part), near) for part in parts])
    task = make_task(model, labels, "auto")
    if task.classes is not None and len(task.classes) < 2:
        return None
    n_out = 1 if task.classes is None else len(task.classes)
    if callable(score):
        trained = _trained_copy(model, task, X, task.labels, rng=rng)
        return _check_scores(
            call_function(score, "score the pool", trained, read_only(X_pool)), n_rows(X_pool)
        )
    if score in _OF_PROBA:
        trained, of = _trained_copy(model, task, X, task.labels, rng=rng), _OF_PROBA[score]
        return _in_blocks(model, X_pool, n_out, lambda rows: of(proba(trained, rows)))
    if (score == "variance") != (task.classes is None):
        right, kind = ("bald", "classes") if score == "variance" else ("variance", "numbers")
        raise InputError(f"score={score!r} does not fit labels that are {kind}: use {right!r}.")
    sample, of_samples = sampler(model, ensemble, task, X, rng=rng), _OF_SAMPLES[score]
    n_out *= n_samples(model, ensemble)
    return _in_blocks(model, X_pool, n_out, lambda rows: of_samples(sample(rows)))


def blocks(X: Rows, n_out: int) -> Iterator[Rows]:
    """The rows in order, some at a time, without copies where the container allows it.

    `n_out` is the size of the result for each row; a block has about a million numbers. Changes
    to a block do not change X.
    """
    size = min(max(_BLOCK // max(n_out, 1), 256), 2**16)
    sparse = hasattr(X, "tocsr")
    X = X.tocsr() if sparse else X  # some sparse formats have no rows
    for start in range(0, n_rows(X), size):
        rows = slice(start, start + size)
        part = X.iloc[rows] if hasattr(X, "iloc") else X[rows]
        yield part if sparse else read_only(part)  # rows of a sparse matrix are a copy


def _in_blocks(model: Model, X: Rows, n_out: int, job: Callable[[Rows], FloatArray]) -> FloatArray:
    def all_rows() -> FloatArray:
        return np.concatenate([job(rows) for rows in blocks(X, n_out)])

    return _check_scores(call_model(model, "score the pool", all_rows, X), n_rows(X))


def _check_scores(values: ArrayLike, n: int) -> FloatArray:
    score = floats("scores", values, ndim=1)
    if len(score) != n:
        raise InputError(
            f"The score gave {len(score)} numbers for the {n} rows of the pool: it is called with "
            f"the model and X_pool, and must return one number a row, in their order."
        )
    return score


def sampler(
    model: Model, ensemble: Ensemble, task: PredictionTask, X: Rows, *, rng: Generator
) -> Sampler:
    """Train on the labelled rows, and return a function that samples predictions of other rows.

    A list of models is a committee, each trained on all labels. A model with `sample_proba(X, K)`
    samples by itself. A number is that many copies of the model, each trained on labels drawn
    with replacement. Without any of these the trees of a forest are samples.
    """
    y = task.labels
    if not isinstance(ensemble, int | None):
        return _of_members([_trained_copy(one, task, X, y, rng=rng) for one in ensemble], task)
    if ensemble is not None and not hasattr(model, "sample_proba"):
        chosen = [_resample(task, rng) for _ in range(ensemble)]
        members = [_trained_copy(model, task, take(X, at), y[at], rng=rng) for at in chosen]
        return _of_members(members, task)
    trained: Any = _trained_copy(model, task, X, y, rng=rng)

    def of_network(rows: Rows) -> FloatArray:
        proba = trained.sample_proba(rows, ensemble or _SAMPLES)
        return np.asarray(proba.detach().cpu().numpy() if hasattr(proba, "detach") else proba)

    def of_forest(rows: Rows) -> FloatArray:
        forest, inputs = at_last_step(trained, rows)
        # Trees are fitted on plain arrays, and would warn about names of columns.
        inputs = inputs if hasattr(inputs, "tocsr") else np.asarray(inputs, dtype=np.float32)
        method = "predict" if task.classes is None else "predict_proba"
        return np.stack([getattr(tree, method)(inputs) for tree in forest.estimators_], axis=1)

    return of_network if hasattr(model, "sample_proba") else of_forest


def check_samples(model: Model, ensemble: Ensemble) -> None:
    """Refuse a model without samples of its posterior."""
    _, last = last_step(model)
    # The forests of scikit-learn are told by the name of their common base.
    is_forest = any(base.__name__ == "BaseForest" for base in type(last).__mro__)
    if ensemble is None and not hasattr(model, "sample_proba") and not is_forest:
        raise InputError(
            f"This score needs samples of the model's posterior, and {type(last).__name__} has "
            f"none. Give ensemble=10 for ten bootstrap copies of it, or ensemble=[...] for a "
            f"committee."
        )


def n_samples(model: Model, ensemble: Ensemble) -> int:
    """The number of samples of each prediction."""
    if ensemble is None:
        return _SAMPLES if hasattr(model, "sample_proba") else 100  # trees, as a rule
    return ensemble if isinstance(ensemble, int) else len(ensemble)


def _check_proba(model: Model) -> None:
    """Refuse a model that gives no probabilities."""
    if not hasattr(model, "predict_proba"):
        name = type(model).__name__
        instead = 'score="variance" with an ensemble of regressors'
        if model_kind(model) == "classifier":
            instead = f"scikit-learn's CalibratedClassifierCV({name}()) as the model"
        raise InputError(
            f"{name} gives no probabilities (predict_proba), which this score needs. Use "
            f'{instead}, score="geometric" on numeric features, or a function of your own.'
        )


def _trained_copy(
    model: Model, task: PredictionTask, X: Rows, y: NDArray[Any], *, rng: Generator
) -> Model:
    """A copy of the model, trained without weights."""
    return fit_copy(model, task, X, y, None, seed=int(rng.integers(2**31)))


def _resample(task: PredictionTask, rng: Generator) -> IntArray:
    """Places of labels drawn with replacement; two classes remain if there are classes."""
    n = len(task.labels)
    while True:
        at = rng.integers(n, size=n)
        if task.classes is None or len(np.unique(task.labels[at])) > 1:
            return at


def _of_members(members: Sequence[Model], task: PredictionTask) -> Sampler:
    def sample(X: Rows) -> FloatArray:
        if task.classes is None:
            return np.stack([np.asarray(one.predict(X), np.float64) for one in members], axis=1)
        for one in members:
            _check_proba(one)
        # Members that were trained on other labels may know other classes.
        return np.stack([aligned_proba(one, X, task.classes) for one in members], axis=1)

    return sample


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
    floor: float = FLOOR
    start: int = START
    seed: int = 0

    def __post_init__(self) -> None:
        check_model("model", self.model)
        choice("weights", self.weights, get_args(Weights))
        if self.weights in ("lure", "pure") and not takes_weights(self.model):
            raise InputError(
                f"{type(self.model).__name__} takes no sample_weight, so its training cannot be "
                f'corrected. Choose another model=, or weights="none".'
            )
        checked = {
            "ensemble": _check_ensemble(self.ensemble),
            "floor": between("floor", self.floor, 0, 1),
            "start": whole("start", self.start, least=0),
            "seed": whole("seed", self.seed, least=0),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        check_score(self.score, self.model, self.ensemble)
        if callable(self.proposal):
            return
        parse_proposal(self.proposal)
        if self.proposal == "epsilon_greedy" and not self.floor:
            raise ProposalError(
                f"proposal={self.proposal!r} is the best item alone, and floor=0 gives no other a "
                f"chance: raise floor=, as in floor=0.1."
            )


def check_pool(settings: LearnerSettings, X_pool: Rows) -> int:
    """The number of rows of a pool, which is refused if a learner cannot draw from it."""
    N = n_rows(X_pool, "X_pool")
    if not N:
        raise InputError("X_pool must hold one row an item, and it has none.")
    first = take(X_pool, np.zeros(1, dtype=np.int64))
    if isinstance(first, np.ndarray) or hasattr(first, "tocsr"):
        model = settings.model
        call_model(model, "learn from X_pool", lambda: _check_row(model, first))
    if chosen_score(settings.score, settings.model) == "geometric":
        if hasattr(X_pool, "tocsr") or (isinstance(X_pool, list) and isinstance(X_pool[0], str)):
            raise InputError(
                f'score="geometric" measures distances between rows of numbers, and X_pool is a '
                f"{type(X_pool).__name__}. Make it a dense array, or use another score, such as "
                f'"variance" with ensemble=10 for a regressor.'
            )
        floats("X_pool", np.asarray(first), finite=False)
    return N


def _check_row(model: Any, row: Rows) -> None:  # noqa: ANN401
    """Let scikit-learn refuse a row by its tags of the model, or of the first step of a pipeline.

    It refuses complex numbers, a sparse row and one number instead of a row of features. Models
    that are not its own may take what they like, but for complex numbers.
    """
    from sklearn.utils import check_array, get_tags

    while getattr(model, "steps", None):
        model = model.steps[0][1]
    known = type(model).__module__.startswith("sklearn.") and not get_tags(model).no_validation
    takes = get_tags(model).input_tags if known else None
    only_rows = takes is not None and takes.two_d_array and not takes.one_d_array
    check_array(
        row,
        accept_sparse=takes is None or takes.sparse,
        ensure_2d=only_rows and row.dtype.kind in "biuf",
        allow_nd=True,
        dtype=None,
        ensure_all_finite=False,
        ensure_min_features=0,
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
