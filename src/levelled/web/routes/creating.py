"""Routes to create a campaign: upload a file, look at it, start."""

import secrets
from contextlib import suppress
from pathlib import Path

from fastapi import APIRouter, Depends, Request

from levelled.campaigns import create_campaign, plan_campaign
from levelled.errors import InputError, LevelledError
from levelled.metrics.named import NAMES, fitting_metrics
from levelled.sources import open_pool, shown_fields
from levelled.web.files import ServedFiles, refuse_bomb
from levelled.web.replies import Reply, render_fields
from levelled.web.routes.shared import ERRORS, CreateBody, Done, LookBody, analyst

router = APIRouter(
    prefix="/api", tags=["creating"], responses=ERRORS, dependencies=[Depends(analyst)]
)

_OWN = "package.module"
_HEADS = {name.partition(":")[0] for name in NAMES} - {_OWN}
_WITH_MORE = {name.partition(":")[0] for name in NAMES if ":" in name} - {_OWN}
_WIDTH = 0.05
"""The width of the interval of the plan, where none is named."""
_MOST_SHOWN = 3  # items, as an example


@router.get("/files")
def files(request: Request) -> Reply:
    """The files that a campaign may be created from."""
    return Reply(_files(request).names())


@router.put("/files/{file}")
async def upload(request: Request, file: str) -> Reply:
    """Upload a file; its content is the body of the request."""
    path = await _files(request).save(file, request.stream())
    return Reply({"file": path.name, "size": path.stat().st_size})


@router.post("/look")
def look(request: Request, body: LookBody) -> Reply:
    """The content of a file: items, classes, models, what labellers see, metrics and a plan."""
    path = _pool_file(request, body.file)
    pool = open_pool(str(path), classes=body.classes, features=None)
    best = pool.recognised.metric  # the one that `levelled look` names comes first
    metrics = sorted(fitting_metrics(pool.predictions()), key=lambda name: name != best)
    plan = None
    with suppress(LevelledError):  # it cannot be said
        if metrics:
            plan = plan_campaign(pool, body.width or _WIDTH, metrics[0]).as_dict()
    shown = pool.shown(range(min(len(pool), _MOST_SHOWN)))
    has_images = request.app.state.settings.images is not None
    return Reply(
        {
            "file": body.file,
            "pool_size": len(pool),
            "recognised": pool.recognised.lines(),
            "classes": pool.classes,
            "models": [*pool.models],
            "features": [*pool.features],
            "columns": pool.column_names,
            "shown": shown,
            "fields": [render_fields(shown_fields(one, has_images=has_images)) for one in shown],
            "metrics": metrics,
            "plan": plan,
        }
    )


@router.post("/campaigns", response_model=Done, status_code=201, tags=["campaigns"])
def create(request: Request, body: CreateBody) -> Reply:
    """Create a campaign from a file."""
    settings = body.model_dump(exclude={"name", "file", "metrics", "seed"})
    for metric in body.metrics:  # none may import a module: a token is no right to run code
        head, colon, _ = metric.strip().partition(":")
        if head not in (_WITH_MORE if colon else _HEADS):
            raise InputError(
                f"There is no metric {metric!r:.80} here: one of {', '.join(NAMES[:-1])}. A "
                f"function of your own is for levelled create."
            )
    campaign = create_campaign(
        body.name,
        str(_pool_file(request, body.file)),
        body.metrics,
        storage=request.app.state.settings.storage,
        seed=secrets.randbits(32) if body.seed is None else body.seed,
        images=request.app.state.settings.images,
        **settings,
    )
    return Reply({"n_events": campaign.state.n_events, "draws": []}, 201)


def _pool_file(request: Request, name: str) -> Path:
    path = _files(request).path(name)
    refuse_bomb(path)
    return path


def _files(request: Request) -> ServedFiles:
    found = request.app.state.files
    assert isinstance(found, ServedFiles)
    return found
