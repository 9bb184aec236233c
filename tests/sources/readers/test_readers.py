"""Each file of a tool becomes a pool, a campaign and a figure, without an option."""

import gzip
import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import levelled as lv
from levelled.errors import CampaignError
from levelled.sources import Pool, open_pool
from sources.readers.samples import DEFLATED, FILES, STORED, inspect_log, sample, zip_file


class Expected(NamedTuple):
    reader: str
    n_items: int
    predictions: Mapping[str, Mapping[str, float]]
    shown: list[str]
    n_groups: int | None = None


GRADES = {"fail": 4, "partial": 4, "pass": 4}
TWO_OF_THREE = {"fail": 1, "pass": 2}
TONE = {"neg": 1, "pos": 3}
FEELING = {"negative": 2, "positive": 4}
EXPECTED = {
    "inspect.eval": Expected(
        "inspect",
        12,
        {"grader": GRADES, "includes": {"fail": 8, "pass": 4}, "tone": {"low": 2, "high": 4}},
        ["input", "messages", "output", "target"],
        n_groups=6,
    ),
    "lm_eval.jsonl": Expected(
        "lm-eval", 4, {"acc": {"fail": 3, "pass": 1}}, ["input", "choices", "output", "target"]
    ),
    "promptfoo.json": Expected(
        "promptfoo",
        6,
        {
            "contains": {"fail": 2, "pass": 4},
            "short": {"fail": 2, "pass": 4},
            "success": {"fail": 3, "pass": 3},
        },
        ["input", "output"],
        n_groups=3,
    ),
    "deepeval.json": Expected(
        "deepeval",
        4,
        {"Short": {"fail": 2, "pass": 2}},
        ["input", "retrieval_context", "tool_calls", "output", "target"],
    ),
    "mlflow_traces.json": Expected(
        "mlflow", 3, {"helpful": TWO_OF_THREE}, ["input", "tool_calls", "output", "target"]
    ),
    "mlflow_traces.parquet": Expected(
        "mlflow", 3, {"helpful": TWO_OF_THREE}, ["input", "tool_calls", "output", "target"]
    ),
    "mlflow_genai.csv": Expected(
        "mlflow",
        3,
        {"short": {"pass": 3}, "words": {"low": 25, "high": 25}},
        ["input", "tool_calls", "output"],
    ),
    "mlflow_table.json": Expected(
        "mlflow", 3, {"same": TWO_OF_THREE}, ["input", "output", "target"]
    ),
    "huggingface.parquet": Expected("huggingface", 6, {"": FEELING}, ["text"]),
    "huggingface": Expected("huggingface", 6, {"": FEELING}, ["text"]),
    "label_studio.json": Expected("label-studio", 4, {"v1": TONE}, ["text", "source"]),
    "argilla.json": Expected("argilla", 4, {"tone": TONE}, ["text"]),
    "doccano.jsonl": Expected("doccano", 4, {}, ["text", "source"]),
    "prodigy.jsonl": Expected("prodigy", 4, {}, ["text", "meta.source"]),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_the_file_of_a_tool_is_recognised(name: str) -> None:
    found = open_pool(FILES / name).recognised
    expected = EXPECTED[name]
    assert (found.reader, found.n_items) == (expected.reader, expected.n_items)
    assert found.predictions == expected.predictions
    assert list(found.shown) == expected.shown
    assert found.n_groups == expected.n_groups


@pytest.mark.parametrize("name", EXPECTED)
def test_the_file_of_a_tool_becomes_a_figure(name: str, tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path}/levelled.db"
    moved = tmp_path / name
    if (FILES / name).is_dir():
        shutil.copytree(FILES / name, moved)
    else:
        shutil.copy(FILES / name, moved)
    more = {"storage": storage, "seed": 1, "open_classes": True}
    campaign = lv.create_campaign("c", moved, "share:pass", **more)  # type: ignore[arg-type]
    for ask in campaign.ask(20, owner="ann"):
        assert {*ask.data} <= {*EXPECTED[name].shown}
        json.dumps(dict(ask.data))
        campaign.tell(ask.draw, "pass" if ask.draw % 2 else "fail", owner="ann")
    n = EXPECTED[name].n_items
    assert campaign.estimate()[0].estimate.value == pytest.approx((n + 1) // 2 / n)
    assert not campaign.audit()
    elsewhere = tmp_path / f"moved-{name}"
    moved.rename(elsewhere)
    again = lv.load_campaign("c", storage=storage, pool=elsewhere)
    assert not again.audit()
    assert again.settings.columns.reader == EXPECTED[name].reader
    assert again.settings.n_groups == EXPECTED[name].n_groups


@pytest.mark.parametrize("judge", ["grader", "tone"])
def test_a_judge_is_a_model_whose_predictions_are_its_verdicts(judge: str, tmp_path: Path) -> None:
    campaign = lv.create_campaign(
        "c",
        FILES / "inspect.eval",
        "accuracy" if judge == "grader" else "mae",
        storage=f"sqlite:///{tmp_path}/levelled.db",
        judge_columns=[judge],
        seed=1,
    )
    values = dict(zip(*_verdicts(campaign.pool(), judge), strict=True))
    for ask in campaign.ask(12, owner="ann"):
        campaign.tell(ask.draw, values[ask.id], owner="ann")
    (figure,) = campaign.estimate()
    assert (figure.model, figure.estimate.value) == (judge, 1.0 if judge == "grader" else 0.0)


def _verdicts(pool: Pool, judge: str) -> tuple[list[Any], list[Any]]:
    rows = range(len(pool))
    return pool.ids(rows), pool.values(f"pred@{judge}")


def test_judges_of_two_kinds_are_not_checked_by_one_metric(tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path}/levelled.db"
    with pytest.raises(CampaignError, match=r"includes.*classes.*numbers"):
        lv.create_campaign("c", FILES / "inspect.eval", "error", storage=storage, seed=1)


def test_epochs_are_items_of_one_group_and_an_edited_score_is_the_judges_own() -> None:
    pool = open_pool(FILES / "inspect.eval")
    assert pool.ids([0, 6]) == ["sum-0#1", "sum-0#2"]
    assert pool.values("group")[::6] == ["sum-0", "sum-0"]
    assert pool.values("pred@grader")[0] == "pass"  # ann made it a fail
    assert "'grader' on 1 of 12 items" in str(pool.recognised)


def test_messages_and_tool_calls_are_kept_apart() -> None:
    (first,) = open_pool(FILES / "inspect.eval").shown([0])
    roles = [one["role"] for one in first["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "assistant"]
    assert first["messages"][2]["tool_calls"] == [{"name": "add", "arguments": '{"x": 0, "y": 1}'}]
    assert (first["input"], first["output"]) == ("What is 0 + 1?", "The sum is 1.")


def test_both_formats_of_inspect_say_the_same() -> None:
    whole, part = open_pool(FILES / "inspect.eval"), open_pool(FILES / "inspect.json")
    assert whole.shown([0, 1, 2]) == part.shown([0, 1, 2])
    assert whole.values("pred@tone")[:3] == part.values("pred@tone")


@pytest.mark.parametrize("method", [STORED, DEFLATED])
def test_a_log_packed_otherwise_is_read(method: int, tmp_path: Path) -> None:
    log = inspect_log([sample(1, "C"), sample(2, "N"), sample(3, None)])
    (tmp_path / "run.eval").write_bytes(zip_file(log, method))
    pool = open_pool(tmp_path / "run.eval")
    assert pool.values("pred@judge") == ["pass", "no answer", "no verdict"]
    (note,) = (one for one in pool.recognised.notes if "'judge'" in one)
    assert note.startswith("1 of 3 items")


def test_a_log_that_is_still_being_written_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    log = inspect_log([sample(1, "C")])
    log["_journal/start.json"] = log.pop("header.json").replace(b'"success"', b'"started"')
    (tmp_path / "run.eval").write_bytes(zip_file(log))
    assert "its status is started" in str(open_pool(tmp_path / "run.eval").recognised)


def test_text_that_was_put_aside_comes_back(tmp_path: Path) -> None:
    place = "attachment://" + "0" * 32
    said = sample(1, "C", input=place, attachments={"0" * 32: "A long question"})
    (tmp_path / "run.eval").write_bytes(zip_file(inspect_log([said])))
    assert open_pool(tmp_path / "run.eval").shown([0])[0]["input"] == "A long question"


def test_scores_with_parts_are_judges_of_their_own(tmp_path: Path) -> None:
    samples = [sample(at, {"polite": at % 2, "stars": at}) for at in range(3)]
    (tmp_path / "run.eval").write_bytes(zip_file(inspect_log(samples)))
    assert open_pool(tmp_path / "run.eval").recognised.predictions == {
        "judge.polite": {"fail": 2, "pass": 1},
        "judge.stars": {"low": 0, "high": 2},
    }


def test_letters_that_are_no_grades_stay_letters(tmp_path: Path) -> None:
    samples = [sample(at, letter) for at, letter in enumerate("ABCD")]
    (tmp_path / "run.eval").write_bytes(zip_file(inspect_log(samples)))
    assert open_pool(tmp_path / "run.eval").values("pred@judge") == [*"ABCD"]


def test_a_score_that_a_person_added_is_no_judge(tmp_path: Path) -> None:
    said = {"value": "C", "history": [{"value": "C", "provenance": {"author": "ann"}}]}
    samples = [sample(1, "C"), sample(2, "I")]
    samples[0]["scores"]["people"] = said
    (tmp_path / "run.eval").write_bytes(zip_file(inspect_log(samples)))
    pool = open_pool(tmp_path / "run.eval")
    assert pool.models == ("judge",)
    assert "'people' on 1 of 2 items" in str(pool.recognised)


def test_explanations_and_labels_of_people_are_hidden() -> None:
    for name in EXPECTED:
        found = open_pool(FILES / name).recognised
        assert not any("explanation" in one or "label" in one for one in found.shown)
    found = open_pool(FILES / "label_studio.json").recognised
    assert "label" in found.hidden
    assert "2 of 4 items" in found.notes[0]
    assert "--known-column" in found.notes[0]


def test_labels_in_an_export_serve_to_simulate() -> None:
    known = lv.simulation.known_losses(FILES / "huggingface.parquet", "label")
    np.testing.assert_array_equal(known.losses, [0, 0, 0, 1, 0, 0])


def test_several_filters_of_one_answer_are_a_group(tmp_path: Path) -> None:
    lines = (FILES / "lm_eval.jsonl").read_text().splitlines()
    both = [{**json.loads(one), "filter": name} for one in lines for name in ("strict", "loose")]
    (tmp_path / "s.jsonl").write_text("\n".join(map(json.dumps, both)))
    pool = open_pool(tmp_path / "s.jsonl")
    assert (len(pool), pool.n_groups, pool.ids([1])) == (8, 4, ["0#loose"])


def test_a_field_with_the_name_of_a_role_has_none(tmp_path: Path) -> None:
    task = {"id": 1, "data": {"text": "a", "score": 0.5, "pred": "b"}, "annotations": []}
    (tmp_path / "e.json").write_text(json.dumps([task]))
    pool = open_pool(tmp_path / "e.json")
    assert pool.shown([0]) == [{"text": "a", "field.pred": "b"}]
    assert pool.models == ()


class Dataset:
    """The part of `datasets.Dataset` that is used, under its name."""

    __module__ = "datasets.arrow_dataset"

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    @property
    def features(self) -> Any:  # noqa: ANN401
        return type("Features", (), {"arrow_schema": self._table.schema})

    def with_format(self, name: str) -> pa.Table:
        assert name == "arrow"
        return self._table.replace_schema_metadata(None)[:]


def test_a_dataset_in_memory_is_a_pool() -> None:
    pool = open_pool(Dataset(pq.read_table(FILES / "huggingface.parquet")))  # type: ignore[arg-type]
    assert pool.predictions().of([0, 1]) == ["positive", "negative"]
    assert pool.source is None


@pytest.mark.parametrize("index", [None, ["q7", "q9"]])
def test_a_table_of_mlflow_may_have_any_columns(index: list[str] | None, tmp_path: Path) -> None:
    rows = [["Capital of Peru?", "Lima", -1.5], ["Capital of Japan?", "Kyoto", None]]
    document = {"columns": ["question", "outputs", "cost"], "data": rows}
    document |= {} if index is None else {"index": index}
    path = tmp_path / "eval_results_table.json"
    path.write_text(json.dumps(document))
    pool = open_pool(path)
    assert pool.recognised.reader == "mlflow"
    assert pool.ids([0, 1]) == (index or ["0", "1"])
    assert pool.shown([0]) == [{"input": "Capital of Peru?", "output": "Lima", "cost": -1.5}]
    assert open_pool(path, hide=["question"]).shown([0]) == [{"outputs": "Lima", "cost": -1.5}]
    packed = tmp_path / "table.json.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert open_pool(packed).shown([0, 1]) == pool.shown([0, 1])


def split(path: Path, **columns: Sequence[Any]) -> Path:
    rows = [*zip(*columns.values(), strict=True)]
    path.write_text(json.dumps({"columns": [*columns], "data": rows}))
    return path


def classified(path: Path, **more: Sequence[Any]) -> Path:
    n = 40
    columns: dict[str, Sequence[Any]] = {
        "id": [f"r{at}" for at in range(n)],
        "pred": ["ham" if at % 3 else "spam" for at in range(n)],
        "text": [f"message {at}" for at in range(n)],
        "num": [at * 7 % 11 for at in range(n)],
        "flag": [at % 2 == 0 for at in range(n)],
        "target": ["ham" if at % 4 else "spam" for at in range(n)],
    }
    return split(path, **(columns | more))


CHOICES: list[dict[str, Any]] = [
    {},
    {"reader": "plain"},
    {"pred_column": "pred"},
    {"roles": {"pred": "prediction"}},
    {"roles": {"id": "id"}},
]


@pytest.mark.parametrize("choices", CHOICES)
def test_a_split_table_of_predicted_classes_has_its_own_columns(
    choices: dict[str, Any], tmp_path: Path
) -> None:
    pool = open_pool(classified(tmp_path / "eval_results_table.json"), **choices)
    assert pool.pred_counts() == {"ham": 26, "spam": 14}
    assert pool.ids([0]) == ["r0"]
    assert pool.shown_columns == ("text", "num", "flag")
    again = open_pool(tmp_path / "eval_results_table.json", **pool.kept_choices.to_json())
    assert again.pred_counts() == pool.pred_counts()


def test_a_split_table_of_scores_may_be_read_by_its_own_columns(tmp_path: Path) -> None:
    scores: dict[str, Sequence[Any]] = {
        "same/v1/score": [at % 2 for at in range(40)],
        "same/v1/justification": ["so"] * 40,
    }
    path = classified(tmp_path / "table.json", prediction=["?"] * 40, **scores)
    assert open_pool(path).models == ("same",)
    pool = open_pool(path, pred_column="pred", roles={"prediction": "hidden"})
    assert pool.pred_counts() == {"ham": 26, "spam": 14}
    assert pool.shown_columns == ("text", "num", "flag")


def test_free_text_of_a_language_model_is_shown_beside_its_target(tmp_path: Path) -> None:
    path = split(
        tmp_path / "table.json",
        question=[f"{at} + 1?" for at in range(20)],
        prediction=[f"It is {at + 1}" for at in range(20)],
        target=[f"{at + 1}" for at in range(20)],
    )
    assert open_pool(path).shown_columns == ("input", "output", "target")
    assert open_pool(path, pred_column="prediction").shown_columns == ("question",)
