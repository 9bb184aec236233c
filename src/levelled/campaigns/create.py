"""Create a campaign."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime
from difflib import get_close_matches
from functools import partial, wraps
from typing import Any, ParamSpec

import numpy as np

from levelled.campaigns.campaign import AHEAD, Campaign, load_campaign
from levelled.campaigns.drawing.drawing import draw_again, make_known
from levelled.campaigns.drawing.known import (
    FoundLabels,
    check_random,
    read_label_column,
    read_labels,
)
from levelled.campaigns.drawing.learnt import plan_campaign
from levelled.campaigns.drawing.pools import (
    check_drive,
    check_guarantee,
    check_looks,
    check_model_name,
    check_predicted_losses,
    check_width,
    choose_kind,
    learns_labels,
    outlines_of,
    place_of,
    settings_of_pool,
    with_looks,
)
from levelled.campaigns.log.anchors import Anchor, anchor_place
from levelled.campaigns.log.decide import time_text
from levelled.campaigns.log.events import Answered, Created, Drawn, Event, LabelsKnown, Leased
from levelled.campaigns.log.records import (
    GENESIS,
    KnownLabels,
    PlainEvent,
    canonical,
    carried_log,
    carry,
    hash_of,
    to_plain,
)
from levelled.campaigns.log.state import check_name
from levelled.campaigns.options import (
    ARGUMENTS,
    OPTIONS,
    CampaignOptions,
    NewCampaign,
    describe_arguments,
)
from levelled.campaigns.people.shown import (
    TIE,
    check_folder,
    check_guidelines,
    check_shown,
    fix_labels,
    refuse_no_pair,
)
from levelled.campaigns.settings import (
    FORMATS,
    RULES,
    VERSIONS,
    CampaignSettings,
    check_option,
    check_questions,
    refuse_duplicates,
)
from levelled.campaigns.stores import find_store, open_store
from levelled.campaigns.trust import approve_named
from levelled.errors import CampaignError, ConflictError, InputTypeError, LevelledError
from levelled.metrics.named import Metric, parse_metric
from levelled.predictions import PoolPredictions
from levelled.sources import ColumnChoices, Pool, open_pool
from levelled.sources.pool import with_lengths

_MOST_SLICES = 100
_USUAL, _FEWEST = 500, 50
"""Labels to plan for where nothing says how many it takes, and the fewest of a plan.

At 300 of 500 an interval is 1.36 times as wide as with a budget of 300.
"""
_Arguments = ParamSpec("_Arguments")


def _takes_options(
    record: Callable[_Arguments, NewCampaign],
) -> Callable[[Callable[[NewCampaign], Campaign]], Callable[_Arguments, Campaign]]:
    """Give a function the fields of a record as arguments, and list them in its docstring."""
    signature = inspect.signature(record)
    plain = [
        one.replace(annotation=ARGUMENTS[one.name].annotation)
        for one in signature.parameters.values()
    ]

    def take(function: Callable[[NewCampaign], Campaign]) -> Callable[_Arguments, Campaign]:
        @wraps(function)
        def create(*values: _Arguments.args, **named: _Arguments.kwargs) -> Campaign:
            try:
                signature.bind(*values, **named)
            except TypeError as wrong:
                unknown = [one for one in named if one not in ARGUMENTS]
                near = get_close_matches(unknown[0], ARGUMENTS, 1) if unknown else []
                hint = f" Did you mean {near[0]}?" if near else ""
                raise InputTypeError(f"{function.__name__}() {wrong}.{hint}") from wrong
            return function(record(*values, **named))

        create.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=plain, return_annotation=Campaign
        )
        create.__doc__ = f"{inspect.getdoc(function)}\n\n{describe_arguments()}"
        return create

    return take


@_takes_options(NewCampaign)
def create_campaign(new: NewCampaign) -> Campaign:
    """Create a campaign that evaluates a model on a pool without labels.

    The draws are made with `seed` and stored, each with its probability, before anybody sees an
    item. The options that say what the columns of the pool hold are explained at `open_pool`; they
    are kept, and used whenever the pool is opened again.
    """
    store = find_store(new.storage)  # a campaign that cannot begin leaves no database behind
    if new.load_if_exists and store is not None and store.count(new.name):
        return load_campaign(new.name, storage=new.storage)
    check_name(new.name)
    if new.roles and isinstance(new.pool, Pool):
        raise CampaignError("A pool that is open has its roles: give them to open_pool.")
    refuse_duplicates("slice", new.slices)
    pool = new.pool if isinstance(new.pool, Pool) else _open(new)
    settings = settle(new, pool)
    if settings.anchor and Anchor(settings.anchor).new_lines():
        raise CampaignError(
            f"{settings.anchor} is the anchor of another campaign: name a new file."
        )
    now = datetime.now(UTC) if store is None else store.now()
    events, note = _first_events(new, pool, settings, time_text(now))
    store = open_store(new.storage) if store is None else store
    try:
        store.append(new.name, events, expected=0)
    except ConflictError as there:
        raise CampaignError(
            f"There is a campaign {new.name!r} in this storage already. Choose another "
            f"name; levelled ask {new.name} goes on with it."
        ) from there
    campaign = Campaign(new.name, store, pool=pool)
    campaign.note = note
    if settings.anchor:
        campaign._log.anchor()
    return campaign


def _open(new: NewCampaign) -> Pool:
    """The pool with the columns that were named, and the lengths of texts where none were."""
    columns = {one.name: getattr(new, one.name) for one in fields(ColumnChoices)}
    if new.known_column is not None and new.show is None:  # labellers are not to see labels
        columns["hide"] = (*columns["hide"], new.known_column)
    columns["roles"] = new.roles or {}
    open_with = partial(open_pool, new.pool, slices=new.slices, features=new.features, **columns)
    if new.pair:
        refuse_no_pair(new.pair)
    opened = open_with(classes=new.classes)
    if new.pair and opened.classes is None:  # where nothing names them
        opened = open_with(classes=[*new.pair, TIE])
    return opened if new.features is not None else with_lengths(opened)


def settle(new: NewCampaign, pool: Pool) -> CampaignSettings:
    """The settings of a new campaign; refuses those that do not go together or with the pool."""
    metrics = _parse_metrics(new.metric)
    modules = approve_named(one.name for one in metrics)
    new = replace(new, slices=[*dict.fromkeys((*new.slices, *pool.choices.said("slice")))])
    by_model = outlines_of(pool, metrics[0])
    derived = settings_of_pool(pool, metrics, new.slices)
    models = derived["models"]
    for column, counts in derived["slice_counts"].items():
        if len(counts) > _MOST_SLICES:
            raise CampaignError(
                f"The column {column!r} has {len(counts)} values, and a slice each would rest on "
                f"hardly any labels: choose a column with at most {_MOST_SLICES}."
            )
    weights = (new.score, new.proposal, new.floor)
    n_looks = 0 if new.guarantee == "finite" else new.looks
    kept: dict[str, Any] = {}  # as given; what is kept otherwise is checked where that is made
    for option in (OPTIONS[one.name] for one in fields(CampaignOptions)):
        kept[option.name] = check_option(option, getattr(new, option.name), option.words)
    kept["target_width"] = check_width(metrics[0], new.target_width)
    kept["anchor"] = anchor_place(kept["anchor"])
    kept["kind"] = choose_kind(new.kind, metrics[0], weights, lambda: by_model[models[0]])
    settings = CampaignSettings(
        name=new.name,
        rules=RULES,
        versions=VERSIONS if learns_labels(by_model[models[0]]) else replace(VERSIONS, predictor=1),
        metric_names=tuple(one.name for one in metrics),
        source=place_of(pool),
        model_name=_check_model_name(new.model, models),
        slices=tuple(new.slices),
        n_looks=check_looks(n_looks, may_extend=kept["may_extend"]),
        questions=check_questions(new.questions),
        guidelines=check_guidelines(new.guidelines),
        pair=tuple(new.pair),
        content=dict(new.content or {}),
        images=None if new.images is None else check_folder(new.images),
        format=FORMATS[-1],
        modules=modules,
        **kept,
        **derived,
    )
    check_shown(settings, pool)
    check_guarantee(settings)
    check_drive(settings)
    check_predicted_losses(pool, metrics[0])
    for model in pool.models or ("",):
        for run in pool.runs(model):
            for metric in metrics:
                metric.require(run)
    _refuse_mixed(metrics, by_model)
    return fix_labels(settings, is_open=new.open_classes)


def _refuse_mixed(metrics: Sequence[Metric], by_model: Mapping[str, PoolPredictions]) -> None:
    """Refuse one metric over judges of which some give classes and others ratings."""
    names = [metric.name for metric in metrics if metric.needs != "label"]
    ratings = [model for model, one in by_model.items() if one.number is not None]
    classes = [model for model in by_model if model not in ratings]
    if names and ratings and classes:
        raise CampaignError(
            f"{classes[0] or 'pred'} predicts classes and {ratings[0] or 'pred'} predicts numbers, "
            f"and labels for {names[0]} can be only one of the two: name the judges to check with "
            f"judge_columns or --judge-column."
        )


def _first_events(
    new: NewCampaign, pool: Pool, settings: CampaignSettings, at: str
) -> tuple[list[PlainEvent], str | None]:
    """The creation of the campaign, labels known beforehand, its first draws, labels of a sample.

    With a note on labels that are not of the pool, if there are any.
    """
    known = _read_known(new, pool, settings)
    sample = _read_sample(new, pool, settings, known.rows)
    settings = replace(settings, n_known=len(known.rows), n_sampled=len(sample.rows))
    if settings.budget is None and settings.n_looks:
        settings = replace(settings, planned=_plan_budget(pool, settings))
    settings = with_looks(settings)
    events: list[Event] = [Created(at=at, by=None, settings=settings.to_json())]
    items = make_known(pool, settings, known.rows, known.labels) if known.rows else ()
    if items:
        events.append(LabelsKnown(at=at, by=None, items=items))
    last = len(sample.rows)
    if settings.kind != "adaptive":
        last = max(min(settings.budget or AHEAD, settings.open_size), last)
    drawn = draw_again(pool, settings, sample.rows, last, known=[KnownLabels(1, items)])
    events.append(Drawn(at=at, by=None, draws=tuple(drawn)))
    answers = dict(enumerate(sample.labels, start=1))
    if answers:
        events.append(Leased(at=at, by=None, draws=[*answers], until=at))
    for draw, label in answers.items():
        events.append(Answered(at=at, by=None, draw=draw, label=label))
    outside = known.n_outside + sample.n_outside
    notes = [f"{outside} labels are of no item of the pool and were passed over"] if outside else []
    if settings.planned is not None:
        notes.append(
            f"no budget was given: looks are planned over {settings.planned} labels, the first at "
            f"{settings.looks[0].n}. Set another number before that, and it costs nothing: "
            f"levelled change {settings.name} --budget N"
        )
    note = "; ".join(notes) or None
    plain = [to_plain(event) for event in events]
    log = carried_log(plain[0], hash_of(GENESIS, canonical(plain[0])))
    return [plain[0], *carry(plain[1:], log)], note


def _plan_budget(pool: Pool, settings: CampaignSettings) -> int:
    """The number of labels to plan looks over, where no budget is given.

    It is that for the target width, if there is one and the predictions tell how many labels it
    takes, and else 500.
    """
    likely = _USUAL
    if settings.target_width is not None:
        try:
            likely = plan_campaign(
                pool, settings.target_width, settings.metric_names[0], level=settings.level
            ).likely
        except LevelledError:  # nothing predicts this metric before there are labels
            likely = _USUAL
    return min(max(likely, _FEWEST), settings.open_size)


def _read_known(new: NewCampaign, pool: Pool, settings: CampaignSettings) -> FoundLabels:
    """Labels that are known, in a file or in a column of the pool."""
    if new.known is not None and new.known_column is not None:
        raise CampaignError("known names a file of labels and known_column a column: give one.")
    found = FoundLabels([], [])
    if new.known is not None:
        found = read_labels(pool, settings, new.known)
    elif new.known_column is not None:
        if new.known_column in pool.shown_columns:
            raise CampaignError(
                f"Labellers would see the labels in the column {new.known_column!r}: hide it."
            )
        found = read_label_column(pool, settings, new.known_column)
    if len(found.rows) == len(pool):
        raise CampaignError(
            "Every item of the pool has a known label, so there is nothing to estimate: the labels "
            "themselves give the figure."
        )
    return found


def _read_sample(
    new: NewCampaign, pool: Pool, settings: CampaignSettings, known: Sequence[int]
) -> FoundLabels:
    """The rows and the labels of a random sample, in random order.

    A file may be sorted by its labels, and the bets need an order that does not depend on them.
    """
    source = new.random_sample if new.random_sample is not None else new.labelled
    if source is None:
        return FoundLabels([], [])
    if new.random_sample is not None and new.labelled is not None:
        raise CampaignError("labelled is the earlier name of random_sample: give one of the two.")
    found = read_labels(pool, settings, source, complete=True)
    if both := {*known} & {*found.rows}:
        raise CampaignError(
            f"{len(both)} items, such as {pool.ids([min(both)])[0]!r}, have a label among the "
            f"known ones and in the random sample: leave them out of one of the two."
        )
    check_random(pool, settings, found.rows, known, str(source))
    order = np.random.default_rng(settings.seed).permutation(len(found.rows)).tolist()
    rows, labels = ([each[at] for at in order] for each in (found.rows, found.labels))
    return FoundLabels(rows, labels, found.n_outside)


def _check_model_name(name: str, models: Sequence[str]) -> str:
    """A name for the model that has none in the pool."""
    if name:
        check_model_name(name)
    if name and ("" not in models or name in models):
        there = ", ".join(filter(None, models))
        raise CampaignError(
            f"The pool names models itself: {there}. The name {name!r} must be another one, for "
            f"predictions in columns without a name (pred, proba_<class>)."
        )
    return name


def _parse_metrics(metric: object) -> list[Metric]:
    names = [metric] if isinstance(metric, str) else metric
    if not isinstance(names, list | tuple) or not all(isinstance(one, str) for one in names):
        raise CampaignError(
            f"metric must be the name of one, or a list of names; it is {metric!r}."
        )
    if not names:
        raise CampaignError("A campaign needs a metric, for example error.")
    refuse_duplicates("metric", names)
    return [parse_metric(one) for one in names]
