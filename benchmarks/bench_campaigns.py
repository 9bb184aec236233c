"""Campaigns on one machine: ask and tell, one more label, and creating one on a large pool.

python benchmarks/bench_campaigns.py [rows of the large pool]
"""

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np
import optuna
import pyarrow as pa
import pyarrow.parquet as pq

from levelled.campaigns import Campaign, create_campaign, load_campaign
from levelled.campaigns.figures import estimate_figures
from levelled.campaigns.settled import FigureCache

PAIRS, ROUNDS = 150, 3
LABELS = 10_000
LARGE = 10_000_000


@contextmanager
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=".", prefix="bench-") as made:
        yield Path(made)


def seconds(work: Callable[[], object]) -> float:
    start = perf_counter()
    work()
    return perf_counter() - start


def pool_of(n: int) -> pa.Table:
    rng = np.random.default_rng(0)
    chance = rng.beta(0.6, 0.9, n)
    return pa.table(
        {
            "id": np.arange(n),
            "proba_ham": 1 - chance,
            "proba_spam": chance,
            "truth": np.where(rng.random(n) < chance, "spam", "ham"),
        }
    )


def ask_and_tell(campaign: Campaign) -> None:
    for _ in range(PAIRS):
        (one,) = campaign.ask(1, owner="ann")
        campaign.tell(one.draw, one.data["truth"], owner="ann")


def optuna_ask_and_tell(study: optuna.Study) -> None:
    for _ in range(PAIRS):
        study.tell(study.ask(), 0.5)


def report_pairs() -> None:
    """Each ask and each tell is on the disk before it returns (synchronous = FULL)."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    times: dict[str, list[float]] = {"Levelled": [], "Optuna": []}
    with folder() as at:
        campaign = create_campaign("spam", pool_of(5000), storage=at / "c.db", seed=7)
        study = optuna.create_study(storage=f"sqlite:///{at}/optuna.db")
        for _ in range(ROUNDS):
            times["Levelled"].append(seconds(lambda: ask_and_tell(campaign)))
            times["Optuna"].append(seconds(lambda: optuna_ask_and_tell(study)))
    rate = {name: PAIRS / median(taken) for name, taken in times.items()}
    for name, pairs in rate.items():
        print(f"{name}: {pairs:.0f} ask+tell a second (median of {ROUNDS} rounds of {PAIRS})")
    print(f"  Levelled / Optuna: {rate['Levelled'] / rate['Optuna']:.1f} (bar: 1)")


def report_one_more(metrics: list[str]) -> None:
    """An estimate after one more label, beside one that plays every round again."""
    with folder() as at:
        campaign = create_campaign(
            "spam", pool_of(2 * LABELS), metrics, storage=at / "c.db", seed=7, in_flight=2 * LABELS
        )
        asks = campaign.ask(LABELS)
        answers = [{"draw": one.draw, "label": one.data["truth"]} for one in asks]
        told = seconds(lambda: campaign.tell_all(answers))
        campaign.estimate()
        campaign.ask(1)  # which draws further ahead
        campaign.estimate()
        each, tells = [], []
        for one in campaign.ask(11):
            tells.append(seconds(partial(campaign.tell, one.draw, one.data["truth"])))
            each.append(seconds(campaign.estimate))
        state = campaign.state
        scratch = seconds(lambda: estimate_figures(state, FigureCache()))
        kept = seconds(campaign.keep)
        start = perf_counter()
        later = load_campaign("spam", storage=at / "c.db")
        loaded = perf_counter() - start
        again = seconds(later.estimate)
    more = median(each)
    print(f"{', '.join(metrics)} at {LABELS:,} labels, told at once in {told:.1f} s:")
    print(f"  an estimate after one more label: {more * 1e3:.1f} ms; from scratch: {scratch:.2f} s")
    print(f"  one more / from scratch: {more / scratch:.2%} (bar: 2%)")
    print(f"  telling that label: {median(tells) * 1e3:.1f} ms, the disk included")
    print(f"  keeping the games: {kept * 1e3:.0f} ms; another process then needs ", end="")
    print(f"{loaded * 1e3:.0f} ms to load and {again * 1e3:.0f} ms to estimate")


CREATE = """
import resource, sys, time
from levelled.campaigns import create_campaign
start = time.perf_counter()
campaign = create_campaign("large", sys.argv[1], storage=sys.argv[2], seed=7)
created = time.perf_counter() - start
start = time.perf_counter()
campaign.ask(1500)
further = time.perf_counter() - start
most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
print(f"  create: {created:.1f} s; asking for 1,500, which draws further: {further:.1f} s")
print(f"  most memory: {most:.2f} GB (bar: 2 GB)")
"""


def write_large(path: Path, n: int) -> None:
    """Part by part, so that writing it needs no memory to speak of."""
    rng = np.random.default_rng(0)
    part = 500_000
    writer = None
    for start in range(0, n, part):
        p = rng.dirichlet((0.5, 0.3, 0.2), min(part, n - start))
        table = pa.table(
            {
                "id": np.arange(start, start + len(p)),
                "pred": np.array(["a", "b", "c"])[p.argmax(axis=1)],
                **{f"proba_{name}": p[:, k] for k, name in enumerate("abc")},
            }
        )
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()


def report_large(n: int) -> None:
    with folder() as at:
        write_large(at / "pool.parquet", n)
        size = (at / "pool.parquet").stat().st_size / 1e6
        print(f"a pool of {n:,} rows with pred and three probabilities, {size:.0f} MB on disk:")
        command = [sys.executable, "-c", CREATE, str(at / "pool.parquet"), str(at / "c.db")]
        subprocess.run(command, check=True)


if __name__ == "__main__":
    report_pairs()
    report_one_more(["error"])
    report_one_more(["error", "f1:spam", "brier"])
    report_large(int(sys.argv[1]) if len(sys.argv) > 1 else LARGE)
