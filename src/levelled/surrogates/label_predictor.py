"""A predictor of the label of each item, calibrated on the labels so far.

The chance of label c of item n, from the probabilities p_k of one or more models, is the softmax of

    eta[n, c] = sum_k a_k log p_k[n, c] + a' log mean_k p_k[n, c] + b_c + x_n . W[:, c]
                + 1[c = pred_n] (alpha + gamma . x_n + step(n))

with x the standardised features and step a function of the averaged probability of an error that
is constant in each of a few bins. Several regressions, each with some of these terms, are averaged
by how well they predict labels left out. All are linear in the coefficients, so the average of
their eta is that of their coefficients, and one softmax serves all. A background share, estimated
from labels left out as well, allows for errors that none of them sees.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from levelled._check import FloatArray, IntArray
from levelled.errors import InputError
from levelled.surrogates.covariates import ColumnMoments, LogitFamily, first_slope, solve_intercept

_VERSION = 2
"""Of the coefficients written down with each round; version 1 predicts the loss."""
_CLIP = 1e-5  # guard: the logarithm of 0 is infinite
_LEAST, _MOST = 0.002, 0.5  # STATISTICS 1.13.2: no pool of the studies expects less or more
"""The pool's mean error before any label lies between these."""
_BLOCK = 16_384
"""Items computed at once: their tables of ten classes stay in a processor's cache."""
_SAMPLED = 20_000
"""About so many items decide the bins of the step function."""
_BINS = 8
"""Bins of the step function. STATISTICS 1.16.2: 6 to 10."""
_MOST_CLASSES = 50  # as the predictor of the loss: labels are too few for so many classes
"""Where there are more classes, none of them has a coefficient of its own."""
_MOST_SLOPES = 400  # a fit takes the cube of their number
"""Where classes times features are more, no class has slopes of its own."""

_STEPS, _CONVERGED = 30, 1e-5  # Newton: an error of 1e-5 before a step is one of 1e-10 after it
_LARGEST_LEVERAGE = 0.95  # guard: a label that alone decides a coefficient
_LARGEST_ETA = 80.0  # guard: exp of more than 88 overflows in 32 bits; chances are cut before that
_LOST_RIDGE = 1e-12  # guard: a ridge that rounding loses beside huge weights
_RIDGE_ALPHA = 0.02  # STATISTICS 1.16.2, as all ridges but those of slopes and steps
_RIDGE_SCORES = 2.0  # STATISTICS 1.16.2
_RIDGE_CLASSES = 2.0  # STATISTICS 1.16.2
_RIDGE_FEATURES = 10.0  # STATISTICS 1.16.2
# Label factor of the error at 200 labels: 10 instead gives spam -5%, digits -4%, IMDB +3%; 3 gives
# spam +2%, IMDB -1%, MNIST -2% (10-12 repetitions, +-2-4%). Two classes differ by the difference of
# two slopes, on which the ridge is 2.5.
_RIDGE_SLOPES = 5.0
_RIDGE_STEPS = 2.0  # .5 and 10 change the mean label factor of six pools by less than .5%
_RIDGE_OF_VERDICTS, _RIDGE_BESIDE_VERDICTS = 10.0, 4.0  # as the predictor of the loss
"""On scores that a verdict gives, which are two or a few, and on all else beside them."""
_COST = 1.0  # STATISTICS 1.13.3
"""The log-likelihood by which a further set of coefficients must be better to count as much.

For slopes of ten classes 1 instead of 9 costs 3% of the label factor on Fashion-MNIST."""
_LEAST_SHARE = 0.02  # STATISTICS 1.13.3
"""A regression with a smaller share of the average is left out."""
_BACKGROUND = np.array([0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0])  # STATISTICS 1.13.4
_BACKGROUND_PRIOR = _BACKGROUND**-0.25
_FIRST_BACKGROUND = 0.1
_PRIOR_LABELS, _LEAST_ERRORS = 0.5, 0.2  # STATISTICS 1.13.4
"""Labels that the expected mean error counts as, and errors that are never fewer."""
_LEAST_ERROR, _LEAST_RIGHT = 1e-5, 1e-4  # guard: a certain item would never be drawn
"""The smallest chances of an error and of the predicted class."""

Table = NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class LabelColumns:
    """What is known of the labels of a run of items: columns the predictor learns from.

    `proba` are tables [n, C], one or more: chances of each label by the model, by surrogates and by
    other models. `pred` [n] is the class that the first model predicts, as a column of the tables.
    `features` [n, D] are finite, on any scale.
    """

    proba: tuple[Table, ...]
    pred: IntArray
    features: Table | None = None

    def __post_init__(self) -> None:
        shapes = [table.shape for table in self.proba]
        if not shapes or len({*shapes}) > 1 or len(shapes[0]) != 2 or shapes[0][0] != len(self):
            raise InputError(
                f"proba must be one or more tables, all with a row for each of the {len(self)} "
                f"items and a column for each class; their shapes are {shapes}."
            )
        if shapes[0][1] < 2:
            raise InputError(f"proba must have two classes or more; it has {shapes[0][1]}.")
        X = self.features
        if X is not None and (
            X.ndim != 2 or len(X) != len(self) or not np.isfinite(X.sum(dtype=np.float64))
        ):
            raise InputError(
                f"features must be finite numbers, one row for each of the {len(self)} items; "
                f"their shape is {X.shape}."
            )

    def __len__(self) -> int:
        return len(self.pred)

    @property
    def n_classes(self) -> int:
        """The number of possible labels."""
        return int(self.proba[0].shape[1])

    def at(self, rows: IntArray | slice) -> "LabelColumns":
        """The columns of some items, in their order."""
        return LabelColumns(
            tuple(table[rows] for table in self.proba),
            self.pred[rows],
            None if self.features is None else self.features[rows],
        )

    def blocks(self) -> Iterator[slice]:
        """Places of the items, a block at a time."""
        return (slice(start, start + _BLOCK) for start in range(0, len(self), _BLOCK))

    def mean_proba(self, part: slice) -> Table:
        """The averaged probabilities of a block, as they are."""
        total = self.proba[0][part]
        if len(self.proba) == 1:
            return total
        for table in self.proba[1:]:
            total = total + table[part]
        return np.asarray(total / total.dtype.type(len(self.proba)))


@dataclass(frozen=True, slots=True, eq=False)
class LabelScaling:
    """What the columns of all items of a pool have in common.

    It follows from the pool alone, so it is computed anew and never stored. `prior_error` is the
    mean chance of an error before any label, and `alpha` the coefficient of the predicted class
    that makes the predictions have this mean. `edges` divide averaged chances of an error into
    bins. With `from_verdicts` the probabilities are known by the predicted class alone.
    """

    n_tables: int
    n_classes: int
    prior_error: float
    alpha: float
    edges: FloatArray
    features: ColumnMoments | None
    from_verdicts: bool

    @classmethod
    def of(
        cls,
        runs: Callable[[], Iterable[LabelColumns]],
        pool_size: int,
        from_verdicts: bool = False,
    ) -> "LabelScaling":
        """The scale of a pool, in one pass over its columns. It takes 16 bytes for each item.

        Parameters
        ----------
        runs : The columns of the pool, a run of rows at a time; each call begins a new pass.
        pool_size : The number of items in all runs.
        from_verdicts : True if the probabilities are known by the predicted class alone.
        """
        slope = first_slope(from_verdicts)
        error, steep = np.empty(pool_size), np.empty(pool_size)
        moments, start, tables, classes = ColumnMoments(), 0, 0, 0
        for run in runs():
            tables, classes = len(run.proba), run.n_classes
            for part in run.blocks():
                mean, pred = run.mean_proba(part), run.pred[part]
                rows, end = np.arange(len(pred)), start + len(pred)
                error[start:end] = 1 - mean[rows, pred]
                # Faster than **: a pass over 10 million of 64 bits takes 1.0 s, not 1.6 s.
                powers = np.exp(slope * np.log(np.maximum(mean, mean.dtype.type(_CLIP))))
                own = powers[rows, pred].astype(np.float64)
                powers[rows, pred] = 0
                steep[start:end] = np.log(powers.sum(axis=1, dtype=np.float64) / own)
                start = end
            if run.features is not None:
                moments.add(run.features)
        prior_error = float(np.clip(error.mean(), _LEAST, _MOST))
        alpha = -solve_intercept(LogitFamily(), steep, prior_error)
        some = error[:: max(pool_size // _SAMPLED, 1)]
        has_features = moments if moments.n else None
        return cls(
            tables, classes, prior_error, alpha, _bin_edges(some), has_features, from_verdicts
        )

    @property
    def n_features(self) -> int:
        """The number of features, 0 if there are none."""
        return 0 if self.features is None else len(self.features.mean)

    @property
    def start(self) -> FloatArray:
        """The coefficients of the logarithms of probabilities before any label."""
        slope = first_slope(self.from_verdicts)
        return np.array([slope] if self.n_tables == 1 else [0.0] * self.n_tables + [slope])

    def standardise(self, features: Table) -> FloatArray:
        """Features of mean 0 and spread 1 over the pool; 0 where a column does not vary."""
        assert self.features is not None
        return np.asarray((features - self.features.mean) / self.features.spread())

    def bins(self, error: Table) -> IntArray:
        """The bin of each averaged chance of an error."""
        return np.searchsorted(self.edges, error, side="right")


def _bin_edges(error: FloatArray) -> FloatArray:
    """Edges between bins that have the same sum of 1/2 + sqrt(e (1 - e)) / (2 mean) each.

    So half of what a bin holds is items and half is the spread of their errors, as in a stratified
    design: bins of items alone would leave all errors of a good model to one or two of them.
    """
    e = np.sort(error)
    spread = np.sqrt(np.clip(e, _CLIP, 1 - _CLIP) * (1 - np.clip(e, _CLIP, 1 - _CLIP)))
    held = np.cumsum(0.5 + 0.5 * spread / spread.mean()) / len(e)
    at = np.searchsorted(held, np.arange(1, _BINS) / _BINS)
    return np.unique(e[np.minimum(at, len(e) - 1)])


@dataclass(frozen=True, slots=True, eq=False)
class LabelPredictor:
    """The chance of each label of each item.

    The coefficients are the average of those of several regressions; empty where none has them.
    `scores` are those of the logarithms of each model's probabilities and, if there are several
    models, of their mean; `classes` [C] those of the labels; `alpha`, `slopes` [D] and `steps`
    those of the predicted class, of the features there and of the bins; `class_slopes` [D, C] those
    of the features for each label. `background` is the share of an error as likely for every
    item, `level` its chance.
    """

    scores: FloatArray
    alpha: float
    classes: FloatArray
    slopes: FloatArray
    steps: FloatArray
    class_slopes: FloatArray
    background: float
    level: float

    def predict(self, columns: LabelColumns, scaling: LabelScaling) -> FloatArray:
        """The chances [n, C] of each label of each item, which sum to 1.

        Tables of 32 bits are computed with in 32 bits, which halves the time.
        """
        n, C = len(columns), columns.n_classes
        predicted = np.empty((n, C))
        kind = np.result_type(*columns.proba).type
        linear, ones = self._linear(scaling), np.ones(C, dtype=kind)  # x @ ones is the fastest sum
        for part in columns.blocks():
            pred = columns.pred[part]
            rows = np.arange(len(pred))
            mean = columns.mean_proba(part)
            clipped = np.maximum(mean, kind(_CLIP), dtype=kind)
            eta = np.log(clipped)
            eta *= kind(self.scores[-1])
            if len(self.scores) > 1:
                for a, table in zip(self.scores, columns.proba, strict=False):
                    eta += kind(a) * np.log(np.maximum(table[part], kind(_CLIP)), dtype=kind)
            own = np.full(len(pred), self.alpha, dtype=kind)
            if len(self.steps):
                own += self.steps[scaling.bins(1 - mean[rows, pred])].astype(kind)
            if linear is not None and columns.features is not None:
                products = columns.features[part].astype(kind, copy=False) @ linear[0].astype(kind)
                products += linear[1].astype(kind)
                own += products[:, -1]
                if len(self.class_slopes):
                    eta += products[:, :-1]
            if len(self.classes):
                eta += self.classes.astype(kind)
            own += eta[rows, pred]
            eta -= own[:, None]
            eta[rows, pred] = 0
            np.minimum(eta, kind(_LARGEST_ETA), out=eta)
            np.exp(eta, out=eta)
            eta *= (kind(1 - self.background) / (eta @ ones))[:, None]
            # The predicted class gets what the others leave, so only their base is added.
            clipped[rows, pred] = 0
            clipped *= (kind(self.background * self.level) / (clipped @ ones))[:, None]
            eta += clipped
            np.maximum(eta, kind(_LEAST_ERROR / (C - 1)), out=eta)
            eta[rows, pred] = 0
            out = predicted[part]
            out[:] = eta
            others = out @ np.ones(C)
            most = 1 - _LEAST_RIGHT
            if others.max(initial=0) > most:
                out *= np.minimum(1, most / others)[:, None]
                others = out @ np.ones(C)
            out[rows, pred] = 1 - others
        return predicted

    def fits(self, scaling: LabelScaling) -> bool:
        """True if it was made for columns like those of this pool."""
        return len(self.scores) == len(scaling.start)

    def _linear(self, scaling: LabelScaling) -> tuple[FloatArray, FloatArray] | None:
        """The slopes on features as they are, those of the predicted class last, and constants."""
        if scaling.features is None or not (len(self.slopes) or len(self.class_slopes)):
            return None
        own = self.slopes if len(self.slopes) else np.zeros(scaling.n_features)
        parts = [self.class_slopes, own[:, None]] if len(self.class_slopes) else [own[:, None]]
        slopes = np.hstack(parts) / scaling.features.spread()[:, None]
        return slopes, -scaling.features.mean @ slopes

    def to_json(self) -> dict[str, Any]:
        """Plain values, for the event of a round."""
        return {
            "version": _VERSION,
            "scores": self.scores.tolist(),
            "alpha": self.alpha,
            "classes": self.classes.tolist(),
            "slopes": self.slopes.tolist(),
            "steps": self.steps.tolist(),
            "class_slopes": self.class_slopes.tolist(),
            "background": self.background,
            "level": self.level,
        }

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> "LabelPredictor":
        """The predictor that `to_json` wrote."""
        if plain.get("version") != _VERSION:
            raise InputError(
                f"These coefficients are of version {plain.get('version', 1)!r}, not {_VERSION}: "
                f"read them with the predictor that wrote them."
            )
        arrays = {
            name: np.array(plain[name], dtype=np.float64)
            for name in ("scores", "classes", "slopes", "steps", "class_slopes")
        }
        numbers = {name: float(plain[name]) for name in ("alpha", "background", "level")}
        return cls(**arrays, **numbers)  # type: ignore[arg-type]


def prior_label_predictor(scaling: LabelScaling) -> LabelPredictor:
    """The predictor before any label: the models' own view, flattened.

    >>> proba = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
    >>> columns = LabelColumns((proba,), proba.argmax(axis=1))
    >>> scaling = LabelScaling.of(lambda: [columns], 3)
    >>> prior_label_predictor(scaling).predict(columns, scaling).round(2).tolist()
    [[0.87, 0.13], [0.21, 0.79], [0.65, 0.35]]
    """
    none = np.empty(0)
    return LabelPredictor(
        scaling.start,
        scaling.alpha,
        none,
        none,
        none,
        none,
        _FIRST_BACKGROUND,
        scaling.prior_error,
    )


def fit_label_predictor(
    columns: LabelColumns,
    scaling: LabelScaling,
    labels: IntArray,
    weights: FloatArray,
    before: LabelPredictor | None = None,
    n_drawn: int | None = None,
) -> LabelPredictor:
    """Fit the predictor to labels.

    Parameters
    ----------
    columns : The columns of the labelled items, those that were drawn first.
    scaling : The scale of the pool.
    labels : The label of each, as a column of the probabilities.
    weights : 1 / ((N - m + 1) q_m) of each, which undo the choice of the items.
    before : An earlier fit to begin from.
    n_drawn : The number of items, the first ones, that were drawn. Labels of the others were known
        without a draw, and may be of any choice of items: the regressions learn from them, unless
        they predict the drawn labels better without.
    """
    n = len(columns) if n_drawn is None else n_drawn
    weights = weights / (weights[:n].mean() if n else 1.0)
    first = slice(n)
    drawn = None
    if n:
        drawn = _fit(columns.at(first), scaling, labels[first], weights[first], before)
        if n == len(columns):
            return drawn[0]
    every = _fit(columns, scaling, labels, weights, before, n)
    return every[0] if drawn is None or every[1] > drawn[1] else drawn[0]


@dataclass(frozen=True, slots=True)
class _Terms:
    """The sets of coefficients that a regression has besides scores and alpha."""

    slopes: bool = False
    class_slopes: bool = False
    steps: bool = False
    classes: bool = True

    def cost(self, n_classes: int) -> float:
        """The log-likelihood by which the regression must be better to count as much.

        Slopes for each class are as many sets as classes can differ in.
        """
        return _COST * (self.slopes + self.steps + (n_classes - 1) * self.class_slopes)


def _candidates(scaling: LabelScaling) -> list[_Terms]:
    """The regressions to average. Beside verdicts features are always used, as a verdict alone
    teaches little, and there are no steps, as there are no scores to take them of."""
    D, C = scaling.n_features, scaling.n_classes
    with_features = [_Terms(slopes=True)] if D else []
    if D and C * D <= _MOST_SLOPES:
        with_features.append(_Terms(class_slopes=True))
    if scaling.from_verdicts:
        return with_features or [_Terms()]
    scores = [_Terms(classes=False), _Terms()] if C <= _MOST_CLASSES else [_Terms()]
    return [*scores, *with_features, _Terms(steps=True)]


@dataclass(frozen=True, slots=True, eq=False)
class MultinomialRidge:
    """Minimise 1/2 sum penalty (b - prior)^2 - sum weights log softmax(eta)[label].

    eta[i, c] = table[i, c] . b + X[i] . W[:, c], where the last D C coefficients are W, a row for
    each class, if there is an X [m, D]: its derivatives are blocks that need no table [m, C, D C].
    """

    table: FloatArray
    X: FloatArray | None
    labels: IntArray
    weights: FloatArray
    prior: FloatArray
    penalty: FloatArray

    def fit(self, start: FloatArray) -> FloatArray:
        """The coefficients, by damped Newton steps."""
        from scipy.linalg import cho_solve

        b, value = start, self.objective(start)
        for _ in range(_STEPS):
            p = self._chances(self.eta(b))
            slope = self._gradient(p) - self.penalty * (b - self.prior)
            step = cho_solve(self._hessian(p)[1], slope)
            b, value, moved = self._damped(b, value, step)
            if moved < _CONVERGED:
                break
        return b

    def eta(self, b: FloatArray) -> FloatArray:
        """The linear predictor [m, C]."""
        n_small = self.table.shape[2]
        eta = self.table @ b[:n_small]
        if self.X is not None:
            eta += self.X @ b[n_small:].reshape(-1, self.X.shape[1]).T
        return np.asarray(eta)

    def objective(self, b: FloatArray) -> float:
        """What is minimised."""
        eta = self.eta(b)
        likelihood = eta[np.arange(len(eta)), self.labels] - _log_sum(eta)
        return float(0.5 * self.penalty @ (b - self.prior) ** 2 - self.weights @ likelihood)

    def left_out(self, b: FloatArray) -> FloatArray:
        """The linear predictor [m, C] of each item if its own label were not known, to first order.

            eta_i - T_i (I - w_i V_i T_i)^-1 w_i (y_i - p_i),    T_i = G_i H^-1 G_i'

        G_i [C, P] holds the derivatives of eta_i, V_i = diag(p_i) - p_i p_i'. Where there are fewer
        coefficients than classes, the same step is taken in the coefficients.
        """
        eta = self.eta(b)
        p = self._chances(eta)
        hessian, factor = self._hessian(p)
        residual = -p
        residual[np.arange(len(p)), self.labels] += 1
        residual *= self.weights[:, None]
        if self.X is None and len(b) < p.shape[1]:
            return self._left_out_few(eta, p, residual, hessian)
        T = self._own_covariance(factor)
        curvature = self.weights[:, None, None] * (
            p[:, :, None] * np.eye(p.shape[1]) - p[:, :, None] * p[:, None, :]
        )
        leverage = curvature @ T
        leverage *= _guard(np.trace(leverage, axis1=1, axis2=2))[:, None, None]
        solved = np.linalg.solve(np.eye(p.shape[1]) - leverage, residual[:, :, None])
        return np.asarray(eta - (T @ solved)[:, :, 0])

    def _left_out_few(
        self, eta: FloatArray, p: FloatArray, residual: FloatArray, hessian: FloatArray
    ) -> FloatArray:
        centred = self.table - p[:, None, :] @ self.table
        own = (centred * (self.weights[:, None] * p)[:, :, None]).transpose(0, 2, 1) @ centred
        own *= _guard(np.einsum("ij,mij->m", np.linalg.inv(hessian), own))[:, None, None]
        gradient = residual[:, None, :] @ self.table
        steps = np.linalg.solve(hessian - own, gradient.transpose(0, 2, 1))
        return np.asarray(eta - (self.table @ steps)[:, :, 0])

    def _own_covariance(self, factor: tuple[FloatArray, bool]) -> FloatArray:
        """T_i [m, C, C], from blocks of the inverse of the Hessian."""
        from scipy.linalg import cho_solve

        m, C, n_small = self.table.shape
        inverse = cho_solve(factor, np.eye(len(self.prior)))
        T = (self.table @ inverse[:n_small, :n_small]) @ self.table.transpose(0, 2, 1)
        if self.X is None:
            return np.asarray(T)
        D = self.X.shape[1]
        mixed = inverse[:n_small, n_small:].reshape(n_small, C, D)
        cross = (self.X @ mixed.reshape(-1, D).T).reshape(m, n_small, C)
        cross = self.table @ cross
        T += cross + cross.transpose(0, 2, 1)
        blocks = inverse[n_small:, n_small:].reshape(C, D, C, D).transpose(1, 3, 0, 2)
        squares = (self.X[:, :, None] * self.X[:, None, :]).reshape(m, -1)
        return np.asarray(T + (squares @ blocks.reshape(D * D, C * C)).reshape(m, C, C))

    def _gradient(self, p: FloatArray) -> FloatArray:
        """Of the weighted log-likelihood."""
        residual = -p
        residual[np.arange(len(p)), self.labels] += 1
        residual *= self.weights[:, None]
        own = self.table.reshape(-1, self.table.shape[2]).T @ residual.ravel()
        if self.X is None:
            return np.asarray(own)
        return np.concatenate([own, (residual.T @ self.X).ravel()])

    def _hessian(self, p: FloatArray) -> tuple[FloatArray, tuple[FloatArray, bool]]:
        """The second derivatives of the objective, and their Cholesky factor."""
        from scipy.linalg import LinAlgError, cho_factor

        m, C, n_small = self.table.shape
        wp = self.weights[:, None] * p
        centred = self.table - (p[:, None, :] @ self.table)
        weighed = (centred * wp[:, :, None]).reshape(-1, n_small)
        hessian = np.diag(self.penalty)
        hessian[:n_small, :n_small] += weighed.T @ centred.reshape(-1, n_small)
        if self.X is not None:
            D = self.X.shape[1]
            cross = (weighed.reshape(m, -1).T @ self.X).reshape(C, n_small, D)
            for c in range(C):
                at = slice(n_small + c * D, n_small + (c + 1) * D)
                hessian[:n_small, at] = cross[c]
                hessian[at, :n_small] = cross[c].T
                hessian[at, at] += (self.X.T * wp[:, c]) @ self.X
            Z = (p[:, :, None] * self.X[:, None, :]).reshape(m, -1)
            hessian[n_small:, n_small:] -= (Z.T * self.weights) @ Z
        factor: tuple[FloatArray, bool]
        try:
            factor = cho_factor(hessian)
        except LinAlgError:  # weights so large that rounding loses the ridge
            hessian += np.diag(np.full(len(hessian), _LOST_RIDGE * hessian.diagonal().max()))
            factor = cho_factor(hessian)
        return hessian, factor

    def _damped(
        self, b: FloatArray, value: float, step: FloatArray
    ) -> tuple[FloatArray, float, float]:
        """The first of the step, its half, its quarter, ... that does not raise the objective."""
        for _ in range(_STEPS):
            reached = self.objective(b + step)
            if reached <= value:
                return b + step, reached, float(np.abs(step).max())
            step = step / 2
        return b, value, 0.0

    @staticmethod
    def _chances(eta: FloatArray) -> FloatArray:
        p = np.exp(eta - eta.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        return np.asarray(p)


def _guard(trace: FloatArray) -> FloatArray:
    """Factors below 1 where leverages, whose sum is the trace, could be nearly 1."""
    return np.minimum(1, _LARGEST_LEVERAGE / np.maximum(trace, _LARGEST_LEVERAGE))


def _log_sum(eta: FloatArray) -> FloatArray:
    most = eta.max(axis=1)
    return np.asarray(most + np.log(np.exp(eta - most[:, None]).sum(axis=1)))


@dataclass(frozen=True, slots=True, eq=False)
class _Labelled:
    """The columns of labelled items as the regressions need them."""

    scaling: LabelScaling
    scores: FloatArray
    """[m, C, S]: logarithms of the probabilities of each model and of their mean."""
    pred: IntArray
    bins: IntArray
    X: FloatArray | None
    base: FloatArray
    """[m, C]: shares of the classes that are not predicted; 0 for the predicted one."""

    @classmethod
    def of(cls, columns: LabelColumns, scaling: LabelScaling) -> "_Labelled":
        every, rows = slice(0, len(columns)), np.arange(len(columns))
        mean = columns.mean_proba(every)
        tables = [mean] if len(columns.proba) == 1 else [*columns.proba, mean]
        clipped = [np.maximum(table.astype(np.float64), _CLIP) for table in tables]
        base = clipped[-1].copy()
        base[rows, columns.pred] = 0
        X = columns.features
        return cls(
            scaling,
            np.log(np.stack(clipped, axis=2)),
            columns.pred,
            scaling.bins(1 - mean[rows, columns.pred]),
            None if X is None else scaling.standardise(X),
            base / base.sum(axis=1, keepdims=True),
        )

    def ridge(self, terms: _Terms, labels: IntArray, weights: FloatArray) -> MultinomialRidge:
        """The regression with these terms."""
        scaling, judged = self.scaling, self.scaling.from_verdicts
        m, C, S = self.scores.shape
        B, D, rows = len(scaling.edges) + 1, scaling.n_features, np.arange(m)
        n_classes = C if C <= _MOST_CLASSES and terms.classes else 0
        n_slopes, n_steps = D * terms.slopes, B * terms.steps
        table = np.zeros((m, C, S + n_classes + 1 + n_slopes + n_steps))
        table[:, :, :S] = self.scores
        at = S
        if n_classes:
            table[:, np.arange(C), S + np.arange(C)] = 1
            at += C
        table[rows, self.pred, at] = 1
        if terms.slopes:
            table[rows, self.pred, at + 1 : at + 1 + D] = self.X
        if terms.steps:
            table[rows, self.pred, at + 1 + n_slopes + self.bins] = 1
        n_matrix = C * D * terms.class_slopes
        # One model's probabilities are their own mean: a and a', of ridge 2 each, act as one
        # coefficient, which has ridge 1.
        on_scores = (_RIDGE_OF_VERDICTS if judged else _RIDGE_SCORES) / (2 if S == 1 else 1)
        beside = _RIDGE_BESIDE_VERDICTS
        sizes = (S, n_classes, 1, n_slopes, n_steps, n_matrix)
        ridges = (
            on_scores,
            beside if judged else _RIDGE_CLASSES,
            _RIDGE_ALPHA,
            beside if judged else _RIDGE_FEATURES,
            _RIDGE_STEPS,
            beside if judged else _RIDGE_SLOPES,
        )
        prior = np.zeros(sum(sizes))
        prior[:S], prior[at] = scaling.start, scaling.alpha
        return MultinomialRidge(
            table,
            self.X if terms.class_slopes else None,
            labels,
            weights,
            prior,
            np.repeat(ridges, sizes),
        )


def _pack(predictor: LabelPredictor, terms: _Terms, scaling: LabelScaling) -> FloatArray:
    """The coefficients of a regression with these terms, from those of a predictor."""
    C, D, B = scaling.n_classes, scaling.n_features, len(scaling.edges) + 1
    n_classes = C if C <= _MOST_CLASSES and terms.classes else 0

    def filled(values: FloatArray, size: int) -> FloatArray:
        return values if values.size == size else np.zeros(size)

    parts = [predictor.scores, filled(predictor.classes, n_classes), np.array([predictor.alpha])]
    if terms.slopes:
        parts.append(filled(predictor.slopes, D))
    if terms.steps:
        parts.append(filled(predictor.steps, B))
    if terms.class_slopes:
        parts.append(filled(predictor.class_slopes.T.ravel(), C * D))
    return np.concatenate(parts)


def _unpack(
    shares: FloatArray, fits: list[FloatArray], candidates: list[_Terms], scaling: LabelScaling
) -> tuple[FloatArray, float, FloatArray, FloatArray, FloatArray, FloatArray]:
    """The averaged coefficients of regressions, in the order of `LabelPredictor`."""
    C, D, B, S = scaling.n_classes, scaling.n_features, len(scaling.edges) + 1, len(scaling.start)
    total: dict[str, FloatArray] = {}
    for share, b, terms in zip(shares, fits, candidates, strict=True):
        if not share:
            continue
        sizes = {
            "scores": S,
            "classes": C * (terms.classes and C <= _MOST_CLASSES),
            "alpha": 1,
            "slopes": D * terms.slopes,
            "steps": B * terms.steps,
            "class_slopes": C * D * terms.class_slopes,
        }
        for (name, size), part in zip(
            sizes.items(), np.split(b, np.cumsum([*sizes.values()])[:-1]), strict=True
        ):
            if size:
                total[name] = total.get(name, np.zeros(size)) + share * part
    none = np.empty(0)
    matrix = total.get("class_slopes", none)
    return (
        total["scores"],
        float(total["alpha"][0]),
        total.get("classes", none),
        total.get("slopes", none),
        total.get("steps", none),
        matrix.reshape(C, D).T.copy() if len(matrix) else none,
    )


def _fit(
    columns: LabelColumns,
    scaling: LabelScaling,
    labels: IntArray,
    w: FloatArray,
    before: LabelPredictor | None,
    n_drawn: int | None = None,
) -> tuple[LabelPredictor, float]:
    """The predictor, and its log-likelihood of the drawn labels if each were left out."""
    labelled = _Labelled.of(columns, scaling)
    drawn = slice(n_drawn or None)
    wrong = (labels != columns.pred)[drawn]
    n = len(wrong)
    if n_drawn == 0:  # only labels of any choice of items, whose level says nothing of the others
        level = scaling.prior_error
    else:  # the mean error, drawn a little to what was expected
        total = float(w[drawn] @ wrong) + _PRIOR_LABELS * scaling.prior_error
        level = max(total / (n + _PRIOR_LABELS), _LEAST_ERRORS / n)
    candidates = _candidates(scaling)
    begin = prior_label_predictor(scaling) if before is None else before
    ridges = [labelled.ridge(terms, labels, w) for terms in candidates]
    fits = [
        ridge.fit(_pack(begin, terms, scaling))
        for ridge, terms in zip(ridges, candidates, strict=True)
    ]
    left_out = np.stack([ridge.left_out(b)[drawn] for ridge, b in zip(ridges, fits, strict=True)])
    rows, y, w = np.arange(n), labels[drawn], w[drawn]
    costs = np.array([terms.cost(scaling.n_classes) for terms in candidates])
    shares = _shares(np.array([_log_likelihood(eta, y) @ w for eta in left_out]) - costs)
    averaged = np.exp(_log_likelihood(np.tensordot(shares, left_out, axes=1), y))
    base = np.where(wrong, level * labelled.base[drawn][rows, y], 1 - level)
    background = _FIRST_BACKGROUND if n_drawn == 0 else _background_share(averaged, base, w)
    mixed = (1 - background) * averaged + background * base
    predictor = LabelPredictor(*_unpack(shares, fits, candidates, scaling), background, level)
    return predictor, float(_log(mixed) @ w)


def _log_likelihood(eta: FloatArray, labels: IntArray) -> FloatArray:
    return np.asarray(eta[np.arange(len(eta)), labels] - _log_sum(eta))


def _log(chance: FloatArray) -> FloatArray:
    return np.asarray(np.log(np.maximum(chance, 1e-300)))  # guard: log 0


def _shares(evidence: FloatArray) -> FloatArray:
    """The share of each regression, by its likelihood of labels left out.

    Pseudo-Bayesian model averaging (Geisser and Eddy, 1979).
    """
    shares = np.exp(evidence - evidence.max())
    shares = np.where(shares < _LEAST_SHARE * shares.sum(), 0, shares)
    return np.asarray(shares / shares.sum())


def _background_share(left_out: FloatArray, base: FloatArray, w: FloatArray) -> float:
    """The posterior mean of the share of labels that the regressions do not see."""
    evidence = _log(np.outer(1 - _BACKGROUND, left_out) + np.outer(_BACKGROUND, base)) @ w
    posterior = _BACKGROUND_PRIOR * np.exp(evidence - evidence.max())
    return float(posterior @ _BACKGROUND / posterior.sum())
