"""The audit of a campaign: all that log and pool determine, computed again and compared.

The end of a log (name, number of events and last hash of a campaign) can be signed with Ed25519.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from itertools import chain
from numbers import Real
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard

import msgspec
import numpy as np

from levelled._optional import optional
from levelled.campaigns.drawing.drawing import begin_round, draw_again, driver_of, make_known
from levelled.campaigns.drawing.pools import (
    attach_event,
    check_guarantee,
    check_kind,
    check_width,
    settings_of_pool,
    with_looks,
)
from levelled.campaigns.figures.figures import estimate_figures
from levelled.campaigns.figures.settled import FigureCache
from levelled.campaigns.log import decide
from levelled.campaigns.log.anchors import Anchored, find_hash, why_not_anchored, why_not_found
from levelled.campaigns.log.events import (
    Amended,
    Answered,
    Changed,
    Created,
    Drawn,
    Event,
    LabelsKnown,
    PredictionsAttached,
    RoundBegun,
    apply_events,
    replay,
)
from levelled.campaigns.log.records import (
    CARRYING,
    DrawnItem,
    PlainEvent,
    Round,
    StoredEvent,
    canonical,
    to_plain,
    verify,
)
from levelled.campaigns.log.state import CampaignState
from levelled.campaigns.people.shown import check_shown
from levelled.campaigns.settings import CampaignSettings
from levelled.errors import CampaignError, InputError, LevelledError, NotApprovedError
from levelled.sources import Pool, open_pool
from levelled.sources.files import is_sampled
from levelled.surrogates.covariates import SCORES

_ROUNDING, _FITTED = 1e-12, 1e-6
"""The relative difference allowed between two machines: of probabilities, and of fitted numbers."""

PoolAt = Callable[[CampaignState, int], Pool]
"""Gives the pool as a draw saw it."""

_UNREADABLE = (LevelledError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError)
"""Errors of a log that cannot be computed with."""


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
    anchored: tuple[Sequence[Anchored], str] | None = None,
) -> Audit:
    """Check one state of a campaign's log.

    Checks the chain of hashes, and each event against the state before it; then the settings and
    draws, which follow from the pool.

    Parameters
    ----------
    name : Name of the campaign.
    events : Its whole log.
    pool_at : Gives the pool as a draw saw it.
    expect : The hash of an event that was noted earlier.
    anchored : The lines of an anchor that were read before the log, and its path.
    """
    if not events:
        raise CampaignError(f"There is no campaign {name!r} in this storage.")
    audit = Audit(len(events), events[-1].hash)
    hashes = {one.seq: one.hash for one in events}
    if expect is not None:
        if (at := find_hash(expect, hashes)) is None:
            audit.append(why_not_found(expect))
        else:
            audit.since = len(events) - 1 - at
    if anchored is not None:
        lines, path = anchored
        because = why_not_anchored(lines, hashes, path)
        audit += [] if because is None else [because]
    broken = verify(events)
    if broken is not None:
        audit.append(f"event {broken.seq}: {broken.because}")
        return audit
    plain, steps = [stored.event for stored in events], _Steps(pool_at, audit.notes)
    try:
        created, state = apply_events(plain[:1]).settings, apply_events(plain)
    except CampaignError:
        audit += steps.differences(plain)
        return audit
    if state.settings.name != name:
        audit.append(f"the log is of {state.settings.name!r}, and is stored as {name!r}")
    for part in (
        _compare_settings(created, state, pool_at),
        steps.differences(plain),
        _compare_draws(state, created, pool_at),
        _compare_figures(state, pool_at),
    ):
        audit += [line for line in _lines(part, audit.notes) if line not in audit]
    audit.notes = [*dict.fromkeys(audit.notes)]
    if is_sampled(created.fingerprint):
        audit.notes.append(
            "the whole content of the pool: its fingerprint is of the metadata of its Parquet "
            "files and of a sample of their bytes"
        )
    return audit


def _lines(part: Iterator[str], notes: list[str]) -> Iterator[str]:
    """The differences of one part; a log with which it cannot be computed is one.

    What depends on code that this user has not approved is not checked, which is a note.
    """
    try:
        yield from part
    except NotApprovedError as unknown:
        notes.append(str(unknown))
    except _UNREADABLE as wrong:
        yield str(wrong) or repr(wrong)


def _compare_settings(
    created: CampaignSettings, state: CampaignState, pool_at: PoolAt
) -> Iterator[str]:
    """Settings that follow from others; reading them has refused values out of their range."""
    planned = with_looks(created)
    same = (created.n_extra, created.planned) == (planned.n_extra, planned.planned)
    if not same or not nearly_equal(created.looks, planned.looks, _FITTED):
        yield "the planned looks are not those of this budget, pool size and level"
    if created.n_known and created.n_known != sum(len(one.items) for one in state.known[:1]):
        yield f"the labels of {created.n_known} items were known, and the log has others"
    if created.is_finite and created.looks:
        yield "no campaign can have planned looks beside a finite-sample guarantee"
    yield from created.changed_code
    pool = pool_at(state, 1)
    check_shown(created, pool)
    derived = settings_of_pool(pool, created.metrics, created.slices)
    derived["fingerprint"] = pool.fingerprint_like(created.fingerprint)
    for name, expected in derived.items():
        if (value := getattr(created, name)) != expected:
            yield f"{name}: {value!r:.200} is on record, the pool gives {expected!r:.200}"
    check_guarantee(created)  # last, because these may need code that is not approved
    check_width(created.metrics[0], created.target_width)
    check_kind(created, created.kind, lambda: pool)


def _why_never_written(state: CampaignState, event: Event, last: str) -> Iterator[str]:
    """The reasons why an event that could happen is none that Levelled writes.

    Earlier versions, whose logs carry no first hash, may have written some of these.
    """
    if event.at < last:
        yield f"its time, {event.at}, is before that of the event before it, {last}"
    if isinstance(event, Created):
        written = CampaignSettings.from_json(event.settings).to_json()
        yield from _compare(event.settings, written, "Levelled writes", 0)
    if isinstance(event, Created | Drawn) and event.by is not None:
        yield f"by {event.by!r:.80} is on record, and no person draws"
    if isinstance(event, Answered):
        answer, others = state.answers.get(event.draw), state.opinions.get(event.draw, ())
        told = [one for one in (answer, *others) if one is not None and one.by == event.labeller]
        same = (event.label, event.note, event.rubric)
        if isinstance(event, Amended):
            replaced = told[-1:] if event.opinion else [answer] if answer is not None else []
            if any((one.label, one.note, one.rubric) == same for one in replaced):
                yield f"it amends draw {event.draw} to what it was"
        elif told and event.labeller is not None:
            yield f"{event.labeller} had told a label of draw {event.draw} before"


@dataclass
class _Steps:
    """The events of one log, each asked again why it could not happen, or made again."""

    pool_at: PoolAt
    notes: list[str]
    """Parts of the log that could not be checked, each with the reason."""
    _files: dict[str, Pool] = field(default_factory=dict)

    def differences(self, events: Sequence[PlainEvent]) -> Iterator[str]:
        """Each event that could not have happened, or not so, in a line."""
        try:
            last = ""
            for place, (state, event, plain) in enumerate(replay(events)):
                carries = state.settings.format >= CARRYING
                never = _why_never_written(state, event, last) if carries else iter(())
                last = event.at
                for wrong in _lines(chain(self._check(state, event, plain), never), self.notes):
                    yield f"event {place} ({plain['type']}): {wrong}"
        except CampaignError as unreadable:
            yield str(unreadable)

    def _check(self, state: CampaignState, event: Event, plain: PlainEvent) -> Iterator[str]:
        yield from _compare(plain, to_plain(event), "Levelled writes", 0)
        event = msgspec.structs.replace(event, log="")  # which is compared by `verify`
        plain = to_plain(event)
        reasons = [*event.why_not(state)]
        yield from reasons
        if reasons:
            return
        if isinstance(event, RoundBegun):
            begun = begin_round(self.pool_at(state, event.first), state)
            expected = to_plain(RoundBegun.of(begun, at=event.at))
            yield from _compare(plain, expected, "the labels before it give", _FITTED)
        elif isinstance(event, Changed):
            asked_for = {
                key: one for key, one in event.settings.items() if key not in decide.REPLANNED
            }
            made = decide.change(state, event.by, datetime.fromisoformat(event.at), **asked_for)
            expected = to_plain(made[0]) if made else {**plain, "settings": {}}
            yield from _compare(plain, expected, "the state before it gives", _FITTED)
        elif isinstance(event, PredictionsAttached):
            yield from self._check_attached(state, event, plain)
        elif isinstance(event, LabelsKnown):
            rows, labels = zip(*((item.row, item.label) for item in event.items), strict=True)
            known = make_known(self.pool_at(state, 1), state.settings, rows, labels)
            expected = to_plain(msgspec.structs.replace(event, items=known))
            yield from _compare(plain, expected, "the pool gives", _ROUNDING)

    def _check_attached(
        self, state: CampaignState, event: PredictionsAttached, plain: PlainEvent
    ) -> Iterator[str]:
        key, what = str(event.source), f"predictions of {event.model!r}"
        if event.source is None:
            self.notes.append(f"{what}: they were in memory when attached")
            return
        try:
            if key not in self._files:
                self._files[key] = open_pool(event.source, classes=state.settings.classes)
        except LevelledError as refused:
            self.notes.append(f"{what}: {refused}")
            return
        items = state.draws[len(state.draws) - len(event.pred or event.proba) :]
        every = state.known_items
        known = {place: every[place] for place in event.known_pred or event.known_proba}
        expected = attach_event(
            state.settings, items, self._files[key], event.model, at=event.at, known=known
        )
        yield from _compare(plain, to_plain(expected), f"{event.source} gives {event.model!r}", 0)


def _compare(
    plain: PlainEvent, expected: PlainEvent, origin: str, tolerance: float
) -> Iterator[str]:
    """The first value of an event that is not what the rest of log and pool gives."""
    difference = _first_difference({"shares": [], **plain}, {"shares": [], **expected}, tolerance)
    if difference is not None:  # rounds of the first version have no shares
        place, recorded, made = difference
        yield f"{place} {recorded!r:.80} is on record, {origin} {made!r:.80}"


def nearly_equal(a: object, b: object, tolerance: float) -> bool:
    """True if two plain values are the same, but for rounding errors of their numbers.

    >>> nearly_equal({"n": [1, 2.0]}, {"n": [1, 2.0000001]}, 1e-6)
    True
    """
    return _first_difference(a, b, tolerance) is None


def _first_difference(
    a: object, b: object, tolerance: float, place: str = ""
) -> tuple[str, object, object] | None:
    """The place of the first difference of two plain values, with both; None if there is none."""
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        if len(a) != len(b):
            return place, a, b
        a, b = dict(enumerate(a)), dict(enumerate(b))
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        if a.keys() != b.keys():
            return place, a, b
        inner = (_first_difference(a[key], b[key], tolerance, f"{place}.{key}") for key in a)
        return next((one for one in inner if one is not None), None)
    if _is_number(a) and _is_number(b):
        same = a == b or abs(a - b) <= tolerance * max(abs(a), abs(b), 1e-3)
    else:
        same = type(a) is type(b) and a == b
    return None if same else (place.removeprefix("."), a, b)


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, Real) and not isinstance(value, bool)


def _compare_draws(
    state: CampaignState, created: CampaignSettings, pool_at: PoolAt
) -> Iterator[str]:
    rows = [item.row for item in state.draws]
    rounds = [(one, pool_at(state, one.first)) for one in state.rounds]
    items = draw_again(pool_at(state, 1), created, rows, len(rows), rounds, state.known)
    uses_features = np.zeros(len(rows), dtype=bool)
    for begun, pool in rounds:
        in_runs = _uses_features(begun) and (
            created.versions.predictor > 1 or not driver_of(pool, created).is_one_run
        )
        uses_features[begun.first - 1 :] = in_runs
    tolerances = np.where(uses_features, _FITTED, _ROUNDING).tolist()
    for item, expected, tolerance in zip(state.draws, items, tolerances, strict=True):
        difference = _compare_items(item, expected, tolerance)
        if difference is not None:
            yield f"draw {item.draw}: {difference}"


def _uses_features(begun: Round) -> bool:
    """True if predictions use features, which are in single precision.

    How their products are rounded depends on how many rows are read at once. A predictor of the
    label computes with tables in single precision, whatever it uses.
    """
    if "version" in (begun.predictor or {}):
        return True
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


def _compare_figures(state: CampaignState, pool_at: PoolAt) -> Iterator[str]:
    """Make the figures once; a log from which there are none has a difference."""
    try:
        estimate_figures(state, FigureCache(pool_at=pool_at))
    except NotApprovedError:
        raise
    except _UNREADABLE as wrong:
        yield f"no figures can be made from this log: {wrong}"


_MAKE = "openssl genpkey -algorithm ed25519 -out key.pem; openssl pkey -in key.pem -pubout"
_LOADING = "cryptography.hazmat.primitives.serialization"


class LogEnd(NamedTuple):
    """The end of a campaign's log: a hash that stands for all events up to it."""

    campaign: str
    n_events: int
    last_hash: str

    @property
    def message(self) -> bytes:
        """The bytes that are signed."""
        return canonical(self._asdict()).encode()


def write_signature(end: LogEnd, key: Path, out: Path) -> None:
    """Sign the end of a log with the private key in a PEM file, and write both as JSON."""
    loading = optional(_LOADING, extra="signing")
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    load = partial(loading.load_pem_private_key, password=None)
    signature = _load_key(key, "private", Ed25519PrivateKey, load).sign(end.message).hex()
    plain = {**end._asdict(), "algorithm": "Ed25519", "signature": signature}
    out.write_text(json.dumps(plain, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read_signature(path: Path, key: Path) -> LogEnd:
    """The end of a log that was signed; refuses a signature that does not fit the public key."""
    loading = optional(_LOADING, extra="signing")
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    public = _load_key(key, "public", Ed25519PublicKey, loading.load_pem_public_key)
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
        end = LogEnd(str(plain["campaign"]), int(plain["n_events"]), str(plain["last_hash"]))
        signature = bytes.fromhex(plain["signature"])
    except (ValueError, LookupError, TypeError) as wrong:
        raise InputError(f"{path} is no signature file of levelled audit --sign.") from wrong
    try:
        public.verify(signature, end.message)
    except InvalidSignature as wrong:
        raise InputError(
            f"The signature in {path} was not made with the key that belongs to {key}, or the "
            f"file was changed since."
        ) from wrong
    return end


def _load_key(path: Path, name: str, kind: type[Any], load: Callable[[bytes], object]) -> Any:  # noqa: ANN401
    from cryptography.exceptions import UnsupportedAlgorithm

    try:
        key = load(path.read_bytes())
    except (ValueError, TypeError, UnsupportedAlgorithm):  # no key, or one with a password
        key = None
    if not isinstance(key, kind):
        raise InputError(
            f"{path} is no {name} Ed25519 key in PEM without a password. To make a pair: {_MAKE}"
        )
    return key
