"""A predictor of labels that are numbers: the mean and the spread of each item's label.

The mean is linear in the numbers that models predict and in the features; two regressions, without
and with the features, are averaged by how well they predict labels left out. The logarithm of the
variance is linear too, and is fitted to the squares of what the mean misses by on labels left out.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from levelled._check import FloatArray, IntArray
from levelled.errors import InputError
from levelled.surrogates.covariates import ColumnMoments

_VERSION = 2
"""Of the coefficients written down with each round, as for labels that are classes."""
# The ridges are those of the predictor of classes (STATISTICS 1.16.2), with labels in units of
# their spread.
_RIDGE_INTERCEPT, _RIDGE_SCORES, _RIDGE_FEATURES = 0.02, 2.0, 10.0
_RIDGE_OF_VARIANCE = 40.0
"""On the features of the variance. With 10, squared errors of card payments at 100, 200 and 500
labels take as many random labels times .81, .78 and .88; with 40 .97, .98, .99 (8 to 12
repetitions): squares of errors with heavy tails say little."""
_LOSS_SLOPE = 0.8  # STATISTICS 1.13.2: as the slope on any expected loss before labels
"""The slope on the logarithm of the expected loss in that of the variance, before any label."""
_COST, _LEAST_SHARE = 1.0, 0.02  # STATISTICS 1.13.3
_LEAST_DENOMINATOR = 0.05  # guard: a label that alone decides a coefficient
_LEAST_VARIANCE = 1e-6  # guard: numbers that are predicted exactly; in units of the labels' spread
_SHRUNK = 1e-6  # guard: the logarithm of a loss or of a difference between models that is 0
_FURTHEST = 3.0
"""Features are cut to so many standard deviations: one item far out would decide a slope."""
_STEPS, _CONVERGED = 50, 1e-8  # tolerance of Fisher scoring


@dataclass(frozen=True, slots=True, eq=False)
class NumberColumns:
    """What is known of the numbers that are the labels of a run of items.

    `pred` are the numbers [n] that one or more models predict, the first the model's own.
    `features` [n, D] are finite, on any scale. `loss_hat` [n] is the expected loss, if it is known.
    """

    pred: tuple[FloatArray, ...]
    features: NDArray[np.floating[Any]] | None = None
    loss_hat: FloatArray | None = None

    def __post_init__(self) -> None:
        if not self.pred or len({column.shape for column in self.pred}) > 1:
            raise InputError(
                f"pred must be one or more columns of the same length; their shapes are "
                f"{[column.shape for column in self.pred]}."
            )
        X = self.features
        if X is not None and (
            X.ndim != 2 or len(X) != len(self) or not np.isfinite(X.sum(dtype=np.float64))
        ):
            raise InputError(
                f"features must be finite numbers, one row for each of the {len(self)} items; "
                f"their shape is {X.shape}."
            )

    def __len__(self) -> int:
        return len(self.pred[0])

    def at(self, rows: IntArray | slice) -> "NumberColumns":
        """The columns of some items, in their order."""
        return NumberColumns(
            tuple(column[rows] for column in self.pred),
            None if self.features is None else self.features[rows],
            None if self.loss_hat is None else self.loss_hat[rows],
        )

    @property
    def mean(self) -> FloatArray:
        """The mean of the predicted numbers."""
        return self.pred[0] if len(self.pred) == 1 else np.mean(self.pred, axis=0)

    @property
    def disagreement(self) -> FloatArray:
        """The spread between the models' numbers."""
        return np.asarray(np.std(self.pred, axis=0))


@dataclass(frozen=True, slots=True, eq=False)
class NumberScaling:
    """What the columns of all items of a pool have in common.

    It follows from the pool alone, so it is computed anew and never stored. `scores` are moments of
    the mean prediction, the expected loss and the disagreement between models (0 where there is
    none), `log_scores` those of the logarithms of the last two.
    """

    n_models: int
    has_loss: bool
    scores: ColumnMoments
    log_scores: ColumnMoments
    features: ColumnMoments | None

    @classmethod
    def of(cls, runs: Callable[[], Iterable[NumberColumns]], pool_size: int) -> "NumberScaling":
        """The scale of a pool, in two passes over its columns.

        Parameters
        ----------
        runs : The columns of the pool, a run of rows at a time; each call begins a new pass.
        pool_size : The number of items in all runs.
        """
        scores, features, log_scores = ColumnMoments(), ColumnMoments(), ColumnMoments()
        n_models, has_loss = 1, False
        for run in runs():
            n_models, has_loss = len(run.pred), run.loss_hat is not None
            loss = np.zeros(len(run)) if run.loss_hat is None else run.loss_hat
            scores.add(np.column_stack([run.mean, loss, run.disagreement]))
            if run.features is not None:
                features.add(run.features)
        if scores.n != pool_size:
            raise InputError(f"The runs hold {scores.n} items; the pool has {pool_size}.")
        of_features = features if features.n else None
        unfinished = cls(n_models, has_loss, scores, log_scores, of_features)
        for run in runs():
            log_scores.add(unfinished.log_columns(run))
        return unfinished

    @property
    def centre(self) -> float:
        """The pool's mean prediction."""
        return float(self.scores.mean[0])

    @property
    def spread(self) -> float:
        """The standard deviation of the predictions, or 1 if all are the same."""
        spread = float(self.scores.spread()[0])
        return spread if np.isfinite(spread) else 1.0

    @property
    def n_features(self) -> int:
        """The number of features, 0 if there are none."""
        return 0 if self.features is None else len(self.features.mean)

    def log_columns(self, columns: NumberColumns) -> FloatArray:
        """Logarithms [n, 2] of the expected loss and of the squared disagreement; 0 for none."""
        logs = np.zeros((len(columns), 2))
        if columns.loss_hat is not None and self.scores.mean[1] > 0:
            least = _SHRUNK * self.scores.mean[1]
            logs[:, 0] = np.log(np.maximum(columns.loss_hat, least))
        if self.n_models > 1 and self.scores.mean[2] > 0:
            least = _SHRUNK * self.scores.mean[2]
            logs[:, 1] = 2 * np.log(np.maximum(columns.disagreement, least))
        return logs

    def standardise(self, columns: NumberColumns) -> FloatArray:
        """The features, of mean 0 and spread 1 over the pool; no columns if there are none."""
        if columns.features is None or self.features is None:
            return np.empty((len(columns), 0))
        z = (columns.features - self.features.mean) / self.features.spread()
        return np.clip(z, -_FURTHEST, _FURTHEST)

    def mean_table(self, columns: NumberColumns, unit: float, with_features: bool) -> FloatArray:
        """The columns of the mean: one, each model's number and their mean, and the features."""
        numbers = [columns.mean] if self.n_models == 1 else [*columns.pred, columns.mean]
        scores = [np.ones(len(columns)), *((x - self.centre) / unit for x in numbers)]
        if not with_features:
            return np.column_stack(scores)
        return np.column_stack([*scores, self.standardise(columns)])

    def variance_table(self, columns: NumberColumns, with_features: bool) -> FloatArray:
        """The columns of the variance: one, the two logarithms, the prediction, the features."""
        logs = self.log_columns(columns) - self.log_scores.mean
        scores = np.column_stack([np.ones(len(columns)), logs])
        if not with_features:
            return scores
        prediction = (columns.mean - self.centre) / self.spread
        return np.column_stack([scores, prediction, self.standardise(columns)])

    @property
    def first_slopes(self) -> FloatArray:
        """The coefficients of the columns of the mean before any label, without features."""
        return np.array([0.0] * (1 if self.n_models == 1 else self.n_models + 1) + [1.0])


@dataclass(frozen=True, slots=True, eq=False)
class NumberPredictor:
    """The mean and the spread of the label of each item.

    `mean` are coefficients in units of `unit`, `variance` those of the logarithm of the variance in
    its square. Both stop before the features where no regression uses them. Nothing is
    extrapolated: what the mean adds to that of the models is cut to `shift`, and the logarithm of
    the variance to `reach`, their ranges over labelled items. Features with a heavy tail would
    otherwise predict errors that outweigh the whole pool.
    """

    unit: float
    mean: FloatArray
    variance: FloatArray
    reach: tuple[float, float] = (-np.inf, np.inf)
    shift: tuple[float, float] = (-np.inf, np.inf)

    def predict(
        self, columns: NumberColumns, scaling: NumberScaling
    ) -> tuple[FloatArray, FloatArray]:
        """The mean and the standard deviation of the label of each item."""
        n_scores = len(scaling.first_slopes)
        F = scaling.mean_table(columns, self.unit, len(self.mean) > n_scores)
        Z = scaling.variance_table(columns, len(self.variance) > _VARIANCE_SCORES)
        log_variance = np.clip(Z @ self.variance, *self.reach)
        sd = self.unit * np.exp(log_variance / 2)
        shift = np.clip(self.unit * (F @ self.mean) + scaling.centre - columns.mean, *self.shift)
        return columns.mean + shift, np.asarray(sd)

    def fits(self, scaling: NumberScaling) -> bool:
        """True if it was made for columns like those of this pool."""
        n = len(scaling.first_slopes)
        return len(self.mean) in (n, n + scaling.n_features)

    @property
    def background(self) -> float:
        """The share of the prediction that is the same for every item: none."""
        return 0.0

    def effects(self, scaling: NumberScaling) -> tuple[float, FloatArray]:
        """How much the logarithm of the variance varies with the scores, and with each feature."""
        scores = self.variance[1:_VARIANCE_SCORES] * scaling.log_scores.sd
        features = self.variance[_VARIANCE_SCORES + 1 :]
        return float(np.hypot.reduce(scores)), (
            features if len(features) else np.zeros(scaling.n_features)
        )

    def to_json(self) -> dict[str, Any]:
        """Plain values, for the event of a round."""
        return {
            "version": _VERSION,
            "unit": self.unit,
            "mean": self.mean.tolist(),
            "variance": self.variance.tolist(),
            "reach": [None if np.isinf(end) else end for end in self.reach],
            "shift": [None if np.isinf(end) else end for end in self.shift],
        }

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> "NumberPredictor":
        """The predictor that `to_json` wrote."""
        if plain.get("version") != _VERSION:
            raise InputError(
                f"These coefficients are of version {plain.get('version', 1)!r}, not {_VERSION}: "
                f"read them with the predictor that wrote them."
            )
        (low, high), (least, most) = plain["reach"], plain["shift"]
        return cls(
            float(plain["unit"]),
            np.array(plain["mean"], dtype=np.float64),
            np.array(plain["variance"], dtype=np.float64),
            (-np.inf if low is None else float(low), np.inf if high is None else float(high)),
            (-np.inf if least is None else float(least), np.inf if most is None else float(most)),
        )


_VARIANCE_SCORES = 3
"""Columns of the variance without features."""


def prior_number_predictor(scaling: NumberScaling) -> NumberPredictor:
    """The predictor before any label: the mean prediction, missed by its own spread.

    >>> columns = NumberColumns((np.array([1.0, 2.0, 3.0]),))
    >>> scaling = NumberScaling.of(lambda: [columns], 3)
    >>> [x.round(2).tolist() for x in prior_number_predictor(scaling).predict(columns, scaling)]
    [[1.0, 2.0, 3.0], [0.82, 0.82, 0.82]]
    """
    return NumberPredictor(scaling.spread, scaling.first_slopes, _first_variance(scaling))


def _first_variance(scaling: NumberScaling) -> FloatArray:
    return np.array([0.0, _LOSS_SLOPE if scaling.has_loss else 0.0, 0.0])


def fit_number_predictor(
    columns: NumberColumns,
    scaling: NumberScaling,
    labels: FloatArray,
    weights: FloatArray,
    n_drawn: int | None = None,
) -> NumberPredictor:
    """Fit the predictor to labels that are numbers.

    Parameters
    ----------
    columns : The columns of the labelled items, those that were drawn first.
    scaling : The scale of the pool.
    labels : The label of each.
    weights : 1 / ((N - m + 1) q_m) of each, which undo the choice of the items.
    n_drawn : The number of items, the first ones, that were drawn; labels of the others were known
        without a draw, and teach the predictor unless it predicts the drawn ones better without.
    """
    n = len(columns) if n_drawn is None else n_drawn
    weights = weights / (weights[:n].mean() if n else 1.0)
    first = slice(n)
    drawn = None
    if n:
        drawn = _fit(columns.at(first), scaling, labels[first], weights[first])
        if n == len(columns):
            return drawn[0]
    every = _fit(columns, scaling, labels, weights, n)
    return every[0] if drawn is None or every[1] > drawn[1] else drawn[0]


def _fit(
    columns: NumberColumns,
    scaling: NumberScaling,
    labels: FloatArray,
    w: FloatArray,
    n_drawn: int | None = None,
) -> tuple[NumberPredictor, float]:
    """The predictor, and its log-likelihood of the drawn labels if each were left out."""
    drawn = slice(n_drawn or None)
    unit = _unit(labels[drawn], w[drawn], scaling)
    y = (labels - scaling.centre) / unit
    n_scores, options = len(scaling.first_slopes), [False, True][: 2 if scaling.n_features else 1]
    on_scores = _RIDGE_SCORES / (2 if scaling.n_models == 1 else 1)
    tables = [scaling.mean_table(columns, unit, option) for option in options]
    residual = y - tables[0] @ scaling.first_slopes
    s2 = max(float(w[drawn] @ residual[drawn] ** 2) / float(w[drawn].sum()), _LEAST_VARIANCE)
    for _ in range(2):  # the variance decides how much the ridge counts beside the labels
        fits = []
        for table in tables:
            penalty = np.full(table.shape[1], _RIDGE_FEATURES)
            penalty[:n_scores], penalty[0] = on_scores, _RIDGE_INTERCEPT
            prior = np.zeros(table.shape[1])
            prior[:n_scores] = scaling.first_slopes
            fits.append(_linear(table, y, w / s2, prior, penalty))
        missed = np.stack([left_out for _, left_out in fits])
        squares = missed[:, drawn] ** 2 @ w[drawn] / w[drawn].sum()
        s2 = max(float(squares.min()), _LEAST_VARIANCE)
    evidence = -0.5 * np.log(np.maximum(squares, _LEAST_VARIANCE)) * w[drawn].sum()
    shares = _shares(evidence - _COST * np.arange(len(fits)))
    mean = np.zeros(tables[-1].shape[1] if shares[-1] and len(fits) > 1 else n_scores)
    for share, (b, _) in zip(shares, fits, strict=True):
        if share:
            mean[: len(b)] += share * b
    return _with_variance(columns, scaling, (unit, mean), shares @ missed, w, drawn, s2)


def _with_variance(
    columns: NumberColumns,
    scaling: NumberScaling,
    fitted: tuple[float, FloatArray],
    missed: FloatArray,
    w: FloatArray,
    drawn: slice,
    s2: float,
) -> tuple[NumberPredictor, float]:
    """The variance, fitted to squares of what the mean of labels left out misses by."""
    unit, mean = fitted
    squares = np.maximum(missed**2, _LEAST_VARIANCE * s2)
    fits, tables = [], []
    for option in (False, True):
        table = scaling.variance_table(columns, option)
        penalty = np.full(table.shape[1], _RIDGE_OF_VARIANCE)
        penalty[:_VARIANCE_SCORES], penalty[0] = _RIDGE_SCORES, _RIDGE_INTERCEPT
        prior = np.zeros(table.shape[1])
        prior[:_VARIANCE_SCORES] = _first_variance(scaling)
        prior[0] = np.log(s2)
        fits.append(_log_linear(table, squares, w, prior, penalty))
        tables.append(table)
    left_out = np.stack([eta[drawn] for _, eta in fits])
    likelihood = -0.5 * (left_out + squares[drawn] * np.exp(-left_out)) @ w[drawn]
    shares = _shares(likelihood - _COST * np.arange(2))
    variance = np.zeros(tables[-1].shape[1] if shares[-1] else _VARIANCE_SCORES)
    for share, (b, _) in zip(shares, fits, strict=True):
        if share:
            variance[: len(b)] += share * b
    eta = tables[1 if shares[-1] else 0] @ variance
    least = float(np.log(_LEAST_VARIANCE))
    reach = (max(float(eta.min()), least), max(float(eta.max()), least))
    averaged = np.clip(shares @ left_out, *reach)
    value = -0.5 * float((averaged + squares[drawn] * np.exp(-averaged)) @ w[drawn])
    # In units of the labels' spread, which differ if known labels join: log density of a label.
    value -= float(np.log(unit) * w[drawn].sum())
    F = scaling.mean_table(columns, unit, len(mean) > len(scaling.first_slopes))
    shift = unit * (F @ mean) + scaling.centre - columns.mean
    shifts = (float(shift.min()), float(shift.max()))
    return NumberPredictor(unit, mean, variance, reach, shifts), value


def _unit(labels: FloatArray, w: FloatArray, scaling: NumberScaling) -> float:
    """The weighted standard deviation of the labels; that of predictions if labels are alike."""
    mean = float(w @ labels) / float(w.sum())
    spread = float(np.sqrt(w @ (labels - mean) ** 2 / w.sum()))
    return spread if spread > 1e-12 * max(abs(mean), 1e-300) else scaling.spread


def _linear(
    table: FloatArray, y: FloatArray, w: FloatArray, prior: FloatArray, penalty: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Coefficients of a ridge regression, and exactly what it misses each label by, left out."""
    from scipy.linalg import cho_factor, cho_solve

    factor = cho_factor((table.T * w) @ table + np.diag(penalty))
    b = prior + cho_solve(factor, table.T @ (w * (y - table @ prior)))
    leverage = w * np.einsum("ij,ji->i", table, cho_solve(factor, table.T))
    return b, np.asarray((y - table @ b) / np.maximum(1 - leverage, _LEAST_DENOMINATOR))


def _log_linear(
    table: FloatArray, squares: FloatArray, w: FloatArray, prior: FloatArray, penalty: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Coefficients of the logarithm of a variance, and it for each item left out.

    It minimises 1/2 sum penalty (b - prior)^2 + 1/2 sum w (eta + squares exp(-eta)), by Fisher
    scoring: the expected second derivatives do not depend on b.
    """
    from scipy.linalg import cho_factor, cho_solve

    factor = cho_factor((table.T * (w / 2)) @ table + np.diag(penalty))

    def objective(b: FloatArray) -> float:
        eta = table @ b
        deviance = w @ (eta + squares * np.exp(np.clip(-eta, -300, 300)))
        return float(0.5 * (penalty @ (b - prior) ** 2 + deviance))

    b, value = prior, objective(prior)
    for _ in range(_STEPS):
        slope = table.T @ (w / 2 * (squares * np.exp(-(table @ b)) - 1)) - penalty * (b - prior)
        step = cho_solve(factor, slope)
        while (reached := objective(b + step)) > value and np.abs(step).max() > _CONVERGED:
            step = step / 2
        if reached <= value:
            b, value = b + step, reached
        if np.abs(step).max() <= _CONVERGED:
            break
    eta = table @ b
    leverage = w / 2 * np.einsum("ij,ji->i", table, cho_solve(factor, table.T))
    pull = leverage / np.maximum(1 - leverage, _LEAST_DENOMINATOR)
    # A square far above its variance would throw the first-order step far beyond the others.
    return b, np.asarray(eta - np.clip(pull * (squares * np.exp(-eta) - 1), -1, 1))


def _shares(evidence: FloatArray) -> FloatArray:
    """The share of each regression, by its likelihood of labels left out (as for classes)."""
    shares = np.exp(evidence - evidence.max())
    shares = np.where(shares < _LEAST_SHARE * shares.sum(), 0, shares)
    return np.asarray(shares / shares.sum())
