"""Tokens are random, kept as hashes, found in constant time, and removed by name."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from levelled.campaigns import open_store
from levelled.campaigns.stores import Store, Token, find_token, hash_token
from levelled.errors import InputError
from postgres_server import PostgresServer


@pytest.fixture(params=["sqlite", "postgres"])
def store(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Store]:
    place: str | Path = tmp_path / "levelled.db"
    if request.param == "postgres":
        server: PostgresServer = request.getfixturevalue("postgres")
        place = server.new_schema()
    with open_store(place) as opened:
        yield opened


def test_a_token_is_found_by_its_hash_alone(store: Store) -> None:
    token = store.tokens.add("ann", "labeller")
    (kept,) = store.tokens.all()
    assert (kept.name, kept.role, kept.hash) == ("ann", "labeller", hash_token(token))
    assert find_token([kept], hash_token(token)) == kept
    assert find_token([kept], hash_token(token[:-1])) is None
    assert find_token([kept], token) is None


def test_tokens_have_256_random_bits(store: Store) -> None:
    tokens = [store.tokens.add("ann", "analyst") for _ in range(20)]
    assert len({*tokens}) == 20
    assert {len(token) for token in tokens} == {43}  # of 6 bits each


def test_all_tokens_of_a_person_are_removed(store: Store) -> None:
    for name in ("ann", "ann", "bob"):
        store.tokens.add(name, "labeller")
    assert store.tokens.remove("ann") == 2
    assert [one.name for one in store.tokens.all()] == ["bob"]
    assert store.tokens.remove("ann") == 0


@pytest.mark.parametrize("name", ["", " ann", "a\nb", "x" * 101, "\x1b[31m"])
def test_a_name_that_cannot_be_shown_is_refused(store: Store, name: str) -> None:
    with pytest.raises(InputError, match=r"name.*labeller"):
        store.tokens.add(name, "labeller")


def test_there_are_two_roles(store: Store) -> None:
    with pytest.raises(InputError, match="labeller, analyst"):
        store.tokens.add("ann", "admin")


def test_a_token_is_for_all_campaigns_and_for_good_unless_said(store: Store) -> None:
    store.append("mails", [{}], expected=0)
    store.append("chats", [{}], expected=0)
    end = datetime.now(UTC) + timedelta(days=30)
    store.tokens.add("ann", "labeller")
    store.tokens.add("bob", "labeller", campaigns=["mails", "chats", "mails"], expires=end)
    ann, bob = store.tokens.all()
    assert (ann.campaigns, ann.expires) == (None, None)
    assert (bob.campaigns, bob.expires) == (("mails", "chats"), end.isoformat(timespec="seconds"))
    assert ann.is_valid
    assert bob.is_valid


def test_a_token_is_not_valid_from_its_end_on() -> None:
    now = datetime.now(UTC)
    times = [now + timedelta(hours=hours) for hours in (-1, 1)]
    ends = [at.isoformat(timespec="seconds") for at in times]
    assert [Token("", "", "", "", None, end).is_valid for end in ends] == [False, True]


def test_a_token_for_no_campaign_or_no_time_is_refused(store: Store) -> None:
    with pytest.raises(InputError, match="'mials'"):
        store.tokens.add("ann", "labeller", campaigns=["mials"])
    with pytest.raises(InputError, match="later"):
        store.tokens.add("ann", "labeller", expires=datetime.now(UTC))
    assert store.tokens.all() == []


def test_a_token_follows_the_name_of_its_campaign_and_not_another_that_takes_it_up(
    store: Store,
) -> None:
    for name in ("mails", "chats"):
        store.append(name, [{}], expected=0)
    store.tokens.add("ann", "labeller", campaigns=["mails", "chats"])
    store.rename("mails", "letters", {}, expected=1)
    assert [{*(one.campaigns or ())} for one in store.tokens.all()] == [{"letters", "chats"}]
    store.delete("letters")
    store.delete("chats")
    assert [one.campaigns for one in store.tokens.all()] == [()]
