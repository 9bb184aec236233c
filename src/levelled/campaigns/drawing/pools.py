"""The files of a campaign: its pool as each draw saw it, checked against the log."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from levelled.campaigns.figures.exporting import write_table
from levelled.campaigns.log.records import Rescored
from levelled.campaigns.log.state import CampaignState
from levelled.campaigns.settings import CampaignSettings
from levelled.errors import CampaignError, PoolError
from levelled.metrics.named import Metric
from levelled.sources import Pool, open_pool


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
                f"The table of predicted losses of {settings.name!r} from draw {used.first} on",
                used.source,
                used.fingerprint,
                "Name the file with scores= or --scores, or rescore again for further draws.",
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
                f"{state.settings.name!r} was never rescored with {one.source or 'this frame'}: "
                f"its content is that of no file on record. `rescore` takes new predictions."
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
