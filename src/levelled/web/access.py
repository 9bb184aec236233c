"""Who is asking: tokens become visitors, and those who guess have to wait."""

import threading
import time
from collections import OrderedDict, deque
from dataclasses import dataclass

from levelled.campaigns.stores import SQLStore, Token, find_token, hash_token
from levelled.web.settings import WebSettings

FRESH = 1.0
"""Seconds for which a token that was found counts without looking again."""
FAILURES, WITHIN = 10, 60.0
"""Tokens that do not exist which a client may try, and the seconds that are counted."""
_MOST_CLIENTS = 10_000


@dataclass(frozen=True, slots=True)
class Visitor:
    """Somebody with a token: a name, which owns asks and answers, and a role."""

    name: str
    role: str

    @property
    def is_analyst(self) -> bool:
        """True for those who may see estimates and change campaigns."""
        return self.role == "analyst"


class TooManyFailuresError(Exception):
    """A client that tried too many tokens that do not exist."""


class Access:
    """Finds the visitor of a token. Safe to call from several threads."""

    def __init__(self, store: SQLStore, settings: WebSettings) -> None:
        self._store = store
        self._own: list[Token] = []
        if settings.token is not None:
            self._own.append(Token(hash_token(settings.token), settings.owner, "analyst", ""))
        self._visitors: dict[str, Visitor] = {}
        """Those who came with a valid token, by its hash."""
        self._looked = -FRESH
        self._failures: OrderedDict[str, deque[float]] = OrderedDict()
        self._lock, self._looking = threading.Lock(), threading.Lock()

    def known(self, token: str) -> Visitor | None:
        """The visitor, if the token was valid a moment ago; this does not block."""
        is_fresh = time.monotonic() - self._looked < FRESH
        return self._visitors.get(hash_token(token)) if is_fresh else None

    def find(self, token: str, client: str) -> Visitor | None:
        """The visitor with this token, which is looked up in the storage.

        A client with too many failures is refused, unless the token was valid before: somebody
        who guesses must not lock out those who work behind the same address.
        """
        digest = hash_token(token)
        if self._is_blocked(client) and digest not in self._visitors:
            raise TooManyFailuresError
        with self._looking:
            visitor = self.known(token) or self._look(digest)
        if visitor is None:
            self._count_failure(client)
        return visitor

    def _look(self, digest: str) -> Visitor | None:
        """Read all tokens again, for all visitors at once."""
        tokens, now = [*self._own, *self._store.tokens.all()], time.monotonic()
        found = {one: find_token(tokens, one) for one in (*self._visitors, digest)}
        self._visitors = {one: Visitor(t.name, t.role) for one, t in found.items() if t is not None}
        self._looked = now
        return self._visitors.get(digest)

    def _is_blocked(self, client: str) -> bool:
        with self._lock:
            times = self._failures.get(client, deque())
            while times and time.monotonic() - times[0] > WITHIN:
                times.popleft()
            return len(times) >= FAILURES

    def _count_failure(self, client: str) -> None:
        with self._lock:
            self._failures.setdefault(client, deque(maxlen=FAILURES)).append(time.monotonic())
            self._failures.move_to_end(client)
            if len(self._failures) > _MOST_CLIENTS:
                self._failures.popitem(last=False)
