"""Begin a campaign, or go on with one."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from levelled._check import between, whole
from levelled.campaigns.campaign import AHEAD, Campaign
from levelled.campaigns.decide import checked_label, checked_width
from levelled.campaigns.drawing import draw_further, frozen_proposal, place_of, sampled_draws
from levelled.campaigns.records import CampaignSettings
from levelled.campaigns.stores import DEFAULT_STORAGE, open_store
from levelled.errors import CampaignError, ConflictError
from levelled.metrics.named import Metric, parse_metric
from levelled.sources import AnswerRow, Pool, open_pool, read_answers

__all__ = ["create_campaign", "load_campaign"]


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
    slices: Sequence[str] = (),
    classes: Sequence[str] | None = None,
    score: str = "auto",
    proposal: str = "proportional",
    floor: float = 0.5,
    lease_seconds: int = 24 * 3600,
    in_flight: int = 200,
    labelled: str | PathLike[str] | None = None,
    load_if_exists: bool = False,
) -> Campaign:
    """Begin to evaluate a model on a pool that nobody has labelled.

    `pool` is a file of predictions, a pattern, a folder, or a frame. The first metric decides
    which items are drawn; the others come from the same labels. The draws are made with `seed`
    and stored, each with its probability, before anybody sees an item. `labelled` names a file
    of ids and labels of a random sample, with which the campaign then begins.
    """
    store = open_store(storage)
    if load_if_exists and store.count(name):
        return load_campaign(name, storage=storage)
    opened = pool if isinstance(pool, Pool) else open_pool(pool, classes=classes, slices=slices)
    metrics = [parse_metric(one) for one in _names(metric)]
    _refuse_twice("metric", [one.name for one in metrics])
    _refuse_twice("slice", slices)
    settings = CampaignSettings(
        name=_checked_name(name),
        metrics=tuple(one.name for one in metrics),
        source=place_of(opened),
        fingerprint=opened.fingerprint,
        pool_size=len(opened),
        seed=whole("seed", seed, least=0),
        models=opened.models or ("",),
        classes=opened.classes,
        numeric=_numeric(metrics, opened),
        slices=tuple(slices),
        slice_counts={column: opened.slice_values(column).counts() for column in slices},
        pred_counts={model: opened.predictions(model).counts() for model in opened.models},
        budget=None if budget is None else whole("budget", budget, least=1),
        target_width=checked_width(metrics[0], target_width),
        level=between("level", level, 0, 1, open_=True),
        score=score,
        proposal=proposal,
        floor=between("floor", floor, 0, 1),
        lease_seconds=int(between("lease_seconds", lease_seconds, 1, _YEAR)),
        in_flight=whole("in_flight", in_flight, least=1),
    )
    for one in metrics:
        one.require(opened.predictions(settings.models[0]))
    events = _beginning(opened, settings, labelled)
    try:
        store.append(name, events, expected=0)
    except ConflictError as there:
        raise CampaignError(
            f"There is a campaign {name!r} in this storage already. Choose another name, or go on "
            f"with it (load_if_exists=True, or just ask)."
        ) from there
    return Campaign(name, store, pool=opened)


def load_campaign(
    name: str,
    *,
    storage: str | Path = DEFAULT_STORAGE,
    pool: Any = None,  # noqa: ANN401
) -> Campaign:
    """Go on with a campaign; `pool` names its file if that has moved."""
    store = open_store(storage, create=False)
    campaign = Campaign(name, store)
    settings = campaign.settings  # refuses a name that is not there
    if pool is not None:
        opened = open_pool(pool, classes=settings.classes, slices=settings.slices)
        campaign = Campaign(name, store, pool=opened)
        campaign.pool()  # refuses another pool than the one on record
    return campaign


def _beginning(
    pool: Pool, settings: CampaignSettings, labelled: str | PathLike[str] | None
) -> list[dict[str, Any]]:
    at = datetime.now(UTC).isoformat(timespec="seconds")
    ahead = min(settings.budget or AHEAD, len(pool))
    stamp = {"at": at, "by": None}
    if labelled is None:
        draws = draw_further(pool, settings, [], ahead)
        return [
            {"type": "created", **stamp, "settings": settings.to_json()},
            {"type": "drawn", **stamp, "draws": draws},
        ]
    answers = read_answers(labelled)
    if not answers:
        raise CampaignError(f"{labelled} has no labels: leave it out to begin without a sample.")
    # A file may be sorted by its labels; bets on what comes next need an order that knows nothing.
    order = np.random.default_rng(settings.seed).permutation(len(answers))
    answers = [answers[at] for at in order.tolist()]
    rows = pool.rows_of([_id_of(answer, labelled) for answer in answers])
    if len(np.unique(rows)) < len(rows):
        raise CampaignError(f"{labelled} labels an item twice: a sample has each item once.")
    settings = replace(settings, n_sampled=len(rows))
    draws = sampled_draws(pool, settings, rows, frozen_proposal(pool, settings))
    ahead = max(ahead, len(rows))
    further = draw_further(pool, settings, rows.tolist(), ahead) if ahead > len(rows) else []
    numbers = range(1, len(rows) + 1)
    return [
        {"type": "created", **stamp, "settings": settings.to_json()},
        {"type": "drawn", **stamp, "draws": [*draws, *further]},
        {"type": "leased", **stamp, "draws": list(numbers), "until": at},
        *(
            {
                "type": "answered",
                **stamp,
                "draw": number,
                "label": checked_label(settings, answer.label),
            }
            for number, answer in zip(numbers, answers, strict=True)
        ),
    ]


_YEAR = 366 * 24 * 3600


def _checked_name(name: str) -> str:
    if not name or len(name) > 100 or not name.isprintable() or "/" in name or name != name.strip():
        raise CampaignError(
            f"{name!r} is no name for a campaign: up to 100 printable characters, without a slash "
            f"and without blanks at the ends."
        )
    return name


def _numeric(metrics: Sequence[Metric], pool: Pool) -> bool:
    """Whether labels are numbers: as the metrics want it, or else like the predictions."""
    kinds = {metric.label_kind for metric in metrics if metric.label_kind is not None}
    if len(kinds) > 1:
        told = ", ".join(metric.name for metric in metrics)
        raise CampaignError(
            f"These metrics do not go together: {told}. Some need a number as label, others a "
            f"class."
        )
    if not kinds:
        return pool.predictions().number is not None
    return kinds == {"number"}


def _names(metric: object) -> list[str]:
    names = [metric] if isinstance(metric, str) else metric
    if not isinstance(names, list | tuple) or not all(isinstance(one, str) for one in names):
        raise CampaignError(
            f"metric must be the name of one, or a list of names; it is {metric!r}."
        )
    return list(names)


def _refuse_twice(what: str, names: Sequence[str]) -> None:
    if what == "metric" and not names:
        raise CampaignError("A campaign needs a metric, for example error.")
    twice = [name for at, name in enumerate(names) if name in names[:at]]
    if twice:
        raise CampaignError(f"The {what} {twice[0]!r} is named twice.")


def _id_of(answer: AnswerRow, labelled: str | PathLike[str]) -> str | int:
    if answer.id is None or answer.label is None:
        raise CampaignError(f"Row {answer.row} of {labelled} lacks an id or a label.")
    return answer.id
