"""Precision of the figures of a campaign on real pools: label factors, widths and coverage.

    python benchmarks/measure_figures.py figures.csv --pools spam,mnist --labels 200

The label factor is the variance of random labels over the exact variance of the figure. The width
factor is squared, of intervals that are read once, against random labels without a predictor, whose
variance is known exactly, by the same rule. A second model is attached; a random fifth of the pool
is a slice. Rows that the file has already are not measured again.
"""

import argparse
import csv
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa

from levelled.campaigns.figures.figures import Subject, read_once
from levelled.estimators.intervals.limits import DF_OF_ERROR, PRIOR_DF, leaning, t_quantile
from levelled.metrics.named import parse_metric
from levelled.simulation.campaigns import KnownCampaign, Truth
from levelled.sources import Pool, open_pool
from levelled_studies.datasets.cache import data_folder
from levelled_studies.real_pools import RealPool, load_real_pool

LEVEL = 0.95
_TRAINED = 3000
"""Items of a half that the second model is trained on."""
_MODELS = {
    "spam": "logistic",
    "imdb": "bayes",
    "adult": "logistic",
    "bbc-news": "bayes",
    "digits": "logistic",
}
"""The second model of each pool; else a forest."""
CAMPAIGNS = {
    "adaptive": ("adaptive", ["error", "f1:1"]),
    "static": ("static", ["error", "f1:1"]),
    "uniform": ("uniform", ["error", "f1:1"]),
    "recall": ("adaptive", ["recall:1", "error"]),
    "f1": ("adaptive", ["f1:1", "error"]),
}
"""The kind and the metrics of each campaign, of which the first drives."""


def second_model(real: RealPool) -> np.ndarray:
    """Probabilities of another model, each half of the pool predicted from the other half."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    kind = _MODELS.get(real.name, "forest")
    path = data_folder(None) / "pools" / f"{real.name}.second-{kind}.npz"
    if path.exists():
        return np.load(path)["proba"]
    made: Any = {
        "forest": lambda: RandomForestClassifier(100, random_state=0),
        "logistic": lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
        "bayes": lambda: GaussianNB(var_smoothing=0.01),
    }[kind]
    order, half = np.random.default_rng(1).permutation(len(real)), len(real) // 2
    proba = np.zeros(real.pred.shape)
    for own, others in ((order[:half], order[half:]), (order[half:], order[:half])):
        model = made().fit(real.features[others[:_TRAINED]], real.label[others[:_TRAINED]])
        proba[np.ix_(own, model.classes_)] = model.predict_proba(real.features[own])
    np.savez_compressed(path, proba=proba.astype(np.float32))
    return np.load(path)["proba"]


@cache
def campaigns(name: str) -> dict[str, KnownCampaign]:
    """The campaigns on a pool."""
    real = load_real_pool(name)
    ids = {"id": np.arange(len(real))}
    columns: dict[str, Any] = ids | {f"proba_{k}": p for k, p in enumerate(real.pred.T)}
    columns |= {f"f_{k}": x for k, x in enumerate(real.features.T)}
    columns["part"] = np.where(np.random.default_rng(2).random(len(real)) < 0.2, "in", "out")
    pool = open_pool(pa.table(columns), features=None, slices=["part"])
    later = {f"proba_{k}": p for k, p in enumerate(second_model(real).T.astype(float))}
    attached: dict[str, Pool] = {"second": open_pool(pa.table(ids | later))}
    labels = real.label.astype(int).tolist()
    return {
        name: KnownCampaign.of(pool, labels, metrics, kind=kind, slices=["part"], attached=attached)
        for name, (kind, metrics) in CAMPAIGNS.items()
    }


def figures(campaign: KnownCampaign, kind: str) -> dict[str, Subject]:
    """The figures of a campaign that are measured."""
    error, f1 = parse_metric("error"), parse_metric("f1:1")
    first = {"error": campaign.subject(error)}
    if kind in ("recall", "f1"):
        return {campaign.settings.metrics[0].name: campaign.subject(), **first}
    return {
        **first,
        "error of second": campaign.subject(error, "second"),
        "error in slice": campaign.subject(error, column="part", value="in"),
        "f1": campaign.subject(f1),
        "f1 of second": campaign.subject(f1, "second"),
        "difference": campaign.subject(error, "second", against=campaign.settings.models[0]),
    }


def repeat(task: tuple[str, str, int, int]) -> list[list[float]]:
    """Value, exact variance, width and coverage of each figure in one campaign."""
    pool, kind, budget, seed = task
    campaign = campaigns(pool)[kind]
    base = campaign.run(budget, seed)
    found = []
    for subject in figures(campaign, kind).values():
        truth = campaign.truth(subject)
        est = read_once(base, subject, LEVEL, "auto")
        exact = campaign.exact_variance(base, campaign.term_variances(base, subject))
        error = np.nan if est.value is None else est.value - truth.value
        found.append(
            [error, exact, est.high - est.low, est.low > truth.value, est.high < truth.value]
        )
    return found


def random_width(truth: Truth, is_difference: bool, budget: int) -> float:
    """The width from random labels without a predictor: their exact variance, at the true value.

    The degrees of freedom are those of the labels that are not the most frequent.
    """
    psi = truth.centred
    rare = budget * float(np.abs(psi - np.median(psi)).mean() / np.ptp(psi))
    nu = np.asarray(min(budget - 1, DF_OF_ERROR * rare) + PRIOR_DF)
    t, sd = t_quantile(nu, (1 + LEVEL) / 2), np.asarray(truth.uniform_variance(budget) ** 0.5)
    if is_difference:
        return float(2 * t * sd)
    low, high = leaning(np.asarray(truth.value), sd, t, (0.0, 1.0))
    return float(high - low)


def measure(pool: str, kind: str, budget: int, repetitions: int, run: Any) -> list[dict[str, Any]]:  # noqa: ANN401
    """A row for each figure."""
    start = perf_counter()
    tasks = [(pool, kind, budget, seed) for seed in range(repetitions)]
    found = np.array([*run(repeat, tasks)], dtype=float)
    seconds = perf_counter() - start
    campaign, rows = campaigns(pool)[kind], []
    for at, (name, subject) in enumerate(figures(campaign, kind).items()):
        error, exact, width, above, below = found[:, at].T
        truth = campaign.truth(subject)
        factors = truth.uniform_variance(budget) / exact
        by_width = random_width(truth, bool(subject.against), budget) / width.mean()
        rows.append(
            {
                "pool": pool,
                "campaign": kind,
                "labels": budget,
                "figure": name,
                "truth": round(truth.value, 5),
                "label_factor": round(truth.uniform_variance(budget) / exact.mean(), 3),
                "label_factor_se": round(float(factors.std() / len(factors) ** 0.5), 3),
                "width_factor": round(by_width**2, 3),
                "coverage": round(1 - above.mean() - below.mean(), 4),
                "too_high": round(above.mean(), 4),
                "too_low": round(below.mean(), 4),
                "width": round(width.mean(), 5),
                "width_over_rmse": round(width.mean() / 3.92 / np.sqrt(exact.mean()), 3),
                "bias_z": round(np.nanmean(error) / np.sqrt(exact.mean() / len(error)), 2),
                "repetitions": repetitions,
                "seconds": round(seconds / repetitions, 3),
            }
        )
    return rows


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is not in the file yet, and append it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--pools", default="spam,mnist,fashion-mnist,adult,imdb,mnist-strong")
    parser.add_argument("--campaigns", default="adaptive,uniform,recall")
    parser.add_argument("--labels", default="200")
    parser.add_argument("--repetitions", type=int, default=40)
    parser.add_argument("--processes", type=int, default=1)
    given = parser.parse_args(arguments)
    done = set()
    if given.file.exists():
        with given.file.open() as file:
            done = {(r["pool"], r["campaign"], int(r["labels"])) for r in csv.DictReader(file)}
    executor = ProcessPoolExecutor(given.processes) if given.processes > 1 else None
    run = map if executor is None else executor.map
    for labels in map(int, given.labels.split(",")):
        for kind in given.campaigns.split(","):
            for pool in given.pools.split(","):
                if (pool, kind, labels) in done:
                    continue
                rows = measure(pool, kind, labels, given.repetitions, run)
                is_new = not given.file.exists()
                with given.file.open("a") as file:
                    writer = csv.DictWriter(file, [*rows[0]])
                    if is_new:
                        writer.writeheader()
                    writer.writerows(rows)


if __name__ == "__main__":
    main()
