"""Routes of labellers: ask, tell, skip, undo, and their own items."""

from typing import Annotated

from fastapi import APIRouter, Path, Query
from starlette.exceptions import HTTPException

from levelled.campaigns import Ask, Campaign
from levelled.campaigns.people.shown import shown_data, shown_label
from levelled.campaigns.settings import CampaignSettings
from levelled.web.replies import Reply, shown_item
from levelled.web.routes.shared import (
    ERRORS,
    Answers,
    AnyVisitor,
    AskBody,
    Asked,
    Done,
    DrawsBody,
    ItemReply,
    Named,
    ReasonBody,
    RenewBody,
    UndoBody,
    actor_of,
    done,
    labelled,
    owner_of,
)

router = APIRouter(prefix="/api/campaigns/{name}", tags=["labelling"], responses=ERRORS)


@router.post("/ask", response_model=Asked)
def ask(campaign: Named, visitor: AnyVisitor, body: AskBody) -> Reply:
    """Items to label: the labeller's open ones first, then new ones, up to n."""
    owner = owner_of(visitor, body.owner)
    with campaign.writing() as one:
        asks = one.ask(body.n, owner=owner, lease_seconds=body.lease_seconds, besides=body.besides)
        settings, note = one.known_settings, one.note
    return _asked(settings, asks, note)


@router.get("/mine", response_model=Asked)
def mine(campaign: Named, visitor: AnyVisitor) -> Reply:
    """The labeller's open items again; their leases are as they were."""
    with campaign.looking() as one:
        settings, asks = one.known_settings, _open_asks(one, visitor.name)
    return _asked(settings, asks, None)


@router.post("/renew", response_model=Asked)
def renew(campaign: Named, visitor: AnyVisitor, body: RenewBody) -> Reply:
    """Prolong the leases of the labeller's items; those that others have are not among them."""
    owner = owner_of(visitor, body.owner)
    with campaign.writing() as one:
        asks = _open_asks(one, owner)
        draws = [ask.draw for ask in asks] if body.draws is None else body.draws
        kept = one.renew(draws, owner=owner, lease_seconds=body.lease_seconds)
        settings, asks = one.known_settings, _open_asks(one, owner)
    return _asked(settings, [ask for ask in asks if ask.draw in kept], None)


@router.post("/tell", response_model=Done)
def tell(campaign: Named, visitor: AnyVisitor, body: Answers) -> Reply:
    """Store labels, all or none; to tell the same again is harmless.

    The reply names draws whose label came late, was kept as a second opinion and will not count.
    """
    actor = actor_of(visitor, body.owner)
    answers = [one.model_dump(exclude_none=True) for one in body.answers]
    with campaign.writing() as one:
        one.tell_all(answers, **actor)
        return labelled(one, [answer.draw for answer in body.answers])


@router.post("/skip", response_model=Done)
def skip(campaign: Named, visitor: AnyVisitor, body: ReasonBody) -> Reply:
    """Pass an item on to another labeller, under the same number."""
    actor = actor_of(visitor, body.owner)
    with campaign.writing() as one:
        one.skip(body.draw, reason=body.reason, **actor)
        return done(one, [body.draw])


@router.post("/unlabelable", response_model=Done)
def unlabelable(campaign: Named, visitor: AnyVisitor, body: ReasonBody) -> Reply:
    """Declare that an item cannot be labelled."""
    actor = actor_of(visitor, body.owner)
    with campaign.writing() as one:
        one.mark_unlabelable(body.draw, reason=body.reason, **actor)
        return done(one, [body.draw])


@router.post("/undo", response_model=Done)
def undo(campaign: Named, visitor: AnyVisitor, body: UndoBody) -> Reply:
    """Withdraw the last label that the labeller told or amended."""
    actor = actor_of(visitor, body.owner)
    with campaign.writing() as one:
        return done(one, [one.undo(lease_seconds=body.lease_seconds, **actor)])


@router.post("/return", response_model=Done)
def return_(campaign: Named, visitor: AnyVisitor, body: DrawsBody) -> Reply:
    """Give items back, so that others can have them; with `everyone`, also those of others."""
    actor = actor_of(visitor, body.owner)
    if body.everyone and not visitor.is_analyst:
        raise HTTPException(403, f"{visitor.name} cannot give back the items of others.")
    with campaign.writing() as one:
        return done(one, one.give_back(draws=body.draws, everyone=body.everyone, **actor))


@router.get("/history")
def history(
    campaign: Named, visitor: AnyVisitor, n: Annotated[int, Query(ge=1, le=100)] = 10
) -> Reply:
    """The labeller's last labels, the newest first."""
    with campaign.looking() as one:
        state, owner = one.state, visitor.name
    own = [(one, draw) for draw, one in state.answers.items() if one.by == owner]
    own += [(o, draw) for draw, others in state.opinions.items() for o in others if o.by == owner]
    last = sorted(own, key=lambda pair: -pair[0].place)[:n]
    return Reply(
        [
            {
                "draw": draw,
                "id": state.draws[draw - 1].id,
                "label": shown_label(state.settings, draw, one.label),
                "note": one.note,
                "rubric": {**one.rubric},
                "at": one.at,
            }
            for one, draw in last
        ]
    )


@router.get("/items/{draw}", response_model=ItemReply)
def item(campaign: Named, visitor: AnyVisitor, draw: Annotated[int, Path(ge=1)]) -> Reply:
    """An item that the labeller has or once had; an analyst may see any that was handed out."""
    with campaign.looking() as one:
        state = one.state
        lease, answers = state.leases.get(draw), [*state.opinions.get(draw, ())]
        answers += [state.answers[draw]] if draw in state.answers else []
        names = {*state.given.get(draw, ()), *(answer.by for answer in answers)}
        if draw > state.n_asked or not (visitor.is_analyst or visitor.name in names):
            raise HTTPException(404, f"Draw {draw} is none of the items of {visitor.name}.")
        drawn = state.draws[draw - 1]
    ask = Ask(draw, drawn.id, shown_data(state.settings, drawn), lease.until if lease else "")
    return Reply(shown_item(state.settings, ask))


def _open_asks(campaign: Campaign, owner: str) -> list[Ask]:
    """The open items of a labeller, as they were asked for."""
    state = campaign.state
    settings, draws = state.settings, state.draws
    return [
        Ask(one.draw, one.id, shown_data(settings, draws[one.draw - 1]), one.until or "")
        for one in campaign.open_items()
        if one.owner == owner
    ]


def _asked(settings: CampaignSettings, asks: list[Ask], note: str | None) -> Reply:
    """The reply with items; to render them may take a while, so nobody waits for it."""
    return Reply({"items": [shown_item(settings, one) for one in asks], "note": note})
