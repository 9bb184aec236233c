"""The audit of a campaign: all that log and pool determine, computed again and compared."""

import re
from collections.abc import Iterator, Sequence

import numpy as np

from levelled.campaigns.drawing.drawing import draw_again
from levelled.campaigns.drawing.drivers import check_guarantee, check_kind, driver_of
from levelled.campaigns.drawing.pools import looks_over, settings_of_pool
from levelled.campaigns.figures.figures import estimate_figures
from levelled.campaigns.figures.settled import FigureCache
from levelled.campaigns.log.decide import check_width
from levelled.campaigns.log.hashing import StoredEvent, canonical, verify
from levelled.campaigns.log.records import DrawnItem, Round
from levelled.campaigns.log.state import CampaignState, apply_events
from levelled.campaigns.people.shown import check_shown
from levelled.campaigns.settings import CampaignSettings
from levelled.campaigns.steps import UNREADABLE, PoolAt, StepChecks, nearly_equal
from levelled.errors import CampaignError, InputError
from levelled.sources.files import is_sampled
from levelled.surrogates.covariates import SCORES

_ROUNDING, _FITTED = 1e-12, 1e-6
"""The relative difference allowed between two machines: of probabilities, and of fitted numbers."""

_SHORTEST = 12
"""The least number of digits by which a hash may be named."""


class Audit(list[str]):
    """The differences that an audit found, a line each, and what it checked.

    It is an empty list if all is well.
    """

    def __init__(self, n_events: int, last_hash: str) -> None:
        super().__init__()
        self.n_events = n_events
        self.last_hash = last_hash
        self.notes: list[str] = []
        """Parts that could not be checked, each with the reason."""
        self.since: int | None = None
        """The number of events after the one that was expected; None if none was."""


def audit_log(
    name: str,
    events: Sequence[StoredEvent],
    pool_at: PoolAt,
    expect: str | None = None,
) -> Audit:
    """Check one state of a campaign's log; `pool_at` gives the pool as a draw saw it.

    Checks the chain of hashes, and each event against the state before it; then the settings and
    draws, which follow from the pool.
    """
    if not events:
        raise CampaignError(f"There is no campaign {name!r} in this storage.")
    audit = Audit(len(events), events[-1].hash)
    if expect is not None:
        audit += _compare_expected(audit, events, expect)
    broken = verify(events)
    if broken is not None:
        audit.append(f"event {broken.seq}: {broken.because}")
        return audit
    plain, checks = [stored.event for stored in events], StepChecks(pool_at)
    try:
        created, state = apply_events(plain[:1]).settings, apply_events(plain)
    except CampaignError as unreadable:
        audit.append(str(unreadable))
        return audit
    if state.settings.name != name:
        audit.append(f"the log is of {state.settings.name!r}, and is stored as {name!r}")
    for part in (
        _compare_settings(created, state, pool_at),
        checks.differences(plain),
        _compare_draws(state, created, pool_at),
        _compare_figures(state),
    ):
        audit += [line for line in _lines(part) if line not in audit]
    audit.notes = [*dict.fromkeys(checks.notes)]
    if is_sampled(created.fingerprint):
        audit.notes.append(
            "the whole content of the pool: its fingerprint is of the metadata of its Parquet "
            "files and of a sample of their bytes"
        )
    return audit


def _lines(part: Iterator[str]) -> Iterator[str]:
    """The differences of one part; a log with which it cannot be computed is one."""
    try:
        yield from part
    except UNREADABLE as wrong:
        yield str(wrong) or repr(wrong)


def _compare_expected(audit: Audit, events: Sequence[StoredEvent], expect: str) -> Iterator[str]:
    """Look for the event whose hash somebody noted; those after it came since."""
    wanted = expect.strip().lower()
    if not re.fullmatch(f"[0-9a-f]{{{_SHORTEST},64}}", wanted):
        raise InputError(
            f"{expect!r:.80} is no hash to expect: give the 64 hexadecimal digits that levelled "
            f"status shows, or at least the first {_SHORTEST}."
        )
    at = [stored.seq for stored in events if stored.hash.startswith(wanted)]
    if at:
        audit.since = len(events) - 1 - at[-1]
    else:
        yield (
            f"no event has the hash {wanted}: since it was noted, events were cut off or the log "
            f"was written anew"
        )


def _compare_settings(
    created: CampaignSettings, state: CampaignState, pool_at: PoolAt
) -> Iterator[str]:
    """Settings that follow from others, and values that no campaign can have."""
    looks = looks_over(created.budget, created.pool_size, created.level, len(created.looks))
    if not nearly_equal(created.looks, looks, _FITTED):
        yield "the planned looks are not those of this budget, pool size and level"
    for wrong, what in (
        (not 0 < created.level < 1, f"level {created.level}"),
        (not 0 <= created.floor <= 1, f"floor {created.floor}"),
        (created.seed < 0, f"seed {created.seed}"),
        (created.budget is not None and created.budget < 1, f"budget {created.budget}"),
        (created.lease_seconds < 1, f"a lease of {created.lease_seconds} seconds"),
        (created.in_flight < 1, f"{created.in_flight} items in flight"),
        (created.is_finite and created.looks, "planned looks beside a finite-sample guarantee"),
    ):
        if wrong:
            yield f"no campaign can have {what}"
    check_guarantee(created)
    check_width(created.metrics[0], created.target_width)
    pool = pool_at(state, 1)
    check_kind(created, created.kind, lambda: pool)
    check_shown(created, pool)
    derived = settings_of_pool(pool, created.metrics, created.slices)
    derived["fingerprint"] = pool.fingerprint_like(created.fingerprint)
    for name, expected in derived.items():
        if (value := getattr(created, name)) != expected:
            yield f"{name}: {value!r:.200} is on record, the pool gives {expected!r:.200}"


def _compare_draws(
    state: CampaignState, created: CampaignSettings, pool_at: PoolAt
) -> Iterator[str]:
    rows = [item.row for item in state.draws]
    rounds = [(one, pool_at(state, one.first)) for one in state.rounds]
    items = draw_again(pool_at(state, 1), created, rows, len(rows), rounds)
    uses_features = np.zeros(len(rows), dtype=bool)
    for begun, pool in rounds:
        in_runs = _uses_features(begun) and not driver_of(pool, created).is_one_run
        uses_features[begun.first - 1 :] = in_runs
    tolerances = np.where(uses_features, _FITTED, _ROUNDING).tolist()
    for item, expected, tolerance in zip(state.draws, items, tolerances, strict=True):
        difference = _compare_items(item, expected, tolerance)
        if difference is not None:
            yield f"draw {item.draw}: {difference}"


def _uses_features(begun: Round) -> bool:
    """True if predictions use features, which are in single precision.

    How their products are rounded depends on how many rows are read at once.
    """
    regressions = (begun.predictor or {}).get("regressions", ())
    return any(len(coefficients) > SCORES for _, coefficients in regressions)


def _compare_items(item: DrawnItem, expected: DrawnItem, tolerance: float) -> str | None:
    if (item.row, item.id) != (expected.row, expected.id):
        return f"{item.id!r} is on record, the pool gives {expected.id!r}"
    if not nearly_equal(item.probability, expected.probability, tolerance):
        return (
            f"probability {item.probability!r} is on record, the pool gives "
            f"{expected.probability!r}"
        )
    # Columns of slices, whose names have a blank, came later than others.
    design = {
        name: one for name, one in expected.design.items() if name in item.design or " " not in name
    }
    if not nearly_equal(item.design, design, tolerance):
        return "its design columns differ from what the pool gives"
    if item.pred != expected.pred or item.slices != expected.slices:
        return "its predictions or slices differ from what the pool gives"
    if item.proba != expected.proba:
        return "its probabilities of the classes differ from the pool's"
    if canonical({**item.data}) != canonical({**expected.data}):
        return "the fields shown to the labeller differ from the pool's"
    return None


def _compare_figures(state: CampaignState) -> Iterator[str]:
    """Make the figures once; a log from which there are none has a difference."""
    try:
        estimate_figures(state, FigureCache())
    except UNREADABLE as wrong:
        yield f"no figures can be made from this log: {wrong}"
