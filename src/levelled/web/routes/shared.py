"""Parts that routes share: who asks, the campaign in the path, and documented errors."""

from typing import Annotated, Any

from fastapi import Depends, Path, Request
from starlette.exceptions import HTTPException

from levelled.web.guard import Visitor
from levelled.web.open_campaigns import OpenCampaign, OpenCampaigns
from levelled.web.replies import Problem

ERRORS: dict[int | str, dict[str, Any]] = {
    401: {"model": Problem, "description": "No valid token."},
    403: {"model": Problem, "description": "The role or the origin does not allow this."},
    404: {"model": Problem, "description": "There is no such campaign or file."},
    409: {"model": Problem, "description": "A step that the campaign refuses."},
    413: {"model": Problem, "description": "The request is too large."},
    422: {"model": Problem, "description": "A field that cannot be used."},
    429: {"model": Problem, "description": "Too many wrong tokens, or too many streams."},
}


def _visitor(request: Request) -> Visitor:
    visitor = request.state.visitor
    assert isinstance(visitor, Visitor)
    return visitor


AnyVisitor = Annotated[Visitor, Depends(_visitor)]


def analyst(visitor: AnyVisitor) -> Visitor:
    """The visitor; refuses one who only labels."""
    if not visitor.is_analyst:
        raise HTTPException(403, f"{visitor.name} is a labeller; this is for analysts.")
    return visitor


Analyst = Annotated[Visitor, Depends(analyst)]


def _named(
    request: Request, name: Annotated[str, Path(description="The campaign.")]
) -> OpenCampaign:
    campaigns = request.app.state.campaigns
    assert isinstance(campaigns, OpenCampaigns)
    return campaigns.get(name)


Named = Annotated[OpenCampaign, Depends(_named)]


def owner_of(visitor: Visitor, owner: str | None) -> str:
    """The labeller in whose name something is done: the visitor, or whom an analyst names."""
    if owner is None or owner == visitor.name:
        return visitor.name
    if not visitor.is_analyst:
        raise HTTPException(403, f"{visitor.name} cannot act for {owner!r:.120}.")
    return owner
