"""The settings of a campaign: the choices made when it was created, and what its pool says."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from types import NoneType
from typing import Any, cast

from levelled.campaigns.people.questions import Question, parse_question
from levelled.errors import CampaignError, InputError
from levelled.estimators.intervals.looks import SHARE, PlannedLook
from levelled.metrics.named import Metric, parse_metric
from levelled.sources import ColumnChoices

KINDS = ("adaptive", "static", "uniform")
"""The ways to draw items."""

FORMAT = 1
"""The format of the log; a newer Levelled may write another."""

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
        _check_plain(values, fields(cls))
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


def _check_plain(values: Mapping[str, Any], known: Sequence[Field[Any]]) -> None:
    """Refuse settings that this version does not know, and values that no version writes."""
    name, unknown = values.get("name"), sorted({*values} - {one.name for one in known})
    what = [f"the setting {one!r}" for one in unknown]
    what += [f"format {values['format']!r}"] if values.get("format", FORMAT) != FORMAT else []
    what += [
        f"{key} {values[key]!r}"
        for key, choices in _CHOICES.items()
        if values.get(key, "") not in choices
    ]
    if what:
        raise CampaignError(
            f"{name!r} was made by a newer Levelled: this one does not know {what[0]}. Update "
            f"with: pip install --upgrade levelled"
        )
    _check_values(values, known)


def _check_values(values: Mapping[str, Any], known: Sequence[Field[Any]]) -> None:
    """Refuse settings that lack a value, or have one of another type."""
    name = values.get("name")
    for one in known:
        required = one.default is MISSING and one.default_factory is MISSING
        if one.name not in values and required:
            raise CampaignError(f"The settings of {name!r} lack {one.name}. {_ALTERED}")
        kinds = _KINDS_OF_VALUES.get(one.name, (object,))
        if one.name in values and not isinstance(values[one.name], kinds):
            raise CampaignError(
                f"The settings of {name!r} have {values[one.name]!r:.80} as {one.name}. {_ALTERED}"
            )


_ALTERED = "The database was changed by something else. Go back to a backup."
_CHOICES = {"kind": ("", *KINDS), "guarantee": ("", "asymptotic", "finite")}
_KINDS_OF_VALUES: Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys(
        ("name", "fingerprint", "model_name", "score", "proposal", "guidelines"), (str,)
    ),
    **dict.fromkeys(("pool_size", "seed", "n_sampled", "lease_seconds", "in_flight"), (int,)),
    **dict.fromkeys(("level", "floor"), (int, float)),
    **dict.fromkeys(
        ("metrics", "models", "slices", "features", "looks", "questions", "pair"), (list, tuple)
    ),
    **dict.fromkeys(("slice_counts", "pred_counts", "content", "columns"), (dict,)),
    "classes": (list, tuple, NoneType),
    "source": (str, list, NoneType),
    "images": (str, NoneType),
    "budget": (int, NoneType),
    "target_width": (int, float, NoneType),
    "numeric": (bool,),
    "group": (str, NoneType),
    "n_groups": (int, NoneType),
}
