"""Create a campaign, or load one."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from levelled._check import between, whole
from levelled.campaigns.campaign import AHEAD, Campaign
from levelled.campaigns.drawing.attaching import check_model_name, place_of
from levelled.campaigns.drawing.derived import looks_over, outlines_of, settings_of_pool
from levelled.campaigns.drawing.drawing import draw_again
from levelled.campaigns.drawing.driving import check_drive, check_guarantee, choose_kind
from levelled.campaigns.drawing.pools import check_predicted_losses, open_moved_scores, pool_options
from levelled.campaigns.log.events import Answered, Created, Drawn, Event, Leased
from levelled.campaigns.log.records import to_plain
from levelled.campaigns.log.rules import check_labels, check_name, check_width
from levelled.campaigns.people.questions import check_questions
from levelled.campaigns.settings import CampaignSettings
from levelled.campaigns.shown import check_folder, check_guidelines, check_shown, open_for_pair
from levelled.campaigns.stores import DEFAULT_STORAGE, find_store, open_store
from levelled.errors import CampaignError, ConflictError
from levelled.metrics.metric import Metric
from levelled.metrics.named import parse_metric
from levelled.predictions import PoolPredictions
from levelled.sources import Pool, open_pool, read_answers
from levelled.sources.features import with_lengths

_YEAR = 366 * 24 * 3600
_MOST_SLICES = 100


def create_campaign(
    name: str,
    pool: Any,  # noqa: ANN401
    metric: str | Sequence[str] = "error",
    *,
    storage: str | Path = DEFAULT_STORAGE,
    seed: int,
    budget: int | None = None,
    target_width: float | None = None,
    level: float = 0.95,
    looks: int = 5,
    slices: Sequence[str] = (),
    classes: Sequence[str] | None = None,
    score: str = "auto",
    proposal: str = "proportional",
    floor: float = 0.5,
    kind: str = "auto",
    features: Sequence[str] | None = None,
    guarantee: str = "asymptotic",
    drive: str = "first",
    lease_seconds: int = 24 * 3600,
    in_flight: int = 200,
    labelled: str | PathLike[str] | None = None,
    model: str = "",
    id_column: str = "id",
    pred_column: str | None = None,
    judge_columns: Sequence[str] = (),
    show: Sequence[str] | None = None,
    hide: Sequence[str] = (),
    reader: str | None = None,
    questions: Sequence[str] = (),
    guidelines: str = "",
    pair: Sequence[str] = (),
    content: Mapping[str, str] | None = None,
    images: str | PathLike[str] | None = None,
    load_if_exists: bool = False,
) -> Campaign:
    """Create a campaign that evaluates a model on a pool without labels.

    `pool` is a file of predictions, a pattern, a folder, a frame, the output of another tool, or
    a pool of `open_pool`, where `id_column` and the following are explained; they are kept, and
    used whenever the pool is opened again. The first metric decides which items are drawn; the
    others are estimated from the same labels. With `drive` "worst" the draws of an adaptive
    campaign balance all metrics. The draws are made with `seed` and stored, each with its
    probability, before anybody sees an item. `labelled` names a file of ids and labels of a
    random sample; the campaign then begins with these labels.
    `looks` readings are planned over the budget, at 50, 100, 200, ... labels without one; with
    0, every interval is by betting.
    An "adaptive" campaign learns from its labels which items are likely to be wrong; a "static"
    one draws by weights fixed beforehand, by `score`, `proposal` and `floor`; a "uniform" one at
    random. "auto" adapts where the pool has verdicts, probabilities, a second model's, or features,
    and no weights are asked for. `features` are columns of numbers to learn from, or patterns, or
    lengths of text such as length:output and length:second/first; by default a list column
    `embedding` or the columns f_*, and beside nothing but verdicts the lengths of the longest
    texts. With the `guarantee` "finite" no looks
    are planned: the interval of the errors has a finite-sample proof and is aimed at the budget.
    `model` names the model whose predictions are in the columns `pred` or `proba_<class>`.

    `questions` are asked beside the label, such as "tone=rude,neutral,kind", "clarity=1:5",
    "price=number" or "why=text"; `guidelines` are Markdown for labellers. `pair` names two columns
    that are shown side by side in random order; the label is the better one of them, or "tie".
    `content` says how columns are shown where it is not recognised, as in {"output": "markdown"},
    and `images` is the folder below which the files of images lie.
    """
    store = find_store(storage)  # a campaign that cannot begin leaves no database behind
    if load_if_exists and store is not None and store.count(name):
        return load_campaign(name, storage=storage)
    check_name(name)
    _refuse_duplicates("metric", names := _check_names(metric))
    _refuse_duplicates("slice", slices)
    metrics = tuple(map(parse_metric, names))
    if isinstance(pool, Pool):
        opened = pool
    else:
        open_with = partial(
            open_pool,
            pool,
            slices=slices,
            features=features,
            id_column=id_column,
            pred_column=pred_column,
            judge_columns=judge_columns,
            show=show,
            hide=hide,
            reader=reader,
        )
        opened = open_for_pair(open_with, classes, pair)
        opened = opened if features is not None else with_lengths(opened)
    by_model = outlines_of(opened, metrics[0])
    derived = settings_of_pool(opened, metrics, slices)
    models, size = derived["models"], derived["pool_size"]
    _refuse_many_slices(derived["slice_counts"])
    settings = CampaignSettings(
        name=name,
        metrics=metrics,
        source=place_of(opened),
        seed=whole("seed", seed, least=0),
        model_name=_check_model_name(model, models),
        slices=tuple(slices),
        budget=None if budget is None else whole("budget", budget, least=1),
        target_width=check_width(metrics[0], target_width),
        level=between("level", level, 0, 1, open_=True),
        looks=looks_over(budget, size, level, 0 if guarantee == "finite" else looks),
        score=score,
        proposal=proposal,
        floor=between("floor", floor, 0, 1),
        lease_seconds=int(between("lease_seconds", lease_seconds, 1, _YEAR)),
        in_flight=whole("in_flight", in_flight, least=1),
        kind=choose_kind(kind, metrics[0], (score, proposal, floor), lambda: by_model[models[0]]),
        guarantee=guarantee,
        drive=drive,
        questions=check_questions(questions),
        guidelines=check_guidelines(guidelines),
        pair=tuple(pair),
        content=dict(content or {}),
        images=None if images is None else check_folder(images),
        **derived,
    )
    check_shown(settings, opened)
    check_guarantee(settings)
    check_drive(settings, by_model[models[0]])
    check_predicted_losses(opened, metrics[0])
    _require(opened, metrics)
    _refuse_mixed(metrics, by_model)
    events = _first_events(opened, settings, labelled)
    store = open_store(storage) if store is None else store
    try:
        store.append(name, events, expected=0)
    except ConflictError as there:
        raise CampaignError(
            f"There is a campaign {name!r} in this storage already. Choose another name, or load "
            f"it (load_if_exists=True, or just ask)."
        ) from there
    return Campaign(name, store, pool=opened)


def load_campaign(
    name: str,
    *,
    storage: str | Path = DEFAULT_STORAGE,
    pool: Any = None,  # noqa: ANN401
    scores: Any = (),  # noqa: ANN401
) -> Campaign:
    """The campaign of this name; `pool` and `scores` are its files, if they have moved.

    `scores` are those that it was rescored with, one of them or a list.
    """
    store = open_store(storage, create=False)
    campaign = Campaign(name, store)
    state, opened = campaign.state, None  # refuses a name that is not there
    moved = open_moved_scores(state, scores)
    if pool is not None:
        opened = open_pool(pool, **pool_options(state.settings))
    if moved or opened is not None:
        campaign = Campaign(name, store, pool=opened, scores=moved)
        campaign.pool()  # refuses another pool than the one on record
    return campaign


def _require(pool: Pool, metrics: Sequence[Metric]) -> None:
    """Refuse a pool that does not hold what its metrics need, in a pass for each model."""
    for model in pool.models or ("",):
        for run in pool.runs(model):
            for metric in metrics:
                metric.require(run)


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


def _refuse_many_slices(slice_counts: Mapping[str, Mapping[str, int]]) -> None:
    for column, counts in slice_counts.items():
        if len(counts) > _MOST_SLICES:
            raise CampaignError(
                f"The column {column!r} has {len(counts)} values, and a slice each would rest on "
                f"hardly any labels: choose a column with at most {_MOST_SLICES}."
            )


def _first_events(
    pool: Pool, settings: CampaignSettings, labelled: str | PathLike[str] | None
) -> list[dict[str, Any]]:
    """The creation of the campaign, its first draws, and the labels of its sample."""
    at = datetime.now(UTC).isoformat(timespec="seconds")
    rows: list[int] = []
    labels: list[object] = []
    if labelled is not None:
        rows, labels = _read_sample(pool, settings, labelled)
        settings = replace(settings, n_sampled=len(rows))
    last = len(rows)
    if settings.kind != "adaptive":
        last = max(min(settings.budget or AHEAD, settings.pool_size), last)
    items = draw_again(pool, settings, rows, last)
    events: list[Event] = [
        Created(at=at, by=None, settings=settings.to_json()),
        Drawn(at=at, by=None, draws=tuple(items)),
    ]
    answers = dict(enumerate(check_labels(settings, labels), start=1))
    if answers:
        events.append(Leased(at=at, by=None, draws=[*answers], until=at))
    for draw, label in answers.items():
        events.append(Answered(at=at, by=None, draw=draw, label=label))
    return [to_plain(event) for event in events]


def _read_sample(
    pool: Pool, settings: CampaignSettings, labelled: str | PathLike[str]
) -> tuple[list[int], list[object]]:
    """The rows and the labels of a random sample, in random order.

    A file may be sorted by its labels, and the bets need an order that does not depend on them.
    """
    answers = read_answers(labelled)
    if not answers:
        raise CampaignError(f"{labelled} has no labels: leave it out to begin without a sample.")
    for answer in answers:
        if answer.id is None or answer.label is None:
            raise CampaignError(f"Row {answer.row} of {labelled} lacks an id or a label.")
    order = np.random.default_rng(settings.seed).permutation(len(answers))
    answers = [answers[at] for at in order.tolist()]
    rows = pool.rows_of([answer.id for answer in answers if answer.id is not None])
    if len(np.unique(rows)) < len(rows):
        raise CampaignError(f"{labelled} labels an item twice: a sample has each item once.")
    return rows.tolist(), [answer.label for answer in answers]


def _check_model_name(name: str, models: Sequence[str]) -> str:
    """A name for the model that has none in the pool."""
    if not name:
        return name
    check_model_name(name)
    if "" not in models or name in models:
        there = ", ".join(filter(None, models))
        raise CampaignError(
            f"The pool names models itself: {there}. The name {name!r} must be another one, for "
            f"predictions in columns without a name (pred, proba_<class>)."
        )
    return name


def _check_names(metric: object) -> list[str]:
    names = [metric] if isinstance(metric, str) else metric
    if not isinstance(names, list | tuple) or not all(isinstance(one, str) for one in names):
        raise CampaignError(
            f"metric must be the name of one, or a list of names; it is {metric!r}."
        )
    return list(names)


def _refuse_duplicates(what: str, names: Sequence[str]) -> None:
    if what == "metric" and not names:
        raise CampaignError("A campaign needs a metric, for example error.")
    twice = [name for at, name in enumerate(names) if name in names[:at]]
    if twice:
        raise CampaignError(f"The {what} {twice[0]!r} is named twice.")
