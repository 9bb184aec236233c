"""The pages, which get their data by the REST interface, the images of items, news and health."""

from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, HTMLResponse, Response

from levelled.campaigns.options import GROUPS, OPTIONS
from levelled.errors import LevelledError
from levelled.sources.choices import ROLES
from levelled.web.events import Broker, EventStream, TooManyStreamsError
from levelled.web.files import IMAGES
from levelled.web.replies import TEMPLATES, Reply, problem
from levelled.web.routes.shared import ERRORS, Analyst, AnyVisitor, Creator, Named, check_known

router = APIRouter()


@router.get("/", include_in_schema=False)
def campaigns(request: Request, visitor: AnyVisitor) -> HTMLResponse:
    """The list of campaigns."""
    return _page(request, "campaigns.html", visitor=visitor)


@router.get("/new", include_in_schema=False)
def create(request: Request, visitor: Creator) -> HTMLResponse:
    """Create a campaign from a file."""
    return _page(
        request,
        "create.html",
        visitor=visitor,
        takes_uploads=request.app.state.settings.uploads is not None,
        groups=GROUPS,
        roles=ROLES,
        options=[one for one in OPTIONS.values() if one.on_page],
    )


@router.get("/c/{name}", include_in_schema=False)
def analyst(request: Request, campaign: Named, visitor: Analyst) -> HTMLResponse:
    """The figures of a campaign."""
    return _page(request, "analyst.html", visitor=visitor, name=campaign.name)


@router.get("/c/{name}/label", include_in_schema=False)
def label(request: Request, campaign: Named, visitor: AnyVisitor) -> HTMLResponse:
    """Label the items of a campaign."""
    return _page(request, "label.html", visitor=visitor, name=campaign.name)


@router.get("/images/{path:path}", include_in_schema=False)
def image(request: Request, visitor: AnyVisitor, path: str) -> FileResponse:
    """An image below the declared folder."""
    del visitor
    found = request.app.state.files.image(path)
    return FileResponse(found, media_type=IMAGES[found.suffix.lower()])


def _page(request: Request, template: str, **context: Any) -> HTMLResponse:  # noqa: ANN401
    context |= {"root": request.app.state.settings.root_path}
    return TEMPLATES.TemplateResponse(request, template, context)


@router.get("/healthz", tags=["health"])
async def healthz() -> Reply:
    """The process answers."""
    return Reply({"ok": True})


@router.get("/readyz", tags=["health"])
def readyz(request: Request) -> Reply:
    """The storage can be read."""
    try:
        request.app.state.campaigns.store.names()
    except LevelledError:
        return problem(503, "The storage cannot be read.")
    return Reply({"ok": True})


@router.get("/api/events", response_class=Response, tags=["events"], responses=ERRORS)
async def events(
    request: Request,
    visitor: AnyVisitor,
    campaign: Annotated[str, Query(max_length=200)],
    last_event_id: Annotated[str, Header(max_length=20)] = "",
) -> Response:
    """An event `change` whenever the campaign changes; its id is the number of events.

    A client that reconnects with Last-Event-ID gets an event at once if it missed one.
    """
    check_known(visitor, campaign)
    broker: Broker = request.app.state.broker
    n_events = await run_in_threadpool(request.app.state.campaigns.count, campaign)
    seen = int(last_event_id) if last_event_id.isdecimal() and last_event_id.isascii() else None
    try:
        return EventStream(broker, broker.subscribe(campaign, n_events, visitor.token), seen)
    except TooManyStreamsError as refused:
        raise HTTPException(429, str(refused)) from None
