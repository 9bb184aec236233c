"""Ask and tell over days: labels of several people, nothing lost, every figure recomputable."""

from levelled.campaigns.audit import audit
from levelled.campaigns.campaign import Campaign
from levelled.campaigns.create import create_campaign, load_campaign
from levelled.campaigns.decide import Ask
from levelled.campaigns.figures import Figure
from levelled.campaigns.stores import copy, open_store, upgrade

__all__ = [
    "Ask",
    "Campaign",
    "Figure",
    "audit",
    "copy",
    "create_campaign",
    "load_campaign",
    "open_store",
    "upgrade",
]
