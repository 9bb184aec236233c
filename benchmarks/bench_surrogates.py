"""An adaptive campaign on a large pool: refit and redraw, and one `ask` beside a static one.

python benchmarks/bench_surrogates.py [rows]
"""

import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import process_time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from levelled.campaigns import create_campaign, load_campaign
from levelled.surrogates import Covariates, Driver, LossRun

COLUMNS, LABELS, ROUNDS = 20, 500, 5


def seconds(work: Callable[[], object], repeats: int = ROUNDS) -> float:
    """The least processor time of some repeats."""
    times = []
    for _ in range(repeats):
        start = process_time()
        work()
        times.append(process_time() - start)
    return min(times)


def refit_and_redraw(rows: int) -> None:
    rng = np.random.default_rng(0)
    X, chance = rng.normal(size=(rows, COLUMNS)).astype(np.float32), rng.beta(0.5, 9, rows)
    product = seconds(lambda: X @ np.ones(COLUMNS, dtype=np.float32))
    prepare = seconds(lambda: Covariates.of(chance, None, X), 1)
    driver = Driver(rows, lambda: [LossRun(Covariates.of(chance, None, X))])
    drawn = rng.choice(rows, LABELS, replace=False)
    losses = (rng.random(LABELS) < chance[drawn]).astype(float)

    def once() -> None:
        predictor = driver.fit(drawn, losses, np.ones(LABELS))
        driver.proposal(predictor, drawn, 0.2).draw(LABELS // 10, seed=0)

    again = seconds(once)
    print(f"X @ b:            {product * 1e3:7.1f} ms")
    print(f"prepare once:     {prepare * 1e3:7.1f} ms, {prepare / product:.1f} times X @ b")
    print(f"refit and redraw: {again * 1e3:7.1f} ms, {again / product:.1f} times X @ b")


def one_ask(rows: int, folder: Path) -> None:
    rng = np.random.default_rng(0)
    chance = rng.beta(0.6, 0.9, rows)
    columns = {"id": np.arange(rows), "proba_ham": 1 - chance, "proba_spam": chance}
    columns |= {f"f_{at}": rng.normal(size=rows) for at in range(COLUMNS)}
    pq.write_table(pa.table(columns), folder / "pool.parquet")
    times = {}
    for kind in ("static", "adaptive"):
        storage = folder / f"{kind}.db"
        create_campaign(kind, folder / "pool.parquet", storage=storage, seed=0, kind=kind)
        campaign = load_campaign(kind, storage=storage)
        campaign.pool()
        times[kind], again = (seconds(partial(campaign.ask, 10), 1) for _ in range(2))
        print(f"ask, {kind + ':':12} {times[kind]:7.3f} s, the next {again:.3f} s")
    print(f"adaptive asks {times['adaptive'] - times['static']:.3f} s later")


if __name__ == "__main__":
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    refit_and_redraw(size)
    with tempfile.TemporaryDirectory(dir=".", prefix="bench-") as made:
        one_ask(size, Path(made))
