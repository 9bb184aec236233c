"""Tokens: who may use the web page of a storage. The database knows only their hashes."""

import hmac
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256

from sqlalchemy import delete, insert, select

from levelled.campaigns.stores.database import Database
from levelled.campaigns.stores.schema import TOKENS
from levelled.errors import InputError

ROLES = ("labeller", "analyst")
"""The roles, each of which may do all that those before it may."""

_BYTES = 32
_ALL = select(TOKENS.c.hash, TOKENS.c.name, TOKENS.c.role, TOKENS.c.created).order_by(
    TOKENS.c.created, TOKENS.c.name, TOKENS.c.hash
)


@dataclass(frozen=True, slots=True)
class Token:
    """A token as the database knows it: the hash, whose it is, what it allows, since when."""

    hash: str
    name: str
    role: str
    created: str


def hash_token(token: str) -> str:
    """The sha256 of a token.

    A token is 256 random bits, so that nothing is gained by a hash that is slow to compute.
    """
    return sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def find_token(tokens: Iterable[Token], digest: str) -> Token | None:
    """The token with this hash; the time it takes does not tell how near a guess was."""
    found = None
    for one in tokens:
        if hmac.compare_digest(one.hash, digest):
            found = one
    return found


class SQLTokens:
    """The tokens in the tables of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, name: str, role: str) -> str:
        """A new token for a person, who may have others; it cannot be read again later."""
        if role not in ROLES:
            raise InputError(f"There is no role {role!r}: choose one of {', '.join(ROLES)}.")
        token, now = secrets.token_urlsafe(_BYTES), datetime.now(UTC)
        row = {
            "hash": hash_token(token),
            "name": _checked(name),
            "role": role,
            "created": now.isoformat(timespec="seconds"),
        }
        with self._database.turn("") as turn, turn.writing() as connection:
            connection.execute(insert(TOKENS), [row])
        return token

    def all(self) -> list[Token]:
        """All tokens, the oldest first."""

        def attempt() -> list[Token]:
            with self._database.reading() as connection:
                return [Token(*row) for row in connection.execute(_ALL)]

        return self._database.persist(attempt)

    def remove(self, name: str) -> int:
        """Remove all tokens of a person, and return how many there were."""
        with self._database.turn("") as turn, turn.writing() as connection:
            return connection.execute(delete(TOKENS).where(TOKENS.c.name == name)).rowcount


def _checked(name: str) -> str:
    if not (1 <= len(name) <= 100 and name.isprintable() and name == name.strip()):
        raise InputError(
            f"{name!r:.80} is no name for a labeller: up to 100 printable characters, without "
            f"blanks at the ends."
        )
    return name
