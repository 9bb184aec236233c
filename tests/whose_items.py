"""Items of two labellers, and who can do what with them; rules, pages and commands must agree."""

from levelled.campaigns import Campaign

PLACES = {"own": 1, "once had": 2, "late": 3, "others'": 4, "answered": 5, "never asked": 6}
"""The draw of an item for ann: hers, one that bob has by now, one that he labelled by now, his own
open one, his own labelled one, and one that nobody was given."""
STEPS = ("tell", "skip", "unlabelable", "amend", "return")

ALLOWED = {
    ("ann", "tell"): {"own", "once had", "late"},
    ("ann", "skip"): {"own", "once had"},
    ("ann", "unlabelable"): {"own", "once had"},
    ("ann", "amend"): set(),
    ("ann", "return"): {"own"},
    ("ann", "read"): {"own", "once had", "late"},
    ("eve", "tell"): {"own", "once had", "late", "others'", "answered"},
    ("eve", "skip"): {"own", "once had", "others'"},
    ("eve", "unlabelable"): {"own", "once had", "others'"},
    ("eve", "amend"): {"late", "answered"},
    ("eve", "return"): {"own", "once had", "others'"},
    ("eve", "read"): {"own", "once had", "late", "others'", "answered"},
}
"""The items on which ann, a labeller, and eve, an analyst, can do a step."""

TABLE = [
    (actor, step, place, place in allowed)
    for (actor, step), allowed in ALLOWED.items()
    for place in PLACES
]


def hand_out(campaign: Campaign) -> None:
    """Give the items of `PLACES` to ann and bob."""
    assert [one.draw for one in campaign.ask(3, owner="ann")] == [1, 2, 3]
    campaign.give_back(owner="ann", draws=[2, 3])
    assert [one.draw for one in campaign.ask(4, owner="bob")] == [2, 3, 4, 5]
    for draw in (3, 5):
        campaign.tell(draw, "ham", owner="bob")
