"""A campaign as a table: draws, labels, and the weights to train with."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from levelled.campaigns.settled import settled
from levelled.campaigns.state import CampaignState
from levelled.errors import CampaignError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["as_table", "write_table"]


def as_table(state: CampaignState) -> "pa.Table":
    """One row for each draw that was given out, in order.

    `sample_weight` is the weight of R_LURE among the settled draws, to train with or to weight
    any other loss; it is empty for draws that are not settled, because weights depend on how
    many draws there are, and 0 for draws that cannot be labelled.
    """
    import pyarrow as pa

    base = settled(state)
    weights = np.where(base.labelable, base.lure_weights(), 0.0).tolist()
    items = state.draws[: state.n_asked]
    rows: dict[str, list[Any]] = {
        "draw": [item.draw for item in items],
        "row": [item.row for item in items],
        "id": [item.id for item in items],
        "probability": [item.probability for item in items],
        "label": [_label(state, item.draw) for item in items],
        "labelled_by": [_answer(state, item.draw, "by") for item in items],
        "labelled_at": [_answer(state, item.draw, "at") for item in items],
        "unlabelable": [state.resolved.get(item.draw) for item in items],
        "sample_weight": [*weights, *[None] * (len(items) - len(weights))],
    }
    for model in (*state.settings.models, *state.attached):
        later = state.attached.get(model)
        name = f"pred@{model}" if model else "pred"
        rows[name] = [
            item.pred.get(model) if later is None else later.pred.get(item.draw) for item in items
        ]
    for column in state.settings.slices:
        rows[column] = [item.slices[column] for item in items]
    return pa.table(rows)


def write_table(table: "pa.Table", path: Path) -> None:
    """Write a table as its ending says: .parquet, .csv or .jsonl."""
    import json

    import pyarrow.csv as pacsv
    import pyarrow.parquet as pq

    if path.suffix == ".parquet":
        pq.write_table(table, path)
    elif path.suffix == ".csv":
        pacsv.write_csv(table, path)
    elif path.suffix == ".jsonl":
        lines = (json.dumps(row, ensure_ascii=False) for row in table.to_pylist())
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    else:
        raise CampaignError(f"{path} must end in .parquet, .csv or .jsonl.")


def _label(state: CampaignState, draw: int) -> object:
    answer = state.answers.get(draw)
    return None if answer is None else answer.label


def _answer(state: CampaignState, draw: int, name: str) -> str | None:
    answer = state.answers.get(draw)
    return None if answer is None else getattr(answer, name)
