"""Train the model on the settled labels, with the weights of the settings.

R_LURE, the levelled unbiased risk estimator, and R_PURE, the plain one, are weighted means of the
losses of drawn items that estimate the mean loss over the pool without bias. The weights also go
with the loss of a torch model.

The stopping rule is to stop once doubling the labels is sure to have gained too little.
Models are compared after t/2 and t draws, t = 2, 4, 8, ... times the first number. The j-th
comparison gets the share 1 / (j (j + 1)) of the permitted error. These shares sum to one, and each
limit holds for every number of later labels at once, so the rule stays valid if it is applied
after each label.

Neither model knows the draws after t, so the difference of their losses,

    d(n) = L(before, n) - L(after, n),    n not among the first t draws,

is a fixed function of the items that were left then, and its mean over them is the gain. The
smaller of two upper limits counts. One is certain: where the models predict the same, d is 0
whatever the label, and elsewhere at most the largest d that any label could give. The other is
the betting interval of the draws since, which holds for every number of them at once.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from levelled._check import FloatArray, between, choice, floats
from levelled._optional import optional
from levelled.advice import Verdict
from levelled.advice.correcting import Correction, judge_correction
from levelled.advice.evidence import HALF, inclusion_weights
from levelled.draws import Draws, check_draws
from levelled.errors import InputError
from levelled.estimators import betting_interval, lure, lure_weights, naive_weights, pure_weights
from levelled.learning.drawing import FIT, Examples, LearnerState, seed_for
from levelled.learning.settings import LearnerSettings, blocks
from levelled.models import (
    CAP,
    LOSSES,
    Loss,
    Model,
    OwnLoss,
    Predictions,
    PredictionTask,
    Rows,
    aligned_proba,
    call_model,
    fit_copy,
    make_task,
    model_kind,
    n_rows,
    read_only,
    seeded_copy,
    take,
)

if TYPE_CHECKING:
    from torch import Tensor


_WEIGHTS = {"lure": lure_weights, "pure": pure_weights, "none": naive_weights}


def training_weights(
    draws: Draws | tuple[ArrayLike, ArrayLike, int],
    kind: Literal["lure", "pure", "none"] = "lure",
    normalise: Literal["mean", "sum"] = "mean",
) -> FloatArray:
    """A weight for each drawn item, with which the training loss estimates that of the pool.

    `draws` may be a tuple (index, probability, pool_size), in the order of drawing. The weights
    depend on the number of draws: compute them anew when labels are added.

    `normalise` names the divisor of the weighted losses:

        "mean"   by M:        R_LURE = 1/M sum_m v_m L_m;  weights average one in expectation
        "sum"    by nothing:  v_m / sum v, which sum to one

    "mean" is unbiased, and keeps a penalty such as scikit-learn's C at the strength it
    has without weights. "sum" is for weighted averages (`numpy.average`, the metrics of
    scikit-learn); it has a bias of about 1/M.

    >>> draws = Draws([2, 0], [0.5, 0.25], pool_size=4)
    >>> training_weights(draws).round(3)
    array([0.667, 1.333])
    >>> training_weights(draws, "pure", normalise="sum").round(3)
    array([0.429, 0.571])
    >>> training_weights(([2, 0], [0.5, 0.25], 4)).round(3)
    array([0.667, 1.333])
    """
    choice("kind", kind, (*_WEIGHTS,))
    choice("normalise", normalise, ("mean", "sum"))
    if isinstance(draws, tuple) and len(draws) == 3:
        draws = Draws(*draws)  # type: ignore[arg-type]  # made into arrays there
    check_draws(draws)
    weights = _WEIGHTS[kind](draws)
    return weights if normalise == "mean" else weights / weights.sum()


def weighted_loss(losses: "Tensor", weights: ArrayLike) -> "Tensor":
    """The mean of weighted losses of a torch model, ready for `backward`.

        1/M sum_m v_m L_m

    `losses` are those of each example, `reduction="none"` in torch; `weights` are the
    `training_weights` of the same examples, which are constants. In a mini-batch the mean is
    over the batch, and its expectation over random batches is the mean over all M. Losses of
    half precision, which a large weight would make infinite, are averaged in float32.

    >>> torch = optional("torch", extra="torch")
    >>> weighted_loss(torch.tensor([3.0, 6.0]), [0.5, 1.5])
    tensor(5.2500)
    """
    torch = optional("torch", extra="torch")
    if not isinstance(losses, torch.Tensor) or losses.ndim != 1:
        raise InputError(
            f"losses must be a torch tensor with one loss an example; this is a "
            f"{type(losses).__name__} of shape {tuple(getattr(losses, 'shape', ()))}. Give the "
            f"loss reduction='none'."
        )
    if not losses.is_floating_point():
        raise InputError(
            f"losses must be of a floating type to be learned from; they are {losses.dtype}."
        )
    if not len(losses):
        raise InputError("There are no losses to average: leave empty batches out.")
    if isinstance(weights, torch.Tensor):
        weights = weights.detach().cpu().double().numpy()  # NumPy knows no bfloat16
    values = floats("weights", np.asarray(weights), ndim=1)
    if len(values) != len(losses):
        raise InputError(f"{len(losses)} losses need {len(losses)} weights, not {len(values)}.")
    precision = torch.promote_types(losses.dtype, torch.float32)
    scale = torch.as_tensor(values, dtype=precision, device=losses.device)
    mean: Tensor = (scale * losses).mean()
    return mean


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Blend:
    """A model trained plainly and one trained with weights, whose predictions are averaged.

        (1 - share) f_plain + share f_corrected

    `verdict` gives the evidence for the share. Where the share is 0 or 1, one of the two models
    predicts alone. `corrected` is None if no model was trained with weights. `sample_weight` are
    the weights of the corrected model; they average one.
    """

    share: float
    plain: Model
    corrected: Model | None
    verdict: Verdict
    sample_weight: FloatArray
    classes: NDArray[Any] | None
    """The classes of a classifier, in their order."""

    @property
    def model(self) -> Any:  # noqa: ANN401
        """The model that predicts: one of the two if it does so alone, else the blend itself."""
        if self.corrected is None or self.share == 0:
            return self.plain
        return self.corrected if self.share == 1 else self

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes of a classifier, in their order."""
        if self.classes is None:
            raise AttributeError(f"{type(self.plain).__name__} is no classifier.")
        return self.classes

    def predict(self, X: Rows) -> NDArray[Any]:
        """The prediction for each row: a number, or the likeliest class."""
        if self.classes is not None and self.model is self:
            return self.classes[self.predict_proba(X).argmax(axis=1)]
        return self._average(lambda model, rows: np.asarray(model.predict(rows)), X)

    def predict_proba(self, X: Rows) -> FloatArray:
        """The probabilities of `classes_`, for each row."""
        classes = self.classes_
        return self._average(lambda model, rows: aligned_proba(model, rows, classes), X)

    def __sklearn_is_fitted__(self) -> bool:
        """True: a blend is made of trained models; scikit-learn calls this."""
        return True

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401
        """The tags of the plain model; scikit-learn calls this."""
        model: Any = self.plain
        return model.__sklearn_tags__()

    def __repr__(self) -> str:
        return f"Blend({type(self.plain).__name__}, {self.share:.0%} corrected)"

    def _average(self, predict: Callable[[Model, Rows], NDArray[Any]], X: Rows) -> NDArray[Any]:
        def call(model: Model) -> NDArray[Any]:
            return call_model(model, "predict", lambda: predict(model, read_only(X)), X)

        if self.corrected is None or self.model is not self:
            return call(self.model)
        mean: NDArray[Any] = (1 - self.share) * call(self.plain) + self.share * call(self.corrected)
        return mean


def train(
    settings: LearnerSettings,
    X_pool: Rows,
    state: LearnerState,
    correction: Correction | None = None,
    *,
    single: bool = False,
) -> dict[str, Any]:
    """The attributes of `ActiveLearner` after training on the settled labels.

    Where the weights of the settings are "auto", it is as far corrected as the verdict of
    `correction` says; what was fitted for that is not fitted again.
    """
    examples, blend = _settled_examples(state), None
    X, own = take(X_pool, examples.rows), seeded_model(settings)
    if correction is not None:
        blend = make_blend(own, X, correction, single=single)
        model, classes = blend.model, blend.classes
        plain = "none", np.ones(len(examples))
        kind, weights = ("auto", blend.sample_weight.copy()) if blend.share else plain
    else:
        task = check_classes(make_task(settings.model, examples.labels, "auto"))
        kind, classes = settings.weights, task.classes
        weights = example_weights(examples, kind)
        model = fit_copy(own, task, X, task.labels, None if kind == "none" else weights)
    return {
        "model_": model,
        "weights_": kind,
        "sample_weight_": weights,
        "correction_": blend,
        "verdict_": None if blend is None else blend.verdict,
        "index_": examples.rows.copy(),
        "labels_": examples.labels.copy(),
        **({} if classes is None else {"classes_": classes.copy()}),
    }


def seeded_model(settings: LearnerSettings) -> Model:
    """An untrained copy of the learner's model, seeded for training."""
    return seeded_copy(settings.model, seed_for(settings.seed, FIT, 0) % 2**31)


def check_labels_suit(model: Model, state: LearnerState) -> LearnerState:
    """The state, unless its labels are text and the model predicts numbers."""
    first = next((label for label in state.labels.values() if label is not None), None)
    if isinstance(first, str) and model_kind(model) == "regressor":
        raise InputError(
            f"{type(model).__name__} predicts numbers, and labels are text ({first!r}): tell "
            f"numbers, or learn with a classifier."
        )
    return state


def example_weights(examples: Examples, kind: str) -> FloatArray:
    """The weight of each example; draws that cannot be labelled count, with a loss of 0."""
    return training_weights(examples.draws, kind)[examples.places]  # type: ignore[arg-type]


def judge_settled(
    settings: LearnerSettings,
    X_pool: Rows,
    state: LearnerState,
    **options: Any,  # noqa: ANN401
) -> Correction:
    """The correction that the settled labels support; options are those of `advise`.

    Weights are by the chance of each example to be drawn by now, or those of R_LURE.
    """
    examples = _settled_examples(state)
    if state.hazards is None or len(state.draws) == state.draws.pool_size:
        weights = example_weights(examples, "lure")  # nothing is left to weight in a drawn pool
    else:  # hazards are those of all draws; draws that are not settled take their part of them
        settled = len(examples.draws) / len(state.draws)
        weights = inclusion_weights(settled * state.hazards[examples.rows])
    return judge_correction(
        seeded_model(settings),
        take(X_pool, examples.rows),
        examples.labels,
        examples.labelled_draws(),
        **{"seed": settings.seed, "weights": weights, **options},
    )


def _settled_examples(state: LearnerState) -> Examples:
    examples = state.settled()
    if len(examples):
        return examples
    if state.n_labels:
        raise InputError(
            f"None of the {state.n_labels} labels can be used yet: the first draw, row "
            f"{state.pending[0]}, has none. Weights need draws without a gap; tell that label, or "
            f"None if it cannot be labelled."
        )
    raise InputError("There are no labels yet: ask() for rows and tell() their labels.")


def blend(
    model: Model,
    X: Rows,
    y: ArrayLike,
    draws: Draws,
    *,
    weights: ArrayLike | None = None,
    loss: Loss | OwnLoss = "auto",
    single: bool = False,
    seed: int = 0,
) -> Blend:
    """Train a model on drawn labels, corrected for their choice as far as that helps.

    The model is trained plainly and with weights, and the predictions of both are averaged with
    the share that `levelled.advice.advise` measures.

    Parameters
    ----------
    model, X, y, draws, weights, loss, seed : As for `levelled.advice.advise`.
    single : Give the better of the two models alone: the corrected one for a share above a half.

    >>> from sklearn.linear_model import LinearRegression
    >>> x = np.linspace(-1, 1, 40)
    >>> draws = Draws(np.arange(40), np.linspace(0.1, 0.01, 40), pool_size=200)
    >>> trained = blend(LinearRegression(), x[:, None], x**2, draws)
    >>> trained, trained.predict([[0.0], [1.0]]).round(2)
    (Blend(LinearRegression, 91% corrected), array([0.41, 0.51]))
    """
    correction = judge_correction(model, X, y, draws, weights=weights, loss=loss, seed=seed)
    return make_blend(seeded_copy(model, seed % 2**32), X, correction, single=single)


def make_blend(model: Model, X: Rows, correction: Correction, *, single: bool) -> Blend:
    """The models that were fitted to all labels, with the share of the verdict.

    Where nothing was measured, `model` is fitted plainly.
    """
    task, fits, share = check_classes(correction.task), correction.fits, correction.verdict.share
    plain = fits["naive"].model if fits else fit_copy(model, task, X, task.labels, None)
    return Blend(
        share=float(share > HALF) if single else share,
        plain=plain,
        corrected=fits["corrected"].model if "corrected" in fits else None,
        verdict=correction.verdict,
        sample_weight=correction.weights,
        classes=task.classes,
    )


def check_classes(task: PredictionTask) -> PredictionTask:
    """The task, unless it is a classification with labels of one class."""
    if task.classes is not None and len(task.classes) < 2:
        raise InputError(
            f"All {len(task.labels)} labels that can be used are {task.classes[0]!s}, one class, "
            f"and a classifier needs two classes: label more items."
        )
    return task


_FIRST = 10
"""Labels of the first model that is compared, unless the learner starts with more: its `start`."""
_FEW = 256  # rows that are predicted first, to save the rest
_BOUNDS = {"zero_one": 1.0, "brier": 2.0, "log_loss": CAP}


@dataclass(frozen=True, slots=True)
class Stopping:
    """The decision to stop or to go on, and the reason; true where it is to stop.

    `value` estimates by how much the doubling from `before` to `after` labels lowered the loss,
    from `n_later` draws since, and `high` is its upper limit. None: there was nothing to measure.
    """

    stop: bool
    because: str
    value: float | None = None
    high: float | None = None
    before: int | None = None
    after: int | None = None
    n_later: int = 0

    def __bool__(self) -> bool:
        return self.stop

    def __str__(self) -> str:
        return f"{'Stop' if self.stop else 'Go on'}: {self.because}"


def should_stop(
    settings: LearnerSettings,
    X_pool: Rows,
    state: LearnerState,
    gain: float,
    *,
    loss: Loss,
    bound: float | None,
    level: float,
) -> Stopping:
    """The decision of `ActiveLearner.should_stop`, which explains the arguments."""
    choice("loss", loss, LOSSES)
    gain = between("gain", gain, 0, np.inf, open_=True)
    level = between("level", level, 0, 1, open_=True)
    N, M, first = state.draws.pool_size, state.n_settled, max(_FIRST, settings.start)
    if M == N:
        return Stopping(True, f"all {N} items of the pool are labelled.")
    if 2 * first > M:
        return Stopping(False, f"{M} labels are too few: models are compared from {2 * first} on.")
    number = (M // first).bit_length() - 1
    t = first * 2**number
    doubling = _make_doubling(settings, X_pool, state, t, loss, bound)
    if _is_constant(doubling.after, X_pool):
        return Stopping(
            False, f"after {t} labels the model still predicts the same for every item."
        )
    share = (1 - level) / (number * (number + 1))
    value, high = _measure_gain(doubling, X_pool, state, level=1 - share)
    because = (
        f"doubling the labels from {t // 2} to {t} lowered the {doubling.task.loss} loss by at "
        f"most {high:.3g} (level {level:g}, {M - t} later labels), and {gain:g} was asked for."
    )
    return Stopping(high < gain, because, value, high, t // 2, t, M - t)


@dataclass(frozen=True, slots=True, eq=False)
class _Doubling:
    """Two models, trained on the first t/2 and t draws, and the loss they are compared by."""

    before: Model
    after: Model
    t: int
    task: PredictionTask
    bound: float
    """Losses are cut there."""

    def predictions(self, X: Rows) -> tuple[Predictions, Predictions]:
        """The predictions of both models for each row."""
        return self.task.predictions(self.before, X), self.task.predictions(self.after, X)

    def difference(
        self, labels: NDArray[Any], before: Predictions, after: Predictions
    ) -> FloatArray:
        """The loss of the earlier model less that of the later one, each cut at the bound."""
        losses = (self.task.losses(labels, each) for each in (before, after))
        return np.subtract(*(np.minimum(each, self.bound) for each in losses))


def _make_doubling(
    settings: LearnerSettings,
    X_pool: Rows,
    state: LearnerState,
    t: int,
    loss: Loss,
    bound: float | None,
) -> _Doubling:
    task = make_task(settings.model, state.settled().labels, loss)
    if loss == "auto" and task.classes is not None:
        task = replace(task, loss="zero_one")  # an error rate is easy to set a limit for
    limit = _BOUNDS.get(task.loss) if bound is None else bound
    if limit is None:
        raise InputError(
            f"The {task.loss} loss has no limit, and without one a single item could hold any "
            f"gain. Give bound=, the loss from which on all count alike."
        )
    limit = between("bound", limit, 0, np.inf, open_=True)
    # With weights="auto" the models are trained without weights: its decision depends on all
    # labels, and these models must depend on the first ones alone.
    is_weighted, models = settings.weights in ("lure", "pure"), []
    for n in (t // 2, t):
        examples = state.settled(n)
        if not len(examples):
            raise InputError(f"None of the first {n} draws could be labelled.")
        weights = example_weights(examples, settings.weights) if is_weighted else None
        X = take(X_pool, examples.rows)
        models.append(fit_copy(seeded_model(settings), task, X, examples.labels, weights))
    before, after = models
    return _Doubling(before, after, t, task, limit)


def _is_constant(model: Model, X_pool: Rows) -> bool:
    """True if the model predicts the same for every row; a few rows mostly show if it does not."""
    few = read_only(take(X_pool, np.arange(min(_FEW, n_rows(X_pool)))))

    def all_equal() -> bool:
        first = np.asarray(model.predict(few))[0]
        return all(
            (np.asarray(model.predict(rows)) == first).all()
            for rows in chain([few], blocks(X_pool, 1))
        )

    return call_model(model, "predict", all_equal)


def _measure_gain(
    doubling: _Doubling, X_pool: Rows, state: LearnerState, *, level: float
) -> tuple[float | None, float]:
    """The gain of a doubling over the items that were left after it, and its upper limit.

    The gain is R_LURE of d from the draws since, or None if there are none. The limit holds for
    all numbers of draws at once with probability `level`.
    """
    M, t, draws = state.n_settled, doubling.t, state.draws
    left = draws.pool_size - t
    settled, differences = state.settled(), np.zeros(M - t)  # 0 for what cannot be labelled
    later = settled.places >= t
    if later.any():
        before, after = doubling.predictions(take(X_pool, settled.rows[later]))
        values = doubling.difference(settled.labels[later], before, after)
        differences[settled.places[later] - t] = values
    unlabelled = np.delete(_largest_differences(doubling, X_pool), draws.index[:M])
    certain = float((differences.sum() + unlabelled.sum()) / left)
    if not len(differences):
        return None, certain
    q, most = draws.probability[t:M], (draws.design or {}).get("max_weight")
    _, high = betting_interval(
        differences,
        q,
        left,
        (-doubling.bound, doubling.bound),
        2 * level - 1,  # it has two sides, and one is needed
        design=None if most is None else {"max_weight": most[t:M] * draws.pool_size / left},
    )
    return float(np.mean(lure.weights(q, left) * differences)), min(certain, high)


def _largest_differences(doubling: _Doubling, X_pool: Rows) -> FloatArray:
    """The largest d of each row of the pool, whatever its label.

    For a regression, a loss that is cut at B changes by no more than its steepest slope, 2 sqrt(B)
    or 1, times the change of the prediction. A class without labels so far cannot have the largest
    d: the probabilities of both models sum to one, so that some class gained at least as much.
    """
    classes = doubling.task.classes
    slope = 2 * np.sqrt(doubling.bound) if doubling.task.loss == "squared" else 1.0
    parts = []
    for rows in blocks(X_pool, 2 if classes is None else 2 * len(classes)):
        before, after = doubling.predictions(rows)
        if classes is None:
            parts.append(np.minimum(slope * np.abs(before - after), doubling.bound))
            continue
        if doubling.task.loss == "zero_one":  # the label that the later model alone predicts
            parts.append((before != after) * min(1.0, doubling.bound))
            continue
        largest = np.zeros(len(before))
        for label in classes:
            labels = np.full(len(largest), label)
            np.maximum(largest, doubling.difference(labels, before, after), out=largest)
        parts.append(largest)
    return np.concatenate(parts)
