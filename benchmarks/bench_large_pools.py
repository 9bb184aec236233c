"""Campaigns on pools larger than memory: seconds and memory of each step, in a process of its own.

python benchmarks/bench_large_pools.py [rows] [kinds of campaign, such as static,adaptive]

The yardstick is a bare scan of the same columns by pyarrow, in the same run.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROWS, PART, IN_A_FILE = 10_000_000, 1_000_000, 10_000_000
STEPS = ("create", "ask", "tell", "estimate", "ten rounds", "audit")
PREAMBLE = """
import resource, sys, time
step, pool, storage, kind = sys.argv[1:]
start, used = time.perf_counter(), time.process_time()
"""
SCAN = """
import pyarrow.dataset as ds
from glob import glob
files = ds.dataset(sorted(glob(pool)))
columns = ["pred", "proba_ham", "proba_spam"]
sum(len(batch) for batch in files.to_batches(columns=columns))
"""
RUN = """
from levelled.campaigns import create_campaign, load_campaign
if step == "create":
    create_campaign("big", pool, storage=storage, seed=7, budget=2000, kind=kind)
else:
    campaign = load_campaign("big", storage=storage)
if step == "ask":
    campaign.ask(10, owner="ann")
if step == "tell":
    for one in campaign.mine("ann"):
        campaign.tell(one.draw, "ham", owner="ann")
if step == "estimate":
    campaign.estimate()
if step == "ten rounds":
    for _ in range(10):
        for one in campaign.ask(10, owner="ann"):
            campaign.tell(one.draw, "ham", owner="ann")
if step == "audit":
    assert campaign.audit() == []
"""
REPORT = """
taken, used = time.perf_counter() - start, time.process_time() - used
most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(f"  {kind:9}{step:11}{taken:8.1f} s{used:8.1f} s CPU{most:7.0f} MB", flush=True)
"""


def write_pool(folder: Path, n: int) -> str:
    """Id, predicted class and two probabilities in single precision, part by part."""
    rng, writer = np.random.default_rng(0), None
    for start in range(0, n, PART):
        size = min(PART, n - start)
        spam = rng.beta(0.3, 0.4, size).astype(np.float32)
        codes = pa.array((spam > 0.5).astype(np.int8))
        table = pa.table(
            {
                "id": np.arange(start, start + size),
                "pred": pa.DictionaryArray.from_arrays(codes, ["ham", "spam"]),
                "proba_ham": 1 - spam,
                "proba_spam": spam,
            }
        )
        if start % IN_A_FILE == 0:
            if writer is not None:
                writer.close()
            writer = pq.ParquetWriter(folder / f"part-{start:012}.parquet", table.schema)
        assert writer is not None
        writer.write_table(table)
    if writer is not None:
        writer.close()
    return str(folder / "*.parquet")


def run_step(program: str, step: str, pool: str, storage: Path, kind: str) -> None:
    """Run one step as a command of its own would."""
    words = [step, pool, str(storage), kind]
    subprocess.run([sys.executable, "-c", PREAMBLE + program + REPORT, *words], check=True)


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    kinds = sys.argv[2].split(",") if len(sys.argv) > 2 else ["uniform", "static", "adaptive"]
    with tempfile.TemporaryDirectory(dir=".", prefix="bench-") as made:
        folder = Path(made)
        pool = write_pool(folder, n)
        size = sum(file.stat().st_size for file in folder.glob("*.parquet")) / 1e6
        print(f"a pool of {n:,} rows with pred and two probabilities, {size:.0f} MB on disk:")
        run_step(SCAN, "bare scan", pool, folder / "none.db", "")
        for kind in kinds:
            for step in STEPS:
                run_step(RUN, step, pool, folder / f"{kind}.db", kind)


if __name__ == "__main__":
    main()
