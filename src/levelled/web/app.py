"""The application: routes, the guard in front of them, what they share, and the server."""

import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio.to_thread
import uvicorn
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.staticfiles import StaticFiles

from levelled import __version__
from levelled.campaigns import open_store
from levelled.errors import InputError, LevelledError
from levelled.web.events import Broker
from levelled.web.files import ServedFiles
from levelled.web.guard import Access, Guard, Journal
from levelled.web.open_campaigns import OpenCampaigns
from levelled.web.replies import Reply, refuse, refuse_error
from levelled.web.routes import ROUTERS
from levelled.web.settings import LOOPBACK, WebSettings, link_token

_THREADS = 64
"""Requests that may work at the same time; most of them wait for a campaign."""
_ABOUT = (
    "The REST interface of `levelled serve`. Send a token as `Authorization: Bearer TOKEN`. "
    "An error is an object with one line, `error`, that says what happened and what to do."
)


def make_app(settings: WebSettings, journal: Journal | None = None) -> FastAPI:
    """The web application of a storage, which is opened, or made if it is not there yet."""
    store, journal = open_store(settings.storage), journal or Journal()
    access = Access(store)
    broker = Broker(store, access.valid, settings.streams_limit)
    campaigns = OpenCampaigns(store, broker.changed)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        anyio.to_thread.current_default_thread_limiter().total_tokens = _THREADS
        yield
        broker.close()
        await anyio.to_thread.run_sync(campaigns.keep)
        store.close()

    def note_failure(request: Request, error: Exception) -> Response:
        journal.failure(request.scope, error)
        return refuse(
            request, 500, "This is a fault of Levelled; the log of the server says where."
        )

    app = FastAPI(
        title="Levelled",
        version=__version__,
        description=_ABOUT,
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        default_response_class=Reply,
    )
    app.state.settings, app.state.broker = settings, broker
    app.state.campaigns, app.state.files = campaigns, ServedFiles(settings)
    for router in ROUTERS:
        app.include_router(router)
    own = Path(__file__).parent / "static"
    app.mount("/static", StaticFiles(directory=own, packages=[("levelled.reports", "static")]))
    for kind in (LevelledError, HTTPException, RequestValidationError):
        app.add_exception_handler(kind, refuse_error)
    app.add_exception_handler(Exception, note_failure)
    # In front of all routes, so that none answers a visitor whom it has not let through.
    app.add_middleware(Guard, access=access, settings=settings, journal=journal)
    return app


GRACE = 10
"""Seconds that requests in flight have to finish when the server stops.

Docker kills a process 10 seconds after it told it to stop, systemd 90.
"""

SWITCH = 0.0005
"""Seconds after which a thread that computes figures lets one go on that waits to store a label.

With Python's own 5 milliseconds each of the steps of a label can wait that long.
"""


class _Server(uvicorn.Server):
    """A server that ends its streams first when it stops; they would never end by themselves."""

    def __init__(self, config: uvicorn.Config, end_streams: Callable[[], None]) -> None:
        super().__init__(config)
        self._end_streams = end_streams

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams, then wait for what is in flight."""
        self._end_streams()
        await super().shutdown(sockets)


def serve(settings: WebSettings, host: str, announce: Callable[[str], None]) -> None:
    """Serve until the process is told to stop; `announce` gets the link once it works."""
    app = make_app(settings)
    store, is_local = app.state.campaigns.store, host in LOOPBACK
    if not is_local and not store.tokens.all():
        raise InputError(
            f"Others can reach {host}, and no tokens are set up: levelled serve --invite NAME "
            f"makes one. Without --host only this machine is served."
        )
    listening = _listen(host, settings.port)
    token = link_token(store, settings.owner) if is_local else None  # others have links of theirs
    sys.setswitchinterval(SWITCH)
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE,
        limit_concurrency=1000,  # connections; more get 503 instead of all the memory
        h11_max_incomplete_event_size=64 * 1024,  # bytes of headers
    )
    address = f"[{host}]" if ":" in host else host
    announce(link_to(f"http://{address}:{settings.port}{settings.root_path}/", token))
    _Server(config, app.state.broker.close).run(sockets=[listening])


def link_to(url: str, token: str | None) -> str:
    """The address of a page, with a token that logs its reader in."""
    return url if token is None else f"{url}?token={token}"


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except (OSError, OverflowError) as wrong:
        listening.close()
        raise InputError(
            f"{host}:{port} cannot be used ({getattr(wrong, 'strerror', None) or wrong}): choose "
            f"another --port or --host."
        ) from wrong
    listening.listen(2048)
    return listening
