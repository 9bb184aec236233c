"""The stream of changes."""

from typing import Annotated

from fastapi import APIRouter, Header, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import Response

from levelled.web.events import Broker, EventStream, TooManyStreamsError
from levelled.web.open_campaigns import OpenCampaigns
from levelled.web.routes.shared import ERRORS, AnyVisitor

router = APIRouter(prefix="/api", tags=["events"], responses=ERRORS)


@router.get("/events", response_class=Response)
async def events(
    request: Request,
    visitor: AnyVisitor,
    campaign: Annotated[str, Query(max_length=200)],
    last_event_id: Annotated[str, Header(max_length=20)] = "",
) -> Response:
    """An event `change` whenever the campaign changes; its id is the number of events.

    A client that reconnects with Last-Event-ID gets an event at once if it missed one.
    """
    del visitor
    broker, campaigns = request.app.state.broker, request.app.state.campaigns
    assert isinstance(broker, Broker)
    assert isinstance(campaigns, OpenCampaigns)
    n_events = await run_in_threadpool(campaigns.count, campaign)
    seen = int(last_event_id) if last_event_id.isdecimal() and last_event_id.isascii() else None
    try:
        return EventStream(broker, broker.subscribe(campaign, n_events), seen)
    except TooManyStreamsError:
        raise HTTPException(429, "Too many pages are open: close some of them.") from None
