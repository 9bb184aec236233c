"""Routes about whole campaigns: the list, settings and progress, and changes by analysts."""

from dataclasses import asdict
from hashlib import sha256
from typing import Any

from fastapi import APIRouter, Request
from starlette.exceptions import HTTPException

from levelled.campaigns.log.log import CampaignLog
from levelled.campaigns.log.state import CampaignState
from levelled.campaigns.summary import summarise
from levelled.errors import InputError
from levelled.web.guard import Visitor
from levelled.web.replies import Reply, render_markdown
from levelled.web.routes.shared import (
    ERRORS,
    Amendment,
    Analyst,
    AnyVisitor,
    ChangeBody,
    CloseBody,
    Done,
    Named,
    done,
    owner_of,
)

router = APIRouter(prefix="/api/campaigns", tags=["campaigns"], responses=ERRORS)

_FOR_LABELLERS = ("name", "n_labels", "n_pending", "budget", "pool_size", "closed", "n_events")
"""The part of a summary that tells nothing of the model."""


@router.get("")
def campaigns(request: Request, visitor: AnyVisitor) -> Reply:
    """The campaigns with their progress."""
    store = request.app.state.campaigns.store
    logs = [CampaignLog(name, store) for name in store.names()]
    return Reply([_summary(*log.overview(), visitor) for log in logs])


@router.get("/{name}")
def campaign(campaign: Named, visitor: AnyVisitor) -> Reply:
    """Settings and progress of a campaign, and who is asking."""
    with campaign.looking() as one:
        state, last_hash, questions = one.state, one.last_hash, one.questions
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
            "classes": settings.classes,
            "labels": "number" if settings.numeric else "class",
            "lease_seconds": settings.lease_seconds,
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
        one.amend_all(
            [answer.model_dump(exclude_none=True) for answer in body.answers], owner=owner
        )
        return done(one, draws)


def _summary(state: CampaignState, last_hash: str, visitor: Visitor) -> dict[str, Any]:
    """The summary of `levelled status`; labellers see the part that keeps them blind."""
    whole = summarise(state, last_hash)
    return whole if visitor.is_analyst else {key: whole[key] for key in _FOR_LABELLERS}
