"""Widths of campaigns whose budget is raised, or not given, over those of a planned budget.

    python benchmarks/measure_budgets.py budgets.csv --pools spam,fashion-mnist --repetitions 10

Each campaign lies in a database and gets the labels of a real pool, in batches. The first column is
the width in the end over that of a campaign whose budget was planned so; `moves` says whether the
value changed after the first budget was used up.
"""

import argparse
import csv
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import levelled as lv
from levelled_studies.real_pools import RealPool, load_real_pool

CASES: dict[str, tuple[int | None, int, dict[str, Any]]] = {
    "planned 800": (800, 800, {}),
    "100 raised to 800": (100, 800, {}),
    "100 raised to 800, may extend": (100, 800, {"may_extend": True}),
    "planned 300": (300, 300, {}),
    "no budget, 300 labels": (None, 300, {}),
}
"""The first budget, the labels in the end, and options."""
PLANNED = {"100": "planned 800", "no": "planned 300"}


def run(real: RealPool, case: str, seed: int) -> tuple[float, bool]:
    """The width in the end, and whether the value moved after the first budget."""
    budget, last, options = CASES[case]
    table = pa.table(
        {"id": [f"{k}" for k in range(len(real))]}
        | {f"proba_{k}": p for k, p in enumerate(real.pred.T)}
    )
    with tempfile.TemporaryDirectory() as folder:
        campaign = lv.create_campaign(
            "raised", table, storage=f"sqlite:///{folder}/a.db", budget=budget, seed=seed, **options
        )
        values, n_told = [], 0
        while n_told < last:
            if budget is not None and n_told == budget:
                values.append(campaign.figures[0].estimate.value)
                campaign.change(budget=last)
            drawn = campaign.ask(min(20, last - n_told), owner="ann")
            labels = [real.label[int(item.id)] for item in drawn]
            campaign.tell_all(
                [
                    {"draw": item.draw, "label": int(label)}
                    for item, label in zip(drawn, labels, strict=True)
                ],
                owner="ann",
            )
            n_told += len(drawn)
        est = campaign.figures[0].estimate
        return est.high - est.low, bool(values) and values[0] != est.value


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure all cases and write a row for each pool and case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--pools", default="spam,fashion-mnist")
    parser.add_argument("--repetitions", type=int, default=10)
    given = parser.parse_args(arguments)
    rows = []
    for pool in given.pools.split(","):
        real = load_real_pool(pool)
        widths: dict[str, float] = {}
        for case in CASES:
            runs = [run(real, case, seed) for seed in range(given.repetitions)]
            widths[case] = float(np.mean([width for width, _ in runs]))
            planned = widths.get(PLANNED.get(case.split()[0], ""), widths[case])
            row = {
                "pool": pool,
                "case": case,
                "width_ratio": round(widths[case] / planned, 3),
                "width": round(widths[case], 5),
                "moves": all(moved for _, moved in runs),
                "repetitions": given.repetitions,
            }
            print(row, flush=True)
            rows.append(row)
    with given.file.open("w") as file:
        writer = csv.DictWriter(file, [*rows[0]])
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
