"""Unbiased estimates and corrective training weights from actively chosen labels.

    import levelled as lv

Parts are loaded at first use, so that importing Levelled costs no more than importing NumPy.
"""

from typing import TYPE_CHECKING

from levelled._optional import lazy_names
from levelled._version import __version__ as __version__

if TYPE_CHECKING:
    from levelled import (
        advice,
        backends,
        campaigns,
        errors,
        estimators,
        learning,
        losses,
        metrics,
        proposals,
        samplers,
        scores,
        simulation,
        sources,
    )
    from levelled.advice import Verdict, advise
    from levelled.campaigns import Campaign, create_campaign, load_campaign
    from levelled.draws import Draws
    from levelled.errors import LevelledError
    from levelled.estimators import (
        Estimate,
        estimate,
        lure_weights,
        naive_weights,
        pure_weights,
        running,
    )
    from levelled.sources import Pool, open_pool

__all__ = [
    "Campaign",
    "Draws",
    "Estimate",
    "LevelledError",
    "Pool",
    "Verdict",
    "advice",
    "advise",
    "backends",
    "campaigns",
    "create_campaign",
    "errors",
    "estimate",
    "estimators",
    "learning",
    "load_campaign",
    "losses",
    "lure_weights",
    "metrics",
    "naive_weights",
    "open_pool",
    "proposals",
    "pure_weights",
    "running",
    "samplers",
    "scores",
    "simulation",
    "sources",
]

__getattr__ = lazy_names(
    __name__,
    {
        "levelled.advice": "Verdict advise",
        "levelled.campaigns": "Campaign create_campaign load_campaign",
        "levelled.draws": "Draws",
        "levelled.errors": "LevelledError",
        "levelled.estimators": "Estimate estimate lure_weights naive_weights pure_weights running",
        "levelled.sources": "Pool open_pool",
    },
    parts="advice backends campaigns errors estimators learning losses metrics proposals samplers "
    "scores simulation sources",
)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
