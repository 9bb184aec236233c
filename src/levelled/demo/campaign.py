"""A campaign on scikit-learn's handwritten digits, with a labeller who knows every label.

A logistic regression fitted on 150 digits is evaluated on the other 1,647.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from levelled.campaigns import Campaign, Figure, create_campaign
from levelled.demo.repetitions import judged_digits

__all__ = ["digits_pool", "label_all", "start", "truth"]

METRICS = ("error", "f1:8")


def digits_pool(path: Path) -> dict[str, str]:
    """Write a pool file of predicted probabilities; return the labels nobody has paid for yet."""
    judged = judged_digits()
    ink = judged.images.sum(axis=1)
    names = [f"digit-{number}" for number in judged.numbers]
    columns = {"id": names, "ink": np.where(ink > np.median(ink), "dark", "light")}
    columns |= {f"proba_{digit}": judged.proba[:, digit] for digit in range(10)}
    pq.write_table(pa.table(columns), path)
    return dict(zip(names, judged.labels.astype(str).tolist(), strict=True))


def truth(path: Path, answers: Mapping[str, str]) -> float:
    """The error rate that the campaign does not know."""
    table = pq.read_table(path)
    proba = np.stack([table[f"proba_{digit}"].to_numpy() for digit in range(10)], axis=1)
    labels = np.array([int(answers[name]) for name in table["id"].to_pylist()])
    return float(np.mean(proba.argmax(axis=1) != labels))


def start(pool: Path, storage: str, *, labels: int, seed: int) -> Campaign:
    """Create the campaign, or go on with it if it is there."""
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


def label_all(
    campaign: Campaign, answers: Mapping[str, str], *, batch: int
) -> Iterator[list[Figure]]:
    """Answer batch by batch, as one labeller would; yields what can be read after each."""
    while asks := campaign.ask(batch, owner="demo"):
        campaign.tell_all(
            [{"draw": ask.draw, "label": answers[str(ask.id)]} for ask in asks], owner="demo"
        )
        yield campaign.estimate()
