"""The evaluation that `levelled demo` runs: real digits, a campaign, and a simulated labeller.

The data are scikit-learn's handwritten digits. A logistic regression is fitted on 150 of them; the
other 1,647 are the pool. One campaign buys labels of the pool and estimates the error rate. Then
the estimate is repeated many times without a database, each time with new draws, to show that
LURE and PURE are unbiased and the naive average is not.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from levelled import losses as loss
from levelled._check import FloatArray, IntArray
from levelled._optional import optional
from levelled.backends import Backend
from levelled.campaigns import Campaign, Figures, create_campaign
from levelled.estimators import estimate
from levelled.estimators.estimate import running_lure, running_naive, running_pure
from levelled.proposals import mixture, proportional
from levelled.reports.plots import COLOURS
from levelled.samplers import race
from levelled.scores import root_mean_squared_loss

METRICS = ("error", "f1:8")
ESTIMATORS = {"naive": running_naive, "PURE": running_pure, "LURE": running_lure}
STYLES = {"naive": "-", "PURE": "-", "LURE": "--"}  # PURE and LURE lie on each other
TRAINING_SIZE = 150


@dataclass(frozen=True, slots=True, eq=False)
class PredictedDigits:
    """The digits of the pool: their numbers in the data set, images, labels and predictions."""

    numbers: IntArray
    images: FloatArray
    labels: IntArray
    proba: FloatArray


def predict_digits() -> PredictedDigits:
    """Fit a logistic regression on some digits and predict all others."""
    datasets = optional("sklearn.datasets", extra="sklearn")
    linear_model = optional("sklearn.linear_model", extra="sklearn")
    images, labels = datasets.load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(labels))
    train, pool = order[:TRAINING_SIZE], order[TRAINING_SIZE:]
    model = linear_model.LogisticRegression(max_iter=2000).fit(images[train] / 16, labels[train])
    return PredictedDigits(pool, images[pool], labels[pool], model.predict_proba(images[pool] / 16))


def digits_pool(path: Path) -> dict[str, str]:
    """Write a pool file of predicted probabilities; return the true label of each id."""
    digits = predict_digits()
    ink = digits.images.sum(axis=1)
    names = [f"digit-{number}" for number in digits.numbers]
    columns = {"id": names, "ink": np.where(ink > np.median(ink), "dark", "light")}
    columns |= {f"proba_{digit}": digits.proba[:, digit] for digit in range(10)}
    pq.write_table(pa.table(columns), path)
    return dict(zip(names, digits.labels.astype(str).tolist(), strict=True))


def truth(path: Path, labels: Mapping[str, str]) -> float:
    """The true error rate of the pool file, from all labels."""
    table = pq.read_table(path)
    proba = np.stack([table[f"proba_{digit}"].to_numpy() for digit in range(10)], axis=1)
    y = np.array([int(labels[name]) for name in table["id"].to_pylist()])
    return float(np.mean(proba.argmax(axis=1) != y))


def start(pool: Path, storage: str, *, labels: int, seed: int) -> Campaign:
    """Create the campaign of the demo, or load it if it exists; `labels` is its budget."""
    return create_campaign(
        "digits",
        pool,
        list(METRICS),
        storage=storage,
        seed=seed,
        budget=labels,
        slices=["ink"],
        load_if_exists=True,
    )


def label_all(campaign: Campaign, labels: Mapping[str, str], *, batch: int) -> Iterator[Figures]:
    """Label batch by batch, as one labeller would; yields the figures after each batch."""
    while asks := campaign.ask(batch, owner="demo"):
        campaign.tell_all(
            [{"draw": ask.draw, "label": labels[str(ask.id)]} for ask in asks], owner="demo"
        )
        yield campaign.estimate()


def repeat(labels: int, repetitions: int, seed: int, *, backend: Backend = map) -> pa.Table:
    """Estimates of all repetitions after 1, 2, ..., M labels: a row for each.

    Items are drawn as in a static campaign: half uniform, half in proportion to the root mean
    squared loss under the model's own probabilities.
    """
    digits = predict_digits()
    score = root_mean_squared_loss(digits.proba)
    weights = mixture(proportional(score, allow_zero=True), share=0.5)
    losses = loss.zero_one(digits.labels, digits.proba.argmax(axis=1))
    seeds = range(seed * repetitions, (seed + 1) * repetitions)
    results = list(backend(partial(one_repetition, weights, losses, labels), seeds))
    n_rows = repetitions * labels
    columns: dict[str, Any] = {
        "repetition": np.repeat(np.arange(repetitions), labels),
        "labels": np.tile(np.arange(1, labels + 1), repetitions),
        "pool_size": np.full(n_rows, len(losses)),
        "truth": np.full(n_rows, losses.mean()),
        "covered": np.repeat([covered for _, covered in results], labels),
    }
    for at, name in enumerate(ESTIMATORS):
        columns[name] = np.concatenate([estimates[at] for estimates, _ in results])
    return pa.table(columns)


def one_repetition(
    weights: FloatArray, losses: FloatArray, labels: int, seed: int
) -> tuple[list[FloatArray], bool]:
    """Running estimates from one set of draws, and True if the interval contains the truth."""
    draws = race(weights, labels, seed=seed)
    seen = losses[draws.index]
    estimates = [
        running(seen, draws.probability, draws.pool_size) for running in ESTIMATORS.values()
    ]
    est = estimate(seen, draws)
    return estimates, est.low <= losses.mean() <= est.high


SUMMARY = ("", "mean", "bias", "± s.e.", "spread", "RMSE", "95% interval contains the truth")
"""The columns of `summarise`."""


def summarise(table: pa.Table) -> list[tuple[str, ...]]:
    """Bias, spread and error of each estimator at the full number of labels, as rows of text."""
    last = _last_rows(table)
    true_value, covered = last["truth"][0], last["covered"].mean()
    rows = []
    for name in ("truth", *ESTIMATORS):
        values = last[name]
        bias, spread = np.mean(values - true_value), values.std(ddof=1)
        rmse = np.sqrt(np.mean((values - true_value) ** 2))
        errors = (f"{value:.2%}" for value in (spread / np.sqrt(len(values)), spread, rmse))
        coverage = f"{covered:.1%}" if name == "LURE" else ""
        rows.append((name, f"{values.mean():.2%}", f"{bias:+.2%}", *errors, coverage))
    return rows


def plot(table: pa.Table, seed: int) -> Any:  # noqa: ANN401
    """Plot mean and spread of each estimate as labels come in, and the final estimates."""
    plt = optional("matplotlib.pyplot", extra="plots")
    fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", sharey=True)
    last = _last_rows(table)
    repetitions, labels = len(last["labels"]), last["labels"][0]
    steps = np.arange(1, labels + 1)
    shown = slice(min(9, labels - 1), None)  # the first estimates scatter too widely
    values = {name: table[name].to_numpy().reshape(repetitions, labels) for name in ESTIMATORS}
    largest = max(array[:, -1].max() for array in values.values())
    bins = np.arange(-0.5, largest * labels + 1) / labels  # naive: k/M exactly
    for name, colour in COLOURS.items():
        line = {"color": colour, "linestyle": STYLES[name]}
        mean, spread = values[name].mean(axis=0), values[name].std(axis=0)
        left.plot(steps[shown], mean[shown], label=name, **line)
        low, high = (mean - spread)[shown], (mean + spread)[shown]
        left.fill_between(steps[shown], low, high, color=colour, alpha=0.15)
        right.hist(last[name], bins, orientation="horizontal", histtype="step", **line)
    truth_line = {"color": "black", "linestyle": ":", "linewidth": 1.2, "label": "truth"}
    for axes in (left, right):
        axes.axhline(float(last["truth"][0]), **truth_line)
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:.1%}")
        axes.spines[["top", "right"]].set_visible(False)
    left.set(xlabel="labels bought", ylabel="estimated error rate", title="mean ± one s.d.")
    right.set(xlabel="repetitions", title=f"after {labels} labels")
    left.set_ylim(0)
    left.legend(frameon=False)
    fig.suptitle(
        f"Digit classifier, pool of {last['pool_size'][0]:,}, "
        f"{repetitions:,} repetitions, seed {seed}",
        fontsize=10,
    )
    return fig


def save(table: pa.Table, seed: int, out: Path) -> list[Path]:
    """Write the plot and the final estimates to a folder; return the paths."""
    out.mkdir(parents=True, exist_ok=True)
    image, data = out / "digits.png", out / "digits.csv"
    plot(table, seed).savefig(image, dpi=150)
    pacsv.write_csv(pa.table(_last_rows(table)), data)
    return [image, data]


def _last_rows(table: pa.Table) -> dict[str, Any]:
    """The rows after the last label, as arrays."""
    labels = table["labels"].to_numpy()
    at = labels == labels.max()
    return {name: table[name].to_numpy(zero_copy_only=False)[at] for name in table.column_names}
