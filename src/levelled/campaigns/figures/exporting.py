"""A campaign for others to read: a table of its draws, and the content of its report."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from levelled._version import __version__
from levelled.campaigns.figures.settled import SettledDraws, settled_draws
from levelled.campaigns.log.records import DrawnItem
from levelled.campaigns.log.state import CampaignState
from levelled.campaigns.people.labellers import agreement_of
from levelled.campaigns.people.shown import shown_pair
from levelled.campaigns.settings import CampaignSettings
from levelled.errors import CampaignError
from levelled.estimators import lure_weights
from levelled.estimators.lure import levels
from levelled.metrics.comparison import Comparison, Figure
from levelled.reports import Report, Section

if TYPE_CHECKING:
    import pyarrow as pa


def as_table(state: CampaignState) -> "pa.Table":
    """One row for each draw that was given out, in order.

    `sample_weight` is the weight of R_LURE among the settled draws, to train with or to weight
    any other loss; it is empty for draws that are not settled, because weights depend on how
    many draws there are, and 0 for draws that cannot be labelled. Each question has a column;
    `shown_left` is the column of a pair that was shown left. A slice whose name is taken, such as
    `label`, is in the column `slice.label`. Labels that were known without a draw follow, without
    a number of a draw and a probability; then the weights are such that their sum of weighted
    losses, over the number of settled draws, is the estimate of the whole pool.
    """
    import pyarrow as pa

    base = settled_draws(state)
    weights, known_weights = _weights(base)
    items = state.draws[: state.n_asked]
    answers = [state.answers.get(item.draw) for item in items]
    rows: dict[str, list[Any]] = {
        name: [getattr(item, name) for item in items]
        for name in ("draw", "row", "id", "probability")
    }
    parts = {"label": "label", "labelled_by": "by", "labelled_at": "at", "note": "note"}
    for name, part in parts.items():
        rows[name] = [getattr(answer, part, None) for answer in answers]  # None if there is none
    for question in state.settings.questions:
        rubrics = (getattr(answer, "rubric", {}) for answer in answers)
        rows[question.name] = [rubric.get(question.name) for rubric in rubrics]
    if state.settings.pair:
        rows["shown_left"] = [shown_pair(state.settings, item.draw)[0] for item in items]
    rows |= {
        "unlabelable": [getattr(state.unlabelable.get(n), "reason", None) for n in rows["draw"]],
        "sample_weight": [*weights, *[None] * (len(items) - len(weights))],
    }
    for model in (*state.settings.models, *state.attached):
        rows[f"pred@{model}" if model else "pred"] = _predicted(state, items, model)
    slices = {one: f"slice.{one}" if one in rows else one for one in state.settings.slices}
    rows |= {name: [item.slices[one] for item in items] for one, name in slices.items()}
    if not (known := base.known_items):
        return pa.table(rows)
    others: dict[str, list[Any]] = {
        name: [getattr(item, name) for item in known] for name in ("row", "id", "label")
    }
    others["sample_weight"] = known_weights
    for model in (*state.settings.models, *state.attached):
        others[f"pred@{model}" if model else "pred"] = base.known_predicted(model).tolist()
    others |= {name: [item.slices[one] for item in known] for one, name in slices.items()}
    return pa.concat_tables([pa.table(rows), pa.table(others)], promote_options="default")


def _weights(base: SettledDraws) -> tuple[list[float], list[float]]:
    """The training weights of the settled draws, and of the labels that were known without a draw.

    In the estimate, a label that was known before draw m counts with the shares of all later terms.
    """
    n, N, size = len(base), base.draws.pool_size, base.state.settings.pool_size
    shares = levels(N, n) if n else np.zeros(0)
    later = np.append(np.cumsum(shares[::-1])[::-1], 0.0) / size
    known = later[np.clip(base.known_first - 1, 0, n)]
    drawn = np.where(base.labelable, lure_weights(base.draws), 0.0) * (N / size)
    return drawn.tolist(), known.tolist()


def _predicted(state: CampaignState, items: Sequence[DrawnItem], model: str) -> list[Any]:
    """The prediction of a model for each item, None where it has none."""
    later = state.attached.get(model)
    if later is None:
        return [item.pred.get(model) for item in items]
    return [later.pred.get(item.draw) for item in items]


def write_table(table: "pa.Table", path: Path, *, raw: bool = False) -> None:
    """Write a table to a file that ends in .parquet, .csv or .jsonl.

    In CSV, text that a spreadsheet would compute is made harmless, unless it is left `raw`.
    """
    import json

    import pyarrow.csv as pacsv
    import pyarrow.parquet as pq

    if path.suffix == ".parquet":
        pq.write_table(table, path)
    elif path.suffix == ".csv":
        pacsv.write_csv(table if raw else _safe_cells(table), path)
    elif path.suffix == ".jsonl":
        lines = (json.dumps(row, ensure_ascii=False) for row in table.to_pylist())
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    else:
        raise CampaignError(f"{path} must end in .parquet, .csv or .jsonl.")


def _safe_cells(table: "pa.Table") -> "pa.Table":
    import pyarrow as pa

    from levelled.sources.answers import safe_cell

    for at, column in enumerate(table.columns):
        if pa.types.is_string(column.type):
            cells = [text if text is None else safe_cell(text) for text in column.to_pylist()]
            table = table.set_column(at, table.column_names[at], pa.array(cells, pa.string()))
    return table.rename_columns([safe_cell(name) for name in table.column_names])


def make_report(
    state: CampaignState,
    figures: Sequence[Figure],
    history: Sequence[Figure],
    comparisons: Sequence[Comparison],
    last_hash: str,
    learnt: Sequence[Section] = (),
) -> Report:
    """The content of a campaign's report."""
    now = datetime.now(UTC).strftime("%d %B %Y, %H:%M UTC")
    settings = state.settings
    return Report(
        title=settings.name,
        at=f"Evaluation by Levelled {__version__}, {now}",
        facts=list(_facts(state)),
        figures=figures,
        history=history,
        target_width=settings.target_width,
        sections=[
            *_comparisons(comparisons),
            *learnt,
            *_notes(state),
            *_amended(state),
            *_second_opinions(state),
            *_unlabelable(state, figures[0]),
        ],
        record=[
            ("command", f"levelled audit {settings.name}"),
            ("events in the log", f"{state.n_events:,}"),
            ("hash of the last event", last_hash),
        ],
    )


def _facts(state: CampaignState) -> Iterator[tuple[str, str]]:
    settings = state.settings
    yield "pool", f"{settings.pool_size:,} items, {settings.source or 'in memory'}"
    yield "fingerprint (sha256)", settings.fingerprint
    yield "metrics", ", ".join(settings.metric_names)
    models = (settings.shown_name(model) for model in (*settings.models, *state.attached))
    if named := ", ".join(filter(None, models)):
        yield "models", named
    if settings.label_classes:
        yield "classes", ", ".join(settings.label_classes)
    if settings.slices:
        yield "slices", ", ".join(settings.slices)
    budget = "no budget" if settings.budget is None else f"budget {settings.budget}"
    yield "labels", f"{len(state.answers)} ({budget})"
    yield "draws settled", f"{state.n_settled}; {len(state.open_draws())} more wait for a label"
    if n_known := len(state.known_items):
        yield "known without a draw", f"{n_known} labels, which count as they are"
    if settings.n_sampled:
        yield "labelled beforehand", f"{settings.n_sampled}, a random sample"
    yield "drawn by", _drawn_by(settings)
    yield "seed", str(settings.seed)
    if settings.questions:
        yield "further questions", "; ".join(one.notation for one in settings.questions)
    if state.closed is not None:
        yield "closed", state.closed


def _drawn_by(settings: CampaignSettings) -> str:
    """The kind of the campaign and what its probabilities follow from."""
    metric = settings.metrics[0].name
    if settings.kind == "uniform":
        return "uniform: at random"
    if settings.kind == "adaptive":
        features = f" and {', '.join(settings.features)}" if settings.features else ""
        return f"adaptive: {metric} as predicted from labels, predictions{features}"
    expected = f"root mean squared {metric} that the model expects"
    score = expected if settings.score == "auto" else f"score {settings.score}"
    return f"static: {score}, proposal {settings.proposal}, {settings.floor:.0%} uniform"


def _comparisons(comparisons: Sequence[Comparison]) -> Iterator[Section]:
    """The differences of further models from the first; no section where there are none."""
    if not comparisons:
        return
    rows = [
        (one.metric, one.model, one.against, one.verdict, "; ".join(one.difference.warnings))
        for one in comparisons
    ]
    about = (
        "Paired on the same labels: errors that both models make cancel. Each interval holds at "
        "its level on its own."
    )
    yield Section("Comparisons", about, ("metric", "model", "against", "verdict", "notes"), rows)


def _notes(state: CampaignState) -> Iterator[Section]:
    """What labellers noted beside the labels that count."""
    rows = [
        (*_draw_and_id(state, draw), str(answer.label), answer.note, answer.by or "")
        for draw, answer in sorted(state.answers.items())
        if answer.note
    ]
    if rows:
        yield Section("Notes of labellers", "", ("draw", "id", "label", "note", "by"), rows)


def _amended(state: CampaignState) -> Iterator[Section]:
    rows = [
        (
            *_draw_and_id(state, draw),
            " → ".join("(none)" if one.label is None else str(one.label) for one in before),
            str(state.answers[draw].label),
        )
        for draw, before in ((one, state.amended[one]) for one in state.relabelled())
    ]
    if rows:
        about = f"{_count(len(rows), 'label')} replaced."
        yield Section("Amended labels", about, ("draw", "id", "before", "now"), rows)


def _second_opinions(state: CampaignState) -> Iterator[Section]:
    rows = [
        (
            *_draw_and_id(state, draw),
            "(none)" if draw not in state.answers else str(state.answers[draw].label),
            str(answer.label),
            answer.by or "",
            answer.at,
        )
        for draw, answers in sorted(state.opinions.items())
        for answer in answers
    ]
    if not rows:
        return
    about = f"{_count(len(rows), 'label')} beside the one that the figures use."
    if (agreement := agreement_of(state)) is not None:
        about += f" Two labellers gave {agreement}."
    columns = ("draw", "id", "label used", "second opinion", "by", "at")
    yield Section("Second opinions", about, columns, rows)


def _unlabelable(state: CampaignState, first: Figure) -> Iterator[Section]:
    rows = [
        (*_draw_and_id(state, draw), mark.reason)
        for draw, mark in sorted(state.unlabelable.items())
    ]
    if rows:
        about = (
            f"{_count(len(rows), 'draw')}. An estimated {first.unlabelable:.2%} of the pool cannot "
            f"be labelled; the figures are over the rest."
        )
        yield Section("Items that cannot be labelled", about, ("draw", "id", "reason"), rows)


def _draw_and_id(state: CampaignState, draw: int) -> tuple[str, str]:
    return str(draw), str(state.draws[draw - 1].id)


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
