"""The pace of labellers, from the times of their labels."""

from dataclasses import replace

from levelled.campaigns.log.records import Answer, Lease
from levelled.campaigns.log.state import CampaignState
from levelled.campaigns.people.pace import Pace, paces_of
from levelled.campaigns.settings import CampaignSettings
from levelled.metrics.named import parse_metric

SETTINGS = CampaignSettings("x", (parse_metric("error"),), None, "", 10, seed=1)


def at(minute: int, second: int = 0) -> str:
    return f"2026-11-16T12:{minute:02}:{second:02}+00:00"


def test_pauses_do_not_count() -> None:
    times = [at(0, 0), at(0, 10), at(0, 40), at(50, 0), at(50, 20)]
    answers = {n + 1: Answer("a", "ann", when, n) for n, when in enumerate(times)}
    leases = {6: Lease("bob", at(1), at(2)), 7: Lease("bob", at(1), at(2))}
    state = CampaignState(SETTINGS, answers=answers, leases=leases, n_asked=7, n_settled=5)
    assert paces_of(state) == [
        Pace("ann", 5, 0, at(0, 0), at(50, 20), 20.0),
        Pace("bob", 0, 2, None, None, None),
    ]


def test_second_opinions_are_work_too() -> None:
    state = CampaignState(SETTINGS, answers={1: Answer("a", None, at(0), 0)}, n_asked=1)
    both = replace(state, opinions={1: (Answer("b", "bob", at(1), 1),)})
    assert [(one.name, one.n_labels, one.seconds) for one in paces_of(both)] == [
        (None, 1, None),
        ("bob", 1, None),
    ]
