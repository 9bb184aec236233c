"""Labels that are there before the draws: known ones of any choice of items, and random samples.

Known labels count as they are, and their items are not drawn, so it does not matter how they were
chosen. A random sample stands for the whole pool, so it matters; it is tested.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import numpy as np

from levelled._check import FloatArray, IntArray
from levelled.campaigns.drawing.drawing import make_known
from levelled.campaigns.drawing.pools import attach_event, open_attached
from levelled.campaigns.log.decide import make_event, time_text
from levelled.campaigns.log.events import Event, LabelsKnown
from levelled.campaigns.log.state import CampaignState, check_labels
from levelled.campaigns.settings import CampaignSettings
from levelled.errors import CampaignError, LevelledError
from levelled.labels import Label
from levelled.predictions import Categorical, PoolPredictions
from levelled.sources import Pool, read_answers

_ALARM = 1e-6
"""The probability with which a truly random sample is refused, at the most (STATISTICS 1.18)."""
_SLACK = 1.1  # Wei and Dudley (2012): the bound holds with a factor of at most 1.085 in place of 1
_MOST_COLUMNS = 50  # guard: more of them take time, and a choice shows in what guides the draws
_MOST_CLASSES = 1000  # guard: texts with more different values are no classes


@dataclass(frozen=True, slots=True)
class FoundLabels:
    """Labels of items of a pool, by their rows."""

    rows: list[int]
    labels: list[Label]
    n_outside: int = 0
    """Labels in the file whose ids the pool does not have."""


def read_labels(
    pool: Pool,
    settings: CampaignSettings,
    source: Any,  # noqa: ANN401
    *,
    complete: bool = False,
) -> FoundLabels:
    """The labels in a file or frame of ids and labels, as the campaign keeps them.

    Rows without a label, and ids that the pool does not have, are passed over, unless the labels
    are to be `complete`: a sample without those that nobody could label is not random.
    """
    name = source if isinstance(source, str) else getattr(source, "name", "The frame")
    by_id: dict[str, tuple[str | int, object]] = {}
    own = settings.columns.id_column  # the file may call ids as the pool does, or id
    answers = read_answers(source, id_column=own, named=own == "id")
    if own != "id" and all(answer.id is None for answer in answers):
        answers = read_answers(source)
    for answer in answers:
        if answer.id is None or (complete and answer.label is None):
            raise CampaignError(f"Row {answer.row} of {name} lacks an id or a label.")
        if answer.label is None:
            continue
        before = by_id.get(str(answer.id))
        if before is not None and (complete or before[1] != answer.label):
            raise CampaignError(
                f"Row {answer.row} of {name} labels {answer.id!r} twice: leave one label "
                f"of each item."
            )
        by_id[str(answer.id)] = answer.id, answer.label
    ids = [one for one, _ in by_id.values()]
    rows = pool.rows_of(ids).tolist() if complete else pool.find_rows(ids)
    inside = [
        (row, label) for row, (_, label) in zip(rows, by_id.values(), strict=True) if row >= 0
    ]
    if not inside:
        why = "has no labels" if not by_id else "has labels, but of no item of the pool"
        raise CampaignError(f"{name} {why}: it needs the columns id and label.")
    return _checked(settings, inside, len(by_id) - len(inside), str(name))


def read_label_column(pool: Pool, settings: CampaignSettings, column: str) -> FoundLabels:
    """The labels in a column of the pool itself; an empty cell is no label.

    The only labels in the output of a tool, such as label@tone, may be called label.
    """
    ends = [name for name in pool.column_names if name.startswith("label@")]
    if column == "label" and column not in pool.column_names and len(ends) == 1:
        column = ends[0]
    values = enumerate(pool.values(column))
    inside = [(row, one) for row, one in values if one == one and str(one or "").strip()]
    if not inside:
        raise CampaignError(f"The column {column!r} of the pool has not a single label.")
    return _checked(settings, inside, 0, f"The column {column!r}")


def _checked(
    settings: CampaignSettings, found: Sequence[tuple[int, object]], n_outside: int, name: str
) -> FoundLabels:
    try:
        labels = check_labels(settings, [label for _, label in found])
    except LevelledError as refused:
        raise CampaignError(f"{name}: {refused}") from refused
    return FoundLabels([row for row, _ in found], labels, n_outside)


def known_events(
    pool: Pool,
    state: CampaignState,
    source: Any,  # noqa: ANN401
    owner: str | None,
    now: datetime,
) -> tuple[list[Event], str | None]:
    """The events that add known labels to a campaign under way, and a note on those passed over.

    Models that were attached need their predictions for these items too.
    """
    found, settings = read_labels(pool, state.settings, source), state.settings
    taken = {item.row for item in (*state.draws[: state.n_asked], *state.known_items)}
    new = [one for one in zip(found.rows, found.labels, strict=True) if one[0] not in taken]
    if not new:
        raise CampaignError(
            f"All {len(found.rows)} items with a label were drawn already, or have a known label: "
            f"levelled tell {settings.name} FILE records labels of items that were drawn."
        )
    rows, labels = zip(*new, strict=True)
    items = make_known(pool, settings, rows, labels)
    events: list[Event] = [make_event(LabelsKnown, state, owner, now, items=items)]
    known = dict(enumerate(items, len(state.known_items)))
    for model, attached in state.attached.items():
        opened = open_attached(settings, model, attached)
        at = time_text(now)
        events.append(attach_event(settings, (), opened, model, at=at, known=known))
    waiting = {state.draws[draw - 1].row for draw in state.open_draws()} & {*found.rows}
    known_rows = {item.row for item in state.known_items} & {*found.rows}
    counts = {
        "of no item of the pool": found.n_outside,
        "known already": len(known_rows),
        "of items that were drawn": len(found.rows) - len(new) - len(known_rows),
    }
    parts = ", ".join(f"{n} {what}" for what, n in counts.items() if n)
    note = f"labels that were passed over: {parts}" if parts else None
    if waiting:
        note = f"{note}; levelled tell {settings.name} FILE takes {len(waiting)} of these"
    return events, note


def check_random(
    pool: Pool, settings: CampaignSettings, rows: Sequence[int], known: Sequence[int], name: str
) -> None:
    """Refuse labelled items that are no random sample of the pool, and say what shows it.

    Each column is compared between the sample and the other items without a known label: numbers by
    the Kolmogorov-Smirnov distance, classes by the exact hypergeometric probability of their
    counts. Times the number of columns, the least p must not be below 1e-6.

    Parameters
    ----------
    pool, settings : Those of the campaign.
    rows : The rows of the sample.
    known : The rows of items with known labels, which cannot be in it.
    name : The name of its file.
    """
    is_open, taken = np.ones(len(pool), dtype=bool), np.zeros(len(pool), dtype=bool)
    is_open[np.asarray(known, dtype=np.int64)] = False
    taken[np.asarray(rows, dtype=np.int64)] = True
    taken = taken[is_open]
    if taken.all():
        return
    columns = _columns(pool, settings)
    found = {column: _p_value(values[is_open], taken) for column, values in columns}
    worst = min(found, key=lambda column: found[column])
    if found[worst] * len(found) < _ALARM:
        raise CampaignError(
            f"The {len(rows)} labels of {name} are no random sample of the pool: their {worst} "
            f"differs from that of the other items (p = {found[worst] * len(found):.1g}). Labels "
            f"of chosen items are an asset as --known (known=): they count as they are, and the "
            f"rest is drawn."
        )


def _columns(pool: Pool, settings: CampaignSettings) -> Iterator[tuple[str, FloatArray | IntArray]]:
    """The columns in which a choice of items would show: numbers, or codes of classes."""
    yield "row number", np.arange(float(len(pool)))
    for model in pool.models:
        of = f" of {model}" if model else ""
        yield from ((f"{name}{of}", values) for name, values in _guides(pool.predictions(model)))
    for name in settings.slices:
        yield f"slice {name}", pool.slice_values(name).codes.astype(np.int64)
    for name in [one for one in pool.column_names if one not in settings.slices][:_MOST_COLUMNS]:
        values = _as_column(pool.values(name))
        if values is not None:
            yield f"column {name}", values


def _guides(predictions: PoolPredictions) -> Iterator[tuple[str, FloatArray | IntArray]]:
    pred, proba, X = predictions.pred, predictions.label_proba, predictions.features
    if isinstance(pred, Categorical):
        yield "predicted class", pred.codes.astype(np.int64)
    elif pred is not None:
        yield "predicted number", np.asarray(pred, dtype=np.float64)
    if proba is not None:
        ordered = np.sort(np.asarray(proba, dtype=np.float64), axis=1)
        yield "confidence", ordered[:, -1]
        yield "margin", ordered[:, -1] - ordered[:, -2]
        for at, name in enumerate(predictions.classes or ()):
            yield f"probability of {name}", np.asarray(proba[:, at], dtype=np.float64)
    for at in range(0 if X is None else X.shape[1]):
        yield f"feature {at + 1}", np.nan_to_num(np.asarray(X)[:, at].astype(np.float64))


def _as_column(values: Sequence[Any]) -> FloatArray | IntArray | None:
    """Numbers and times as numbers, other short values as codes; None for free text."""
    some = [one for one in values if one is not None]
    if some and all(isinstance(one, int | float) for one in some):
        return np.array([np.inf if one is None else float(one) for one in values])
    if some and all(isinstance(one, date) or _is_time(one) for one in some):
        order = {text: float(at) for at, text in enumerate(sorted({str(one) for one in some}))}
        return np.array([order.get(str(one), np.inf) for one in values])
    texts = [str(one) for one in values]
    if len(counts := Counter(texts)) > min(_MOST_CLASSES, len(texts) // 2):
        return None
    codes = {text: code for code, text in enumerate(counts)}
    return np.array([codes[text] for text in texts], dtype=np.int64)


def _is_time(value: object) -> bool:
    """True for a time as ISO 8601 writes it, which has the order of its text."""
    try:
        return isinstance(value, str) and bool(datetime.fromisoformat(value))
    except ValueError:
        return False


def _p_value(values: FloatArray | IntArray, taken: np.ndarray[Any, Any]) -> float:
    n, m = int(taken.sum()), int((~taken).sum())
    if values.dtype.kind == "f":  # sup |F_n - G_m| over all values
        order = np.argsort(values, kind="stable")
        ends = np.flatnonzero(np.append(np.diff(values[order]) != 0, True))
        inside = np.cumsum(taken[order])[ends]
        distance = np.abs(inside / n - (ends + 1 - inside) / m).max()
        return float(min(1.0, 2 * _SLACK * np.exp(-2 * distance**2 * n * m / (n + m))))
    from scipy.stats import hypergeom

    counts = np.bincount(values - values.min())
    drawn = np.bincount(values[taken] - values.min(), minlength=len(counts))
    there = counts > 0
    law = hypergeom(n + m, counts[there], n)
    tail = np.minimum(law.cdf(drawn[there]), law.sf(drawn[there] - 1))
    return float(min(1.0, 2 * tail.min() * there.sum()))
