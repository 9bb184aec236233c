"""The weights of a campaign's labels, and the labels that its uncertainty rests on."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from levelled.campaigns.figures.settled import FigureCache, settled_draws
from levelled.campaigns.log.state import CampaignState
from levelled.estimators import lure_weights
from levelled.estimators.moments import diagnose
from levelled.labels import Label
from levelled.metrics.named import ERROR

_MOST_ITEMS = 20


@dataclass(frozen=True, slots=True)
class InfluentialItem:
    """A labelled draw with its weight, and its share in the estimated variance."""

    draw: int
    id: str | int
    label: Label | None
    weight: float
    variance_share: float


@dataclass(frozen=True, slots=True)
class CampaignDiagnosis:
    """The weights of the settled draws, and the draws that matter most for the first figure.

    `levelled.estimators.moments.Diagnosis` explains the sizes.
    """

    effective_size: float
    design_size: float | None
    max_weight: float
    weights: tuple[float, ...]
    """The weight of each settled draw in R_LURE, in the order of the draws."""
    items: tuple[InfluentialItem, ...]
    """The draws with the largest shares in the variance, the largest first."""

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "effective_size": self.effective_size,
            "design_size": self.design_size,
            "max_weight": self.max_weight,
            "weights": [*self.weights],
            "items": [
                {
                    "draw": one.draw,
                    "id": one.id,
                    "label": one.label,
                    "weight": one.weight,
                    "variance_share": one.variance_share,
                }
                for one in self.items
            ],
        }


def diagnose_campaign(state: CampaignState, cache: FigureCache) -> CampaignDiagnosis | None:
    """The diagnosis of the first metric of the first model; None before a draw is settled."""
    base, settings = settled_draws(state, cache=cache), state.settings
    if not len(base):
        return None
    metric = settings.metrics[0] if settings.metrics[0].kind == "average" else ERROR
    losses, _ = base.losses(metric, settings.models[0])
    found, weights = diagnose(losses, base.draws), lure_weights(base.draws)
    order = np.argsort(-found.variance_share, kind="stable")[:_MOST_ITEMS].tolist()
    items = tuple(
        InfluentialItem(
            at + 1,
            state.draws[at].id,
            base.labels[at],
            float(weights[at]),
            float(found.variance_share[at]),
        )
        for at in order
        if found.variance_share[at] > 0
    )
    return CampaignDiagnosis(
        found.effective_size, found.design_size, found.max_weight, tuple(weights.tolist()), items
    )
