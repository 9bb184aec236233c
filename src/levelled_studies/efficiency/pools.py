"""The tasks of the benchmark: pools whose labels are known, real and synthetic, and their limits.

For 0/1 losses with error probability pi(x) no method of this kind has a label factor above

    E[pi] (1 - E[pi]) / E[sqrt(pi (1 - pi))]^2
"""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
from numpy.random import Generator

from levelled._check import FloatArray, IntArray, choice
from levelled._optional import optional
from levelled.simulation import KnownLosses, known_losses
from levelled_studies.real_pools import REAL_POOLS, RealPool, load_real_pool

__all__ = [
    "IMAGES",
    "MISLEADING",
    "SYNTHETIC",
    "load_losses",
    "load_task",
    "real_losses",
    "variance_limit",
]

IMAGES = ("fashion-mnist", "fashion-mnist-strong", "mnist", "mnist-strong", "cifar-10")
MISLEADING = ("useless", "invisible", "overconfident", "sharp", "reversed")
"""Synthetic pools whose predictions mislead, each in a way of its own."""

_SIZE = 10_000
_LEAST = 1e-4
"""Error probabilities below this, and above one less this, count as this."""
_METRICS = {"amount": "mse"}
"""The metric of pools that are not about errors."""
_OF_CLASS = ("precision", "recall", "f1")
"""Metrics of one class: class 1, the rarer one of pools with two."""

Synthetic = tuple[FloatArray, FloatArray]
"""The true probability of an error of each item, and the predicted one."""


def load_task(name: str, seed: int = 0) -> tuple[KnownLosses, float | None]:
    """The losses of a task, and the limit of its label factor if the losses are 0/1.

    A task is the name of a pool, with another metric than error after a blank: "spam f1".
    """
    if name in SYNTHETIC:
        return _synthetic(name, np.random.default_rng(seed))
    known, real = _real(name)
    if not known.is_share:
        return known, None
    top = np.sort(real.pred, axis=1)[:, -2:]
    return known, _estimated_limit(np.column_stack([real.features, top]), known)


def load_losses(name: str, seed: int = 0) -> KnownLosses:
    """The losses of a task without its limit, which takes long to estimate on a real pool."""
    if name in SYNTHETIC:
        return _synthetic(name, np.random.default_rng(seed))[0]
    return _real(name)[0]


def _real(name: str) -> tuple[KnownLosses, RealPool]:
    pool, _, metric = name.partition(" ")
    real = load_real_pool(choice("The name of a pool", pool, (*SYNTHETIC, *REAL_POOLS)))
    return real_losses(real, metric or _METRICS.get(pool, "error")), real


def real_losses(real: RealPool, metric: str) -> KnownLosses:
    """The losses of a real pool, with its predictions and features."""
    columns = {"id": np.arange(len(real)), "y": real.label}
    if real.pred.ndim == 1:
        columns["pred"] = real.pred
    else:
        columns |= {f"proba_{k}": p for k, p in enumerate(real.pred.T)}
    columns |= {f"f_{k}": x for k, x in enumerate(real.features.T)}
    named = f"{metric}:1" if metric in _OF_CLASS else metric
    return known_losses(pa.table(columns), "y", named)


def variance_limit(chance: FloatArray) -> float:
    """The largest label factor where the error of item n has the probability `chance[n]`.

    >>> variance_limit(np.array([0.2, 0.2]))
    1.0
    """
    p = np.clip(chance, _LEAST, 1 - _LEAST)
    mean = float(p.mean())
    return mean * (1 - mean) / float(np.sqrt(p * (1 - p)).mean()) ** 2


def _estimated_limit(X: FloatArray, known: KnownLosses) -> float:
    """The larger limit of two predictors of the error, each fitted to four fifths of all labels."""
    assert known.expected is not None
    selection = optional("sklearn.model_selection", extra="sklearn")
    linear = optional("sklearn.linear_model", extra="sklearn").LogisticRegression(
        C=0.1, max_iter=1000
    )
    boosting = optional("sklearn.ensemble", extra="sklearn").HistGradientBoostingClassifier(
        max_depth=3, learning_rate=0.05, max_iter=150, random_state=0
    )
    chance = np.clip(known.expected, _LEAST, 1 - _LEAST)
    scores = np.column_stack([_logit(chance), X / X.std(axis=0).clip(_LEAST)])
    folds = selection.StratifiedKFold(5, shuffle=True, random_state=0)
    limits = []
    for model, features in ((linear, scores), (boosting, np.column_stack([scores, X]))):
        chance = selection.cross_val_predict(
            model, features, known.losses, cv=folds, method="predict_proba"
        )
        limits.append(variance_limit(chance[:, 1]))
    return max(limits)


def _synthetic(name: str, rng: Generator) -> tuple[KnownLosses, float]:
    chance, predicted = SYNTHETIC[name](rng)
    wrong = rng.random(len(chance)) < chance
    if name == "prevalence-1%":  # the share of a class, with probabilities of the class
        columns = {"proba_no": 1 - predicted, "proba_yes": predicted}
        labels = np.where(wrong, "yes", "no")
        metric = "share:yes"
    else:
        columns = {"pred": np.full(len(chance), "a"), "loss_hat": predicted}
        labels, metric = np.where(wrong, "b", "a"), "error"
    table = pa.table({"id": np.arange(len(chance)), **columns, "y": labels})
    return known_losses(table, "y", metric), variance_limit(chance)


def _rates(rng: Generator, mean: float, concentration: float) -> FloatArray:
    rates = rng.beta(concentration * mean, concentration * (1 - mean), _SIZE)
    return np.clip(rates * mean / rates.mean(), 1e-5, 1 - 1e-5)


def _logit(p: FloatArray) -> FloatArray:
    return np.log(p / (1 - p))


def _expit(x: FloatArray) -> FloatArray:
    return 1 / (1 + np.exp(-x))


def _useless(rng: Generator) -> Synthetic:
    """Scores that have nothing to do with the errors."""
    return np.full(_SIZE, 0.05), _rates(rng, 0.05, 2.0)


def _invisible(rng: Generator) -> Synthetic:
    """Scores that see two thirds of the errors; the others are anywhere."""
    seen = _rates(rng, 0.05, 1.0)
    return 2 / 3 * seen + 0.05 / 3, seen


def _overconfident(rng: Generator) -> Synthetic:
    """Logits that are three times as far out as they should be, and noisy."""
    chance = _rates(rng, 0.1, 4.0)
    return chance, _expit(3 * _logit(chance) + 3 + rng.normal(size=_SIZE))


def _sharp(rng: Generator) -> Synthetic:
    """Errors that are nearly certain, or nearly impossible, and known to be."""
    chance = _rates(rng, 0.05, 0.1)
    return chance, chance


def _reversed(rng: Generator) -> Synthetic:
    """Scores in exactly the wrong order."""
    chance = _rates(rng, 0.05, 2.0)
    order: IntArray = np.argsort(chance)
    predicted = np.empty(_SIZE)
    predicted[order] = chance[order[::-1]]
    return chance, predicted


def _rare(rng: Generator) -> Synthetic:
    """Errors of one item in a thousand, with noisy scores."""
    chance = _rates(rng, 0.001, 20.0)
    return chance, np.clip(chance * np.exp(0.5 * rng.normal(size=_SIZE)), 1e-5, 0.9)


def _prevalence(rng: Generator) -> Synthetic:
    """A class of one item in a hundred, with probabilities that are about right."""
    chance = _rates(rng, 0.01, 1.0)
    return chance, _expit(_logit(chance) + 0.5 * rng.normal(size=_SIZE))


SYNTHETIC: dict[str, Callable[[Generator], Synthetic]] = {
    "useless": _useless,
    "invisible": _invisible,
    "overconfident": _overconfident,
    "sharp": _sharp,
    "reversed": _reversed,
    "errors-0.1%": _rare,
    "prevalence-1%": _prevalence,
}
"""Synthetic pools of 10,000 items by name."""
