"""The steps of a campaign: each function turns a state and a request into events, or refuses.

They are pure functions of the state, the request and the time. `Campaign` appends the events.
"""

from levelled.campaigns.log.decide.answering import amend_all, set_aside, tell_all, undo
from levelled.campaigns.log.decide.changing import change, close, rename, reopen, rescore
from levelled.campaigns.log.decide.checks import check_labels, check_name, check_width, find_draw
from levelled.campaigns.log.decide.handing_out import (
    ask,
    draws_kept_for,
    give_back,
    mine,
    open_items,
    renew,
)

__all__ = [
    "amend_all",
    "ask",
    "change",
    "check_labels",
    "check_name",
    "check_width",
    "close",
    "draws_kept_for",
    "find_draw",
    "give_back",
    "mine",
    "open_items",
    "rename",
    "renew",
    "reopen",
    "rescore",
    "set_aside",
    "tell_all",
    "undo",
]
