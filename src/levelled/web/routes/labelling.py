"""Routes of labellers: ask, tell, skip, undo, and their own items."""

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Query

from levelled.campaigns import Ask, Campaign
from levelled.web.replies import Reply
from levelled.web.routes.bodies import (
    Answers,
    AskBody,
    Asked,
    Done,
    Draws,
    OwnerBody,
    ReasonBody,
)
from levelled.web.routes.shared import ERRORS, AnyVisitor, Named, owner_of

__all__ = ["router"]

router = APIRouter(prefix="/api/campaigns/{name}", tags=["labelling"], responses=ERRORS)


@router.post("/ask", response_model=Asked)
def ask(campaign: Named, visitor: AnyVisitor, body: AskBody) -> Reply:
    """Items to label: the labeller's open ones first, then new ones, up to n."""
    owner = owner_of(visitor, body.owner)
    with campaign.writing() as one:
        return _asked(one.ask(body.n, owner=owner), one.note)


@router.get("/mine", response_model=Asked)
def mine(campaign: Named, visitor: AnyVisitor) -> Reply:
    """The labeller's open items again; their leases are as they were."""
    with campaign.looking() as one:
        kept = {item.draw: item for item in one.open_items() if item.owner == visitor.name}
        draws = one.state.draws
        asks = [
            Ask(draw, item.id, draws[draw - 1].data, item.until or "")
            for draw, item in kept.items()
        ]
        return _asked(asks, None)


@router.post("/renew", response_model=Asked)
def renew(campaign: Named, visitor: AnyVisitor, body: OwnerBody) -> Reply:
    """The labeller's open items again, with leases that begin anew."""
    owner = owner_of(visitor, body.owner)
    with campaign.writing() as one:
        return _asked(one.mine(owner), one.note)


@router.post("/tell", response_model=Done)
def tell(campaign: Named, visitor: AnyVisitor, body: Answers) -> Reply:
    """Store labels, all or none; to tell the same again is harmless."""
    owner = owner_of(visitor, body.owner)
    answers = [one.model_dump() for one in body.answers]
    with campaign.writing() as one:
        one.tell_all(answers, owner=owner)
        return done(one, [answer.draw for answer in body.answers])


@router.post("/skip", response_model=Done)
def skip(campaign: Named, visitor: AnyVisitor, body: ReasonBody) -> Reply:
    """Pass an item on to another labeller, under the same number."""
    owner = owner_of(visitor, body.owner)
    with campaign.writing() as one:
        one.skip(body.draw, reason=body.reason, owner=owner)
        return done(one, [body.draw])


@router.post("/unlabelable", response_model=Done)
def unlabelable(campaign: Named, visitor: AnyVisitor, body: ReasonBody) -> Reply:
    """Declare that an item cannot be labelled."""
    owner = owner_of(visitor, body.owner)
    with campaign.writing() as one:
        one.mark_unlabelable(body.draw, reason=body.reason, owner=owner)
        return done(one, [body.draw])


@router.post("/undo", response_model=Done)
def undo(campaign: Named, visitor: AnyVisitor, body: OwnerBody) -> Reply:
    """Withdraw the last label that the labeller told or amended."""
    owner = owner_of(visitor, body.owner)
    with campaign.writing() as one:
        return done(one, [one.undo(owner=owner)])


@router.post("/return", response_model=Done)
def return_(campaign: Named, visitor: AnyVisitor, body: Draws) -> Reply:
    """Give items back, so that others can have them; with `everyone`, also those of others."""
    owner = owner_of(visitor, body.owner)
    everyone = body.everyone and visitor.is_analyst
    with campaign.writing() as one:
        return done(one, one.give_back(owner=owner, draws=body.draws, everyone=everyone))


@router.get("/history")
def history(
    campaign: Named, visitor: AnyVisitor, n: Annotated[int, Query(ge=1, le=100)] = 10
) -> Reply:
    """The labeller's last labels, the newest first."""
    with campaign.looking() as one:
        return Reply(_last_labels(one, visitor.name, n))


def _last_labels(campaign: Campaign, owner: str, n: int) -> list[dict[str, Any]]:
    state = campaign.state
    own = [(one, draw) for draw, one in state.answers.items() if one.by == owner]
    own += [(o, draw) for draw, others in state.opinions.items() for o in others if o.by == owner]
    last = sorted(own, key=lambda pair: -pair[0].place)[:n]
    return [
        {"draw": draw, "id": state.draws[draw - 1].id, "label": one.label, "at": one.at}
        for one, draw in last
    ]


def _asked(asks: list[Ask], note: str | None) -> Reply:
    return Reply({"items": [asdict(one) for one in asks], "note": note})


def done(campaign: Campaign, draws: list[int]) -> Reply:
    """The reply to a step that was taken."""
    return Reply({"n_events": campaign.state.n_events, "draws": draws})
