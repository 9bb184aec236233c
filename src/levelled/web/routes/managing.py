"""Routes about whole campaigns: the list, settings and progress, changes, and new ones."""

import secrets
from contextlib import suppress
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Depends, Request
from starlette.exceptions import HTTPException

from levelled.campaigns import create_campaign, plan_campaign
from levelled.campaigns.log.log import CampaignLog
from levelled.campaigns.log.state import CampaignState
from levelled.campaigns.summary import summarise
from levelled.errors import InputError, LevelledError
from levelled.metrics.named import NAMES, fitting_metrics
from levelled.sources import open_pool, shown_fields
from levelled.web.guard import Visitor
from levelled.web.replies import Reply, render_fields, render_markdown
from levelled.web.routes.shared import (
    ERRORS,
    Amendment,
    Analyst,
    AnyVisitor,
    ChangeBody,
    CloseBody,
    CreateBody,
    Done,
    LookBody,
    Named,
    actor_of,
    creator,
    done,
    labelled,
    owner_of,
)

router = APIRouter(prefix="/api/campaigns", tags=["campaigns"], responses=ERRORS)
creating = APIRouter(
    prefix="/api", tags=["creating"], responses=ERRORS, dependencies=[Depends(creator)]
)

_FOR_LABELLERS = ("name", "n_labels", "n_pending", "budget", "pool_size", "closed", "n_events")
"""The part of a summary that tells nothing of the model."""
_OWN = "package.module"
_HEADS = {name.partition(":")[0] for name in NAMES} - {_OWN}
_WITH_MORE = {name.partition(":")[0] for name in NAMES if ":" in name} - {_OWN}
_WIDTH = 0.05
"""The width of the interval of the plan, where none is named."""
_MOST_SHOWN = 3  # items, as an example
_MOST_COLUMNS = 200  # whose roles can be chosen on the page


@router.get("")
def campaigns(request: Request, visitor: AnyVisitor) -> Reply:
    """The campaigns with their progress."""
    store = request.app.state.campaigns.store
    shown: list[dict[str, Any]] = []
    for name in filter(visitor.may_know, store.names()):
        try:
            shown.append(_summary(*CampaignLog(name, store).overview(), visitor))
        except LevelledError as refused:  # one that cannot be trusted hides no other
            shown.append({"name": name, "problem": str(refused)})
    return Reply(shown)


@router.get("/{name}")
def campaign(campaign: Named, visitor: AnyVisitor) -> Reply:
    """Settings and progress of a campaign, and who is asking."""
    with campaign.looking() as one:
        state, last_hash, questions = one.state, one.last_hash, one.questions
        waiting = one.waiting()
    settings, text = state.settings, state.settings.guidelines
    # The pool and the seed decide the draws, so an answer that a browser has kept under this key is
    # never sent to another campaign of the same name.
    identity = f"{settings.name} {settings.fingerprint} {settings.seed}"
    return Reply(
        {
            **_summary(state, last_hash, visitor),
            "questions": [asdict(one) for one in questions],
            "guidelines": {"text": text, "html": render_markdown(text)} if text else None,
            "key": sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:16],
            "looks": [look.n for look in settings.looks] if visitor.is_analyst else [],
            "classes": settings.label_classes or None,
            "labels": "number" if settings.numeric else "class",
            "lease_seconds": settings.lease_seconds,
            "away_seconds": settings.away_seconds,
            "waiting": None if waiting is None else asdict(waiting),
            "n_mine": sum(one.by == visitor.name for one in state.answers.values()),
            "visitor": {"name": visitor.name, "role": visitor.role},
        }
    )


@router.post("/{name}/close", response_model=Done)
def close(campaign: Named, visitor: Analyst, body: CloseBody) -> Reply:
    """End the campaign; its estimates remain."""
    with campaign.writing() as one:
        one.close(reason=body.reason, owner=visitor.name)
        return done(one, [])


@router.post("/{name}/reopen", response_model=Done)
def reopen(campaign: Named, visitor: Analyst) -> Reply:
    """Let a closed campaign go on."""
    with campaign.writing() as one:
        one.reopen(owner=visitor.name)
        return done(one, [])


@router.post("/{name}/change", response_model=Done)
def change(campaign: Named, visitor: Analyst, body: ChangeBody) -> Reply:
    """Change the kind of further draws, the budget, the target width, or the leases."""
    changes = body.model_dump(exclude_none=True)
    if not changes:
        raise InputError("Nothing to change: name at least one setting, such as budget.")
    with campaign.writing() as one:
        one.change(owner=visitor.name, **changes)
        return done(one, [])


@router.post("/{name}/amend", response_model=Done)
def amend(campaign: Named, visitor: AnyVisitor, body: Amendment) -> Reply:
    """Replace labels, all or none; log and report keep those before. Labellers amend their own."""
    owner = owner_of(visitor, body.owner)
    with campaign.writing() as one:
        state, draws = one.state, [answer.draw for answer in body.answers]
        for draw in () if visitor.is_analyst else draws:
            before = [state.answers.get(draw), *state.opinions.get(draw, ())]
            if owner not in {answer.by for answer in before if answer is not None}:
                why = f"{owner} has not labelled draw {draw}, so cannot amend it."
                raise HTTPException(403, why)
        answers = [answer.model_dump(exclude_none=True) for answer in body.answers]
        one.amend_all(answers, **actor_of(visitor, body.owner))
        return labelled(one, draws)


@creating.get("/files")
def files(request: Request) -> Reply:
    """The files that a campaign may be created from."""
    return Reply(request.app.state.files.names())


@creating.put("/files/{file}")
async def upload(request: Request, visitor: AnyVisitor, file: str) -> Reply:
    """Upload a file; its content is the body of the request."""
    path = await request.app.state.files.save(file, request.stream(), visitor.token)
    return Reply({"file": path.name, "size": path.stat().st_size})


@creating.post("/look")
def look(request: Request, body: LookBody) -> Reply:
    """The content of a file: items, classes, models, what labellers see, metrics and a plan."""
    path = _pool_file(request, body.file)
    pool = open_pool(str(path), classes=body.classes, features=None, roles=body.roles)
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
            "recognised": pool.recognised.facts(),
            "notes": pool.recognised.notes,
            "roles": pool.recognised.columns[:_MOST_COLUMNS],
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


@creating.post("/campaigns", response_model=Done, status_code=201, tags=["campaigns"])
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
    path: Path = request.app.state.files.path(name)
    return path


def _summary(state: CampaignState, last_hash: str, visitor: Visitor) -> dict[str, Any]:
    """The summary of `levelled status`; labellers see the part that keeps them blind."""
    whole = summarise(state, last_hash)
    return whole if visitor.is_analyst else {key: whole[key] for key in _FOR_LABELLERS}
