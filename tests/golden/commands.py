"""Every command that prints data, on one campaign from its beginning to its end."""

import json
from pathlib import Path
from typing import Any

from golden import pools
from golden.surface import command, printed

N = 120


def commands(folder: Path) -> dict[str, Any]:
    """What the commands print; the folder is the working directory."""
    _write(folder)
    return {**_campaign(), **_judges(), **_research(), **_tools()}


def _write(folder: Path) -> None:
    pools.write_parquet(folder / "preds.parquet", pools.spam(N))
    pools.write_csv(folder / "preds.csv", pools.spam(N))
    pools.write_csv(folder / "traces.csv", pools.verdicts(N))
    other = {"id": pools.ids(N), "pred": [_guess(name) for name in pools.ids(N)]}
    pools.write_parquet(folder / "v2.parquet", other)
    labelled = {**pools.spam(N), **pools.features(N), "y": list(map(pools.kind, pools.ids(N)))}
    pools.write_parquet(folder / "labelled.parquet", labelled)
    pools.write_parquet(folder / "features.parquet", {"id": pools.ids(N), **pools.features(N)})
    labels = {"id": pools.ids(N), "label": list(map(pools.kind, pools.ids(N)))}
    pools.write_csv(folder / "labels.csv", labels)


def _guess(name: str) -> str:
    return pools.kind(name) if pools.uniform(name, "guess") < 0.7 else "ham"


def _campaign() -> dict[str, Any]:
    made: dict[str, Any] = {"look": printed("look", "preds.parquet")}
    words = ("--metric", "error", "--metric", "f1:spam", "--slice", "country", "--budget", 60)
    command("create", "reviews", "--pool", "preds.parquet", *words, "--seed", 7)
    made["estimate before labels"] = printed("estimate", "reviews")
    made["ask"] = printed("ask", "reviews", "-n", 30, "--owner", "ann")
    answers = [{"draw": one["draw"], "label": pools.kind(one["id"])} for one in made["ask"]["out"]]
    lines = "\n".join(map(json.dumps, answers[:28]))
    command("tell", "reviews", "-", "--owner", "ann", given=lines)
    command("tell", "--skip", "reviews", 29, "--owner", "ann")
    command("tell", "--unlabelable", "reviews", 30, "--owner", "ann", "--reason", "empty")
    made["ask csv"] = command("ask", "reviews", "-n", 3, "--owner", "bob", "--format", "csv")
    made["mine"] = printed("open", "--mine", "reviews", "--owner", "bob")
    made["open"] = printed("open", "reviews")
    command("open", "--return", "reviews", "--owner", "bob")
    command(
        "tell", "--amend", "reviews", "-", "--owner", "ann", given='{"draw": 1, "label": "spam"}'
    )
    made["estimate"] = printed("estimate", "reviews")
    command("attach", "reviews", "--predictions", "v2.parquet", "--model", "v2")
    made["compare"] = printed("compare", "reviews", "v2")
    made["estimate of two"] = printed("estimate", "reviews")
    made["estimate csv"] = command("estimate", "reviews", "--format", "csv")
    made["gate"] = printed("gate", "reviews", "--at-most", 0.6, "--claim", "f1:spam>=0.99")
    made["plan from"] = printed("plan", "--from", "reviews", "--width", 0.1)
    command("change", "reviews", "--budget", 50, "--target-width", 0.05)
    command("tell", "--undo", "reviews", "--owner", "ann")
    made["status"] = printed("status", "reviews")
    made["audit"] = command("audit", "reviews")
    for name in ("reviews.csv", "reviews.jsonl"):
        command("export", "reviews", "--out", name)
        made[f"export {name}"] = Path(name).read_text().splitlines()
    command("change", "--close", "reviews")
    command("change", "--reopen", "reviews")
    command("change", "reviews", "--rename", "letters")
    made["list"] = printed("list")
    return made


def _judges() -> dict[str, Any]:
    columns = ("--judge-column", "grader", "--judge-column", "rules")
    made = {"look judges": printed("look", "traces.csv", *columns)}
    words = ("--metric", "share:pass", "--slice", "topic", "--seed", 3, "--budget", 60)
    command("create", "traces", "--pool", "traces.csv", *columns, *words)
    asked = printed("ask", "traces", "-n", 50)["out"]
    lines = "".join(f"{one['draw']},{pools.passed(one['id'])}\n" for one in asked)
    Path("told.csv").write_text(f"draw,label\n{lines}")
    command("tell", "traces", "told.csv")
    made["judge"] = printed("judge", "traces", "--by", "topic")
    made["judge against"] = printed("judge", "traces", "--against", "rules")
    made["gate judges"] = printed("gate", "traces", "--at-least", 0.4)
    return made


def _research() -> dict[str, Any]:
    words = ("--pool", "labelled.parquet", "--label", "y", "--repetitions", 3, "--budgets", 30)
    learn = ("learn", "--pool", "features.parquet", "--labels", "labels.csv", "--batch", 15)
    made = {
        "simulate": printed("simulate", *words),
        "simulate f1": printed("simulate", *words, "--metric", "f1:spam"),
        "plan": printed("plan", "--pool", "preds.csv", "--width", 0.1),
        "plan recall": printed(
            *("plan", "--pool", "preds.parquet", "--width", 0.2, "--metric", "recall:spam")
        ),
        "learn": printed(*learn, "--budget", 40, "--out", "learnt"),
        "learn compare": printed(*learn, "--budget", 25, "--compare"),
    }
    made["advise"] = printed("learn", "--advise", "--labels", "learnt/labelled.parquet")
    return made


def _tools() -> dict[str, Any]:
    command("serve", "--invite", "ann", "--role", "labeller")
    made = {"token list": printed("serve", "--people")}
    (doctor,) = printed("doctor")["out"]  # the other keys are packages that the metadata lists
    made["doctor"] = {key: key in doctor for key in ("python", "levelled", "storage")}
    return made
