"""Snapshots are only a cache: a forged or damaged one never changes what is shown."""

import io
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from campaigns.simulated import begun, label, spam
from levelled.campaigns import Campaign, create_campaign, load_campaign, open_store
from levelled.campaigns.log.events import apply_events
from levelled.campaigns.log.log import (
    _MAGIC,
    KeptState,
    _path,
    keep_snapshot,
    load_snapshot,
    pack,
    unpack,
)
from levelled.campaigns.log.state import CampaignState
from levelled.campaigns.stores import Store

POOL, TRUTH = spam(60)
CODE = blake2b.MAX_DIGEST_SIZE
START = len(_MAGIC) + CODE

Plain = dict[str, Any]
Change = Callable[[Plain, Plain, Plain], object]
"""A change of the header, the plain values and the arrays of a snapshot."""
Alter = Callable[[bytes], bytes]


def shown(campaign: Campaign) -> list[dict[str, Any]]:
    return [figure.as_dict() for figure in campaign.estimate()]


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Store:
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


def file_of(store: Store, name: str = "spam") -> Path:
    """The file of a campaign's snapshot."""
    path = _path(store.address, name)
    assert path is not None
    return path


@pytest.fixture(scope="module")
def truth(stored: Store) -> list[dict[str, Any]]:
    """The figures that the log gives."""
    file = file_of(stored)
    aside = file.rename(file.with_suffix(".aside"))
    figures = shown(Campaign("spam", stored))
    aside.rename(file)
    return figures


def summed(body: bytes) -> bytes:
    """A snapshot with the checksum of its body."""
    return _MAGIC + blake2b(body).digest() + body


def opened(data: bytes) -> tuple[Plain, Plain, Plain]:
    """Header, plain values and arrays of a snapshot."""
    line, _, body = data[START:].partition(b"\n")
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


def changed(change: Change) -> Alter:
    """Content that somebody changed, with the checksum that it then has."""

    def made(data: bytes) -> bytes:
        header, plain, arrays = opened(data)
        change(header, plain, arrays)
        return summed(closed(header, plain, arrays))

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
        for game in plain["results"]["games"].values():
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


KINDS: dict[str, Alter] = {
    "nothing is there": lambda data: b"",
    "not a snapshot": lambda data: b"hello",
    "zeros": lambda data: bytes(len(data)),
    "an older version's games": lambda data: b'{"error": {"n": 20, "kind": "average"}}',
    "only the beginning": lambda data: _MAGIC,
    "only the checksum": lambda data: data[:START],
    "text after it": lambda data: data + b"x",
    "text before it": lambda data: b"x" + data,
    "a checksum of zeros": lambda data: _MAGIC + bytes(CODE) + data[START:],
    **{f"a bit at {at:.0%} is flipped": flip(at) for at in np.linspace(0, 1, 12)},
    **{f"cut at {share:.0%}": cut(share) for share in (0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.999)},
    "another version": changed(_set("header", "version", "0.0.1")),
    "another hash": changed(_set("header", "hash", "0" * 64)),
    "another level": changed(_set("header", "level", 0.5)),
    "another number of events": changed(_set("header", "n_events", 3)),
    "a header without anything": changed(_drop("header")),
    "no draws": changed(_set("plain", "draws", [])),
    "columns that are too short": changed(_set("plain", "draws", 0, "ids", ["r1"])),
    "no settings": changed(_drop("settings")),
    "no state": changed(_drop("state")),
    "no rows": changed(_drop("draws0.row")),
    "settings of a newer version": changed(_set("plain", "settings", "sorcery", 1)),
    "a field that is missing": changed(lambda h, p, a: p["state"].pop("answers")),
    "an answer that is none": changed(_set("plain", "state", "answers", {"1": 5})),
    "a game of a kind unknown": changed(_games(lambda game: game.update(kind="poker"))),
    "not an archive": lambda data: summed(b'{"version": "0.1.0"}\nnot an archive'),
}
"""Kinds of snapshots that are not whole, not of this version or not of this log."""

FORGED: dict[str, Alter] = {
    "with nothing changed": lambda data: data,
    "forged labels": changed(_flip_answers),
    "forged level": changed(_set("plain", "settings", "level", 0.5)),
    "forged level in header and settings": changed(
        lambda h, p, a: (h.update(level=0.5), p["settings"].update(level=0.5))
    ),
    "forged pool size": changed(_set("plain", "settings", "pool_size", 10**6)),
    "forged metrics": changed(_set("plain", "settings", "metrics", ["accuracy", "f1:ham"])),
    "forged looks": changed(_set("plain", "settings", "looks", [[20, 0.9]])),
    "forged probabilities": changed(_every("probability", 0.5)),
    "forged design": changed(_every("design", 2.0)),
    "forged losses": changed(_every("losses", 0.0)),
    "forged rows": changed(_every("row", 0)),
    "forged games": changed(_games(lambda game: game.update(game={}))),
    "forged rounds of games": changed(_games(lambda game: game.update(n=0))),
    "forged fingerprints of games": changed(_games(lambda game: game.update(fingerprint=""))),
    "no games": changed(_set("plain", "results", {})),
    "forged number settled": changed(_set("plain", "state", "n_settled", 5)),
    "forged number of events": changed(_set("plain", "state", "n_events", 2)),
    "forged unlabelable": changed(_set("plain", "state", "unlabelable", {})),
    "forged closing": changed(_set("plain", "state", "closed", "done")),
    "forged slices": changed(_set("plain", "draws", 0, "slices", {"country": ["de"] * 21})),
}
"""Content that is sound in itself, in a file that others than this user can write."""


def test_there_are_at_least_50_kinds() -> None:
    assert len(KINDS) + len(FORGED) >= 50


@contextmanager
def altered(store: Store, alter: Alter, mode: int = 0o600) -> Iterator[None]:
    """Change the snapshot of "spam" for a while."""
    file = file_of(store)
    before = file.read_bytes()
    try:
        file.write_bytes(alter(before))
        file.chmod(mode)
        yield
    finally:
        file.write_bytes(before)
        file.chmod(0o600)


@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_snapshot_changes_nothing(
    stored: Store, truth: list[dict[str, Any]], kind: str
) -> None:
    with altered(stored, KINDS[kind]):
        assert shown(Campaign("spam", stored)) == truth


@pytest.mark.parametrize("kind", FORGED)
@pytest.mark.parametrize("mode", [0o602, 0o620, 0o640])
def test_a_file_that_others_can_use_changes_nothing(
    stored: Store, truth: list[dict[str, Any]], kind: str, mode: int
) -> None:
    with altered(stored, FORGED[kind], mode):
        assert load_snapshot(stored.address, "spam") is None
        if mode == 0o602:
            assert shown(Campaign("spam", stored)) == truth


def test_a_forged_level_would_be_shown_if_the_file_were_trusted(
    stored: Store, truth: list[dict[str, Any]]
) -> None:
    with altered(stored, FORGED["forged level in header and settings"]):
        assert shown(Campaign("spam", stored)) != truth


def test_a_folder_that_others_can_use_is_not_used(stored: Store) -> None:
    folder = file_of(stored).parent
    assert folder.stat().st_mode & 0o777 == 0o700
    kept = load_snapshot(stored.address, "spam")
    assert kept is not None
    for mode in (0o750, 0o701, 0o777):
        folder.chmod(mode)
        assert load_snapshot(stored.address, "spam") is None
        keep_snapshot(stored.address, "new", kept)
        assert not file_of(stored, "new").exists()
    folder.chmod(0o700)
    assert load_snapshot(stored.address, "spam") is not None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to somebody else")
def test_a_file_of_somebody_else_is_not_used(stored: Store) -> None:
    file = file_of(stored)
    for path in (file, file.parent):
        os.chown(path, 65534, -1)
        assert load_snapshot(stored.address, "spam") is None
        os.chown(path, 0, -1)
    assert load_snapshot(stored.address, "spam") is not None


@pytest.mark.parametrize("cache", [".", "cache", "cache/levelled"])
def test_nothing_is_kept_beside_the_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: str
) -> None:
    monkeypatch.setenv("LEVELLED_CACHE", str(tmp_path / cache))
    campaign = begun(tmp_path / "c.db", POOL)
    label(campaign, 5, TRUTH)
    campaign.keep()
    is_kept = load_snapshot(campaign._log.store.address, "spam") is not None
    assert is_kept == (cache == "cache/levelled")  # as in a home, where the cache lies deeper
    assert [*tmp_path.glob("**/snapshots")] == ([tmp_path / cache / "snapshots"] * is_kept)


def test_the_untouched_snapshot_is_used_and_gives_the_same(
    stored: Store, truth: list[dict[str, Any]]
) -> None:
    campaign = Campaign("spam", stored)
    assert campaign.state.n_events == stored.count("spam")
    assert campaign._log.cache.games, "the games of the snapshot"
    assert shown(campaign) == truth


def test_the_snapshot_of_another_campaign_is_not_used(
    stored: Store, truth: list[dict[str, Any]]
) -> None:
    other = file_of(stored, "other").read_bytes()
    with altered(stored, lambda _: other):
        assert shown(Campaign("spam", stored)) == truth


def test_a_folded_state_comes_back_as_it_was(stored: Store) -> None:
    for name in ("spam", "other"):
        events = [one.event for one in stored.events(name)]
        folded = apply_events(events)
        kept = unpack(pack(KeptState("0" * 64, folded, 1)))
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


def test_without_a_place_for_it_nothing_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("LEVELLED_CACHE", str(tmp_path / "file"))
    campaign = begun(tmp_path / "c.db", POOL)
    label(campaign, 5, TRUTH)
    campaign.estimate()
    campaign.keep()
    assert load_snapshot(campaign._log.store.address, "spam") is None
