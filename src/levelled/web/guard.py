"""The guard in front of every route: hosts, tokens, forged requests, limits, headers, the log."""

import json
import re
import sys
import threading
import time
import traceback
from collections import OrderedDict, deque
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from math import ceil
from typing import IO, Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from levelled.campaigns.stores import Store, find_token, hash_token
from levelled.errors import LevelledError
from levelled.web.replies import TEMPLATES, problem, refuse
from levelled.web.settings import WebSettings


class Journal:
    """Writes what happened to a stream, by default standard error."""

    def __init__(self, stream: IO[str] | None = None) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def write(self, event: str, **fields: Any) -> None:  # noqa: ANN401
        """Write one line."""
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        line = json.dumps({"at": at, "event": event, **fields})
        with self._lock:
            stream = sys.stderr if self._stream is None else self._stream
            stream.write(f"{line}\n")
            stream.flush()

    def request(self, scope: Scope, status: int, seconds: float) -> None:
        """Write a request: its route without values in it, who sent it, and the outcome."""
        route, visitor = scope.get("route"), scope.get("state", {}).get("visitor")
        self.write(
            "request",
            method=scope["method"],
            route=getattr(route, "path", None),
            campaign=scope.get("path_params", {}).get("name"),
            by=getattr(visitor, "name", None),
            status=status,
            ms=round(1000 * seconds, 1),
        )

    def failure(self, scope: Scope, error: BaseException) -> None:
        """Write where an unexpected error was raised, without its message, which may quote data."""
        frames = traceback.extract_tb(error.__traceback__)[-8:]
        where = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
        self.write(
            "error",
            route=getattr(scope.get("route"), "path", None),
            kind=type(error).__name__,
            where=where,
        )


FRESH = 1.0
"""Seconds for which a token that was found counts without looking again.

A page sends many requests at once. A token that is removed stops working as soon as this is over.
"""
FAILURES, WITHIN = 10, 60.0
"""Tokens that do not exist which a client may try, and the seconds that are counted.

People mistype; of 2^128 tokens or more, ten a minute find none.
"""
_MOST_CLIENTS = 10_000  # whose failures or requests are counted, so that many fill no memory


@dataclass(frozen=True, slots=True)
class Visitor:
    """Somebody with a token: a name, which owns asks and answers, a role, and some campaigns."""

    name: str
    role: str
    token: str
    """The hash of the token, by which streams and uploads are counted."""
    campaigns: tuple[str, ...] | None = None
    """The only campaigns that this visitor may know of; None for all."""

    @property
    def is_analyst(self) -> bool:
        """True for those who may see estimates and change campaigns."""
        return self.role == "analyst"

    @property
    def may_create(self) -> bool:
        """True for analysts of all campaigns, who may also make new ones."""
        return self.is_analyst and self.campaigns is None

    def may_know(self, campaign: str) -> bool:
        """True for a campaign that the token is for."""
        return self.campaigns is None or campaign in self.campaigns


class TooManyFailuresError(Exception):
    """A client that tried too many tokens that do not exist."""


class Access:
    """Finds the visitor of a token. Safe to call from several threads."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._visitors: dict[str, Visitor] = {}
        """Those who came with a valid token, by its hash."""
        self._ended: set[str] = set()
        """The hashes of tokens that were valid here, and are not any more."""
        self._looked = -FRESH
        self._failures: OrderedDict[str, deque[float]] = OrderedDict()
        self._lock, self._looking = threading.Lock(), threading.Lock()

    def known(self, token: str) -> Visitor | None:
        """The visitor, if the token was valid a moment ago; this does not block."""
        is_fresh = time.monotonic() - self._looked < FRESH
        return self._visitors.get(hash_token(token)) if is_fresh else None

    def came_before(self, token: str) -> bool:
        """True for a token that was valid when the tokens were last read; this does not block."""
        return hash_token(token) in self._visitors

    def find(self, token: str, client: str) -> Visitor | None:
        """The visitor with this token, which is looked up in the storage.

        A client with too many failures is refused, unless the token was valid before: somebody
        who guesses must not lock out those who work behind the same address. Nor must a page that
        is still open after its token was revoked, whose requests are no guesses.
        """
        digest = hash_token(token)
        if digest in self._ended:
            return None
        if self._is_blocked(client) and not self.came_before(token):
            raise TooManyFailuresError
        with self._looking:  # one thread reads the tokens for all who wait
            visitor = self.known(token)
            if visitor is None:
                self._look(digest)
                visitor = self._visitors.get(digest)
        if visitor is None and digest not in self._ended:
            self._count_failure(client)
        return visitor

    def valid(self) -> Collection[str]:
        """The hashes of all tokens that are valid now, which are read again."""
        with self._looking:
            return self._look(None)

    def _look(self, digest: str | None) -> Collection[str]:
        """Read all tokens again, for all visitors at once, and for a hash that somebody sent."""
        tokens = {one.hash: one for one in self._store.tokens.all() if one.is_valid}
        now = time.monotonic()
        new = None if digest is None else find_token(tokens.values(), digest)
        hashes = {*self._visitors, *([] if new is None else [new.hash])} & tokens.keys()
        found = [tokens[one] for one in hashes]
        self._ended |= self._visitors.keys() - hashes  # tokens are never valid again
        self._visitors = {t.hash: Visitor(t.name, t.role, t.hash, t.campaigns) for t in found}
        self._looked = now
        return tokens.keys()

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


class Allowance:
    """The requests that each visitor has left: `most`, and as many again within every minute."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """How many each visitor had left, and when; those who came last are at the end."""

    def take(self, visitor: str, now: float) -> float:
        """Take one; returns the seconds to wait until there is one, 0 if there was.

        >>> allowance = Allowance(2)
        >>> [allowance.take("ann", now=0.0) for _ in range(3)], allowance.take("ann", now=30.0)
        ([0.0, 0.0, 30.0], 0.0)
        """
        left, at = self._left.pop(visitor, (self.most, now))
        left = min(self.most, left + (now - at) * self.most / 60)
        wait = 0.0 if left >= 1 else (1 - left) * 60 / self.most
        self._left[visitor] = (left if wait else left - 1, now)
        if len(self._left) > _MOST_CLIENTS:
            self._left.popitem(last=False)
        return wait


CSRF_HEADER = "x-levelled"
"""The header of requests by pages of this server; another origin cannot send it."""

BODY_LIMIT = 2**20
"""The most bytes of a request, uploads apart: a thousand labels with a note of a thousand signs."""

COOKIE_DAYS = 30  # a campaign takes weeks, and a labeller should need the link once
_ONWARD = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>Levelled</title>'
    '<meta http-equiv="refresh" content="0;url={0}"><p><a href="{0}">Go on</a></p></html>'
)
_SAFE = ("GET", "HEAD", "OPTIONS")
_PUBLIC = re.compile(r"/(healthz|readyz|static/.*|favicon\.ico)\Z")
_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; connect-src 'self'; worker-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
    "cache-control": "no-store",
}


class Guard:
    """ASGI middleware that lets only known visitors through, and remembers who they are."""

    def __init__(
        self, app: ASGIApp, *, access: Access, settings: WebSettings, journal: Journal
    ) -> None:
        self._app, self._access, self._settings, self._journal = app, access, settings, journal
        self._cookie = f"levelled_{settings.port}"
        self._allowance = Allowance(settings.requests_limit)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request that is refused; pass on any other."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            else:
                await send({"type": "websocket.close"})  # there are none here
            return
        root, began, status = self._settings.root_path, time.perf_counter(), 500
        scope = {**scope, "root_path": root, "path": root + _inside(str(scope["path"]), root)}

        async def send_on(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                if _path(scope).startswith("/static/"):
                    headers.setdefault("cache-control", "no-cache")  # kept, and compared by ETag
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            refusal = await self._admit(scope)
            if refusal is not None:
                await refusal(scope, receive, send_on)
            else:
                is_upload = _path(scope).startswith("/api/files/")
                most = self._settings.upload_limit if is_upload else BODY_LIMIT
                await self._app(scope, _limited(receive, most, Headers(scope=scope)), send_on)
        finally:
            self._journal.request(scope, status, time.perf_counter() - began)

    async def _admit(self, scope: Scope) -> Response | None:
        """The refusal of a request, or the cookie of a new visitor; None to go on."""
        request = Request(scope)
        try:
            host = urlsplit(f"//{request.headers.get('host', '')}").hostname or ""
        except ValueError:
            host = ""
        if self._settings.hosts and host.lower() not in self._settings.hosts:
            return problem(400, "This server is not called by that name: use --allow-host.")
        token, by_cookie, in_link = self._token(request)
        client = request.client.host if request.client else ""
        # Those who work behind one address have a share each, whatever a stranger there sends.
        sender = client
        if token is not None and self._access.came_before(token):
            sender = hash_token(token)
        if wait := self._allowance.take(sender, time.monotonic()):
            most = (
                f"Too many requests: {self._allowance.most:,} a minute are allowed. Wait a moment."
            )
            return refuse(request, 429, most, {"retry-after": str(ceil(wait))})
        if _PUBLIC.match(_path(scope)):
            return None
        if token is None:
            return _unknown(request, 401, "Open the link with your token, or send the token.")
        try:
            visitor = self._access.known(token) or await run_in_threadpool(
                self._access.find, token, client
            )
        except TooManyFailuresError:
            return _unknown(request, 429, "Too many wrong tokens: wait a minute.")
        except LevelledError as refused:
            return problem(503, str(refused))
        if visitor is None:
            return _unknown(request, 401, "This token is not valid: ask for a new link.")
        if in_link:
            return self._welcome(request, token)
        if by_cookie and request.method not in _SAFE and (why := _forged(request)):
            return problem(403, why)
        scope.setdefault("state", {})["visitor"] = visitor
        return None

    def _token(self, request: Request) -> tuple[str | None, bool, bool]:
        """The token of a request, True if it is a cookie's, and True if it is in the link."""
        kind, _, value = request.headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer":
            return value.strip(), False, False
        is_page = request.method in ("GET", "HEAD") and not _path(request.scope).startswith("/api/")
        if is_page and (token := request.query_params.get("token")):
            return token, False, True
        return request.cookies.get(self._cookie), True, False

    def _welcome(self, request: Request, token: str) -> Response:
        """Keep the token in a cookie, and go to the same page without it in the address.

        A browser that follows a redirect from a link on another site, such as a chat, does not
        send a strict cookie along. It does when a page of this server leads on.
        """
        kept = [(k, v) for k, v in parse_qsl(request.url.query) if k != "token"]
        path = "/" + _path(request.scope).lstrip("/\\")  # never //elsewhere
        query = f"?{urlencode(kept)}" if kept else ""
        target = quote(f"{self._settings.root_path}{path}", safe="/") + query
        response: Response = RedirectResponse(target, 303)
        if request.headers.get("sec-fetch-site") in ("cross-site", "same-site"):
            response = HTMLResponse(_ONWARD.format(escape(target)))
        response.set_cookie(
            self._cookie,
            token,
            max_age=COOKIE_DAYS * 24 * 3600,
            path=self._settings.root_path or "/",
            httponly=True,
            samesite="strict",
            secure=request.url.scheme == "https",
        )
        return response


def _path(scope: Scope) -> str:
    """The path of a request without the part that a proxy puts in front."""
    return _inside(str(scope["path"]), str(scope["root_path"]))


def _inside(path: str, root: str) -> str:
    """A path without a prefix, which a proxy may have taken away or left."""
    has_prefix = root and (path == root or path.startswith(f"{root}/"))
    return (path[len(root) :] or "/") if has_prefix else path


def _forged(request: Request) -> str | None:
    """The reason to believe that another site sent this request; None if there is none."""
    origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site")
    is_foreign = origin is not None and urlsplit(origin).netloc != request.headers.get("host")
    if is_foreign or site not in (None, "same-origin", "none"):
        return "Another site sent this request."
    if request.headers.get(CSRF_HEADER) is None:
        return f"A request with a cookie needs the header {CSRF_HEADER}: 1."
    return None


def _unknown(request: Request, status: int, why: str) -> Response:
    """The reply to a visitor without a valid token: JSON for scripts, else a page."""
    headers = {"www-authenticate": "Bearer"} if status == 401 else {"retry-after": "60"}
    if _path(request.scope).startswith("/api/") or request.method not in _SAFE:
        return problem(status, why, headers)
    return TEMPLATES.TemplateResponse(
        request, "login.html", {"why": why, "root": request.scope["root_path"]}, status, headers
    )


def _limited(receive: Receive, most: int, headers: Headers) -> Receive:
    """The same body, which is refused once it is larger than `most` bytes."""
    received = 0
    declared = headers.get("content-length", "0")
    too_large = HTTPException(413, f"The request is larger than {most:,} bytes.")

    async def limited() -> Message:
        nonlocal received
        if not declared.isdecimal() or int(declared) > most:
            raise too_large
        message = await receive()
        received += len(message.get("body", b""))
        if received > most:
            raise too_large
        return message

    return limited
