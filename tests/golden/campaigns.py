"""Campaigns of all kinds: their events, figures, comparisons, audits and exports."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from golden import pools
from golden.surface import events, figures, printed
from levelled.campaigns import Campaign, create_campaign, load_campaign

N = 150
Truth = Callable[[object], object]


@dataclass(frozen=True)
class Case:
    """A campaign to run: its pool, its metrics, its options, and what happens to it."""

    columns: Callable[[], Mapping[str, Any]]
    metric: str | list[str]
    options: dict[str, Any] = field(default_factory=dict)
    truth: Truth = pools.kind
    go_on: Callable[[Campaign, Path], dict[str, Any] | None] = lambda campaign, folder: None
    labels: int = 32
    file: str = "pool.parquet"


def run(case: Case, folder: Path) -> dict[str, Any]:
    """Run a case in an empty folder; all that it leaves behind, as JSON."""
    pool = _write(folder / case.file, case.columns())
    storage = folder / "golden.db"
    options: dict[str, Any] = {"seed": 11, "budget": 60, "storage": storage, **case.options}
    if options.get("labelled"):
        options["labelled"] = _labelled(folder / "labelled.csv", options["labelled"])
    campaign = create_campaign("first", str(pool), case.metric, **options)
    label(campaign, case.labels - 12, case.truth)
    label(campaign, 12, case.truth)
    more = case.go_on(campaign, folder) or {}
    loaded = load_campaign(campaign.settings.name, storage=storage)
    return {
        "events": [abridged(one) for one in events(storage, loaded.settings.name)],
        "figures": figures(loaded),
        "history": [one.estimate.value for one in loaded.history()],
        "audit": list(loaded.audit()),
        "status": printed("status", loaded.settings.name, "--storage", storage)["out"],
        **more,
    }


def abridged(event: dict[str, Any]) -> dict[str, Any]:
    """An event with its first draw in full, and of all others a digest of what else they hold."""
    if event["type"] != "drawn":
        return event
    first, others = event["draws"][:1], event["draws"][1:]
    return {**event, "draws": [*first, *map(_abridged_item, others)]}


def _abridged_item(item: dict[str, Any]) -> dict[str, Any]:
    kept = {name: item[name] for name in ("draw", "row", "id", "probability")}
    rest = {name: inner for name, inner in item.items() if name not in kept}
    text = json.dumps(rest, sort_keys=True, ensure_ascii=False)
    return {**kept, "digest": sha256(text.encode()).hexdigest()[:16]}


def _write(path: Path, columns: Mapping[str, Any]) -> Path:
    if path.suffix == ".csv":
        return pools.write_csv(path, columns)
    if path.suffix == ".jsonl":
        return pools.write_jsonl(path, columns)
    return pools.write_parquet(path, columns) if path.suffix else pools.write_folder(path, columns)


def _labelled(path: Path, n: int) -> Path:
    names = [name for name in pools.ids(N) if pools.uniform(name, "sample") < n / N]
    lines = "".join(f"{name},{pools.kind(name)}\n" for name in names)
    path.write_text(f"id,label\n{lines}")
    return path


def label(campaign: Campaign, n: int, truth: Truth, owner: str | None = None) -> None:
    """Ask for n items and tell their labels."""
    asks = campaign.ask(n, owner=owner)
    answers = [{"draw": one.draw, "label": truth(one.id)} for one in asks]
    campaign.tell_all(answers, owner=owner)


def _spam() -> dict[str, Any]:
    return pools.spam(N)


def _with_features() -> dict[str, Any]:
    columns = {**pools.spam(N), **pools.features(N)}
    columns["f_1"] = [None if at % 7 == 0 else one for at, one in enumerate(columns["f_1"])]
    return columns


def _guided() -> dict[str, Any]:
    hat = {
        "loss_hat": [pools.uniform(name, "hat") for name in pools.ids(N)],
        "score": [pools.uniform(name, "score") for name in pools.ids(N)],
    }
    return {**pools.spam(N), **hat}


def _numbers() -> dict[str, Any]:
    return {**pools.numbers(N), "f_0": pools.features(N)["f_0"]}


def _two_models() -> dict[str, Any]:
    flipped = [1 - 0.8 * one for one in pools.spam(N)["proba_ham"]]
    return {
        **pools.spam(N),
        "proba@b_ham": [1 - one for one in flipped],
        "proba@b_spam": flipped,
    }


def _verdicts() -> dict[str, Any]:
    return pools.verdicts(N)


def _at_work(campaign: Campaign, folder: Path) -> dict[str, Any]:
    """Labellers who correct themselves, disagree, pass items on and mark some as unlabelable."""
    asks = campaign.ask(10, owner="ann")
    draws = [one.draw for one in asks]
    campaign.tell(draws[0], "ham", owner="ann", note="odd", rubric={"tone": "kind", "clarity": 4})
    campaign.tell(draws[1], "spam", owner="ann", rubric={"tone": "rude"})
    campaign.amend(draws[1], "ham", owner="ann", note="on second thoughts")
    campaign.tell(draws[1], "spam", owner="eve", on_behalf_of="bob")
    campaign.tell(draws[0], "ham", owner="eve", on_behalf_of="bob")
    campaign.skip(draws[2], owner="ann", reason="not mine")
    campaign.mark_unlabelable(draws[3], owner="ann", reason="empty")
    campaign.mark_unlabelable(draws[4], owner="ann", reason="blurred")
    campaign.amend(draws[4], "spam", owner="ann")
    campaign.tell(id=asks[5].id, label="ham", owner="ann")
    campaign.undo(owner="ann")
    returned = campaign.give_back(owner="ann", draws=draws[8:])
    again = [one.draw for one in campaign.ask(4, owner="bob")]
    campaign.tell_all([{"draw": one, "label": "ham"} for one in again], owner="bob")
    opened = [one.draw for one in campaign.open_items()]
    for draw in draws[5:8]:
        campaign.tell(draw, "spam", owner="eve", on_behalf_of="cy")
    campaign.change(budget=70, in_flight=20, target_width=0.3, owner="ann")
    campaign.change(kind="static", owner="ann")
    label(campaign, 6, pools.kind, "bob")
    campaign.rename("second", owner="ann")
    campaign.close(reason="enough", owner="ann")
    closed = figures(campaign)
    campaign.reopen(owner="ann")
    label(campaign, 3, pools.kind, "ann")
    agreement = campaign.agreement()
    return {
        "returned": returned,
        "again": again,
        "open": opened,
        "closed": closed,
        "agreement": repr(agreement),
        "exports": exports(campaign, folder),
    }


def exports(campaign: Campaign, folder: Path) -> dict[str, Any]:
    """The three exports: Parquet by its columns and their types, the others as text."""
    for suffix in ("csv", "jsonl", "parquet"):
        campaign.export(folder / f"export.{suffix}")
    table = pq.read_table(folder / "export.parquet")
    return {
        "csv": (folder / "export.csv").read_text().splitlines(),
        "jsonl": (folder / "export.jsonl").read_text().splitlines(),
        "types": {one.name: str(one.type) for one in table.schema},
        "columns": table.to_pydict(),
    }


def _attached(campaign: Campaign, folder: Path) -> dict[str, Any]:
    doubtful = [0.5 + 0.5 * (one - 0.5) for one in pools.spam(N)["proba_spam"]]
    columns = {"id": pools.ids(N)[::-1], "proba_ham": [1 - one for one in doubtful][::-1]}
    path = pools.write_parquet(
        folder / "v2.parquet", {**columns, "proba_spam": doubtful[::-1]}, rows=50
    )
    campaign.attach(str(path), "v2")
    label(campaign, 8, pools.kind)
    return {
        "compare": [one.as_dict() for one in campaign.compare("v2")],
        "between": [one.as_dict() for one in campaign.compare("v2", against="b")],
        "comparisons": [one.as_dict() for one in campaign.comparisons()],
        "gate": repr(campaign.gate("error", at_most=0.5)),
        "better": repr(campaign.gate("error", better_than="b", model="v2")),
        "exports": exports(campaign, folder),
    }


def _judged(campaign: Campaign, folder: Path) -> dict[str, Any]:
    return {
        "judge": repr(campaign.judge("grader", by="topic")),
        "against": repr(campaign.judge("grader", against="rules", positive="fail")),
    }


def _rescored(campaign: Campaign, folder: Path) -> dict[str, Any]:
    columns: dict[str, Any] = {"id": pools.ids(N)}
    columns["loss_hat"] = [pools.uniform(one, 2) for one in pools.ids(N)]
    path = pools.write_parquet(folder / "scores.parquet", columns)
    campaign.rescore(str(path), owner="ann")
    label(campaign, 12, pools.kind)
    return {}


def _learnt(campaign: Campaign, folder: Path) -> dict[str, Any]:
    predictor = campaign.predictor
    assert predictor is not None
    return {
        "effects": dict(predictor.effects()),
        "expected": predictor.expected_losses(7).to_pydict(),
        "diagnosis": repr(campaign.diagnosis()),
        "plan": repr(campaign.plan(0.2)),
    }


def _amended_early(campaign: Campaign, folder: Path) -> dict[str, Any]:
    """Labels before a later round are corrected, and the round stays what it was."""
    for draw in (2, 5):
        was = pools.kind(campaign.state.draws[draw - 1].id)
        new = "ham" if was == "spam" else "spam"
        campaign.amend(draw, new, owner="ann", on_behalf_of="ann")
    campaign.mark_unlabelable(campaign.ask(1)[0].draw, reason="empty")
    label(campaign, 10, pools.kind)
    return {}


CASES: dict[str, Case] = {
    "adaptive": Case(
        _spam, ["error", "recall:spam"], {"slices": ["country"]}, go_on=_amended_early
    ),
    "adaptive features": Case(
        _with_features, ["brier", "error"], {"features": ["f_*"], "looks": 0}, go_on=_learnt
    ),
    "adaptive log loss": Case(_spam, ["log_loss:10", "accuracy"], {"level": 0.9}, file="pool.csv"),
    "static": Case(
        _spam,
        ["brier", "error", "accuracy", "log_loss:10", "f1:spam", "precision:spam", "recall:ham"],
        {"kind": "static", "slices": ["country"]},
    ),
    "static entropy": Case(
        _spam,
        "error",
        {"kind": "static", "score": "entropy", "proposal": "boltzmann:2", "floor": 0.3, "looks": 0},
        file="pool.jsonl",
    ),
    "uniform": Case(_spam, ["error", "f1:spam"], {"kind": "uniform", "slices": ["country"]}),
    "uniform by betting": Case(_spam, "accuracy", {"kind": "uniform", "looks": 0, "budget": None}),
    "finite guarantee": Case(_spam, "accuracy", {"guarantee": "finite"}),
    "finite guarantee of two": Case(
        _spam, ["error", "brier"], {"guarantee": "finite", "slices": ["country"], "budget": 40}
    ),
    "drive balanced": Case(_spam, ["error", "f1:spam"], {"drive": "balanced", "seed": 5}),
    "guided": Case(_guided, "error", {"seed": 2, "roles": {"score": "score"}}, go_on=_rescored),
    "guided static": Case(
        _guided,
        ["error", "share:spam"],
        {"kind": "static", "seed": 3, "roles": {"score": "score"}},
    ),
    "two models": Case(_two_models, ["error", "f1:spam"], {"slices": ["country"]}, go_on=_attached),
    "share": Case(_spam, ["share:spam", "share:ham"], {"seed": 4}),
    "judges": Case(
        _verdicts,
        ["share:pass", "error", "precision:pass"],
        {"judge_columns": ["grader", "rules"], "slices": ["topic"]},
        truth=pools.passed,
        go_on=_judged,
        labels=40,
        file="pool.csv",
    ),
    "mse": Case(_numbers, ["mse", "mae"], {"seed": 6}, truth=pools.number),
    "mse features": Case(_numbers, "mse", {"features": ["f_0"], "looks": 3}, truth=pools.number),
    "mean": Case(_numbers, "mean:0:22", {"kind": "static"}, truth=pools.number),
    "mean adaptive": Case(_numbers, ["mean:0:22"], {"looks": 0}, truth=pools.number),
    "people": Case(
        _spam,
        ["error", "brier"],
        {
            "slices": ["country"],
            "questions": ["tone=rude,neutral,kind", "clarity=1:5"],
            "guidelines": "# Be fair",
            "hide": ["country"],
            "model": "v1",
        },
        go_on=_at_work,
        file="pool",
    ),
    "labelled sample": Case(_spam, "error", {"labelled": 20, "slices": ["country"]}),
    "labelled sample static": Case(_spam, "error", {"labelled": 20, "kind": "static"}),
    "whole pool": Case(
        lambda: pools.spam(24), ["error", "f1:spam"], {"budget": None, "looks": 0}, labels=24
    ),
}

STREAMED = {
    name: replace(CASES[name], file="pool")
    for name in (
        *("adaptive", "adaptive features", "static", "static entropy", "uniform", "drive balanced"),
        *("guided", "share", "mse", "labelled sample"),
    )
}
"""Cases that are run again on three files that are read in runs."""
