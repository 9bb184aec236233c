"""Campaigns: labels of several people over days, nothing lost, every figure recomputable.

Parts are loaded at first use: a command that lists campaigns needs no estimator.
"""

from typing import TYPE_CHECKING

from levelled._optional import lazy_names

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
    from levelled.campaigns.people.waiting import Waiting
    from levelled.campaigns.settings import Question
    from levelled.campaigns.stores import Upgrade, backup, copy, open_store, place_of, upgrade
    from levelled.metrics.comparison import Figure
    from levelled.reports.figures import Figures

__all__ = [
    "Agreement",
    "Ask",
    "Audit",
    "Campaign",
    "CampaignDiagnosis",
    "CampaignPredictor",
    "Figure",
    "Figures",
    "GateClaim",
    "OpenItem",
    "Pace",
    "Question",
    "Upgrade",
    "Waiting",
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

__getattr__ = lazy_names(
    __name__,
    {
        "levelled.campaigns.audit": "Audit",
        "levelled.campaigns.campaign": "Campaign load_campaign",
        "levelled.campaigns.create": "create_campaign",
        "levelled.campaigns.drawing.learnt": "CampaignPredictor plan_campaign",
        "levelled.campaigns.figures.figures": "CampaignDiagnosis",
        "levelled.campaigns.figures.gate": "GateClaim",
        "levelled.campaigns.file_draws": "draw_from_file",
        "levelled.campaigns.log.records": "Ask OpenItem",
        "levelled.campaigns.people.labellers": "Agreement Pace",
        "levelled.campaigns.people.waiting": "Waiting",
        "levelled.campaigns.settings": "Question",
        "levelled.campaigns.stores": "Upgrade backup copy open_store place_of upgrade",
        "levelled.metrics.comparison": "Figure",
        "levelled.reports.figures": "Figures",
    },
)


def __dir__() -> list[str]:
    return [*__all__]
