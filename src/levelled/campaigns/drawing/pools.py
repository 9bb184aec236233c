"""The files of a campaign, checked against its log, and the settings that follow from its pool.

The pool is as each draw saw it; predictions of other models may be attached later.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from levelled._check import FloatArray, choice, whole
from levelled._files import replace_file
from levelled.campaigns.log.events import PredictionsAttached
from levelled.campaigns.log.records import Attached, DrawnItem, KnownItem, Rescored
from levelled.campaigns.log.state import CampaignState
from levelled.campaigns.options import KINDS
from levelled.campaigns.settings import CampaignSettings
from levelled.errors import CampaignError, PoolError
from levelled.estimators.intervals.limits import (
    BUDGETED,
    UNPLANNED,
    extend_looks,
    first_plan,
    plan_looks,
)
from levelled.labels import Label, class_texts, list_names
from levelled.looks import PlannedLook
from levelled.metrics.named import Metric
from levelled.metrics.planning import check_range
from levelled.predictions import PoolPredictions, as_verdicts
from levelled.sources import Pool, open_pool
from levelled.sources.files import is_address

_MOST_LOOKS = 100  # guard: planning them takes time, and more of them only cost width
_DEFAULT_WEIGHTS = ("auto", "proportional", 0.5)


@dataclass(frozen=True, slots=True)
class RecordedFile:
    """A file that a campaign was given, as its log knows it.

    `name` says in an error what it holds, and `remedy` what to do about a file that is gone or
    that has changed.
    """

    name: str
    source: str | Sequence[str] | None
    fingerprint: str
    remedy: str

    def open(self, **options: Any) -> Pool:  # noqa: ANN401
        """The file with the content on record, opened with the `options` of `open_pool`."""
        if self.source is None:
            raise CampaignError(f"{self.name} was in memory when it was given. {self.remedy}")
        try:
            return self.check(open_pool(self.source, **options))
        except PoolError as wrong:
            raise CampaignError(f"{self.name}: {wrong} {self.remedy}") from wrong

    def check(self, opened: Pool) -> Pool:
        """The opened file itself; refuses one with another content."""
        if opened.fingerprint_like(self.fingerprint) != self.fingerprint:
            raise CampaignError(
                f"{self.name}: {opened.source or 'this frame'} is not what is on record, its "
                f"content differs. {self.remedy}"
            )
        return opened


class CampaignPool:
    """The pool of a campaign, and the predicted losses that replaced its own later.

    `pool` and `scores` are files that are no longer where the log says.
    """

    def __init__(self, pool: Pool | None = None, scores: Sequence[Pool] = ()) -> None:
        self._pool = pool
        self._given = {one.fingerprint: one for one in scores}
        self._scores: dict[str, Pool] = {}  # the pool with each of them

    def open(self, settings: CampaignSettings) -> Pool:
        """The pool; refuses one whose content is not that at creation.

        It is opened again if its files have changed since, or only their times.
        """
        recorded = RecordedFile(
            f"The pool of {settings.name!r}",
            settings.source,
            settings.fingerprint,
            "Draws need the pool it was created with: name it with pool= or --pool.",
        )
        if self._pool is None or self._pool.changed:
            source = recorded.source if self._pool is None else self._pool.source
            self._pool = replace(recorded, source=source).open(**pool_options(settings))
            self._scores.clear()
        return recorded.check(self._pool)

    def at(self, state: CampaignState, draw: int) -> Pool:
        """The pool with the predicted losses that counted when this draw was made."""
        pool = self.open(state.settings)
        used = [one for one in state.rescored if one.first <= draw]
        return self._rescored(pool, state.settings, used[-1]) if used else pool

    def open_scores(
        self,
        settings: CampaignSettings,
        predictions: Any,  # noqa: ANN401
        save_as: str | Path | None,
    ) -> Pool:
        """Predicted losses from a file, a frame or a fitted model, whose predictions may be saved.

        They are kept for as long as this object lives.
        """
        pool = self.open(settings)
        if hasattr(predictions, "predict"):
            predictions = _predict(predictions, pool, settings)
            if save_as is not None:
                from levelled.campaigns.figures.exporting import write_table

                write_table(predictions, Path(save_as), raw=True)
                predictions = str(save_as)
        scores = open_pool(predictions, classes=settings.classes)
        check_predicted_losses(scores, settings.metrics[0])
        self._scores[scores.fingerprint] = pool.with_scores(scores)
        self._given[scores.fingerprint] = scores
        return scores

    def _rescored(self, pool: Pool, settings: CampaignSettings, used: Rescored) -> Pool:
        if used.fingerprint not in self._scores:
            recorded = RecordedFile(
                f"The predictor of {settings.name!r} from draw {used.first} on",
                used.source,
                used.fingerprint,
                "Name the file with scores= or --scores, or attach a new one for further draws.",
            )
            given = self._given.get(used.fingerprint)
            scores = recorded.open(classes=settings.classes) if given is None else given
            self._scores[used.fingerprint] = pool.with_scores(scores)
        return self._scores[used.fingerprint]


def pool_options(settings: CampaignSettings) -> dict[str, Any]:
    """The options of `open_pool` with which the pool of a campaign is opened again."""
    return {
        "classes": settings.classes,
        "slices": settings.slices,
        "features": settings.features,
        "roles": None,
        **settings.columns.to_json(),
    }


def open_moved_scores(state: CampaignState, scores: Any) -> list[Pool]:  # noqa: ANN401
    """Files of predicted losses, one or a list, that a campaign was given when elsewhere."""
    known = {one.fingerprint for one in state.rescored}
    several = scores if isinstance(scores, list | tuple) else [scores]
    opened = [open_pool(one, classes=state.settings.classes) for one in several]
    for one in opened:
        if one.fingerprint not in known:
            raise CampaignError(
                f"{one.source or 'This frame'} was never a predictor of {state.settings.name!r}: "
                f"its content is that of no file on record. `levelled attach --predictor` takes "
                f"a new one."
            )
    return opened


def check_predicted_losses(pool: Pool, metric: Metric) -> None:
    """Refuse a column loss_hat with a number that no loss of the metric can be."""
    (low, high), start, n_outside = metric.possible, 0, 0
    first: tuple[int, float] | None = None
    if pool.predictions_at([0]).loss_hat is None:
        return
    for run in pool.runs():
        hat = np.asarray(run.loss_hat)
        outside = np.flatnonzero((hat < low) | (hat > high))
        if first is None and len(outside):
            first = start + int(outside[0]), float(hat[outside[0]])
        n_outside += len(outside)
        start += len(hat)
    if first is not None:
        row, value = first
        others = f", and {n_outside - 1} more like it" if n_outside > 1 else ""
        raise CampaignError(
            f"The predicted loss (loss_hat) of {pool.ids([row])[0]!r} in row {row} (counted from "
            f"0) is {value:g}{others}, but the loss of {metric.name} is "
            f"{f'between {low:g} and {high:g}' if np.isfinite(high) else f'at least {low:g}'}. "
            f"Scale the column, or cut it to that range."
        )


def _predict(model: Any, pool: Pool, settings: CampaignSettings) -> Any:  # noqa: ANN401
    """The predictions of a fitted scikit-learn model for the features of a pool, as a table.

    A classifier of the campaign's classes predicts labels, any other of two classes the
    probability that its second one, the larger loss, occurs; a regressor predicts the loss, which
    is cut to what a loss may be.
    """
    import pyarrow as pa

    X = pool.predictions(settings.models[0]).features
    if X is None:
        raise CampaignError(
            f"The pool of {settings.name!r} has no features for a model to predict from: create "
            f"the campaign with features, or give a file of predicted losses."
        )
    columns: dict[str, Any] = {"id": pool.ids(range(len(pool)))}
    if not hasattr(model, "predict_proba"):
        hat = np.clip(model.predict(X), *settings.metrics[0].possible)
        return pa.table({**columns, "loss_hat": hat})
    proba, names = model.predict_proba(X), [str(one) for one in model.classes_]
    if {*names} == {*(settings.classes or ())}:
        by_class = dict(zip(names, proba.T, strict=True))
        return pa.table({**columns, **{f"surrogate_{name}": p for name, p in by_class.items()}})
    if len(names) != 2:
        raise CampaignError(
            f"The model predicts the classes {', '.join(names)}. It must predict the classes of "
            f"{settings.name!r}, or whether an item is wrong."
        )
    return pa.table({**columns, "loss_hat": proba[:, 1]})


def place_of(pool: Pool) -> str | list[str] | None:
    """The full path of a pool, or paths; None for a frame in memory, an address as it is."""
    if pool.source is None:
        return None
    several = [pool.source] if isinstance(pool.source, str) else pool.source
    places = [one if is_address(one) else str(Path(one).absolute()) for one in several]
    return places[0] if isinstance(pool.source, str) else places


_IN_MEMORY: dict[str, Pool] = {}
"""Frames attached by this process that no file could be written for, by their fingerprints."""


def keep_frame(frame: Pool, name: str, address: str) -> Pool:
    """A frame as a Parquet file beside that of a storage, else itself, kept by this process."""
    database = address.removeprefix("sqlite:///")
    if database == address:
        _IN_MEMORY[frame.fingerprint] = frame
        return frame
    from pyarrow import parquet

    file = Path(database).with_name(re.sub(r"[^\w.@-]+", "_", name) + ".parquet")
    replace_file(file, lambda unfinished: parquet.write_table(frame.table, unfinished))
    return open_pool(str(file), classes=frame.classes)


def attach_event(
    settings: CampaignSettings,
    items: Sequence[DrawnItem],
    predictions: Pool,
    model: str,
    *,
    at: str,
    known: Mapping[int, KnownItem] | None = None,
) -> PredictionsAttached:
    """The event that adds the predictions of `model` for the drawn items.

    The draws did not depend on the model, so its losses are weighted without bias.

    Parameters
    ----------
    settings : Those of the campaign.
    items : The drawn items.
    predictions : The predictions, with those of the items among them.
    model : The name of the model.
    at : The time of the event.
    known : Items with known labels, by their place among these.
    """
    _check_model(settings, predictions, model)
    predicted, draws = predictions.predictions(), [item.draw for item in items]
    places, others = [*(known or {})], [*(known or {}).values()]
    for metric in settings.metrics:
        metric.require(predicted)
    if settings.allowed_labels and (other := {*predicted.counts()} - {*settings.allowed_labels}):
        raise CampaignError(
            f"{model!r} predicts {min(other)!r:.80}, which is none of the campaign's classes, "
            f"{list_names(settings.allowed_labels, 12)}: a new one takes it with --open-classes."
        )
    try:
        ids = [*(item.id for item in items), *(item.id for item in others)]
        rows = predictions.rows_of(ids)
    except PoolError as wrong:
        raise CampaignError(
            f"{wrong} {model!r} needs a prediction for every item that is drawn or has a known "
            f"label: attach it from a file with all of them."
        ) from wrong
    pred = predicted.of(rows)
    labels = None if pred is None else as_labels(pred, settings)
    proba: list[list[float]] = []
    if predicted.proba is not None:
        classes = predictions.classes
        order = [] if classes is None else [classes.index(one) for one in settings.classes or ()]
        proba = predicted.proba[rows][:, order].tolist()
    return PredictionsAttached(
        at=at,
        by=None,
        model=model,
        source=place_of(predictions),
        fingerprint=predictions.fingerprint,
        pred_counts=predicted.counts() if len(predictions) == settings.pool_size else {},
        pred=dict(zip(draws, labels or (), strict=False)),
        proba=dict(zip(draws, map(tuple, proba), strict=False)),
        known_pred=dict(zip(places, (labels or ())[len(draws) :], strict=False)),
        known_proba=dict(zip(places, map(tuple, proba[len(draws) :]), strict=False)),
    )


def predicted_numbers(
    state: CampaignState, open_pool: Callable[[], Pool], model: str
) -> FloatArray:
    """The numbers that a model of the pool, or one attached later, predicts for the whole pool."""
    pool, later = open_pool(), state.attached.get(model)
    source = pool if later is None else open_attached(state.settings, model, later)
    number = (source.predictions(model) if later is None else source.predictions()).number
    if number is None:
        raise CampaignError(f"The model {model or 'first'!r} does not predict numbers.")
    rows = slice(None) if later is None else source.rows_of(pool.ids(range(len(pool))))
    return np.asarray(number, dtype=np.float64)[rows]


def check_model_name(model: str) -> None:
    """Refuse a text that cannot name a model."""
    if not model or not model.isprintable() or len(model) > 100:
        raise CampaignError(f"{model!r} is no name for a model: give it a short printable one.")


def open_attached(settings: CampaignSettings, model: str, attached: Attached) -> Pool:
    """The file of a model that was attached, for items other than those drawn then."""
    if attached.source is None and attached.fingerprint in _IN_MEMORY:
        return _IN_MEMORY[attached.fingerprint]
    recorded = RecordedFile(
        f"The table of predictions of {model!r}",
        attached.source,
        attached.fingerprint,
        f"New items need theirs: attach {model!r} again from its file, or under a new name.",
    )
    return recorded.open(classes=settings.classes)


def _check_model(settings: CampaignSettings, predictions: Pool, model: str) -> None:
    check_model_name(model)
    if model in map(settings.shown_name, settings.models):
        raise CampaignError(
            f"The pool of {settings.name!r} has predictions of {model!r} already: choose another "
            f"name."
        )
    if predictions.classes is not None and settings.classes is not None:
        unknown = {*predictions.classes} ^ {*settings.classes}
        if unknown:
            raise CampaignError(
                f"The classes of these predictions are not those of {settings.name!r}: they "
                f"differ in {', '.join(sorted(unknown))}."
            )


def as_labels(predictions: Sequence[str | int | float], settings: CampaignSettings) -> list[Label]:
    """Predictions as labels are kept, so that the two can be compared."""
    if settings.numeric and not any(isinstance(one, str) for one in predictions):
        return [float(one) for one in predictions]
    return [*class_texts(predictions)]


def fitting_model_first(pool: Pool, metric: Metric) -> tuple[str, ...]:
    """The models, those first whose predictions are labels of the kind that a metric counts.

    Beside a judge that rates, a share of passes is predicted by the one that says "pass".
    """
    counted = metric.positive

    def fits(model: str) -> bool:
        if metric.label_kind == "number":
            return pool.predictions_at([0], model).number is not None
        return counted is None or counted in pool.pred_counts(model)

    return tuple(sorted(pool.models or ("",), key=lambda model: not fits(model)))


def settings_of_pool(
    pool: Pool, metrics: Sequence[Metric], slices: Sequence[str]
) -> dict[str, Any]:
    """The settings that a pool determines: its size, content, models, classes and counts."""
    models = fitting_model_first(pool, metrics[0])
    kinds = {metric.label_kind for metric in metrics} - {None}
    if len(kinds) > 1:
        names = ", ".join(metric.name for metric in metrics)
        raise CampaignError(
            f"These metrics do not go together: {names}. Some need a number as label, others a "
            f"class."
        )
    has_numbers = pool.predictions_at([0], models[0]).number is not None
    return {
        "fingerprint": pool.fingerprint,
        "pool_size": len(pool),
        "models": models,
        "classes": pool.classes,
        # Labels are numbers as the metrics need it, or else like the predictions.
        "numeric": kinds == {"number"} if kinds else has_numbers,
        "features": pool.features,
        "columns": pool.kept_choices,
        "group": pool.group,
        "n_groups": pool.n_groups,
        "slice_counts": {column: pool.slice_values(column).counts() for column in slices},
        "pred_counts": {one: pool.pred_counts(one) for one in pool.models or ("",)},
    }


def check_looks(count: int, *, may_extend: bool) -> int:
    """A number of looks; refused if they are too many, or none with a reserve for later ones."""
    whole("looks", count, least=0)
    if count > _MOST_LOOKS:
        raise CampaignError(f"{count} looks are too many to plan: choose at most {_MOST_LOOKS}.")
    if may_extend and not count:
        raise CampaignError(
            "may_extend keeps a reserve for looks after the budget is raised, and this campaign "
            "plans no looks: leave it out, because intervals by betting need no reserve."
        )
    return count


def with_looks(settings: CampaignSettings) -> CampaignSettings:
    """The settings with the looks that are planned at the creation.

    They are over the budget. Where there is none, they are over the number that was `planned`, and
    then wherever that has doubled, out of the reserve.
    """
    size, count = settings.open_size, settings.n_looks
    if settings.versions.spending == 1:
        count, alpha = len(settings.looks), settings.rate(settings.shares.looks)
        looks = first_plan(settings.budget, size, count, alpha) if count else ()
        return replace(settings, looks=looks)
    budget = settings.planned if settings.budget is None else settings.budget
    if not count or budget is None:
        return replace(settings, looks=(), planned=None)
    power = BUDGETED if settings.planned is None else UNPLANNED
    looks = plan_looks(min(budget, size), size, count, settings.rate(settings.shares.looks), power)
    if settings.planned is None:
        return replace(settings, looks=looks)
    return replace(settings, **doubled_looks(settings, looks, 0))


def doubled_looks(
    settings: CampaignSettings, looks: tuple[PlannedLook, ...], n_extra: int
) -> dict[str, Any]:
    """The settings of looks that go on, out of the reserve, wherever the last one has doubled."""
    reserve, last = settings.rate(settings.shares.reserve), looks[-1].n
    sizes = [n for j in range(1, 60) if (n := last * 2**j) < settings.open_size] if reserve else []
    extended = extend_looks(looks, sizes, reserve, n_extra)
    return {"looks": extended, "n_extra": n_extra + len(sizes)}


def outlines_of(pool: Pool, metric: Metric) -> dict[str, PoolPredictions]:
    """What each model predicts for some items; a pool that names no model has one without a name.

    They show which columns there are and of what kind. One item is enough, but for classes
    without any chances: there all predictions tell how many classes there are.
    """
    return {
        one: pool.predictions(one)
        if is_judged(pool, one, metric)
        else pool.predictions_at([0], one)
        for one in pool.models or ("",)
    }


def is_judged(pool: Pool, model: str, metric: Metric) -> bool:
    """True if a metric counts classes and the pool has no chances of them, only predictions."""
    return _lacks_chances(metric, pool.predictions_at([0], model))


def only_verdicts(metric: Metric, predictions: PoolPredictions) -> bool:
    """True if all that predicts the classes a metric is about is a verdict on each item."""
    return _lacks_chances(metric, predictions) and as_verdicts(predictions.pred) is not None


def _lacks_chances(metric: Metric, predictions: PoolPredictions) -> bool:
    chances = (predictions.proba, predictions.surrogate, predictions.loss_hat)
    return metric.label_kind == "class" and all(one is None for one in chances)


def learns_labels(predictions: PoolPredictions) -> bool:
    """True if the pool says anything of its items from which labels can be predicted."""
    names = ("pred", "proba", "surrogate", "loss_hat", "features", "score")
    return any(getattr(predictions, name) is not None for name in names)


def can_adapt(metric: Metric, predictions: PoolPredictions) -> bool:
    """True if the pool says something about the losses of a metric that can be learnt."""
    knows = (predictions.proba, predictions.surrogate, predictions.loss_hat, predictions.features)
    rated = metric.is_mean and predictions.number is not None
    known = rated or any(column is not None for column in knows)
    return (known or only_verdicts(metric, predictions)) and metric.possible[0] > -np.inf


def choose_kind(
    kind: str,
    metric: Metric,
    weights: tuple[str, str, float],
    predictions: Callable[[], PoolPredictions],
) -> str:
    """The kind of a campaign; refuses one that cannot be.

    `weights` are the score, proposal and floor, which only a static campaign has.
    """
    choice("kind", kind, ("auto", *KINDS))
    has_weights = weights != _DEFAULT_WEIGHTS
    if kind == "auto":
        return "static" if has_weights or not can_adapt(metric, predictions()) else "adaptive"
    if kind != "static" and has_weights:
        raise CampaignError(
            f"score, proposal and floor choose the weights of a static campaign, and this one is "
            f"{kind}: leave them out, or choose kind static."
        )
    if kind == "adaptive" and not can_adapt(metric, predictions()):
        raise CampaignError(
            f"An adaptive campaign needs something to learn the {metric.name} from: verdicts of "
            f"two classes or more (pred), columns proba_<class>, surrogate_<class>, loss_hat, or "
            f"features of the items (f_*, embedding), and losses that are never negative. Choose "
            f"kind static or uniform."
        )
    return kind


def check_width(metric: Metric, width: float | None) -> float | None:
    """A target width; refused if it is reached anyway, or for a metric that cannot be watched."""
    if width is None:
        return None
    if metric.interval != "betting":
        raise CampaignError(
            f"A target width needs an interval that is valid whenever one stops, and "
            f"{metric.name} has only an asymptotic one. Declare a bound, for example "
            f"log_loss:10, or fix the budget instead."
        )
    return check_range("target_width", metric, width)


def check_kind(settings: CampaignSettings, kind: str, load_pool: Callable[[], Pool]) -> None:
    """Refuse a kind that a campaign cannot change to."""
    weights = (settings.score, settings.proposal, settings.floor)
    model, metric = settings.models[0], settings.metrics[0]
    choose_kind(kind, metric, weights, lambda: outlines_of(load_pool(), metric)[model])


def check_guarantee(settings: CampaignSettings) -> None:
    """Refuse settings whose intervals cannot have the guarantee that they ask for."""
    choice("guarantee", settings.guarantee, ("asymptotic", "finite"))
    if not settings.is_finite:
        return
    first, unbounded = settings.metrics[0], [one for one in settings.metrics if one.bounds is None]
    if not first.is_indicator:
        why = f"is for errors: name error, accuracy or share:CLASS first, and not {first.name}"
    elif unbounded:
        why = f"needs bounds for every metric, and {unbounded[0].name} has none"
    elif settings.budget is None:
        why = "is aimed at a budget: choose one"
    elif settings.kind != "adaptive":
        why = f"needs an adaptive campaign, and this one is {settings.kind}"
    else:
        return
    raise CampaignError(
        f"guarantee='finite' {why}. With looks=0 (--looks none) every interval is by betting, "
        f"which holds for any draws and any metric with bounds, and is wider."
    )


def check_drive(settings: CampaignSettings) -> None:
    """Refuse to serve metrics that there are not, or by draws that serve none."""
    if settings.drive == "first":
        return
    names = settings.drive.split(",")
    unknown = [name for name in names if name not in settings.metric_names]
    if settings.drive == "worst":
        why = "is now called balanced"
    elif settings.drive != "balanced" and unknown:
        there = ", ".join(settings.metric_names)
        why = f"names {unknown[0]!r:.80}, which is no metric of the campaign ({there})"
    elif settings.kind != "adaptive":
        why = f"needs an adaptive campaign, and this one is {settings.kind}"
    else:
        return
    raise CampaignError(
        f"drive={settings.drive!r:.80} {why}. Name metrics of the campaign, or balanced for all of "
        f"them; leave it out, and the first metric drives."
    )
