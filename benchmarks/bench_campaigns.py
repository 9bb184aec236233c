"""Campaigns on one machine: ask and tell, one more label, many labels, many campaigns, audits.

python benchmarks/bench_campaigns.py
"""

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter, sleep

import numpy as np
import optuna
import pyarrow as pa
import pyarrow.parquet as pq

from levelled.campaigns import Campaign, create_campaign, load_campaign
from levelled.campaigns.figures.figures import estimate_figures
from levelled.campaigns.figures.settled import FigureCache
from levelled.sources import open_pool

PAIRS, ROUNDS = 150, 3
LABELS = 10_000
ROWS, MANY_LABELS, AT_ONCE = 1_000_000, 50_000, 5000
CAMPAIGNS, AUDITS, AUDITED = 200, 200, 3000
YARDSTICK = "import numpy, sqlite3, pyarrow, click"
"""Starting Python with the packages that a command needs, which no command can undercut."""


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


def label_all(campaign: Campaign, n: int, at_once: int) -> None:
    for _ in range(n // at_once):
        asks = campaign.ask(at_once)
        campaign.tell_all([{"draw": one.draw, "label": one.data["truth"]} for one in asks])


def run_command(words: list[str]) -> None:
    subprocess.run([sys.executable, *words], stdout=subprocess.DEVNULL, check=False)


def report_commands(title: str, commands: list[str], storage: Path, bar: float) -> None:
    """Commands that somebody types: the first one, and the median of five more."""
    yardstick = median(seconds(partial(run_command, ["-c", YARDSTICK])) for _ in range(5))
    print(f"{title}; starting Python with its packages takes {yardstick:.2f} s:")
    for command in commands:
        words = ["-m", "levelled", *command.split(), "--storage", str(storage)]
        first = seconds(partial(run_command, words))
        taken = median(seconds(partial(run_command, words)) for _ in range(5))
        print(f"  levelled {command}: {taken:.2f} s, {taken / yardstick:.1f} times that ", end="")
        print(f"(the first time {first:.2f} s; bar: {bar:g} s)")


def report_size() -> None:
    with folder() as at:
        pq.write_table(pool_of(ROWS), at / "pool.parquet")
        campaign = create_campaign(
            "big", str(at / "pool.parquet"), storage=at / "c.db", seed=7, in_flight=MANY_LABELS
        )
        label_all(campaign, MANY_LABELS, AT_ONCE)
        commands = ["estimate big", "status big", "estimate big --format json"]
        report_commands(f"{ROWS:,} rows, {MANY_LABELS:,} labels", commands, at / "c.db", 1.5)


def report_many() -> None:
    with folder() as at:
        pool = open_pool(pool_of(5000))
        for seed in range(CAMPAIGNS):
            kind = "static" if seed % 2 else "adaptive"
            campaign = create_campaign(f"c{seed}", pool, storage=at / "c.db", seed=seed, kind=kind)
            label_all(campaign, 50, 50)
        report_commands(f"{CAMPAIGNS} campaigns", ["list"], at / "c.db", 1.0)


LABELLER = """
import sys
from levelled.campaigns import load_campaign
campaign = load_campaign("spam", storage=sys.argv[1])
while campaign.state.n_asked < campaign.settings.pool_size:
    for one in campaign.ask(1, owner="ann"):
        campaign.tell(one.draw, one.data["truth"], owner="ann")
"""


def report_audits() -> None:
    """Audits while another process asks and tells as fast as it can, on one campaign after another.

    Only those count that ended before the labeller did: labels arrived all the time.
    """
    alarms = 0
    sizes: list[int] = []
    while len(sizes) < AUDITS:
        with folder() as at:
            pq.write_table(pool_of(AUDITED), at / "pool.parquet")
            create_campaign("spam", str(at / "pool.parquet"), storage=at / "c.db", seed=7)
            labeller = subprocess.Popen([sys.executable, "-c", LABELLER, str(at / "c.db")])
            campaign = load_campaign("spam", storage=at / "c.db")
            try:
                while not campaign.state.answers:
                    sleep(0.1)
                while len(sizes) < AUDITS:
                    audit = campaign.audit()
                    if labeller.poll() is not None:
                        break
                    sizes.append(audit.n_events)
                    alarms += bool(audit)
            finally:
                labeller.kill()
                labeller.wait()
    print(f"{alarms} of {AUDITS} audits false while labels arrived (bar: 0); ", end="")
    print(f"logs of {min(sizes):,} to {max(sizes):,} events, {len(set(sizes))} sizes")


if __name__ == "__main__":
    report_audits()
    report_many()
    report_size()
    report_pairs()
    report_one_more(["error"])
    report_one_more(["error", "f1:spam", "brier"])
