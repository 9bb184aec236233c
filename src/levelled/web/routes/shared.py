"""Parts that routes share: who asks, the campaign in the path, bodies and documented errors.

The OpenAPI description shows the bodies of requests and replies.
"""

from collections.abc import Iterable
from inspect import Parameter
from typing import Annotated, Any

from fastapi import Depends, Path, Request
from pydantic import BaseModel, ConfigDict, Field, StrictInt, create_model
from starlette.exceptions import HTTPException

from levelled.campaigns import Campaign
from levelled.campaigns.options import OPTIONS, Option
from levelled.web.guard import Visitor
from levelled.web.open_campaigns import OpenCampaign, OpenCampaigns, no_campaign
from levelled.web.replies import Problem, Reply

_LARGEST = 2**31 - 1  # what an INTEGER of PostgreSQL holds, which numbers events
Draw = Annotated[StrictInt, Field(ge=1, le=_LARGEST, description="The number of the draw.")]
Owner = Annotated[
    str | None, Field(max_length=100, description="For analysts: another labeller to act for.")
]
Text = Annotated[str, Field(max_length=1000)]
Seconds = Annotated[StrictInt | None, Field(ge=1, le=366 * 24 * 3600)]
LabelValue = (
    Annotated[str, Field(max_length=1000)]
    | Annotated[int, Field(strict=True, ge=-(2**53), le=2**53)]
    | Annotated[float, Field(strict=True, allow_inf_nan=False)]
)


class Body(BaseModel):
    """A body in which a field that is not known is a mistake."""

    model_config = ConfigDict(extra="forbid")


class OwnerBody(Body):
    """Nothing but, for analysts, whom to act for."""

    owner: Owner = None


class AskBody(OwnerBody):
    """The number of items that a labeller wants to have open."""

    n: Annotated[StrictInt, Field(ge=1, le=100)] = 1
    lease_seconds: Seconds = None
    besides: Annotated[
        list[Draw], Field(max_length=1000, description="Draws whose answers are on their way.")
    ] = []


class UndoBody(OwnerBody):
    """How long an item that is open again is kept."""

    lease_seconds: Seconds = None


class ReasonBody(OwnerBody):
    """One draw, and why."""

    draw: Draw
    reason: Text = ""


class RenewBody(OwnerBody):
    """The draws whose leases begin anew, by default all of the labeller's, and for how long."""

    draws: Annotated[list[Draw] | None, Field(max_length=1000)] = None
    lease_seconds: Seconds = None


class AnswerBody(Body):
    """The label of a draw, with a note and the answers to further questions by their names."""

    draw: Draw
    label: LabelValue
    note: Annotated[str | None, Field(max_length=10_000)] = None
    rubric: Annotated[dict[Text, LabelValue | None] | None, Field(max_length=50)] = None


class Answers(OwnerBody):
    """Labels, which are all stored or none."""

    answers: Annotated[list[AnswerBody], Field(min_length=1, max_length=1000)]


class Amendment(Answers):
    """Labels that replace those there are."""


class DrawsBody(OwnerBody):
    """Some draws; by default all of the labeller's."""

    draws: Annotated[list[Draw] | None, Field(max_length=1000)] = None
    everyone: bool = False


class CloseBody(Body):
    """The reason to end a campaign."""

    reason: Text = "finished"


def _options_body(options: Iterable[Option], *, unset: bool = False) -> type[Body]:
    """A body with these options of campaigns; with `unset`, they have no defaults."""
    fields: dict[str, Any] = {one.name: _field_of(one, unset=unset) for one in options}
    return create_model("OptionsBody", __base__=Body, **fields)


def _field_of(option: Option, *, unset: bool) -> tuple[object, object]:
    """The type and the default of an option in a body."""
    kinds: dict[type, Any] = {int: StrictInt, list: list[Text], dict: dict[Text, Text]}
    kind = kinds.get(option.kind, option.kind)
    limits: dict[str, Any] = {"description": option.help if unset else option.about}
    if option.kind in (int, float):
        bounds = ("gt", "lt") if option.inside else ("ge", "le")
        limits |= zip(bounds, (option.least, option.most), strict=True)
    if option.kind is float:
        limits["allow_inf_nan"] = False
    elif option.kind is int and option.most is None:
        limits["le"] = 2**63 - 1
    elif option.kind in (str, list, dict):
        limits["max_length"] = option.longest
    default = None if unset or option.default is Parameter.empty else option.default
    default = [*default] if isinstance(default, tuple) else default
    return Annotated[kind | None if default is None else kind, Field(**limits)], default


_Changes: Any = _options_body(
    (one for one in OPTIONS.values() if one.changeable and one.on_page), unset=True
)
_Options: Any = _options_body(one for one in OPTIONS.values() if one.on_page)


class ChangeBody(_Changes):  # type: ignore[misc]  # made from the options
    """The settings to change."""


class CreateBody(_Options):  # type: ignore[misc]  # made from the options
    """A new campaign: its name, its file, and the options of `levelled create`."""

    name: Annotated[str, Field(min_length=1, max_length=100)]
    file: Annotated[str, Field(max_length=200)]
    metrics: list[Text] = Field(["error"], min_length=1, max_length=20)


class LookBody(Body):
    """A file to look at, the classes where no columns name them, and roles of columns."""

    file: Annotated[str, Field(max_length=200)]
    classes: Annotated[list[Text] | None, Field(max_length=1000)] = None
    width: Annotated[float | None, Field(gt=0, allow_inf_nan=False)] = None
    roles: Annotated[dict[Text, Text], Field(max_length=1000)] = {}


class ItemField(BaseModel):
    """A field of an item: the kind of its content, and where it has some, its HTML or address."""

    name: str
    kind: str
    value: Any
    html: str | None = None
    src: str | None = None


class ItemReply(BaseModel):
    """An item to label: its fields as they are, and as they should be shown."""

    draw: int
    id: str | int
    data: dict[str, Any]
    lease_until: str
    fields: list[ItemField]


class Asked(BaseModel):
    """Items to label, and why there are fewer than were asked for."""

    items: list[ItemReply]
    note: str | None


class Done(BaseModel):
    """The number of events of the campaign after a step, and what the step was about.

    Labels of the draws in `second_opinions` are kept and do not count; `note` says why.
    """

    n_events: int
    draws: list[int]
    second_opinions: list[int] = []
    note: str | None = None


ERRORS: dict[int | str, dict[str, Any]] = {
    401: {"model": Problem, "description": "No valid token."},
    403: {"model": Problem, "description": "The role or the origin does not allow this."},
    404: {"model": Problem, "description": "There is no such campaign or file."},
    409: {"model": Problem, "description": "A step that the campaign refuses."},
    413: {"model": Problem, "description": "The request is too large."},
    422: {"model": Problem, "description": "A field that cannot be used."},
    429: {"model": Problem, "description": "Too many requests, streams, uploads or wrong tokens."},
}


def _visitor(request: Request) -> Visitor:
    visitor: Visitor = request.state.visitor
    return visitor


AnyVisitor = Annotated[Visitor, Depends(_visitor)]


def analyst(visitor: AnyVisitor) -> Visitor:
    """The visitor; refuses one who only labels."""
    if not visitor.is_analyst:
        raise HTTPException(403, f"{visitor.name} is a labeller; this is for analysts.")
    return visitor


Analyst = Annotated[Visitor, Depends(analyst)]


def creator(visitor: Analyst) -> Visitor:
    """The visitor; refuses one whose token is for some campaigns only."""
    if not visitor.may_create:
        raise HTTPException(
            403,
            f"The link of {visitor.name} is for some campaigns only: new ones need one for all.",
        )
    return visitor


Creator = Annotated[Visitor, Depends(creator)]


def check_known(visitor: Visitor, name: str) -> None:
    """Refuse a campaign that is not the visitor's as one that does not exist."""
    if not visitor.may_know(name):
        raise no_campaign(name)


def _named(
    request: Request,
    visitor: AnyVisitor,
    name: Annotated[str, Path(description="The campaign.")],
) -> OpenCampaign:
    check_known(visitor, name)
    campaigns: OpenCampaigns = request.app.state.campaigns
    return campaigns.get(name)


Named = Annotated[OpenCampaign, Depends(_named)]


def done(campaign: Campaign, draws: list[int]) -> Reply:
    """The reply to a step that was taken."""
    return Reply({"n_events": campaign.n_events, "draws": draws})


def labelled(campaign: Campaign, draws: list[int]) -> Reply:
    """The reply to labels that were told or amended, which says what will not count, and why."""
    late, note = campaign.second_opinions, campaign.note
    done = {"n_events": campaign.n_events, "draws": draws}
    return Reply({**done, "second_opinions": late, "note": note})


def actor_of(visitor: Visitor, owner: str | None) -> dict[str, str | None]:
    """The visitor, and the labeller on whose behalf an analyst acts; the log names both."""
    whose = owner_of(visitor, owner)
    return {"owner": visitor.name, "on_behalf_of": whose if visitor.is_analyst else None}


def owner_of(visitor: Visitor, owner: str | None) -> str:
    """The labeller in whose name something is done: the visitor, or whom an analyst names."""
    if owner is None or owner == visitor.name:
        return visitor.name
    if not visitor.is_analyst:
        raise HTTPException(403, f"{visitor.name} cannot act for {owner!r:.120}.")
    return owner
