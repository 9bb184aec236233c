"""Snapshots are only a cache: a forged or damaged one never changes what is shown."""

import io
import json
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from campaigns.simulated import begun, label, spam
from levelled.campaigns import Campaign, create_campaign, load_campaign, open_store
from levelled.campaigns.figures.settled import FigureCache
from levelled.campaigns.log.events import apply_events
from levelled.campaigns.log.state import CampaignState
from levelled.campaigns.snapshots import is_authentic, key_of_user, pack, unpack
from levelled.campaigns.stores import SQLStore

POOL, TRUTH = spam(60)
MAGIC, CODE = b"levelled snapshot 1\n", 64

Plain = dict[str, Any]
Change = Callable[[Plain, Plain, Plain], object]
"""A change of the header, the plain values and the arrays of a snapshot."""
Alter = Callable[[bytes], bytes]


def shown(campaign: Campaign) -> list[dict[str, Any]]:
    return [figure.as_dict() for figure in campaign.estimate()]


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> SQLStore:
    """A store with an adaptive campaign of 20 labels and its snapshot, and a static one."""
    folder = tmp_path_factory.mktemp("snapshots")
    pq.write_table(POOL, folder / "pool.parquet")
    more: dict[str, Any] = {"slices": ["country"], "storage": folder / "c.db", "seed": 7}
    for name, kind in (("spam", "adaptive"), ("other", "static")):
        campaign = create_campaign(
            name, str(folder / "pool.parquet"), ["error", "f1:spam"], kind=kind, **more
        )
        for _ in range(2):
            label(campaign, 10, TRUTH)
        campaign.mark_unlabelable(campaign.ask(1)[0].draw, reason="blank")
        campaign.estimate()
        campaign.keep()
    return open_store(folder / "c.db")


@pytest.fixture(scope="module")
def truth(stored: SQLStore) -> list[dict[str, Any]]:
    """The figures that the log gives."""
    stored_snapshot = stored.snapshot("spam")
    assert stored_snapshot is not None
    stored.keep_snapshot("spam", stored_snapshot.hash, b"")
    figures = shown(Campaign("spam", stored))
    stored.keep_snapshot("spam", stored_snapshot.hash, stored_snapshot.data)
    return figures


def signed(body: bytes, key: bytes | None = None) -> bytes:
    """A snapshot with a right code: that of this user, or of another key."""
    key = key or key_of_user()
    assert key is not None
    return MAGIC + blake2b(body, key=key, digest_size=CODE // 2).hexdigest().encode() + body


def opened(data: bytes) -> tuple[Plain, Plain, Plain]:
    """Header, plain values and arrays of a snapshot."""
    line, _, body = data[len(MAGIC) + CODE :].partition(b"\n")
    with np.load(io.BytesIO(body)) as kept:
        arrays = dict(kept)
    return json.loads(line), json.loads(arrays.pop("plain").tobytes()), arrays


def closed(header: Plain, plain: Plain, arrays: Plain) -> bytes:
    """The body of a snapshot, as `pack` would write it."""
    text = np.frombuffer(json.dumps(plain).encode(), dtype=np.uint8)
    out = io.BytesIO()
    np.savez(out, **arrays, plain=text)
    return json.dumps(header).encode() + b"\n" + out.getvalue()


def flip(at: float) -> Alter:
    def flipped(data: bytes) -> bytes:
        place = int(at * (len(data) - 1))
        return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]

    return flipped


def cut(share: float) -> Alter:
    return lambda data: data[: int(share * len(data))]


def forge(change: Change) -> Alter:
    """Content that somebody changed, with a code of another key."""

    def forged(data: bytes) -> bytes:
        header, plain, arrays = opened(data)
        change(header, plain, arrays)
        return signed(closed(header, plain, arrays), b"x" * 32)

    return forged


def own(change: Change) -> Alter:
    """Content that does not fit together, with the right code of this user."""

    def made(data: bytes) -> bytes:
        header, plain, arrays = opened(data)
        change(header, plain, arrays)
        return signed(closed(header, plain, arrays))

    return made


def _set(where: str, *path: object) -> Change:
    """Set a value: the last of `path` at the place that the others name."""

    def change(header: Plain, plain: Plain, arrays: Plain) -> None:
        place: Any = {"header": header, "plain": plain, "arrays": arrays}[where]
        *names, last, value = path
        for name in names:
            place = place[name]
        place[last] = value

    return change


def _every(what: str, factor: float) -> Change:
    def change(header: Plain, plain: Plain, arrays: Plain) -> None:
        for name in arrays:
            if what in name:
                arrays[name] = arrays[name] * factor

    return change


def _games(change: Callable[[Plain], object]) -> Change:
    def altered(header: Plain, plain: Plain, arrays: Plain) -> None:
        for game in plain["games"].values():
            change(game)

    return altered


def _flip_answers(header: Plain, plain: Plain, arrays: Plain) -> None:
    for answer in plain["state"]["answers"].values():
        answer[0] = "ham" if answer[0] == "spam" else "spam"


def _drop(where: str) -> Change:
    def change(header: Plain, plain: Plain, arrays: Plain) -> None:
        if where == "header":
            header.clear()
        elif where in arrays:
            del arrays[where]
        else:
            plain.pop(where)

    return change


def _nothing(header: Plain, plain: Plain, arrays: Plain) -> None:
    pass


KINDS: dict[str, Alter] = {
    "nothing is there": lambda data: b"",
    "not a snapshot": lambda data: b"hello",
    "zeros": lambda data: bytes(len(data)),
    "an older version's games": lambda data: b'{"error": {"n": 20, "kind": "average"}}',
    "only the beginning": lambda data: MAGIC,
    "only the code": lambda data: data[: len(MAGIC) + CODE],
    "text after it": lambda data: data + b"x",
    "text before it": lambda data: b"x" + data,
    "a code of zeros": lambda data: MAGIC + b"0" * CODE + data[len(MAGIC) + CODE :],
    "a code of no digits": lambda data: MAGIC + "ü".encode() * 32 + data[len(MAGIC) + CODE :],
    "a plain checksum instead": lambda data: (
        MAGIC
        + blake2b(data[len(MAGIC) + CODE :], digest_size=CODE // 2).hexdigest().encode()
        + data[len(MAGIC) + CODE :]
    ),
    **{f"a bit at {at:.0%} is flipped": flip(at) for at in np.linspace(0, 1, 12)},
    **{f"cut at {share:.0%}": cut(share) for share in (0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.999)},
    "another user's": forge(_nothing),
    "forged labels": forge(_flip_answers),
    "forged level": forge(_set("plain", "settings", "level", 0.5)),
    "forged level in header and settings": forge(
        lambda h, p, a: (h.update(level=0.5), p["settings"].update(level=0.5))
    ),
    "forged pool size": forge(_set("plain", "settings", "pool_size", 10**6)),
    "forged metrics": forge(_set("plain", "settings", "metrics", ["accuracy", "f1:ham"])),
    "forged looks": forge(_set("plain", "settings", "looks", [[20, 0.9]])),
    "forged probabilities": forge(_every("probability", 0.5)),
    "forged design": forge(_every("design", 2.0)),
    "forged losses": forge(_every("losses", 0.0)),
    "forged rows": forge(_every("row", 0)),
    "forged games": forge(_games(lambda game: game.update(game={}))),
    "forged rounds of games": forge(_games(lambda game: game.update(n=0))),
    "forged fingerprints of games": forge(_games(lambda game: game.update(fingerprint=""))),
    "no games": forge(_set("plain", "games", {})),
    "forged number settled": forge(_set("plain", "state", "n_settled", 5)),
    "forged number of events": forge(_set("plain", "state", "n_events", 2)),
    "forged unlabelable": forge(_set("plain", "state", "unlabelable", {})),
    "forged closing": forge(_set("plain", "state", "closed", "done")),
    "forged slices": forge(_set("plain", "draws", 0, "slices", {"country": ["de"] * 21})),
    "another version": own(_set("header", "version", "0.0.1")),
    "another hash": own(_set("header", "hash", "0" * 64)),
    "another level": own(_set("header", "level", 0.5)),
    "another number of events": own(_set("header", "n_events", 3)),
    "a header without anything": own(_drop("header")),
    "no draws": own(_set("plain", "draws", [])),
    "columns that are too short": own(_set("plain", "draws", 0, "ids", ["r1"])),
    "no settings": own(_drop("settings")),
    "no state": own(_drop("state")),
    "no rows": own(_drop("draws0.row")),
    "settings of a newer version": own(_set("plain", "settings", "sorcery", 1)),
    "a field that is missing": own(lambda h, p, a: p["state"].pop("answers")),
    "an answer that is none": own(_set("plain", "state", "answers", {"1": 5})),
    "a game of a kind unknown": own(_games(lambda game: game.update(kind="poker"))),
    "not an archive": lambda data: signed(b'{"version": "0.1.0"}\nnot an archive'),
}
"""Kinds of snapshots that are not what this version of this user wrote."""


def test_there_are_at_least_50_kinds() -> None:
    assert len(KINDS) >= 50


@pytest.mark.parametrize("kind", KINDS)
def test_a_forged_or_damaged_snapshot_changes_nothing(
    stored: SQLStore, truth: list[dict[str, Any]], kind: str
) -> None:
    before = stored.snapshot("spam")
    assert before is not None
    stored.keep_snapshot("spam", before.hash, KINDS[kind](before.data))
    try:
        assert shown(Campaign("spam", stored)) == truth
    finally:
        stored.keep_snapshot("spam", before.hash, before.data)


def test_the_untouched_snapshot_is_used_and_gives_the_same(
    stored: SQLStore, truth: list[dict[str, Any]]
) -> None:
    kept = stored.snapshot("spam")
    assert kept is not None
    assert is_authentic(kept.data)
    campaign = Campaign("spam", stored)
    assert campaign.state.n_events == stored.count("spam")
    assert campaign._log.cache.games, "the games of the snapshot"
    assert shown(campaign) == truth


def test_the_snapshot_of_another_campaign_is_not_used(
    stored: SQLStore, truth: list[dict[str, Any]]
) -> None:
    before, other = stored.snapshot("spam"), stored.snapshot("other")
    assert before is not None
    assert other is not None
    stored.keep_snapshot("spam", other.hash, other.data)
    assert shown(Campaign("spam", stored)) == truth
    stored.keep_snapshot("spam", before.hash, before.data)


def test_a_folded_state_comes_back_as_it_was(stored: SQLStore) -> None:
    for name in ("spam", "other"):
        events = [one.event for one in stored.events(name)]
        folded = apply_events(events)
        data = pack("0" * 64, folded, FigureCache())
        assert data is not None
        kept = unpack(data)
        assert kept is not None
        for field in CampaignState.__dataclass_fields__:
            assert getattr(kept.state, field) == getattr(folded, field), field
        assert [*kept.state.draws[3:5]] == [*folded.draws[3:5]]
        later = (*events, {"type": "closed", "at": "now", "by": None, "reason": "over"})
        assert apply_events(later[-1:], kept.state).draws == apply_events(later).draws


def test_labelling_goes_on_from_a_snapshot(tmp_path: Path) -> None:
    pq.write_table(POOL, tmp_path / "pool.parquet")
    begun(tmp_path / "c.db", str(tmp_path / "pool.parquet"), kind="adaptive")
    for _ in range(4):
        campaign = load_campaign("spam", storage=tmp_path / "c.db")
        label(campaign, 7, TRUTH)
        campaign.estimate()
        campaign.keep()
    last = load_campaign("spam", storage=tmp_path / "c.db")
    folded = apply_events(one.event for one in last._log.store.events("spam"))
    assert last.state.draws == folded.draws
    assert last.audit() == []


def test_without_a_place_for_the_key_nothing_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("LEVELLED_CACHE", str(tmp_path / "file"))
    campaign = begun(tmp_path / "c.db", POOL)
    label(campaign, 5, TRUTH)
    campaign.estimate()
    campaign.keep()
    assert campaign._log.store.snapshot("spam") is None


def test_the_key_is_for_its_owner_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEVELLED_CACHE", str(tmp_path))
    first = key_of_user()
    assert key_of_user() == first
    assert (tmp_path / "snapshot.key").stat().st_mode & 0o077 == 0
    assert [one.name for one in tmp_path.iterdir()] == ["snapshot.key"]
