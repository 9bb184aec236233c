"""The steps of a campaign: each function turns a state and a request into events, or refuses.

They are pure functions of the state, the request and the time. `Campaign` appends the events.
"""

from levelled.campaigns.decide.answering import amend, mark_unlabelable, skip, tell_all
from levelled.campaigns.decide.changing import change, close, rescore
from levelled.campaigns.decide.checks import check_labels, check_width, find_draw
from levelled.campaigns.decide.handing_out import ask

__all__ = [
    "amend",
    "ask",
    "change",
    "check_labels",
    "check_width",
    "close",
    "find_draw",
    "mark_unlabelable",
    "rescore",
    "skip",
    "tell_all",
]
