"""The pool of a campaign as each draw saw it: opened at first use and checked against the log."""

from pathlib import Path
from typing import Any

from levelled.campaigns.exporting import write_table
from levelled.campaigns.records import CampaignSettings, Rescored
from levelled.campaigns.state import CampaignState
from levelled.errors import CampaignError
from levelled.sources import Pool, open_pool

__all__ = ["CampaignPool"]


class CampaignPool:
    """The pool of a campaign, and the predicted losses that replaced its own later."""

    def __init__(self, pool: Pool | None = None) -> None:
        self._pool = pool
        self._scores: dict[str, Pool] = {}

    def open(self, settings: CampaignSettings) -> Pool:
        """The pool; refuses one whose content is not that at creation."""
        if self._pool is None:
            if settings.source is None:
                raise CampaignError(
                    f"The pool of {settings.name!r} was in memory when it was created. Save it to "
                    f"a file and name it with pool= or --pool."
                )
            self._pool = open_pool(
                settings.source,
                classes=settings.classes,
                slices=settings.slices,
                features=settings.features,
            )
        if self._pool.fingerprint != settings.fingerprint:
            raise CampaignError(
                f"The pool {self._pool.source} is not the one {settings.name!r} was created with: "
                f"its content differs. Draws from another pool would have other probabilities."
            )
        return self._pool

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
                write_table(predictions, Path(save_as))
                predictions = str(save_as)
        scores = open_pool(predictions, classes=settings.classes)
        self._scores[scores.fingerprint] = pool.with_scores(scores)
        return scores

    def _rescored(self, pool: Pool, settings: CampaignSettings, used: Rescored) -> Pool:
        if used.fingerprint not in self._scores:
            if used.source is None:
                raise CampaignError(
                    f"The predicted losses of {settings.name!r} from draw {used.first} on were in "
                    f"memory when they were given. Draws need them: rescore again, from a file."
                )
            scores = open_pool(used.source, classes=settings.classes)
            if scores.fingerprint != used.fingerprint:
                raise CampaignError(
                    f"{used.source} has changed since {settings.name!r} was rescored with it: "
                    f"rescore again, from a file that stays as it is."
                )
            self._scores[used.fingerprint] = pool.with_scores(scores)
        return self._scores[used.fingerprint]


def _predict(model: Any, pool: Pool, settings: CampaignSettings) -> Any:  # noqa: ANN401
    """The predictions of a fitted scikit-learn model for the features of a pool, as a table.

    A classifier of the campaign's classes predicts labels, any other of two classes the
    probability that its second one, the larger loss, occurs; a regressor predicts the loss.
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
        return pa.table({**columns, "loss_hat": model.predict(X)})
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
