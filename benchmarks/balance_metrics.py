"""Widths of two metrics of a real pool in campaigns that serve the first or balance both.

python benchmarks/balance_metrics.py [POOL [CLASS [BUDGET [REPETITIONS]]]]
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa

import levelled as lv
from levelled_studies.real_pools import RealPool, load_real_pool


def as_table(pool: RealPool) -> pa.Table:
    """The pool as a table, without its labels."""
    proba = {f"proba_{at}": column for at, column in enumerate(pool.pred.T)}
    features = {f"f_{at}": column for at, column in enumerate(pool.features.T)}
    return pa.table({"id": np.arange(len(pool)), **proba, **features})


def final_intervals(
    pool: RealPool, table: pa.Table, metrics: list[str], drive: str, budget: int, seed: int
) -> list[tuple[float, float]]:
    """The interval of each metric once the budget is used."""
    with tempfile.TemporaryDirectory() as folder:
        campaign = lv.create_campaign(
            "pool",
            table,
            metrics,
            storage=Path(folder) / "pool.db",
            seed=seed,
            budget=budget,
            drive=drive,
        )
        while asks := campaign.ask(25):
            campaign.tell_all(
                [{"draw": one.draw, "label": str(pool.label[one.id])} for one in asks]
            )
        return [(one.estimate.low, one.estimate.high) for one in campaign.estimate()]


def main(
    name: str = "cifar-10", positive: str = "3", budget: str = "300", count: str = "20"
) -> None:
    """Print the mean width of the error and of the recall of a class, and how often they cover."""
    pool, metrics = load_real_pool(name), ["error", f"recall:{positive}"]
    is_found = pool.pred.argmax(axis=1)[pool.label == int(positive)] == int(positive)
    table, truth = as_table(pool), np.array([pool.errors.mean(), is_found.mean()])
    print(f"{name}, {budget} labels, {count} campaigns: mean width (standard error), coverage")
    for drive in ("first", "worst"):
        low, high = np.array(
            [
                final_intervals(pool, table, metrics, drive, int(budget), seed)
                for seed in range(int(count))
            ]
        ).transpose(2, 0, 1)
        width, covers = high - low, np.mean((low <= truth) & (truth <= high), axis=0)
        columns = zip(metrics, width.mean(axis=0), width.std(axis=0), covers, strict=True)
        error = np.sqrt(len(width))
        print(
            drive, *(f"{m} {w:.4f} ({s / error:.4f}) {c:.2f}" for m, w, s, c in columns), sep="  "
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
