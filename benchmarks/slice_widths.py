"""Widths and coverage of the error in slices of a real pool, in adaptive campaigns.

    python benchmarks/slice_widths.py [POOL [BUDGET [REPETITIONS]]]

The slices are two random halves (`half`), a small one that is rich in errors, of which nothing in
the pool tells the predictor (`rare`), and the tenth with the highest first feature (`tenth`).
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa

import levelled as lv
from levelled_studies.real_pools import RealPool, load_real_pool


def divide(pool: RealPool) -> dict[str, np.ndarray]:
    """The slice of each item, for each column."""
    rng, first = np.random.default_rng(5), pool.features[:, 0]
    half = np.where(rng.random(len(pool)) < 0.5, "a", "b")
    chance = np.where(pool.errors > 0, 0.2, 0.02)
    rare = np.where(rng.random(len(pool)) < chance, "rich", "rest")
    return {
        "half": half,
        "rare": rare,
        "tenth": np.where(first > np.quantile(first, 0.9), "top", "low"),
    }


def final_intervals(
    pool: RealPool, table: pa.Table, columns: list[str], budget: int, seed: int
) -> dict[str, tuple[float, float]]:
    """The interval of the error in each slice once the budget is used."""
    with tempfile.TemporaryDirectory() as folder:
        campaign = lv.create_campaign(
            "pool",
            table,
            storage=Path(folder) / "pool.db",
            seed=seed,
            budget=budget,
            slices=columns,
        )
        while asks := campaign.ask(25):
            campaign.tell_all(
                [{"draw": one.draw, "label": str(pool.label[one.id])} for one in asks]
            )
        figures = [one for one in campaign.estimate() if one.slice is not None]
        return {str(one.slice): (one.estimate.low, one.estimate.high) for one in figures}


def main(name: str = "mnist-strong", budget: str = "300", count: str = "40") -> None:
    """Print the error of each slice, the mean width of its interval, and how often it covers."""
    pool = load_real_pool(name)
    slices = divide(pool)
    proba = {f"proba_{at}": column for at, column in enumerate(pool.pred.T)}
    features = {f"f_{at}": column for at, column in enumerate(pool.features.T)}
    table = pa.table({"id": np.arange(len(pool)), **proba, **features, **slices})
    runs = [
        final_intervals(pool, table, [*slices], int(budget), seed) for seed in range(int(count))
    ]
    print(f"{name}, {budget} labels, {count} campaigns: error, mean width, coverage")
    for column, values in slices.items():
        for value in np.unique(values):
            low, high = np.array([run[f"{column}={value}"] for run in runs]).T
            truth = pool.errors[values == value].mean()
            covers = np.mean((low <= truth) & (truth <= high))
            print(f"{column}={value}  {truth:.3f}  {np.mean(high - low):.3f}  {covers:.2f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
