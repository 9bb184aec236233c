"""The settings of a campaign: the choices made when it was created, and what its pool says.

They hold a rubric, the questions that labellers answer beside the label:

    tone=rude,neutral,kind     one of these classes
    clarity=1:5                a rating, a whole number from 1 to 5
    price=number               any number
    why=text                   free text

No metric uses these answers, nor the notes that labellers write. They are kept beside the label,
and exported with it.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, Any, cast

import msgspec

from levelled._check import between, choice, whole
from levelled.campaigns.log.records import CARRYING, explain
from levelled.campaigns.options import OPTIONS, CampaignOptions, Option
from levelled.errors import CampaignError, InputError, InputTypeError
from levelled.labels import Label, as_numbers, class_text, list_names
from levelled.looks import FIRST_SHARES, PlannedLook, Shares, share_rate
from levelled.sources.choices import ColumnChoices

if TYPE_CHECKING:
    from levelled.metrics.named import Metric

LONGEST_TEXT = 10_000
"""Characters of a note, or of an answer in free text."""
_LONGEST_NAME = 40
_MOST_QUESTIONS = 50
_RATING = re.compile(r"(-?\d{1,6}):(-?\d{1,6})")
_TAKEN = (
    *("draw", "row", "id", "label", "answer", "note", "rubric", "data", "where", "lease_until"),
    *("probability", "labelled_by", "labelled_at", "unlabelable", "sample_weight", "shown_left"),
)
"""Names of columns of exports and of files of answers."""


@dataclass(frozen=True, slots=True)
class Question:
    """One question to a labeller: its name, and the answers that it takes.

    `kind` is "classes", "rating", "number" or "text". `low` and `high` are those of a rating,
    and of a number that has limits. Where `more` is true, other classes may be answered too.
    """

    name: str
    kind: str
    classes: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    more: bool = False

    @property
    def notation(self) -> str:
        """The question as `parse_question` reads it."""
        if self.kind == "classes":
            return f"{self.name}={','.join(self.classes)}"
        if self.kind == "rating":
            return f"{self.name}={self.low:.0f}:{self.high:.0f}"
        return f"{self.name}={self.kind}"

    def check(self, answer: object) -> Label:
        """The answer as it is kept; refuses one that is none."""
        if self.kind == "text":
            return _check_length(f"The answer to {self.name!r}", str(answer))
        try:
            if self.kind == "classes":
                name = class_text(answer)
                if name in self.classes:
                    return name
                raise CampaignError(
                    f"{name!r:.80} is no answer to {self.name!r}: it takes "
                    f"{list_names(self.classes, 12)}."
                )
            (number,) = as_numbers(f"The answer to {self.name!r}", [answer]).tolist()
        except InputError as wrong:
            raise CampaignError(str(wrong)) from wrong
        if self.kind == "number":
            return float(number)
        low, high = self.low or 0, self.high or 0
        if not low <= number <= high or number != int(number):
            raise CampaignError(
                f"{number:g} is no answer to {self.name!r}: it takes a whole number from {low:g} "
                f"to {high:g}."
            )
        return int(number)


def parse_question(text: str) -> Question:
    """The question that a text such as clarity=1:5 declares.

    >>> parse_question("tone=rude,kind").classes, parse_question("clarity=1:5").high
    (('rude', 'kind'), 5.0)
    """
    name, sign, takes = (part.strip() for part in str(text).partition("="))
    if not sign or not name or not takes:
        raise _malformed(text)
    if name in _TAKEN or name.startswith(("pred@", "slice.", "data.")) or name == "pred":
        raise CampaignError(
            f"A question cannot be called {name!r}, because exports have a column of that name: "
            f"choose another."
        )
    if len(name) > _LONGEST_NAME or not name.isprintable():
        raise CampaignError(
            f"{name!r:.80} is no name for a question: up to {_LONGEST_NAME} printable characters."
        )
    if takes in ("number", "text"):
        return Question(name, takes)
    if rating := _RATING.fullmatch(takes):
        low, high = map(float, rating.groups())
        if low >= high:
            raise CampaignError(f"The rating {text!r} must go from a lower to a higher number.")
        return Question(name, "rating", low=low, high=high)
    classes = tuple(class_text(one.strip()) for one in takes.split(","))
    if len(classes) < 2 or len({*classes}) < len(classes) or not all(classes):
        raise _malformed(text)
    return Question(name, "classes", classes)


def _malformed(text: object) -> CampaignError:
    return CampaignError(
        f"{text!r:.200} is no question: write its name and what it takes, as in "
        f"tone=rude,neutral,kind or clarity=1:5 or price=number or why=text."
    )


def check_questions(texts: Sequence[str]) -> tuple[Question, ...]:
    """The questions of a campaign, each declared by a text."""
    if isinstance(texts, str):
        texts = [texts]
    questions = tuple(parse_question(text) for text in texts)
    refuse_duplicates("question", [one.name for one in questions])
    if (n := len(questions)) > _MOST_QUESTIONS:
        raise CampaignError(f"{n} questions are too many: at most {_MOST_QUESTIONS}.")
    return questions


def refuse_duplicates(what: str, names: Sequence[str]) -> None:
    """Refuse a name that is given twice."""
    twice = [name for at, name in enumerate(names) if name in names[:at]]
    if twice:
        raise CampaignError(f"The {what} {twice[0]!r} is named twice.")


def check_remarks(
    questions: Sequence[Question], note: object = None, rubric: object = None
) -> dict[str, Any]:
    """The note and the rubric of an answer as they are kept, without those that are not given.

    In a rubric, None stands for an answer that is taken away.
    """
    remarks: dict[str, Any] = {}
    if note is not None:
        if not isinstance(note, str):
            raise CampaignError(f"A note is text; {note!r:.80} is none.")
        remarks["note"] = _check_length("A note", note)
    if rubric is not None:
        remarks["rubric"] = _check_rubric({one.name: one for one in questions}, rubric)
    return remarks


def _check_rubric(questions: Mapping[str, Question], rubric: object) -> dict[str, Label | None]:
    if not isinstance(rubric, Mapping):
        raise CampaignError(
            f"A rubric has an answer for each question, by its name; {rubric!r:.80} has not."
        )
    unknown = [name for name in rubric if name not in questions]
    if unknown:
        asked = list_names([*questions], 12)
        raise CampaignError(
            f"There is no question {unknown[0]!r:.80}: the campaign asks "
            f"{asked if questions else 'none but the label'}."
        )
    return {
        name: None if value is None or value == "" else questions[name].check(value)
        for name, value in rubric.items()
    }


def merge_remarks(
    note: str | None, rubric: Mapping[str, Label], new: Mapping[str, Any]
) -> dict[str, Any]:
    """The remarks of an answer after new ones: what is not given again stays as it was.

    >>> merge_remarks("why?", {"tone": "rude"}, {"rubric": {"tone": None, "clarity": 2}})
    {'note': 'why?', 'rubric': {'clarity': 2}}
    """
    merged: dict[str, Any] = {}
    if text := new.get("note", note):
        merged["note"] = text
    answers = {**rubric, **new.get("rubric", {})}
    if answers := {name: value for name, value in answers.items() if value is not None}:
        merged["rubric"] = answers
    return merged


def _check_length(name: str, text: str) -> str:
    if len(text) > LONGEST_TEXT:
        raise CampaignError(
            f"{name} has {len(text):,} characters, and at most {LONGEST_TEXT:,} are kept: shorten "
            f"it."
        )
    return text


DRIVES = ("first", "balanced", "worst")
"""What draws serve besides metrics that are named; worst only in campaigns of the first predictor.
"""
FORMATS = (1, CARRYING)
"""The formats of logs that are known here, of which the last is written."""

RULES = 2
"""The version of the rules for new campaigns; earlier ones go on by those that they began with.

From 2 on, an item belongs to those who were given it: others can neither answer it nor pass it on.
"""


@dataclass(frozen=True, slots=True)
class Versions:
    """The versions of the statistics that a campaign began with, and by which it goes on."""

    predictor: int = 1
    spending: int = 1
    """How planned looks share the error rate: from 2 on by `plan_looks`, with a reserve."""
    interval: int = 1


VERSIONS = Versions(predictor=2, spending=2, interval=2)
"""The versions for new campaigns; logs that name none have 1 for each."""


class MissingMetric:
    """A metric on record that is not there: its module is gone, or its code is not approved.

    A campaign with it can be listed and labelled. Whatever needs its losses is refused. Known
    without its code is what holds for every loss of one's own.
    """

    needs = "pred"
    label_kind = None
    positive = None
    is_share = is_mean = False

    def __init__(self, name: str, because: InputError) -> None:
        self.name = name
        self._because = because

    def is_called(self, name: str) -> bool:
        """True for its name."""
        return name == self.name

    def __getattr__(self, attribute: str) -> object:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        raise type(self._because)(str(self._because)) from self._because


def _restore_metric(name: str) -> "Metric":
    """The metric of a log; code of one's own is run only if this user has approved it."""
    from levelled.campaigns.trust import import_approved
    from levelled.metrics.named import parse_metric  # who asks for items needs no metric

    try:
        return parse_metric(name, find=import_approved)
    except InputError as refused:
        return cast("Metric", MissingMetric(name, refused))


def _restore_question(text: str) -> Question:
    """The question of a log; one of another kind was written by a newer version."""
    try:
        return parse_question(text)
    except CampaignError as refused:
        raise ValueError(str(refused)) from refused


@dataclass(frozen=True)
class CampaignSettings(CampaignOptions):
    """The options that the campaign was created with, and what its pool says."""

    name: str
    metric_names: tuple[str, ...]
    source: str | list[str] | None
    """The path of the pool file; None for a pool that was only in memory."""
    fingerprint: str
    pool_size: int
    models: tuple[str, ...] = ("",)
    model_name: str = ""
    """A name for the model whose predictions have none in the pool, which is "" in `models`."""
    classes: tuple[str, ...] | None = None
    numeric: bool = False
    """True where labels are numbers, False where they are classes."""
    allowed_labels: tuple[str, ...] | None = None
    """The classes that labels may be, where `classes` names none; empty where any is taken.

    None in campaigns that labels have no fixed classes in, or of before classes were fixed.
    """
    slices: tuple[str, ...] = ()
    slice_counts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    pred_counts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    looks: tuple[PlannedLook, ...] = ()
    """Readings planned beforehand; none where every interval is by betting."""
    versions: Versions = Versions()
    n_looks: int | None = None
    """The number of looks that was asked for; None where the version of the spending is 1."""
    n_extra: int = 0
    """The last so many of `looks` are paid out of the reserve."""
    planned: int | None = None
    """The number of labels that looks are planned over where no budget was given."""
    n_known: int = 0
    """The items whose labels were known at the creation; the others are the pool of the draws."""
    n_sampled: int = 0
    """Draws 1..n_sampled are a uniform sample that had labels before the campaign began."""
    format: int = FORMATS[0]
    rules: int = 1
    """The version of the rules for its events; 1 where the log names none."""
    kind: str = field(default="static", kw_only=True)  # the only one there was at first
    features: tuple[str, ...] = ()
    """The columns from which an adaptive campaign predicts losses, besides the predictions."""
    columns: ColumnChoices = field(default_factory=ColumnChoices)
    """The columns that the user named, and the reader of the pool."""
    group: str | None = None
    """The column of the sample of which several items are outputs."""
    n_groups: int | None = None
    questions: tuple[Question, ...] = ()
    guidelines: str = ""
    pair: tuple[str, ...] = ()
    content: Mapping[str, str] = field(default_factory=dict)
    images: str | None = None
    modules: Mapping[str, str] = field(default_factory=dict)
    """The sha256 of the source of each module whose code the metrics ran at the creation."""

    @property
    def metrics(self) -> tuple["Metric", ...]:
        """The metrics, the first of which drives the draws."""
        metrics = self._metrics
        if any(isinstance(one, MissingMetric) for one in metrics):
            self.__dict__.pop("_metrics", None)  # its code may be approved while a server runs
        return metrics

    @cached_property
    def _metrics(self) -> tuple["Metric", ...]:
        return tuple(map(_restore_metric, self.metric_names))

    @cached_property
    def label_checks(self) -> tuple["Metric", ...]:
        """Metrics that together refuse every label that could not be used.

        One more than those of the campaign refuses what is no number, or an unknown class. Losses
        of one's own take any label, so that labelling runs no code of theirs.
        """
        from levelled.metrics.named import own_module

        names = (one for one in self.metric_names if own_module(one) is None)
        check = "mean" if self.numeric else "error"
        return tuple(map(_restore_metric, dict.fromkeys((*names, check))))

    @property
    def own_modules(self) -> tuple[str, ...]:
        """The modules of metrics of one's own."""
        from levelled.metrics.named import own_module

        return tuple(dict.fromkeys(filter(None, map(own_module, self.metric_names))))

    @cached_property
    def changed_code(self) -> tuple[str, ...]:
        """A sentence on each module whose code is not that at the creation."""
        from levelled.campaigns.trust import current_hashes

        now = current_hashes(self.own_modules) if self.modules else {}
        return tuple(
            f"the code of {module} has changed since the campaign was created: its sha256 was "
            f"{self.modules[module]:.12} and is {digest:.12}"
            for module, digest in now.items()
            if self.modules.get(module, digest) != digest
        )

    @property
    def open_size(self) -> int:
        """The number of items that could be drawn at the creation."""
        return self.pool_size - self.n_known

    @property
    def label_classes(self) -> tuple[str, ...]:
        """The classes that labels may be; empty where any label is taken."""
        return (self.allowed_labels if self.classes is None else self.classes) or ()

    @property
    def last_draw(self) -> int:
        """The number of the last draw that may be made: the budget, or all that can be drawn."""
        return min(self.budget or self.open_size, self.open_size)

    @property
    def is_finite(self) -> bool:
        """True if every interval shown has a finite-sample guarantee."""
        return self.guarantee == "finite"

    def shown_name(self, model: str) -> str:
        """The name of a model as figures show it."""
        return model or self.model_name

    @property
    def watched_level(self) -> float:
        """The level of intervals that may be read at any time: what planned looks leave of it.

        It is 1 where nothing is left, so that only what is possible can be shown.
        """
        return 1 - (1 - self.level) * self.shares.betting

    @property
    def shares(self) -> Shares:
        """The parts of the error rate for looks, betting between them, and raised budgets."""
        if self.versions.spending == 1:
            return FIRST_SHARES if self.looks else share_rate(0)
        return share_rate(self.n_looks or 0, may_extend=self.may_extend)

    def rate(self, share: float) -> float:
        """A share of the error rate."""
        return share * (1 - self.level)

    def next_look(self, n_settled: int) -> int | None:
        """The number of labels until the next planned look; None where there is none."""
        return next((look.n - n_settled for look in self.looks if look.n > n_settled), None)

    def last_look(self, n_settled: int) -> PlannedLook | None:
        """The last planned look that so many settled draws have reached."""
        return next((look for look in reversed(self.looks) if look.n <= n_settled), None)

    def to_json(self) -> dict[str, Any]:
        """Plain values, for the event that creates the campaign."""
        plain = {one.name: getattr(self, one.name) for one in fields(self)}
        # Left out where they are as in logs of before.
        later = {"allowed_labels", "normalise", "n_known", "anchor", "away_seconds", "rules"}
        later |= {"may_extend", "n_looks", "n_extra", "planned"}
        usual = {one.name: one.default for one in fields(self) if one.name in later}
        usual |= {"modules": {}, "versions": Versions()}
        plain = {name: one for name, one in plain.items() if one != usual.get(name, MISSING)}
        questions = [one.notation for one in self.questions]
        if "versions" in plain:
            plain["versions"] = asdict(self.versions)
        looks = looks_to_json(self.looks)
        plain |= {"metrics": [*plain.pop("metric_names")], "looks": looks, "questions": questions}
        return {**plain, "columns": self.columns.to_json()}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> "CampaignSettings":
        """The settings that `to_json` wrote."""
        renamed = {"metrics": "metric_names", "n_pool": "pool_size"}  # the first version's name
        values = {renamed.get(name, name): value for name, value in plain.items()}
        _refuse_newer(values)
        try:
            texts = msgspec.convert(values.pop("questions", ()), list[str])
            settings = msgspec.convert(values, cls)
            for one in fields(CampaignOptions):
                check_option(OPTIONS[one.name], getattr(settings, one.name))
        except (InputError, msgspec.ValidationError) as wrong:
            raise CampaignError(
                f"The settings of {plain.get('name')!r}: {explain(wrong, values).rstrip('.')}. The "
                f"database was changed by something else. Go back to a backup."
            ) from wrong
        columns = ColumnChoices.from_json(values.get("columns", {}))
        return replace(settings, columns=columns, questions=tuple(map(_restore_question, texts)))


def looks_to_json(looks: Iterable[PlannedLook]) -> list[list[float]]:
    """Planned looks as the log keeps them: draws and error rate of each."""
    return [[*look] for look in looks]


def looks_from_json(plain: Iterable[Sequence[float]]) -> tuple[PlannedLook, ...]:
    """The looks that `looks_to_json` wrote."""
    return tuple(PlannedLook(int(n), alpha) for n, alpha in plain)


def check_option(option: Option, value: Any, words: Sequence[str] = ()) -> Any:  # noqa: ANN401
    """The value of an option as a campaign keeps it; refuses another type, and one out of range.

    `words` are those that an option with choices may be: by default what a log may hold.
    """
    if value is None and option.optional:
        return None
    if option.choices:
        return choice(option.name, value, words or option.choices)
    if option.kind is int:
        value = whole(option.name, value, least=int(option.least or 0))
    if option.kind in (int, float) and (option.least, option.most) != (None, None):
        low, high = (-inf if option.least is None else option.least), option.most or inf
        number = between(option.name, value, low, high, open_=option.inside)
        return value if option.kind is int else number  # a float holds no large seed
    if option.kind is bool and not isinstance(value, bool):
        raise InputTypeError(f"{option.name} must be True or False; it is {value!r:.80}.")
    if option.kind is str and not isinstance(value, str):
        raise InputTypeError(f"{option.name} must be text; it is {value!r:.80}.")
    return value


def _refuse_newer(values: Mapping[str, Any]) -> None:
    """Refuse settings that this version does not know."""
    known, kept = ({one.name for one in fields(of)} for of in (CampaignSettings, CampaignOptions))
    what = [f"the setting {one!r}" for one in sorted({*values} - known)]
    what += [f"format {one!r}" for one in [values.get("format", 1)] if one not in FORMATS]
    what += [f"rules {one!r}" for one in [values.get("rules", 1)] if one not in range(1, RULES + 1)]
    versions, now = values.get("versions", {}), asdict(VERSIONS)
    if isinstance(versions, Mapping):
        what += [
            f"version {one!r} of the {name}"
            for name, one in versions.items()
            if name not in now or one not in range(1, now[name] + 1)
        ]
    what += [
        f"{name} {value!r}"
        for name, value in values.items()
        if name in kept and OPTIONS[name].choices and value not in OPTIONS[name].choices
    ]
    driving = values.get("drive", "first")
    named = {*DRIVES, *(values.get("metric_names") or values.get("metrics") or ())}
    if isinstance(driving, str) and not {*driving.split(",")} <= named:
        what.append(f"drive {driving!r}")
    if what:
        raise CampaignError(
            f"{values.get('name')!r} was made by a newer Levelled: this one does not know "
            f"{what[0]}. Update with: pip install --upgrade levelled"
        )
