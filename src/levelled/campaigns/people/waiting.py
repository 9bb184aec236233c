"""Labels that figures do not count yet, because items before them have none."""

from dataclasses import dataclass
from datetime import datetime

from levelled.campaigns.log.state import CampaignState


@dataclass(frozen=True, slots=True)
class Waiting:
    """Labels that wait, and the sentence that every surface says about them.

    `draws` are those of the items before them that somebody has, so that they can be given back.
    """

    n_labels: int
    draws: tuple[int, ...]
    text: str


def labels_waiting(state: CampaignState, now: datetime) -> Waiting | None:
    """The labels that wait for earlier draws; None without any, and while others work on these.

    Others are at work for as long as the campaign keeps an item for a labeller who is not seen.
    """
    told = [draw for draw in state.answers if draw > state.n_settled]
    before = [draw for draw in state.open_draws() if draw < max(told, default=0)]
    if state.closed is not None or not before:
        return None
    labels = "1 label waits" if len(told) == 1 else f"{len(told):,} labels wait"
    items = "1 item" if len(before) == 1 else f"{len(before):,} items"
    ages = {
        draw: (now - datetime.fromisoformat(state.leases[draw].since)).total_seconds()
        for draw in before
        if draw in state.leases
    }
    old = {draw: age for draw, age in ages.items() if age >= state.settings.away_seconds}
    if not old:
        if len(ages) == len(before):
            return None
        text = f"{labels} behind {items} that nobody has; the next who asks gets them"
        return Waiting(len(told), (), text)
    n_owners = len({state.leases[draw].owner for draw in old})
    who = "one labeller" if n_owners == 1 else f"{n_owners:,} labellers"
    times = [_duration(age) for age in sorted(old.values())]
    when = f"{'up to ' if times[0] != times[-1] else ''}{times[-1]} ago"
    taken = f"that {who} took" if len(old) == len(before) else f"; {who} took {len(old):,} of them"
    return Waiting(
        len(told), tuple(old), f"{labels} behind {items} {taken} {when}".replace(" ;", ";")
    )


def _duration(seconds: float) -> str:
    """A time span in whole units, for a sentence.

    >>> _duration(45), _duration(9.2 * 60), _duration(49 * 3600)
    ('45 seconds', '9 minutes', '2 days')
    """
    for unit, size in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if (n := int(seconds // size)) >= 1:
            return f"{n} {unit}{'s' if n > 1 else ''}"
    n = max(int(seconds), 0)
    return f"{n} second{'' if n == 1 else 's'}"
