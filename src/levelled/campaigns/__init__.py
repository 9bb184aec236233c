"""Campaigns: labels of several people over days, nothing lost, every figure recomputable."""

from levelled.campaigns.agreement import Agreement
from levelled.campaigns.audit import Audit
from levelled.campaigns.campaign import Campaign
from levelled.campaigns.create import create_campaign, load_campaign
from levelled.campaigns.diagnosing import CampaignDiagnosis
from levelled.campaigns.drawing import draw_from_file
from levelled.campaigns.learnt import CampaignPredictor
from levelled.campaigns.pace import Pace
from levelled.campaigns.planning import plan_campaign
from levelled.campaigns.questions import Question
from levelled.campaigns.records import Ask, OpenItem
from levelled.campaigns.stores import Upgrade, backup, copy, open_store, place_of, upgrade
from levelled.metrics.figure import Figure

__all__ = [
    "Agreement",
    "Ask",
    "Audit",
    "Campaign",
    "CampaignDiagnosis",
    "CampaignPredictor",
    "Figure",
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
