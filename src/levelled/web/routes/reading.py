"""Routes of analysts: figures, comparisons, what was learnt, the report and exports."""

import re
import tempfile
import threading
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query
from starlette.responses import Response

from levelled.campaigns import Campaign
from levelled.campaigns.summary import figure_records
from levelled.reports import page
from levelled.reports.numbers import headline, reading_notes, why_trust
from levelled.web.replies import Reply
from levelled.web.routes.shared import ERRORS, Named, analyst

router = APIRouter(
    prefix="/api/campaigns/{name}",
    tags=["reading"],
    responses=ERRORS,
    dependencies=[Depends(analyst)],
)

_PLOTTING = threading.Lock()  # matplotlib draws one picture at a time
_REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"
_KINDS = {
    "csv": "text/csv; charset=utf-8",
    "jsonl": "application/x-ndjson",
    "parquet": "application/vnd.apache.parquet",
}
_MOST_ITEMS = 50  # all of them are computed once, whatever number is asked for
Word = Annotated[str | None, Query(max_length=200)]
"""The name of a model, a metric or a slice in a query."""


@router.get("/estimate")
def estimate(campaign: Named) -> Reply:
    """Every metric, model and slice, as `levelled estimate --format json` prints them."""
    return Reply(campaign.read("estimate", _estimate))


def _estimate(campaign: Campaign) -> list[dict[str, Any]]:
    figures = campaign.estimate()
    return figure_records(figures, campaign.last_hash)


@router.get("/headline")
def first_sentences(campaign: Named) -> Reply:
    """The first figure as a sentence, why to trust it, and how it was read, as in the report."""

    def compute(one: Campaign) -> dict[str, Any]:
        first = one.estimate()[0]
        notes = reading_notes(first, one.settings.target_width)
        return {"sentence": headline(first), "trust": why_trust(first), "notes": notes}

    return Reply(campaign.read("headline", compute))


@router.get("/slices")
def slices(campaign: Named) -> Reply:
    """The figures of the slices."""
    figures = campaign.read("estimate", _estimate)
    return Reply([one for one in figures if one["slice"] is not None])


@router.get("/trajectory")
def trajectory(campaign: Named) -> Reply:
    """The first figure after 1, 2, ... settled draws."""
    return Reply(campaign.read("trajectory", lambda one: [f.as_dict() for f in one.history()]))


@router.get("/compare")
def compare(
    campaign: Named, model: Word = None, against: Word = None, metric: Word = None
) -> Reply:
    """The models of the campaign against the first, or two that are named."""

    def compute(one: Campaign) -> list[dict[str, Any]]:
        found = one.comparisons() if model is None else one.compare(model, against, metric)
        return [each.as_dict() for each in found]

    return Reply(campaign.read(("compare", model, against, metric), compute))


@router.get("/judge")
def judge(
    campaign: Named,
    model: Word = None,
    against: Word = None,
    positive: Annotated[str | None, Query(max_length=1000)] = None,
    by: Word = None,
    tpr: Annotated[float, Query(ge=0, le=1)] = 0.9,
    tnr: Annotated[float, Query(ge=0, le=1)] = 0.9,
) -> Reply:
    """The verdicts of a model against the labels, as `levelled judge --format json` prints them."""
    options = {"against": against, "positive": positive, "by": by}
    key = ("judge", model, *options.values(), tpr, tnr)
    return Reply(
        campaign.read(key, lambda one: one.judge(model, **options, tpr=tpr, tnr=tnr).as_dict())
    )


@router.get("/agreement")
def agreement(campaign: Named) -> Reply:
    """How far labellers agree on items that two of them labelled; null without any."""
    with campaign.looking() as one:
        found = one.agreement()
    return Reply(None if found is None else found.as_dict())


@router.get("/labellers")
def labellers(campaign: Named) -> Reply:
    """The work of each labeller: how many labels, since when, and how long one takes."""
    with campaign.looking() as one:
        return Reply([asdict(pace) for pace in one.paces()])


@router.get("/diagnostics")
def diagnostics(campaign: Named) -> Reply:
    """The weights of the labels, and those that matter most; null before one is settled."""

    def compute(one: Campaign) -> dict[str, Any] | None:
        found = one.diagnosis()
        return None if found is None else found.as_dict()

    return Reply(campaign.read("diagnostics", compute))


@router.get("/open")
def open_items(campaign: Named) -> Reply:
    """The items that wait for a label: who has them, since when and until when."""
    with campaign.looking() as one:
        return Reply([asdict(item) for item in one.open_items()])


@router.get("/predictor")
def predictor(campaign: Named) -> Reply:
    """What an adaptive campaign has learnt about its losses; null before its first round."""

    def compute(one: Campaign) -> dict[str, Any] | None:
        learnt = one.predictor
        if learnt is None:
            return None
        return {
            "summary": learnt.summary,
            "floor": learnt.floor,
            "n_rounds": len(learnt.rounds),
            "calibration": [point._asdict() for point in learnt.calibration()],
            "effects": [{"column": name, "factor": factor} for name, factor in learnt.effects()],
        }

    return Reply(campaign.read("predictor", compute))


@router.get("/important")
def important(campaign: Named, n: Annotated[int, Query(ge=1, le=_MOST_ITEMS)] = 20) -> Reply:
    """The items not drawn yet with the highest expected loss; empty where nothing is learnt."""

    def compute(one: Campaign) -> list[dict[str, Any]]:
        learnt = one.predictor
        rows = [] if learnt is None else learnt.expected_losses(_MOST_ITEMS).to_pylist()
        return list(rows)

    return Reply(campaign.read("important", compute)[:n])


@router.get("/plan")
def plan(
    campaign: Named, width: Annotated[float, Query(gt=0, allow_inf_nan=False)], metric: Word = None
) -> Reply:
    """The number of labels until an interval is so narrow."""
    return Reply(
        campaign.read(("plan", width, metric), lambda one: one.plan(width, metric).as_dict())
    )


@router.get("/report")
def report(campaign: Named) -> Response:
    """The report as one HTML page."""

    def compute(one: Campaign) -> bytes:
        with _PLOTTING:
            return page(one.report_content()).encode(errors="backslashreplace")

    headers = {"content-security-policy": _REPORT_POLICY}
    return Response(campaign.read("report", compute), media_type="text/html", headers=headers)


@router.get("/export")
def export(
    campaign: Named,
    format: Annotated[Literal["csv", "jsonl", "parquet"], Query()] = "csv",  # noqa: A002
) -> Response:
    """Draws, labels, predictions and training weights, as a file."""
    with campaign.looking() as one, tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"export.{format}"
        one.export(path)
        body = path.read_bytes()
    name = re.sub("[^A-Za-z0-9]", "_", campaign.name)
    headers = {"content-disposition": f'attachment; filename="{name}.{format}"'}
    return Response(body, media_type=_KINDS[format], headers=headers)
