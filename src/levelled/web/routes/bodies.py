"""The bodies of requests and replies, as the OpenAPI description shows them."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StrictInt

_LARGEST = 2**31 - 1
Draw = Annotated[StrictInt, Field(ge=1, le=_LARGEST, description="The number of the draw.")]
Owner = Annotated[
    str | None,
    Field(max_length=100, description="For analysts: another labeller to act for."),
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


class ItemBody(OwnerBody):
    """One draw."""

    draw: Draw


class ReasonBody(ItemBody):
    """One draw, and why."""

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


class ChangeBody(Body):
    """The settings to change."""

    kind: Annotated[str | None, Field(max_length=20)] = None
    budget: Annotated[StrictInt | None, Field(ge=1, le=_LARGEST)] = None
    target_width: Annotated[float | None, Field(gt=0, allow_inf_nan=False)] = None
    lease_seconds: Seconds = None
    in_flight: Annotated[StrictInt | None, Field(ge=1, le=_LARGEST)] = None


class CreateBody(Body):
    """A new campaign: its name, its file, and the settings of `levelled create`."""

    name: Annotated[str, Field(min_length=1, max_length=100)]
    file: Annotated[str, Field(max_length=200)]
    metrics: Annotated[list[Text], Field(min_length=1, max_length=20)] = ["error"]
    slices: Annotated[list[Text], Field(max_length=20)] = []
    classes: Annotated[list[Text] | None, Field(max_length=1000)] = None
    features: Annotated[list[Text] | None, Field(max_length=1000)] = None
    judge_columns: Annotated[list[Text], Field(max_length=100)] = []
    budget: Annotated[StrictInt | None, Field(ge=1, le=_LARGEST)] = None
    target_width: Annotated[float | None, Field(gt=0, allow_inf_nan=False)] = None
    level: Annotated[float, Field(gt=0, lt=1)] = 0.95
    looks: Annotated[StrictInt, Field(ge=0, le=100)] = 5
    kind: Annotated[str, Field(max_length=20)] = "auto"
    guarantee: Annotated[str, Field(max_length=20)] = "asymptotic"
    drive: Annotated[str, Field(max_length=20)] = "first"
    model: Annotated[str, Field(max_length=100)] = ""
    seed: Annotated[StrictInt | None, Field(ge=0, le=2**63 - 1)] = None
    questions: Annotated[list[Text], Field(max_length=50)] = []
    guidelines: Annotated[str, Field(max_length=100_000)] = ""
    pair: Annotated[list[Text], Field(max_length=2)] = []
    content: Annotated[dict[Text, Text], Field(max_length=1000)] = {}
    lease_seconds: Annotated[StrictInt, Field(ge=1, le=366 * 24 * 3600)] = 24 * 3600
    in_flight: Annotated[StrictInt, Field(ge=1, le=_LARGEST)] = 200


class LookBody(Body):
    """A file to look at, and the classes where no columns name them."""

    file: Annotated[str, Field(max_length=200)]
    classes: Annotated[list[Text] | None, Field(max_length=1000)] = None
    width: Annotated[float | None, Field(gt=0, allow_inf_nan=False)] = None


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
    """The number of events of the campaign after a step, and what the step was about."""

    n_events: int
    draws: list[int]
