"""A campaign as a user runs it, from the first command to the report."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import levelled as lv
from cli.terminal import Levelled
from levelled.campaigns import load_campaign
from levelled.campaigns.stores import DEFAULT_STORAGE
from levelled.cli import options

HOSTILE = '[red]"quoted"[/red]\x1b[31m\n<script>alert(1)</script>\u202e' + "x" * 900


def answers(asked: str, truth: dict[str, str]) -> str:
    """What a labelling tool does: read items, write labels."""
    items = [json.loads(line) for line in asked.splitlines()]
    return "".join(
        json.dumps({"draw": item["draw"], "label": truth[item["id"]]}) + "\n" for item in items
    )


@pytest.fixture
def spam(levelled: Levelled, pool: Path, truth: dict[str, str]) -> str:
    """A campaign with 30 labels."""
    made = levelled(
        *("create", "spam", "--pool", pool, "--metric", "error", "--metric", "f1:spam"),
        *("--slice", "country", "--budget", 100, "--seed", 7),
    )
    assert made.code == 0, made.err
    asked = levelled("ask", "spam", "-n", 30, "--owner", "ann")
    told = levelled("tell", "spam", "-", given=answers(asked.out, truth))
    assert told.err == "30 new answers\n"
    return "spam"


def figures(levelled: Levelled, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(levelled("estimate", name).out)
    return found


def test_the_default_storage_is_that_of_campaigns() -> None:
    assert options.DEFAULT_STORAGE == DEFAULT_STORAGE


def test_an_item_is_a_line_with_what_a_labeller_needs(levelled: Levelled, spam: str) -> None:
    line = json.loads(levelled("ask", spam).out)
    assert list(line) == ["draw", "id", "data", "lease_until"]
    assert line["draw"] == 31
    assert set(line["data"]) == {"country", "text"}


def test_the_estimate_is_an_array_of_every_metric_and_slice(levelled: Levelled, spam: str) -> None:
    found = figures(levelled, spam)
    assert [(one["metric"], one["slice"]) for one in found] == [
        (metric, part)
        for metric in ("error", "f1:spam")
        for part in (None, "country=de", "country=fr")
    ]
    assert found[0]["low"] <= found[0]["value"] <= found[0]["high"]
    assert (found[0]["n_labels"], found[0]["n_settled"], found[0]["n_pending"]) == (30, 30, 0)


def test_all_formats_say_the_same(levelled: Levelled, spam: str) -> None:
    found = figures(levelled, spam)
    lines = levelled("estimate", spam, "--format", "jsonl").out.splitlines()
    assert [json.loads(line) for line in lines] == found
    rows = list(csv.DictReader(io.StringIO(levelled("estimate", spam, "--format", "csv").out)))
    assert [float(row["value"]) for row in rows] == [one["value"] for one in found]
    table = levelled("estimate", spam, "--format", "table").out
    for one in found:
        assert f"{one['value']:.4f}" in table


def test_labels_may_be_written_into_a_sheet(
    levelled: Levelled, spam: str, truth: dict[str, str], tmp_path: Path
) -> None:
    asked = levelled("ask", spam, "-n", 3, "--format", "csv").out
    rows = list(csv.DictReader(io.StringIO(asked)))
    sheet = tmp_path / "sheet.csv"
    with sheet.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(row | {"label": truth[row["id"]]} for row in rows[:2])
        writer.writerow(rows[2])
    assert levelled("tell", spam, sheet).err.startswith("2 new answers, 1 without")
    assert figures(levelled, spam)[0]["n_labels"] == 32


def test_labels_may_come_by_id_and_again(levelled: Levelled, spam: str) -> None:
    item = json.loads(levelled("ask", spam).out)
    line = json.dumps({"id": item["id"], "label": "ham"})
    assert levelled("tell", spam, "-", given=line).err == "1 new answer\n"
    assert levelled("tell", spam, "-", given=line).err == "1 already known\n"
    other = json.dumps({"draw": item["draw"], "label": "spam"})
    told = levelled("tell", spam, "-", "--owner", "eve", "--for", "bob", given=other)
    assert told.err.startswith("1 kept as second opinions\n")


def test_one_bad_row_is_named_and_nothing_is_stored(levelled: Levelled, spam: str) -> None:
    levelled("ask", spam, "-n", 2)
    rows = '{"draw": 31, "label": "ham"}\n{"draw": 32, "label": "eggs"}\n'
    refused = levelled("tell", spam, "-", given=rows)
    assert refused.code == 1
    assert "Row 2 of standard input" in refused.err
    assert "eggs" in refused.err
    assert figures(levelled, spam)[0]["n_labels"] == 30


def test_a_label_whose_draw_and_id_disagree_is_refused(levelled: Levelled, spam: str) -> None:
    item = json.loads(levelled("ask", spam).out)
    line = json.dumps({"draw": item["draw"], "id": "r-other", "label": "ham"})
    refused = levelled("tell", spam, "-", given=line)
    assert refused.code == 1
    assert "r-other" in refused.err


def test_items_can_be_passed_on_given_up_and_corrected(levelled: Levelled, spam: str) -> None:
    levelled("ask", spam, "-n", 3, "--owner", "ann")
    assert levelled("tell", "--skip", spam, 31, "--reason", "hard", "--owner", "ann").code == 0
    passed_on = json.loads(levelled("ask", spam, "--owner", "bob").out)
    assert passed_on["draw"] == 31
    assert levelled("tell", "--unlabelable", spam, 32, "--reason", "unreadable").code == 0
    before = {one["draw"]: one["label"] for one in exported(levelled, spam)}[1]
    assert levelled("tell", "--amend", spam, 1, "ham" if before == "spam" else "spam").code == 0
    status = json.loads(levelled("status", spam).out)[0]
    assert (status["n_unlabelable"], status["n_amended"], status["n_pending"]) == (1, 1, 2)
    assert levelled("audit", spam).out.startswith("ok: ")


def exported(levelled: Levelled, name: str) -> list[dict[str, Any]]:
    assert levelled("export", name, "--out", "out.parquet").code == 0
    rows: list[dict[str, Any]] = pq.read_table("out.parquet").to_pylist()
    return rows


def test_exported_rows_hold_the_draws_with_labels_and_weights(
    levelled: Levelled, spam: str, truth: dict[str, str]
) -> None:
    rows = exported(levelled, spam)
    assert [row["draw"] for row in rows] == list(range(1, 31))
    assert all(row["label"] == truth[row["id"]] for row in rows)
    assert all(0 < row["probability"] <= 1 and row["sample_weight"] > 0 for row in rows)


def test_another_model_is_judged_by_the_same_labels(
    levelled: Levelled, spam: str, items: dict[str, list[Any]], tmp_path: Path
) -> None:
    lines = (json.dumps({"id": one, "pred": "ham"}) + "\n" for one in items["id"])
    (tmp_path / "v2.jsonl").write_text("".join(lines))
    attached = levelled("attach", spam, "--predictions", "v2.jsonl", "--model", "v2")
    assert attached.code == 0, attached.err
    assert {one["model"] for one in figures(levelled, spam)} == {"", "v2"}
    compared = levelled("compare", spam, "v2")
    row, ratio = json.loads(compared.out)
    assert [row[key] for key in ("metric", "model", "against")] == ["error", "v2", "first"]
    assert row["low"] <= row["value"] <= row["high"]
    assert (ratio["metric"], ratio["slice"]) == ("f1:spam", None)
    assert -1 <= ratio["low"] < ratio["high"] <= 1
    table = levelled("compare", spam, "v2", "--metric", "error", "--format", "table")
    assert table.out.splitlines()[0] == f"error: {row['verdict']}"
    assert table.err == ""
    refused = levelled("compare", spam, "v3")
    assert (refused.code, refused.err.count("\n")) == (1, 1)
    assert "its models are first, v2" in refused.err


def test_the_exit_code_is_3_until_the_target_is_reached(levelled: Levelled, spam: str) -> None:
    assert levelled("estimate", spam, "--target-width", 0.01).code == 3
    assert levelled("estimate", spam, "--target-width", 0.99).code == 0
    assert levelled("change", spam, "--target-width", 0.01).code == 0
    assert levelled("estimate", spam).code == 3


def test_a_budget_ends_the_asking_and_can_be_raised(levelled: Levelled, spam: str) -> None:
    asked = levelled("ask", spam, "-n", 100)
    assert len(asked.out.splitlines()) == 70
    assert "budget of 100" in asked.err
    assert levelled("change", spam, "--budget", 110).code == 0
    assert len(levelled("ask", spam, "-n", 100).out.splitlines()) == 10


def test_a_closed_campaign_keeps_its_estimates(levelled: Levelled, spam: str) -> None:
    before = figures(levelled, spam)
    assert levelled("change", "--close", spam, "--reason", "enough").code == 0
    after = figures(levelled, spam)
    assert {one.pop("last_hash") for one in after}.isdisjoint(
        one.pop("last_hash") for one in before
    )
    assert after == before
    refused = levelled("ask", spam)
    assert (refused.code, "enough" in refused.err) == (1, True)
    assert json.loads(levelled("list").out)[0]["closed"] == "enough"


def test_watching_ends_when_the_target_is_reached(levelled: Levelled, spam: str) -> None:
    seen = levelled(*("estimate", spam, "--watch", "--target-width", 0.9, "--format", "jsonl"))
    assert seen.code == 0
    assert len(seen.out.splitlines()) == 6
    drawn = levelled(*("estimate", spam, "--watch", "--target-width", 0.9, "--format", "table"))
    assert (drawn.code, "error" in drawn.out) == (0, True)


def test_a_sample_that_has_labels_can_begin_a_campaign(
    levelled: Levelled, pool: Path, truth: dict[str, str], tmp_path: Path
) -> None:
    sample = [f"{one},{truth[one]}" for one in list(truth)[::20]]
    (tmp_path / "sample.csv").write_text("\n".join(["id,label", *sample]))
    made = levelled("create", "on", "--pool", pool, "--labelled", "sample.csv", "--seed", 3)
    assert made.code == 0, made.err
    assert figures(levelled, "on")[0]["n_labels"] == 20
    assert json.loads(levelled("ask", "on").out)["draw"] == 21


def test_a_pool_that_moved_is_named(
    levelled: Levelled, pool: Path, tmp_path: Path, items: dict[str, list[Any]]
) -> None:
    here = tmp_path / "here.parquet"
    here.write_bytes(pool.read_bytes())
    assert levelled("create", "moved", "--pool", here, "--seed", 1).code == 0
    here.rename(tmp_path / "there.parquet")
    lost = levelled("audit", "moved")
    assert (lost.code, "here.parquet" in lost.out) == (1, True)
    assert levelled("audit", "moved", "--pool", "there.parquet").out.startswith("ok: ")


def test_a_change_of_kind_says_what_it_costs(levelled: Levelled, pool: Path) -> None:
    levelled("create", "plain", "--pool", pool, "--kind", "static", "--seed", 1)
    assert "R_LURE" not in levelled("change", "plain", "--kind", "adaptive").err
    levelled("ask", "plain")
    assert "R_LURE" not in levelled("change", "plain", "--budget", 50).err
    assert "R_LURE without the predictor" in levelled("change", "plain", "--kind", "static").err


def test_a_file_of_scores_that_moved_is_named(
    levelled: Levelled, pool: Path, tmp_path: Path
) -> None:
    ids = pq.read_table(pool)["id"]
    pq.write_table(pa.table({"id": ids, "loss_hat": [0.2] * len(ids)}), "scores.parquet")
    assert levelled("create", "moved", "--pool", pool, "--seed", 1).code == 0
    assert levelled("attach", "moved", "--predictor", "scores.parquet").code == 0
    (tmp_path / "scores.parquet").rename(tmp_path / "there.parquet")
    lost = levelled("ask", "moved", "-n", 3)
    assert (lost.code, "--scores" in lost.err) == (1, True)
    assert levelled("ask", "moved", "-n", 3, "--scores", "there.parquet").code == 0
    assert levelled("audit", "moved", "--scores", "there.parquet").out.startswith("ok: ")


def test_the_report_is_one_file_that_fetches_nothing(levelled: Levelled, spam: str) -> None:
    pytest.importorskip("matplotlib")
    assert levelled("report", spam, "--out", "r.html").code == 0
    text = Path("r.html").read_text()
    assert f"{figures(levelled, spam)[0]['value']:.1%} of the 400 items" in text
    assert text.count("<svg") == 3
    for fetched in ("<script", "<link", "<img", "src=", "@import", "url(http"):
        assert fetched not in text


def test_the_history_of_a_report_ends_at_the_estimate(levelled: Levelled, spam: str) -> None:
    campaign = load_campaign(spam)
    history = campaign.history()
    assert history[-1] == campaign.estimate()[0]
    assert [one.n_settled for one in history] == list(range(1, 31))


def test_hostile_text_is_harmless_everywhere(levelled: Levelled, tmp_path: Path) -> None:
    rows = [{"id": f"{n} {HOSTILE}", "pred": "a", "x": HOSTILE, "s": HOSTILE} for n in range(5)]
    (tmp_path / "p.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    create = ("create", "[red]x", "--pool", "p.jsonl", "--slice", "s", "--seed", 1)
    made = levelled(*create, "--open-classes")
    assert made.code == 0, made.err
    table = levelled("ask", "[red]x", "-n", 3, "--format", "table")
    lines = levelled("ask", "[red]x", "-n", 2).out
    assert json.loads(lines.splitlines()[0])["data"]["x"] == HOSTILE
    labels = [{"draw": draw, "label": HOSTILE} for draw in range(1, 5)]
    told = levelled("tell", "[red]x", "-", given="\n".join(map(json.dumps, labels)))
    assert told.err == "4 new answers\n"
    seen = [levelled(*words, "--format", "table") for words in (["estimate", "[red]x"], ["list"])]
    levelled("tell", "--unlabelable", "[red]x", 5, "--reason", HOSTILE)
    levelled("change", "--close", "[red]x", "--reason", HOSTILE)
    seen += [table, levelled("status", "[red]x", "--format", "table"), levelled("ask", "[red]x")]
    for result in seen:
        assert "\x1b" not in result.out + result.err
        assert "\u202e" not in result.out + result.err
        assert "[red]" in result.out + result.err
    assert levelled("report", "[red]x", "--out", "r.html").code == 0
    page = Path("r.html").read_text()
    assert "<script" not in page
    assert "\x1b" not in page
    assert levelled("audit", "[red]x").out.startswith("ok: ")


def test_a_campaign_whose_loss_is_gone_can_be_listed_and_labelled(
    levelled: Levelled, spam: str, pool: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone.py").write_text("def loss(y, p):\n    return (y != p) * 1.0\n")
    with monkeypatch.context() as patched:
        patched.syspath_prepend(str(tmp_path))
        made = levelled("create", "own", "--pool", pool, "--metric", "gone:loss", "--seed", 1)
        assert made.code == 0, made.err
    (tmp_path / "gone.py").unlink()
    sys.modules.pop("gone")
    listed = levelled("list")
    assert {one["name"] for one in json.loads(listed.out)} == {spam, "own"}
    (status,) = json.loads(levelled("status", "own").out)
    assert status["metrics"] == ["gone:loss"]
    levelled("ask", "own")
    answer = json.dumps({"draw": 1, "label": "spam"})
    assert levelled("tell", "own", "-", given=answer).err == "1 new answer\n"
    for command in ("estimate", "report"):
        result = levelled(command, "own")
        assert result.code == 1
        assert "gone:loss" in result.err


def test_draws_can_be_made_without_a_campaign(levelled: Levelled, pool: Path) -> None:
    words = ("draw", pool, "--weight", "proba_spam", "-k", 20, "--seed", 7)
    assert levelled(*words, "--out", "draws.parquet").code == 0
    table = pq.read_table("draws.parquet")
    assert table.column_names[:4] == ["draw", "row", "id", "probability"]
    draws = lv.Draws.from_parquet("draws.parquet")
    weights = pq.read_table(pool)["proba_spam"].to_numpy()
    expected = lv.samplers.race(weights, 20, seed=7)
    assert draws.index.tolist() == expected.index.tolist()
    assert draws.probability.tolist() == expected.probability.tolist()
    assert table["id"].to_pylist() == [f"r{row}" for row in draws.index]
    printed = json.loads(levelled(*words).out)
    assert [one["row"] for one in printed] == draws.index.tolist()


def test_draws_from_files_show_their_progress_on_a_terminal_only(
    levelled: Levelled, pool: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("draw", pool, "--metric", "error", "-k", 5, "--seed", 7, "--no-design", "--threads", 1)
    weights, count = levelled(*words).err.splitlines()
    assert "'proba_ham', 'proba_spam'" in weights
    assert count.startswith("5 of 400 items drawn")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "800 rows" in levelled(*words).err  # two passes, because of the floor


def test_a_plan_says_how_many_labels_it_takes(levelled: Levelled, pool: Path) -> None:
    found = json.loads(levelled("plan", "--pool", pool, "--width", 0.1).out)[0]
    assert 0 < found["low"] < found["likely"] < found["high"] <= 400
    words = ("plan", "--pool", pool, "--width", 0.1, "--metric", "f1:spam", "--expected", 0.8)
    told = levelled(*words, "--format", "table")
    assert told.out.startswith("About ")


def test_a_plan_can_rest_on_the_labels_of_a_campaign(
    levelled: Levelled, pool: Path, spam: str
) -> None:
    words = ("plan", "--pool", pool, "--width", 0.1, "--from")
    found = json.loads(levelled(*words, spam).out)[0]
    assert found["n_labels"] == 30
    assert found["remaining"] == found["likely"] - 30
    assert lv.load_campaign(spam).plan(0.1).likely == found["likely"]
    assert f"{found['remaining']} more" in levelled(*words, spam, "--format", "table").out
    assert "--level" in levelled(*words, spam, "--level", 0.9).err
    levelled("create", "empty", "--pool", pool, "--seed", 7)
    empty = levelled(*words, "empty")
    assert "no settled label yet" in empty.err
    assert json.loads(empty.out)[0]["n_labels"] == 0


def test_a_storage_can_be_copied_and_upgraded(levelled: Levelled, spam: str) -> None:
    assert levelled("storage", "copy", "levelled.db", "other.db").err == "copied: spam\n"
    assert levelled("audit", spam, "--storage", "other.db").out.startswith("ok: ")
    assert "current version" in levelled("storage", "upgrade").err


def test_the_doctor_knows_whether_the_storage_opens(levelled: Levelled, spam: str) -> None:
    assert "opens, 1 campaigns" in json.loads(levelled("doctor").out)[0]["storage"]
    Path("broken.db").write_text("this is no database, whatever its name says")
    assert levelled("doctor", "--storage", "broken.db").code == 1


def test_an_option_can_be_set_by_its_variable(
    levelled: Levelled, spam: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEVELLED_FORMAT", "csv")
    assert levelled("estimate", spam).out.startswith("metric,model,slice")
    monkeypatch.setenv("LEVELLED_ASK_COUNT", "4")
    monkeypatch.setenv("LEVELLED_STORAGE", "sqlite:///levelled.db")
    assert len(levelled("ask", spam, "--format", "jsonl").out.splitlines()) == 4


def test_a_pipe_that_closes_early_is_no_accident(levelled: Levelled, spam: str) -> None:
    piped = subprocess.run(
        f"{sys.executable} -m levelled ask spam -n 60 | head -1",
        shell=True,
        capture_output=True,
        text=True,
    )
    assert json.loads(piped.stdout)["draw"] == 31
    assert "Traceback" not in piped.stderr
    assert "BrokenPipe" not in piped.stderr


def test_watching_stops_at_ctrl_c_without_a_traceback(levelled: Levelled, spam: str) -> None:
    command = [sys.executable, "-m", "levelled", "estimate", spam, "--watch", "--format", "jsonl"]
    watching = subprocess.Popen(
        [*command, "--target-width", "0.001"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "LEVELLED_ESTIMATE_EVERY": "0.05"},
    )
    assert watching.stdout is not None
    assert watching.stdout.readline()
    watching.send_signal(signal.SIGINT)
    _, told = watching.communicate(timeout=120)
    assert watching.returncode == 3
    assert told == ""


def test_the_kind_is_chosen_shown_and_changed(
    levelled: Levelled, pool: Path, truth: dict[str, str]
) -> None:
    made = levelled("create", "plain", "--pool", pool, "--kind", "static", "--seed", 7)
    assert ", static, seed 7" in made.err
    assert json.loads(levelled("status", "plain").out)[0]["kind"] == "static"
    asked = levelled("ask", "plain", "-n", 12)
    assert levelled("tell", "plain", "-", given=answers(asked.out, truth)).code == 0
    changed = levelled("change", "plain", "--kind", "adaptive")
    assert changed.err.startswith("changed plain: kind adaptive\n")
    assert len(levelled("ask", "plain", "-n", 60).out.splitlines()) == 60
    assert json.loads(levelled("status", "plain").out)[0]["kind"] == "adaptive"
    assert levelled("audit", "plain").out.startswith("ok: ")
    refused = levelled("change", "plain", "--kind", "clever")
    assert refused.code == 2
    assert "'adaptive', 'static', 'uniform'" in refused.err


def test_features_are_named_by_a_pattern(levelled: Levelled, pool: Path) -> None:
    refused = levelled("create", "spam", "--pool", pool, "--features", "x_*")
    assert (refused.code, refused.err.count("\n")) == (1, 1)
    assert "'x_*'" in refused.err
    table = pq.read_table(pool)
    pq.write_table(table.append_column("x_1", table["proba_spam"]), "described.parquet")
    made = levelled("create", "spam", "--pool", "described.parquet", "--features", "x_*")
    assert made.code == 0, made.err
    assert load_campaign("spam").settings.features == ("x_1",)


def test_new_predictions_replace_the_pools(
    levelled: Levelled, spam: str, pool: Path, truth: dict[str, str]
) -> None:
    table = pq.read_table(pool)
    hat = {"id": table["id"], "loss_hat": table["proba_spam"]}
    pq.write_table(pa.table(hat), "scores.parquet")
    done = levelled("attach", spam, "--predictor", "scores.parquet")
    assert done.code == 0
    assert "predictor of spam by scores.parquet" in done.err
    asked = levelled("ask", spam, "-n", 20)
    assert levelled("tell", spam, "-", given=answers(asked.out, truth)).code == 0
    assert levelled("audit", spam).out.startswith("ok: ")
    refused = levelled("attach", spam, "--predictor", pool)
    assert "has no predicted losses" in refused.err


def test_a_file_that_cannot_rescore_is_named(levelled: Levelled, spam: str, pool: Path) -> None:
    table = pq.read_table(pool)
    pq.write_table(table.select(["id"])[:9], "ids.parquet")
    assert (
        "ids.parquet has no predicted" in levelled("attach", spam, "--predictor", "ids.parquet").err
    )
    hat = pa.table({"id": table["id"], "loss_hat": table["proba_spam"]})
    pq.write_table(hat[1:], "most.parquet")
    refused = levelled("attach", spam, "--predictor", "most.parquet")
    assert (refused.code, refused.err.count("\n")) == (1, 1)
    assert "most.parquet has no row" in refused.err


def test_a_uniform_campaign_is_not_rescored(levelled: Levelled, pool: Path) -> None:
    levelled("create", "plain", "--pool", pool, "--kind", "uniform", "--seed", 7)
    table = pq.read_table(pool)
    hat = {"id": table["id"], "loss_hat": table["proba_spam"]}
    pq.write_table(pa.table(hat), "scores.parquet")
    refused = levelled("attach", "plain", "--predictor", "scores.parquet")
    assert (refused.code, refused.err.count("\n")) == (1, 1)
    assert "levelled change plain --kind adaptive" in refused.err
    assert not load_campaign("plain").state.rescored
    assert levelled("change", "plain", "--kind", "adaptive").code == 0
    assert levelled("attach", "plain", "--predictor", "scores.parquet").code == 0


def test_the_status_shows_the_settings_that_count(
    levelled: Levelled, spam: str, pool: Path
) -> None:
    table = pq.read_table(pool)
    pq.write_table(table.append_column("f_1", table["proba_spam"]), "described.parquet")
    words = ("create", "--pool", "described.parquet", "--seed", 7, "--budget", 100)
    made = levelled(*words, "proven", "--guarantee", "finite")
    assert made.code == 0, made.err
    levelled("create", "plain", "--pool", pool, "--floor", 0.3)
    both = ("--metric", "error", "--metric", "recall:spam", "--drive", "balanced")
    assert levelled("create", "both", "--pool", pool, *both).code == 0
    settings = ("score", "proposal", "floor", "guarantee", "drive", "features")
    for name, values, shown in (
        (spam, [None, None, None, "asymptotic", "first", []], ()),
        ("proven", [None, None, None, "finite", "first", ["f_1"]], ("guarantee", "features")),
        ("plain", ["auto", "proportional", 0.3, "asymptotic", "first", []], settings[:3]),
        ("both", [None, None, None, "asymptotic", "balanced", []], ("drive",)),
    ):
        (summary,) = json.loads(levelled("status", name).out)
        assert [summary[one] for one in settings] == values
        rows = levelled("status", name, "--format", "table").out.splitlines()
        keys = [row.split()[1] for row in rows if row.startswith("│")]
        assert [key for key in keys if key in settings] == [*shown]


def test_the_help_says_which_kinds_there_are(levelled: Levelled) -> None:
    created = " ".join(levelled("create", "--help").out.split())
    assert "score, proposal or floor" in created
    changed = " ".join(levelled("change", "--help").out.split())
    assert "--kind adaptive|static|uniform" in changed
    assert "auto" not in changed


def test_a_table_of_figures_ends_with_what_was_learnt(levelled: Levelled, spam: str) -> None:
    shown = levelled("estimate", spam, "--format", "table").out
    assert "fifth of the pool" in shown or "too few losses" in shown


@pytest.mark.parametrize("width", [48, 60, 80, 100])
def test_a_table_of_figures_shows_names_and_numbers_at_any_width(
    levelled: Levelled,
    spam: str,
    items: dict[str, list[Any]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    width: int,
) -> None:
    lines = (json.dumps({"id": one, "pred": "ham"}) + "\n" for one in items["id"])
    (tmp_path / "v2.jsonl").write_text("".join(lines))
    levelled("attach", spam, "--predictions", "v2.jsonl", "--model", "candidate")
    levelled("ask", spam, "-n", 8)
    found = figures(levelled, spam)
    monkeypatch.setenv("COLUMNS", str(width))
    shown = levelled("estimate", spam, "--format", "table").out
    assert "…" not in shown
    assert "at least" not in shown
    assert "8 labels are pending" in shown
    assert all(len(line) <= width for line in shown.splitlines())
    for one in found:
        assert f"{one['value']:.4f}" in shown
        assert f"{one['low']:.4f} to {one['high']:.4f}" in shown
    if width >= 80:
        assert shown.count("candidate") == shown.count("f1:spam") == len(found) // 2
        assert shown.count("country=de") == len(found) // 3
    else:
        assert shown.count("candidate") == shown.count("f1:spam") == 2
        assert shown.count("  country=de") == len(found) // 3


def test_questions_notes_and_guidelines_go_through_files(
    levelled: Levelled, pool: Path, tmp_path: Path
) -> None:
    (tmp_path / "guide.md").write_text("# Be fair")
    made = levelled(
        *("create", "rubric", "--pool", pool, "--seed", 7, "--guidelines", "guide.md"),
        *("--question", "tone=rude,kind", "--question", "clarity=1:5"),
        *("--content", "text=markdown"),
    )
    assert made.code == 0, made.err
    assert load_campaign("rubric").settings.guidelines == "# Be fair"
    sheet = levelled("ask", "rubric", "-n", 3, "--owner", "ann", "--format", "csv").out
    assert sheet.splitlines()[0] == "draw,id,label,tone,clarity,country,text"
    (tmp_path / "done.csv").write_text(
        "draw,label,tone,clarity,note\n1,ham,kind,4,=odd\n2,spam,,,\n"
    )
    assert levelled("tell", "rubric", "done.csv", "--owner", "ann").err == "2 new answers\n"
    line = {"draw": 1, "label": "ham", "rubric": {"tone": "rude"}, "note": "odd"}
    told = levelled("tell", "rubric", "-", "--owner", "ann", given=json.dumps(line))
    assert told.err.startswith("1 with other notes")
    wrong = json.dumps({"draw": 3, "label": "ham", "tone": "nice"})
    refused = levelled("tell", "rubric", "-", "--owner", "ann", given=wrong)
    assert "'nice' is no answer" in refused.err
    levelled("export", "rubric", "--out", "out.csv")
    first, second, third = csv.DictReader(io.StringIO((tmp_path / "out.csv").read_text()))
    assert (first["note"], first["tone"], first["clarity"]) == ("odd", "rude", "4")
    assert (second["note"], second["tone"], third["label"]) == ("", "", "")
    assert levelled("audit", "rubric").code == 0


@pytest.mark.parametrize(
    ("option", "value", "code"),
    [("--content", "markdown", 2), ("--guidelines", "latin.md", 2), ("--question", "tone", 1)],
)
def test_options_for_labellers_are_refused_in_a_line(
    levelled: Levelled, pool: Path, tmp_path: Path, option: str, value: str, code: int
) -> None:
    (tmp_path / "latin.md").write_bytes("schön".encode("latin-1"))
    refused = levelled("create", "spam", "--pool", pool, "--seed", 7, option, value)
    assert refused.code == code
    assert value in refused.err


@pytest.mark.parametrize("command", [("list",), ("serve", "--people"), ("ask", "spam")])
def test_a_folder_without_campaigns_is_answered_with_how_to_make_one(
    levelled: Levelled, command: tuple[str, ...]
) -> None:
    result = levelled(*command)
    assert result.code == 1
    assert "levelled create" in result.err
    assert "--storage" in result.err
    assert "sqlite:" not in result.err
    assert "sqlite:////" in levelled("list", "--storage", "sqlite:///none.db").err
