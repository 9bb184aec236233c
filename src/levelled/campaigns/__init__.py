"""Campaigns: labels of several people over days, nothing lost, every figure recomputable.

Parts are loaded at first use: a command that lists campaigns needs no estimator.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from levelled.campaigns.audit import Audit
    from levelled.campaigns.campaign import Campaign, load_campaign
    from levelled.campaigns.create import create_campaign
    from levelled.campaigns.drawing.learnt import CampaignPredictor, plan_campaign
    from levelled.campaigns.figures.figures import CampaignDiagnosis
    from levelled.campaigns.figures.gate import GateClaim
    from levelled.campaigns.file_draws import draw_from_file
    from levelled.campaigns.log.records import Ask, OpenItem
    from levelled.campaigns.people.labellers import Agreement, Pace
    from levelled.campaigns.settings import Question
    from levelled.campaigns.stores import Upgrade, backup, copy, open_store, place_of, upgrade
    from levelled.metrics.comparison import Figure

__all__ = [
    "Agreement",
    "Ask",
    "Audit",
    "Campaign",
    "CampaignDiagnosis",
    "CampaignPredictor",
    "Figure",
    "GateClaim",
    "OpenItem",
    "Pace",
    "Question",
    "Upgrade",
    "backup",
    "copy",
    "create_campaign",
    "draw_from_file",
    "load_campaign",
    "open_store",
    "place_of",
    "plan_campaign",
    "upgrade",
]

_HOME = {
    "Agreement": "campaigns.people.labellers",
    "Ask": "campaigns.log.records",
    "Audit": "campaigns.audit",
    "Campaign": "campaigns.campaign",
    "CampaignDiagnosis": "campaigns.figures.figures",
    "CampaignPredictor": "campaigns.drawing.learnt",
    "Figure": "metrics.comparison",
    "GateClaim": "campaigns.figures.gate",
    "OpenItem": "campaigns.log.records",
    "Pace": "campaigns.people.labellers",
    "Question": "campaigns.settings",
    "Upgrade": "campaigns.stores",
    "backup": "campaigns.stores",
    "copy": "campaigns.stores",
    "create_campaign": "campaigns.create",
    "draw_from_file": "campaigns.file_draws",
    "load_campaign": "campaigns.campaign",
    "open_store": "campaigns.stores",
    "place_of": "campaigns.stores",
    "plan_campaign": "campaigns.drawing.learnt",
    "upgrade": "campaigns.stores",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401
    if name not in _HOME:
        raise AttributeError(f"module 'levelled.campaigns' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"levelled.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__]
