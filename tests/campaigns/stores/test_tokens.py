"""Tokens are random, kept as hashes, found in constant time, and removed by name."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from levelled.campaigns import open_store
from levelled.campaigns.stores import Store, find_token, hash_token
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
