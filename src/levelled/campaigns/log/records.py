"""The records of a campaign: settings, drawn items, leases, answers, and events."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, cast

from levelled.campaigns.people.questions import Question, parse_question
from levelled.campaigns.plain_settings import FORMAT, check_plain
from levelled.errors import CampaignError, InputError
from levelled.estimators.intervals.looks import SHARE, PlannedLook
from levelled.labels import Label
from levelled.metrics.metric import Metric
from levelled.metrics.named import parse_metric
from levelled.sources import ColumnChoices

Event = Mapping[str, Any]
"""One entry of the log as plain JSON: its "type", when ("at"), by whom ("by"), and its payload."""


_LABEL_CHECKS = {True: parse_metric("mean"), False: parse_metric("error")}
"""A metric that refuses a label which is no number, and one that refuses an unknown class."""


class MissingMetric:
    """A metric on record that cannot be parsed here, such as a loss whose module is gone.

    A campaign with it can be listed and labelled. Whatever needs its losses is refused.
    """

    def __init__(self, name: str, because: InputError) -> None:
        self.name = name
        self._because = because

    def labels(self, values: Sequence[object], classes: Sequence[str] | None) -> list[object]:
        """The labels as they are: losses of your own take any label."""
        return [*values]

    def __getattr__(self, attribute: str) -> object:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        raise InputError(str(self._because)) from self._because


def _restore_metric(name: str) -> Metric:
    try:
        return parse_metric(name)
    except InputError as refused:
        return cast(Metric, MissingMetric(name, refused))


def _restore_question(text: str) -> Question:
    """The question of a log; one of another kind was written by a newer version."""
    try:
        return parse_question(text)
    except CampaignError as refused:
        raise ValueError(str(refused)) from refused


@dataclass(frozen=True, slots=True)
class CampaignSettings:
    """The choices made when the campaign was created, and counts over the whole pool."""

    name: str
    metrics: tuple[Metric, ...]
    source: str | list[str] | None
    """The path of the pool file; None for a pool that was only in memory."""
    fingerprint: str
    pool_size: int
    seed: int
    models: tuple[str, ...] = ("",)
    model_name: str = ""
    """A name for the model whose predictions have none in the pool, which is "" in `models`."""
    classes: tuple[str, ...] | None = None
    numeric: bool = False
    """True where labels are numbers, False where they are classes."""
    slices: tuple[str, ...] = ()
    slice_counts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    pred_counts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    budget: int | None = None
    target_width: float | None = None
    level: float = 0.95
    looks: tuple[PlannedLook, ...] = ()
    """Readings planned beforehand; none where every interval is by betting."""
    score: str = "auto"
    proposal: str = "proportional"
    floor: float = 0.5
    n_sampled: int = 0
    """Draws 1..n_sampled are a uniform sample that had labels before the campaign began."""
    lease_seconds: int = 24 * 3600
    in_flight: int = 200
    format: int = FORMAT
    kind: str = "static"
    """The way items are drawn: "static", "uniform", or "adaptive" in rounds."""
    features: tuple[str, ...] = ()
    """The columns from which an adaptive campaign predicts losses, besides the predictions."""
    guarantee: str = "asymptotic"
    """"finite" where every interval shown has a finite-sample guarantee."""
    drive: str = "first"
    """The metrics that adaptive draws serve: the "first", or the "worst" served of all."""
    columns: ColumnChoices = field(default_factory=ColumnChoices)
    """The columns that the user named, and the reader of the pool."""
    group: str | None = None
    """The column of the sample of which several items are outputs."""
    n_groups: int | None = None
    questions: tuple[Question, ...] = ()
    """What labellers answer beside the label."""
    guidelines: str = ""
    """Instructions for labellers, in Markdown."""
    pair: tuple[str, ...] = ()
    """Two columns of which the label names the better one; they are shown in random order."""
    content: Mapping[str, str] = field(default_factory=dict)
    """The kind of content of some columns, for those who show them."""
    images: str | None = None
    """The folder below which the files of images lie."""

    @property
    def metric_names(self) -> list[str]:
        """The names of the metrics, as the log keeps them."""
        return [metric.name for metric in self.metrics]

    @property
    def label_checks(self) -> tuple[Metric, ...]:
        """Metrics that together refuse every label that could not be used."""
        return tuple(dict.fromkeys((*self.metrics, _LABEL_CHECKS[self.numeric])))

    @property
    def last_draw(self) -> int:
        """The number of the last draw that may be made: the budget, or the whole pool."""
        return min(self.budget or self.pool_size, self.pool_size)

    @property
    def is_finite(self) -> bool:
        """True if every interval shown has a finite-sample guarantee."""
        return self.guarantee == "finite"

    def shown_name(self, model: str) -> str:
        """The name of a model as figures show it."""
        return model or self.model_name

    @property
    def watched_level(self) -> float:
        """The level of intervals that may be read at any time: what planned looks leave of it."""
        return 1 - (1 - self.level) * (1 - SHARE) if self.looks else self.level

    def last_look(self, n_settled: int) -> PlannedLook | None:
        """The last planned look that so many settled draws have reached."""
        return next((look for look in reversed(self.looks) if look.n <= n_settled), None)

    def to_json(self) -> dict[str, Any]:
        """Plain values, for the event that creates the campaign."""
        plain = {one.name: getattr(self, one.name) for one in fields(self)}
        questions = [one.notation for one in self.questions]
        looks = looks_to_json(self.looks)
        plain |= {"metrics": self.metric_names, "looks": looks, "questions": questions}
        return {**plain, "columns": self.columns.to_json()}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> "CampaignSettings":
        """The settings that `to_json` wrote."""
        renamed = {"n_pool": "pool_size"}  # databases of the first version
        values = {renamed.get(name, name): value for name, value in plain.items()}
        check_plain(values, fields(cls))
        for name in ("models", "classes", "slices", "features", "pair"):
            if values.get(name) is not None:
                values[name] = tuple(values[name])
        values["columns"] = ColumnChoices.from_json(values.get("columns", {}))
        metrics, looks = tuple(map(_restore_metric, values["metrics"])), values.get("looks", ())
        questions = tuple(map(_restore_question, values.get("questions", ())))
        made = {"metrics": metrics, "looks": looks_from_json(looks), "questions": questions}
        return cls(**{**values, **made})


def looks_to_json(looks: Iterable[PlannedLook]) -> list[list[float]]:
    """Planned looks as the log keeps them: draws and error rate of each."""
    return [[*look] for look in looks]


def looks_from_json(plain: Iterable[Sequence[float]]) -> tuple[PlannedLook, ...]:
    """The looks that `looks_to_json` wrote."""
    return tuple(PlannedLook(int(n), alpha) for n, alpha in plain)


@dataclass(frozen=True, slots=True)
class Round:
    """Draws from `first` on, up to the next round, come from one predictor with one floor.

    Without a predictor they come from the frozen weights of the settings, of which the share
    `floor` is uniform. `shares` are those of the metrics, where the draws balance them.
    """

    first: int
    predictor: Mapping[str, Any] | None
    """The predictor as `LossPredictor.to_json` writes it."""
    floor: float
    shares: tuple[float, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain values, for the event that begins the round."""
        plain = {one.name: getattr(self, one.name) for one in fields(self)}
        return {**plain, "shares": [*self.shares]}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> "Round":
        """The round that `to_json` wrote."""
        return cls(
            plain["first"], plain["predictor"], plain["floor"], tuple(plain.get("shares", ()))
        )


@dataclass(frozen=True, slots=True)
class Rescored:
    """A file whose predicted losses guide the draws from `first` on, instead of the pool's."""

    first: int
    source: str | list[str] | None
    fingerprint: str


@dataclass(frozen=True, slots=True)
class DrawnItem:
    """An item with the probability it had when it was drawn, and what is known of it."""

    draw: int
    row: int
    id: str | int
    probability: float
    design: Mapping[str, float] = field(default_factory=dict)
    pred: Mapping[str, Label] = field(default_factory=dict)
    """The prediction of each model; the first one has the name ""."""
    proba: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    slices: Mapping[str, str] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)
    """The columns that the labeller sees."""

    def to_json(self) -> dict[str, Any]:
        """Plain values, for the event that records the draw."""
        plain = {one.name: getattr(self, one.name) for one in fields(self)}
        return {**plain, "proba": {model: [*p] for model, p in self.proba.items()}}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> "DrawnItem":
        """The item that `to_json` wrote."""
        return cls(**{**plain, "proba": {m: tuple(p) for m, p in plain["proba"].items()}})


@dataclass(frozen=True, slots=True)
class Lease:
    """The labeller for whom an item is kept, and until when."""

    owner: str | None
    since: str
    until: str


@dataclass(frozen=True, slots=True)
class OpenItem:
    """An item that was handed out and has no label yet: who has it, since when and until when.

    `since` and `until` are None if nobody has it, because it was given back or skipped.
    """

    draw: int
    id: str | int
    owner: str | None
    since: str | None
    until: str | None


@dataclass(frozen=True, slots=True)
class Ask:
    """An item that somebody is asked to label."""

    draw: int
    id: str | int
    data: Mapping[str, Any]
    lease_until: str


@dataclass(frozen=True, slots=True)
class Handout:
    """The items handed out, the event that records it, and why there are fewer than wished."""

    asks: tuple[Ask, ...]
    events: tuple[Event, ...]
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Attached:
    """The predictions of a model that came later, for the items that were drawn."""

    source: str | list[str] | None
    fingerprint: str
    pred_counts: Mapping[str, int]
    pred: Mapping[int, Label]
    proba: Mapping[int, tuple[float, ...]]
