"""Unbiased estimates and corrective training weights from actively chosen labels.

    import levelled as lv

Parts are loaded at first use, so that importing Levelled costs no more than importing NumPy.
"""

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

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

_HOME = {
    "Campaign": "campaigns",
    "Draws": "draws",
    "Estimate": "estimators",
    "LevelledError": "errors",
    "Pool": "sources",
    "open_pool": "sources",
    "Verdict": "advice",
    "advise": "advice",
    "create_campaign": "campaigns",
    "load_campaign": "campaigns",
    "estimate": "estimators",
    "lure_weights": "estimators",
    "naive_weights": "estimators",
    "pure_weights": "estimators",
    "running": "estimators",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401
    if name not in __all__:
        raise AttributeError(f"module 'levelled' has no attribute {name!r}")
    home = importlib.import_module(f"levelled.{_HOME.get(name, name)}")
    value = getattr(home, name) if name in _HOME else home
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
