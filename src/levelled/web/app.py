"""The application: routes, the guard in front of them, and what they share."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio.to_thread
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.staticfiles import StaticFiles

from levelled import __version__
from levelled.campaigns import open_store
from levelled.errors import LevelledError
from levelled.web.access import Access
from levelled.web.events import Broker
from levelled.web.files import Files
from levelled.web.guard import Guard
from levelled.web.journal import Journal
from levelled.web.open_campaigns import OpenCampaigns
from levelled.web.replies import Reply, refuse, refuse_http, refuse_input, refuse_step
from levelled.web.routes import ROUTERS
from levelled.web.settings import WebSettings

_THREADS = 64
"""Requests that may work at the same time; most of them wait for a campaign."""
_ABOUT = (
    "The REST interface of `levelled serve`. Send a token as `Authorization: Bearer TOKEN`. "
    "An error is an object with one line, `error`, that says what happened and what to do."
)


def make_app(settings: WebSettings, journal: Journal | None = None) -> FastAPI:
    """The web application of a storage, which is opened, or made if it is not there yet."""
    store, journal = open_store(settings.storage), journal or Journal()
    broker = Broker(store)
    campaigns = OpenCampaigns(store, broker.changed)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        anyio.to_thread.current_default_thread_limiter().total_tokens = _THREADS
        yield
        broker.close()
        await anyio.to_thread.run_sync(campaigns.keep)
        store.close()

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
    app.state.campaigns, app.state.files = campaigns, Files(settings)
    for router in ROUTERS:
        app.include_router(router)
    app.mount("/static", StaticFiles(directory=Path(__file__).parent / "static"))
    app.add_exception_handler(LevelledError, refuse_step)
    app.add_exception_handler(HTTPException, refuse_http)
    app.add_exception_handler(RequestValidationError, refuse_input)
    app.add_exception_handler(Exception, _note_failure(journal))
    app.add_middleware(Guard, access=Access(store, settings), settings=settings, journal=journal)
    return app


def _note_failure(journal: Journal) -> Callable[[Request, Exception], Response]:
    def note(request: Request, error: Exception) -> Response:
        journal.failure(request.scope, error)
        why = "This is a fault of Levelled; the log of the server says where."
        return refuse(request, 500, why)

    return note
