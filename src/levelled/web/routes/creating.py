"""Routes to create a campaign: upload a file, look at it, start."""

import secrets
from typing import Any

from fastapi import APIRouter, Request

from levelled.campaigns import create_campaign
from levelled.errors import InputError
from levelled.metrics.named import NAMES
from levelled.web.files import Files
from levelled.web.replies import Reply
from levelled.web.routes.bodies import CreateBody, Done
from levelled.web.routes.shared import ERRORS, Analyst

__all__ = ["router"]

router = APIRouter(prefix="/api", tags=["creating"], responses=ERRORS)

_HEADS = {name.partition(":")[0] for name in NAMES}


@router.get("/files")
def files(request: Request, visitor: Analyst) -> Reply:
    """The files that a campaign may be created from."""
    del visitor
    return Reply(_files(request).names())


@router.put("/files/{file}")
async def upload(request: Request, visitor: Analyst, file: str) -> Reply:
    """Upload a file; its content is the body of the request."""
    del visitor
    path = await _files(request).save(file, request.stream())
    return Reply({"file": path.name, "size": path.stat().st_size})


@router.post("/campaigns", response_model=Done, status_code=201, tags=["campaigns"])
def create(request: Request, visitor: Analyst, body: CreateBody) -> Reply:
    """Create a campaign from a file."""
    del visitor
    settings = body.model_dump(exclude={"name", "file", "metrics", "seed"})
    for metric in body.metrics:
        _refuse_code(metric)
    campaign = create_campaign(
        body.name,
        str(_files(request).path(body.file)),
        body.metrics,
        storage=request.app.state.settings.storage,
        seed=secrets.randbits(32) if body.seed is None else body.seed,
        **settings,
    )
    return Reply({"n_events": campaign.state.n_events, "draws": []}, 201)


def _refuse_code(metric: str) -> None:
    """Refuse a metric that would import a module: whoever has a token must not run code."""
    if metric.partition(":")[0] not in _HEADS:
        raise InputError(
            f"There is no metric {metric!r:.80}. Metrics are {', '.join(NAMES)}; one of your own "
            f"is created with levelled create."
        )


def _files(request: Request) -> Files:
    files: Any = request.app.state.files
    assert isinstance(files, Files)
    return files
