"""What opening a large pool costs, beside reading its columns: python benchmarks/bench_sources.py

Every job runs in a process of its own, so that its peak of memory is its own. A pool of
10,000,000 items is written to a temporary folder first: text ids, a prediction, three
probabilities and a text of 40 letters. A log of Inspect with 400 samples of 30 kB comes first, then
tables of 5,000 and 20,000 columns.
"""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

sys.path.append(str(Path(__file__).parent.parent / "tests"))
from sources.readers.samples import inspect_log, sample, zip_file

N = 10_000_000
COLUMNS = ["id", "pred", "proba_ham", "proba_news", "proba_spam"]

IMPORTS = "import pyarrow.parquet as pq; from levelled.sources import open_pool"
READ = f"found = pq.read_table(path, columns={COLUMNS})"
OPEN = "found = open_pool(path)"
PARSE = "from levelled.metrics.named import parse_metric"
SCORE = f"{OPEN}; {PARSE}; parse_metric('error').score(found.predictions())"
SHOW = "found.shown(range(0, len(found), len(found) // 500))"
JOB = """
import resource, sys, time
{imports}
path = sys.argv[1]
start = time.perf_counter(); {job}; first = time.perf_counter() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start = time.perf_counter(); {then}; second = time.perf_counter() - start
print(first, second, peak / 1024)
"""


def write_pool(path: Path, rows: int) -> None:
    rng = np.random.default_rng(0)
    with pq.ParquetWriter(path, _batch(rng, 0, 1).schema) as file:
        for start in range(0, rows, 1_000_000):
            file.write_table(_batch(rng, start, min(1_000_000, rows - start)))


def _batch(rng: np.random.Generator, start: int, rows: int) -> pa.Table:
    p = rng.dirichlet([1.0, 0.5, 0.2], rows)
    number = pc.utf8_lpad(pa.array(np.arange(start, start + rows)).cast(pa.string()), 9, "0")
    names = pa.array(["ham", "news", "spam"])
    letters = rng.integers(97, 123, 40 * rows, dtype=np.uint8).tobytes()
    text = pa.Array.from_buffers(
        pa.string(),
        rows,
        [
            None,
            pa.py_buffer(np.arange(0, 40 * rows + 1, 40, dtype=np.int32)),
            pa.py_buffer(letters),
        ],
    )
    columns = {"id": pc.binary_join_element_wise("review", number, "-"), "text": text}
    columns["pred"] = names.take(pa.array(p.argmax(axis=1)))
    columns |= {f"proba_{name}": p[:, at] for at, name in enumerate(names.to_pylist())}
    return pa.table(columns)


def write_log(path: Path, samples: int) -> None:
    """Samples with events, which are most of a log and not read."""
    event = {"event": "model", "output": {"completion": "word " * 40}, "working_start": 0.5}
    one = {"events": [{**event, "at": at} for at in range(100)]}
    log = inspect_log([sample(at, "CI"[at % 2], **one) for at in range(samples)])
    path.write_bytes(zip_file(log))


def time_log(folder: Path) -> None:
    path = folder / "run.eval"
    write_log(path, 400)
    seconds, _, peak = min(run(path, OPEN) for _ in range(3))
    print(f"{'log of Inspect, 400 samples':<34}{seconds:7.2f} s  peak {peak:6.0f} MB (bar 1 s)")


def time_wide(folder: Path) -> None:
    """Open tables of a few rows and many columns, which takes time linear in the columns."""
    for n in (5_000, 20_000):
        path = folder / f"wide-{n}.parquet"
        pq.write_table(
            pa.table({"id": ["a", "b"]} | {f"f_{at}": [0.0, 1.0] for at in range(n)}), path
        )
        seconds, _, peak = min(
            run(path, "found = open_pool(path, features=None)") for _ in range(3)
        )
        print(f"{f'table of {n:,} columns':<34}{seconds:7.2f} s  peak {peak:6.0f} MB")


def run(path: Path, job: str, then: str = "pass") -> list[float]:
    code = JOB.format(imports=IMPORTS, job=job, then=then)
    found = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
    )
    return [float(word) for word in found.stdout.split()]


def main() -> None:
    with TemporaryDirectory() as folder:
        time_log(Path(folder))
        time_wide(Path(folder))
        path = Path(folder) / "pool.parquet"
        write_pool(path, N)
        print(f"{N:,} rows, {path.stat().st_size / 2**20:.0f} MB of Parquet")
        read, _, read_peak = min(run(path, READ) for _ in range(3))
        print(f"{'read_table of the same columns':<34}{read:7.2f} s  peak {read_peak:6.0f} MB")
        first, hashed, peak = min(run(path, OPEN, "found.fingerprint") for _ in range(3))
        print(f"{'open_pool':<34}{first:7.2f} s  peak {peak:6.0f} MB (bar 2048)")
        print(f"{'  beside read_table':<34}{first / read:7.2f} x  peak {peak / read_peak:6.2f} x")
        print(f"{'fingerprint':<34}{hashed:7.2f} s")
        both, shown, peak = min(run(path, SCORE, SHOW) for _ in range(3))
        print(f"{'open_pool and the default score':<34}{both:7.2f} s  peak {peak:6.0f} MB")
        print(f"{'what is shown of 500 items':<34}{shown:7.2f} s")


if __name__ == "__main__":
    main()
