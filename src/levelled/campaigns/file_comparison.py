"""Two files of predictions compared on the same labels, without a campaign."""

from pathlib import Path

import numpy as np

from levelled._check import FloatArray, IntArray
from levelled.campaigns.figures.comparing import why_not_compared
from levelled.draws import Draws
from levelled.errors import InputError
from levelled.estimators import estimate
from levelled.labels import Id, Label, are_truth_values, match_classes, refuse_mixed_words
from levelled.metrics.comparison import Comparison
from levelled.metrics.named import Metric, parse_metric
from levelled.metrics.ratios import Look, figure_estimate
from levelled.sources import Pool, open_pool, read_answers


def compare_files(
    first: str, second: str, labels: str | None = None, metric: str = "error", level: float = 0.95
) -> Comparison:
    """The metric of the predictions in one file minus that of those in another.

    Parameters
    ----------
    first, second : Files of predictions for the same items, which are the pool.
    labels : A file of ids and labels; without one, the labels are in the first file. With a column
        `probability` its rows are draws, as `levelled export` writes them; without, the labels must
        be those of a random sample, or of all items.
    metric : The metric, by its name.
    level : The confidence of the interval, which is for one look at a fixed number of labels.
    """
    chosen = parse_metric(metric)
    if why := why_not_compared(chosen):
        raise InputError(why)
    one, other = open_pool(first), open_pool(second)
    if len(one) != len(other):
        raise InputError(
            f"{first} has {len(one)} items and {second} {len(other)}: models are compared on the "
            f"same pool."
        )
    told, ids, draws = _read_draws(labels or first, one)
    given = chosen.labels(told, one.classes)
    if one.classes is None and chosen.label_kind == "class":
        predicted = [*dict.fromkeys((*one.pred_counts(), *other.pred_counts()))]
        refuse_mixed_words(predicted)
        given = match_classes(given, predicted, is_open=not are_truth_values(predicted))
    rows = {one: draws.index, other: other.rows_of(ids)}
    if chosen.kind == "ratio":
        both = [
            chosen.pairs(given, pool.predictions().of(at) or [], len(pool), pool.pred_counts())
            for pool, at in rows.items()
        ]
        difference = figure_estimate(both, Look(draws, level, "auto"), signs=(1, -1))
    else:
        loss, loss_b = (_losses(chosen, given, pool, at, one.classes) for pool, at in rows.items())
        low, high = chosen.bounds or (0.0, np.inf)
        bounds = (low - high, high - low)
        difference = estimate(loss - loss_b, draws, level=level, bounds=bounds)
    name, against = Path(first).stem, Path(second).stem
    return Comparison(
        first if name == against else name,
        second if name == against else against,
        difference.scaled(-1.0) if chosen.complemented else difference,
        metric=chosen.name,
        in_points=chosen.bounds == (0.0, 1.0),
        higher_is_better=bool(chosen.higher_is_better),
    )


def _losses(
    metric: Metric,
    labels: list[Label],
    pool: Pool,
    rows: IntArray,
    classes: tuple[str, ...] | None,
) -> FloatArray:
    """The losses of some rows, with their probabilities in the order of the classes."""
    predicted = pool.predictions()
    metric.require(predicted)
    proba = None
    if predicted.proba is not None and metric.needs == "proba":
        order = [[*(predicted.classes or ())].index(name) for name in classes or ()]
        proba = predicted.proba[rows][:, order]
    return metric.values(labels, predicted.of(rows), proba, classes).losses


def _read_draws(path: str, pool: Pool) -> tuple[list[object], list[Id], Draws]:
    """The labels of a file with the ids of their items and their draws from the pool."""
    rows = read_answers(path, remarks=["probability", "unlabelable"])
    if any(row.remarks.get("unlabelable") for row in rows):
        raise InputError(
            f"{path} has items that cannot be labelled: attach the other model to the campaign "
            f"(levelled attach) and compare it there."
        )
    drawn = any(row.remarks.get("probability") is not None for row in rows)
    if drawn:  # the unbroken run of labels; a later one would come from an item that was quick
        rows = sorted(rows, key=lambda row: row.draw or row.row)
        gap = next((at for at, row in enumerate(rows) if row.label is None), len(rows))
        rows = rows[:gap]
    rows = [row for row in rows if row.label is not None]
    ids = [row.id for row in rows if row.id is not None]
    if not rows or len(ids) < len(rows):
        raise InputError(f"{path} needs labels, each with the id of its item.")
    N = len(pool)
    probability = 1 / (N - np.arange(len(rows)))
    if drawn:
        probability = np.array([float(row.remarks.get("probability") or 0) for row in rows])
    return [row.label for row in rows], ids, Draws(pool.rows_of(ids), probability, N)
