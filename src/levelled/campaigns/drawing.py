"""From files to drawn items: the proposal of a campaign, its draws, and predictions added later.

Scores do not change during a campaign, and a longer race begins with the shorter one. So drawing
further ahead continues the same sequence.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from levelled import proposals, scores
from levelled._check import FloatArray, IntArray, choice
from levelled.campaigns.records import Attached, CampaignSettings, DrawnItem, Event
from levelled.draws import Draws
from levelled.errors import CampaignError, PoolError
from levelled.estimators.moments import uniform_probability
from levelled.labels import Label, class_texts
from levelled.predictions import PoolPredictions
from levelled.proposals import named
from levelled.samplers import race, with_design
from levelled.sources import Pool, open_pool
from levelled.sources.columns import Roles
from levelled.sources.files import files_of
from levelled.sources.origin import Files
from levelled.sources.reading import read_columns

__all__ = [
    "PROPOSALS",
    "SCORES",
    "attach_event",
    "check_model_name",
    "draw_all",
    "draw_from_file",
    "draw_further",
    "draw_sample",
    "frozen_proposal",
    "open_attached",
    "place_of",
]

SCORES = ("auto", "entropy", "margin", "least_confidence", "uniform")
PROPOSALS = ("proportional", "boltzmann", "power", "rank", "uniform")


@dataclass(frozen=True, slots=True, eq=False)
class FrozenProposal:
    """Weights of all items of the pool and, if there is one, a predictor of the loss."""

    weights: FloatArray
    control: FloatArray | None
    bound: float | None
    """The largest loss, where there is a predictor and losses are bounded."""

    def take(self, rows: IntArray) -> "FrozenProposal":
        """The same for some rows of the pool."""
        control = None if self.control is None else self.control[rows]
        return FrozenProposal(self.weights[rows], control, self.bound)


def frozen_proposal(pool: Pool, settings: CampaignSettings) -> FrozenProposal:
    """The weights that `settings` choose, and the losses that the first metric expects.

    By default half of the probability is uniform, and half in proportion to the root mean squared
    loss.
    """
    metric, predictions = settings.metrics[0], pool.predictions(settings.models[0])
    choice("score", settings.score, SCORES)
    if settings.score == "auto":
        score = metric.score(predictions)
    else:
        score = _score(predictions, settings.score)
    control = metric.control(predictions)
    probability = named.parse(settings.proposal, PROPOSALS)(score)
    bound = metric.bounds[1] if metric.bounds is not None else np.inf
    return FrozenProposal(
        proposals.mixture(probability, share=settings.floor),
        control,
        bound if control is not None and np.isfinite(bound) else None,
    )


def _score(predictions: PoolPredictions, name: str) -> FloatArray:
    if name == "uniform":
        return np.ones(predictions.pool_size)
    if predictions.proba is None:
        raise CampaignError(
            f"The score {name!r} needs the model's probabilities (columns proba_<class>), which "
            f"this pool does not have."
        )
    return np.asarray(getattr(scores, name)(predictions.proba), dtype=np.float64)


def draw_further(
    pool: Pool, settings: CampaignSettings, rows: Sequence[int], last: int
) -> list[DrawnItem]:
    """The draws after those that took `rows`, up to number `last`."""
    N, n_sampled = settings.pool_size, settings.n_sampled
    left = np.delete(np.arange(N), np.array(rows[:n_sampled], dtype=np.int64))
    frozen = frozen_proposal(pool, settings).take(left)
    draws = race(frozen.weights, min(last, N) - n_sampled, seed=settings.seed)
    draws = with_design(draws, frozen.weights, control=frozen.control, bound=frozen.bound)
    raced = left[draws.index]
    if raced[: len(rows) - n_sampled].tolist() != list(rows[n_sampled:]):
        raise CampaignError(
            "The pool gives other draws than the ones on record: it is not the pool this campaign "
            "was created with."
        )
    return _make_items(pool, settings, raced, draws, n_sampled, len(rows) + 1)


def draw_all(
    pool: Pool, settings: CampaignSettings, sample: Sequence[int], last: int
) -> list[DrawnItem]:
    """Draws 1 to `last`: first the rows of a sample that has labels already, if there is one."""
    items = []
    if sample:
        rows = np.array(sample, dtype=np.int64)
        items = draw_sample(pool, settings, rows, frozen_proposal(pool, settings))
    return [*items, *draw_further(pool, settings, sample, last)] if last > len(sample) else items


def draw_sample(
    pool: Pool, settings: CampaignSettings, rows: IntArray, frozen: FrozenProposal
) -> list[DrawnItem]:
    """A random sample that has labels already, as uniform draws 1..n."""
    N, n = settings.pool_size, len(rows)
    uniform = np.full(N, 1 / N)
    draws = Draws(rows, uniform_probability(N, n), N)
    draws = with_design(draws, uniform, control=frozen.control, bound=frozen.bound)
    return _make_items(pool, settings, rows, draws, 0, 1)


def _make_items(
    pool: Pool, settings: CampaignSettings, rows: IntArray, draws: Draws, before: int, first: int
) -> list[DrawnItem]:
    """The items from draw `first` on; the first one of `draws` has number before + 1."""
    skip = first - 1 - before
    rows = rows[skip:]
    # Columns with weights 1/(N q) were made for the pool without its sample.
    scale = draws.pool_size / settings.pool_size
    design = {
        name: (column[skip:] * (scale if name.startswith("max_weight") else 1)).tolist()
        for name, column in (draws.design or {}).items()
    }
    pred, proba = {}, {}
    for model in settings.models:
        predictions = pool.predictions(model)
        if (values := predictions.of(rows)) is not None:
            pred[model] = _as_labels(values, settings)
        if predictions.proba is not None:
            proba[model] = [tuple(p) for p in predictions.proba[rows].tolist()]
    slices = {name: pool.slice_values(name).of(rows) for name in settings.slices}
    probability, n = draws.probability[skip:].tolist(), len(rows)
    mappings = (_by_item(columns, n) for columns in (design, pred, proba, slices))
    items = zip(
        rows.tolist(), pool.ids(rows), probability, *mappings, pool.shown(rows), strict=True
    )
    return [DrawnItem(draw, *values) for draw, values in enumerate(items, first)]


def _by_item(columns: Mapping[str, Sequence[Any]], n: int) -> list[dict[str, Any]]:
    """Columns of n values each, as one mapping for each item."""
    return [{name: values[at] for name, values in columns.items()} for at in range(n)]


def _as_labels(predictions: Sequence[str | int | float], settings: CampaignSettings) -> list[Label]:
    """Predictions as labels are kept, so that the two can be compared."""
    if settings.numeric and not any(isinstance(one, str) for one in predictions):
        return [float(one) for one in predictions]
    return [*class_texts(predictions)]


def place_of(pool: Pool) -> str | list[str] | None:
    """The full path of a pool, or paths; None for a frame in memory."""
    if pool.source is None:
        return None
    if isinstance(pool.source, str):
        return str(Path(pool.source).absolute())
    return [str(Path(path).absolute()) for path in pool.source]


def attach_event(
    settings: CampaignSettings,
    items: Sequence[DrawnItem],
    predictions: Pool,
    model: str,
    *,
    at: str,
) -> Event:
    """The event that adds the predictions of `model` for the drawn items.

    The draws did not depend on the model, so its losses are weighted without bias.
    """
    _check_model(settings, predictions, model)
    predicted = predictions.predictions()
    for metric in settings.metrics:
        metric.require(predicted)
    rows = predictions.rows_of([item.id for item in items])
    pred = predicted.of(rows)
    proba: list[list[float]] = []
    if predicted.proba is not None:
        classes = predictions.classes
        order = [] if classes is None else [classes.index(one) for one in settings.classes or ()]
        proba = predicted.proba[rows][:, order].tolist()
    return {
        "type": "attached",
        "at": at,
        "by": None,
        "model": model,
        "source": place_of(predictions),
        "fingerprint": predictions.fingerprint,
        "pred_counts": predicted.counts() if len(predictions) == settings.pool_size else {},
        "pred": _by_draw(items, [] if pred is None else _as_labels(pred, settings)),
        "proba": _by_draw(items, proba),
    }


def check_model_name(model: str) -> None:
    """Refuse a text that cannot name a model."""
    if not model or not model.isprintable() or len(model) > 100:
        raise CampaignError(f"{model!r} is no name for a model: give it a short printable one.")


def open_attached(settings: CampaignSettings, model: str, attached: Attached) -> Pool:
    """The file of a model that was attached, for the items drawn since."""
    if attached.source is None:
        raise CampaignError(
            f"The predictions of {model!r} were in memory when they were attached, and new "
            f"items need theirs: attach {model!r} again from a file."
        )
    predictions = open_pool(attached.source, classes=settings.classes)
    if predictions.fingerprint != attached.fingerprint:
        raise CampaignError(
            f"{attached.source} has changed since it was attached as {model!r}: attach it "
            f"under a new name."
        )
    return predictions


def _check_model(settings: CampaignSettings, predictions: Pool, model: str) -> None:
    check_model_name(model)
    if model in map(settings.shown_name, settings.models):
        raise CampaignError(
            f"The pool of {settings.name!r} has predictions of {model!r} already: choose another "
            f"name."
        )
    if predictions.classes is not None and settings.classes is not None:
        unknown = set(predictions.classes) ^ set(settings.classes)
        if unknown:
            raise CampaignError(
                f"The classes of these predictions are not those of {settings.name!r}: they "
                f"differ in {', '.join(sorted(unknown))}."
            )


def _by_draw(items: Sequence[DrawnItem], values: Sequence[Any]) -> dict[str, Any]:
    return {str(item.draw): value for item, value in zip(items, values, strict=False)}


def draw_from_file(
    path: str,
    k: int,
    *,
    seed: int,
    weight: str | None = None,
    allow_zero: bool = False,
    id_column: str = "id",
) -> tuple[Draws, list[str | int]]:
    """Draws from the rows of a file, without a campaign, and the ids of the drawn rows.

    Rows are drawn in proportion to the column `weight`, or uniformly without one. No other
    columns are read.
    """
    origin = Files(files_of(path))
    for name in filter(None, (id_column, weight)):
        if name not in origin.schema.names:
            there = ", ".join(map(repr, origin.schema.names[:12]))
            raise PoolError(f"{path} has no column {name!r}; it has {there}.")
    roles = Roles(id_column, score=weight)
    columns = read_columns(origin.batches(roles), roles)
    weights = np.ones(len(columns.ids)) if columns.score is None else columns.score
    draws = race(weights, k, seed=seed, design=True, allow_zero=allow_zero)
    return draws, [columns.ids[row].as_py() for row in draws.index.tolist()]
