"""A digit classifier evaluated from a few chosen labels, many times over.

The data are scikit-learn's handwritten digits. A logistic regression is fitted on 150 of them;
the other 1,647 are a pool whose labels cost money. Every repetition draws some of them with the
default proposal of evaluation (half uniform, half the root mean squared loss the model expects
of itself) and estimates the error rate on the pool from their labels.
"""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from levelled import losses as loss
from levelled._check import FloatArray, IntArray
from levelled._optional import optional
from levelled.backends import Backend
from levelled.estimators import estimate
from levelled.estimators.running import running_lure, running_naive, running_pure
from levelled.proposals import mixture, proportional
from levelled.samplers import race
from levelled.scores import root_mean_squared_loss

__all__ = [
    "EstimatorSummary",
    "Judged",
    "RepetitionSettings",
    "figure",
    "judged_digits",
    "run",
    "save",
    "summary",
]

ESTIMATORS = {"naive": running_naive, "PURE": running_pure, "LURE": running_lure}
COLOURS = {"naive": "#D55E00", "PURE": "#0072B2", "LURE": "#009E73"}
STYLES = {"naive": "-", "PURE": "-", "LURE": "--"}  # PURE and LURE lie on each other
TRAINING_SIZE = 150


@dataclass(frozen=True, slots=True)
class RepetitionSettings:
    """How many labels are bought, how often, and where the randomness starts."""

    labels: int = 100
    repetitions: int = 2000
    seed: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class DigitsPool:
    """What is known of the pool: the proposal's weights, and (to us alone) every loss."""

    weights: FloatArray
    losses: FloatArray


@dataclass(frozen=True, slots=True)
class EstimatorSummary:
    """How one estimator did over all repetitions."""

    name: str
    mean: float
    bias: float
    bias_stderr: float
    spread: float
    rmse: float
    coverage: float | None


def run(settings: RepetitionSettings, *, backend: Backend = map) -> pa.Table:
    """Every repetition's estimates after 1, 2, ..., M labels: a row for each of them."""
    pool = load()
    seeds = range(settings.seed * settings.repetitions, (settings.seed + 1) * settings.repetitions)
    results = list(backend(partial(one_repetition, pool, settings.labels), seeds))
    n = settings.labels
    columns: dict[str, Any] = {
        "repetition": np.repeat(np.arange(len(results)), n),
        "labels": np.tile(np.arange(1, n + 1), len(results)),
        "pool_size": np.full(len(results) * n, len(pool.losses)),
        "truth": np.full(len(results) * n, pool.losses.mean()),
        "covered": np.repeat([covered for _, covered in results], n),
    }
    for at, name in enumerate(ESTIMATORS):
        columns[name] = np.concatenate([estimates[at] for estimates, _ in results])
    return pa.table(columns)


def load() -> DigitsPool:
    """What the classifier is wrong about, and the default proposal."""
    judged = judged_digits()
    score = root_mean_squared_loss(judged.proba)
    return DigitsPool(
        weights=mixture(proportional(score, allow_zero=True), share=0.5),
        losses=loss.zero_one(judged.labels, judged.proba.argmax(axis=1)),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """Digits a classifier was not fitted on: their numbers, images, labels, and what it says."""

    numbers: IntArray
    images: FloatArray
    labels: IntArray
    proba: FloatArray


def judged_digits() -> Judged:
    """Fit a logistic regression on some digits and ask it about all others."""
    datasets = optional("sklearn.datasets", extra="sklearn")
    linear_model = optional("sklearn.linear_model", extra="sklearn")
    images, labels = datasets.load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(labels))
    train, pool = order[:TRAINING_SIZE], order[TRAINING_SIZE:]
    model = linear_model.LogisticRegression(max_iter=2000).fit(images[train] / 16, labels[train])
    return Judged(pool, images[pool], labels[pool], model.predict_proba(images[pool] / 16))


def one_repetition(pool: DigitsPool, labels: int, seed: int) -> tuple[list[FloatArray], bool]:
    """Buy the labels once: running estimates, and whether the interval holds the truth."""
    draws = race(pool.weights, labels, seed=seed)
    seen = pool.losses[draws.index]
    estimates = [
        running(seen, draws.probability, draws.pool_size) for running in ESTIMATORS.values()
    ]
    found = estimate(seen, draws)
    return estimates, found.low <= pool.losses.mean() <= found.high


def summary(table: pa.Table) -> list[EstimatorSummary]:
    """Bias, spread and error of each estimator at the full number of labels."""
    last = _last(table)
    truth = float(last["truth"][0])
    rows = [EstimatorSummary("truth", truth, 0.0, 0.0, 0.0, 0.0, None)]
    for name in ESTIMATORS:
        values = last[name]
        error = values - truth
        rows.append(
            EstimatorSummary(
                name=name,
                mean=float(values.mean()),
                bias=float(error.mean()),
                bias_stderr=float(values.std(ddof=1) / np.sqrt(len(values))),
                spread=float(values.std(ddof=1)),
                rmse=float(np.sqrt(np.mean(error**2))),
                coverage=float(last["covered"].mean()) if name == "LURE" else None,
            )
        )
    return rows


def figure(table: pa.Table, settings: RepetitionSettings) -> Any:  # noqa: ANN401
    """Left: mean and spread of each estimate as labels come in. Right: where they end."""
    plt = optional("matplotlib.pyplot", extra="plots")
    fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", sharey=True)
    last = _last(table)
    truth = float(last["truth"][0])
    shape = (settings.repetitions, settings.labels)
    steps = np.arange(1, settings.labels + 1)
    shown = slice(min(9, settings.labels - 1), None)  # the first few labels say nothing yet
    values = {name: table[name].to_numpy().reshape(shape) for name in ESTIMATORS}
    for name, colour in COLOURS.items():
        mean, spread = values[name].mean(axis=0), values[name].std(axis=0)
        left.plot(steps[shown], mean[shown], STYLES[name], color=colour, label=name)
        left.fill_between(
            steps[shown], (mean - spread)[shown], (mean + spread)[shown], color=colour, alpha=0.15
        )
    largest = max(array[:, -1].max() for array in values.values())
    bins = np.arange(-0.5, largest * settings.labels + 1) / settings.labels  # naive: k/M exactly
    for name, colour in COLOURS.items():
        right.hist(
            last[name],
            bins,
            orientation="horizontal",
            histtype="step",
            color=colour,
            linestyle=STYLES[name],
        )
    for axes in (left, right):
        axes.axhline(truth, color="black", linestyle=":", linewidth=1.2, label="truth")
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:.1%}")
        axes.spines[["top", "right"]].set_visible(False)
    left.set(xlabel="labels bought", ylabel="estimated error rate", title="mean ± one s.d.")
    right.set(xlabel="repetitions", title=f"after {settings.labels} labels")
    left.set_ylim(0)
    left.legend(frameon=False)
    fig.suptitle(
        f"Digit classifier, pool of {last['pool_size'][0]:,}, "
        f"{settings.repetitions:,} repetitions, seed {settings.seed}",
        fontsize=10,
    )
    return fig


def save(table: pa.Table, settings: RepetitionSettings, out: Path) -> list[Path]:
    """Write the figure and the estimates after the last label."""
    out.mkdir(parents=True, exist_ok=True)
    picture, data = out / "digits.png", out / "digits.csv"
    figure(table, settings).savefig(picture, dpi=150)
    pacsv.write_csv(pa.table(_last(table)), data)
    return [picture, data]


def _last(table: pa.Table) -> dict[str, Any]:
    """The rows after the last label, as arrays."""
    labels = table["labels"].to_numpy()
    at = labels == labels.max()
    return {name: table[name].to_numpy(zero_copy_only=False)[at] for name in table.column_names}
