"""Roles of columns: guessed by name and content, said by the user, and what labellers never see."""

import json
import math
import shutil
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import levelled as lv
from levelled.campaigns.options import OPTIONS
from levelled.errors import PoolError
from levelled.metrics.named import parse_metric
from levelled.sources import ColumnChoices, open_pool
from levelled.sources.choices import ROLES
from sources.samples import write

N = 60
NAMES = ("score", "weight", "label", "group", "cost", "time", "index", "confidence")
FILES = Path(__file__).parent / "readers" / "files"


def export(**more: Any) -> dict[str, Any]:  # noqa: ANN401
    rng = np.random.default_rng(0)
    return {
        "id": [f"m{at}" for at in range(N)],
        "pred": ["ham" if at % 3 else "spam" for at in range(N)],
        "text": [f"message {at}" for at in range(N)],
        "confidence": rng.uniform(0.5, 1, N).round(3).tolist(),
        **more,
    }


def roles_in(pool: lv.sources.Pool) -> dict[str, str]:
    return {one["name"]: one["role"] for one in pool.recognised.columns}


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
def test_a_confidence_is_recognised_and_is_the_chance_of_the_predicted_class(
    ending: str, tmp_path: Path
) -> None:
    pool = open_pool(write(tmp_path / f"export{ending}", export()))
    predictions = pool.predictions()
    assert predictions.surrogate is not None
    assert predictions.proba is None
    chance = predictions.surrogate[np.arange(N), [*map(("ham", "spam").index, export()["pred"])]]
    np.testing.assert_allclose(chance, export()["confidence"], rtol=1e-6)
    np.testing.assert_allclose(predictions.surrogate.sum(axis=1), 1, rtol=1e-6)
    assert pool.shown_columns == ("text",)
    assert pool.classes is None
    with pytest.raises(lv.errors.InputError, match="probabilities"):
        parse_metric("brier").require(predictions)
    parse_metric("share:neither").require(predictions)


def test_a_confidence_is_spread_by_the_classes_of_the_whole_pool_also_in_runs(
    tmp_path: Path,
) -> None:
    pred = ["a"] * 40 + ["b"] * 15 + ["c"] * 5
    pq.write_table(pa.table(export(pred=pred)), tmp_path / "p.parquet", row_group_size=20)
    held, runs = (open_pool(tmp_path / "p.parquet", stream_above=most) for most in (None, 0))
    assert runs.in_runs
    assert not held.in_runs
    expected = held.predictions().surrogate
    assert expected is not None
    np.testing.assert_allclose(expected[0, 1] / expected[0, 2], 3, rtol=1e-5)
    parts = [one.surrogate for one in runs.runs() if one.surrogate is not None]
    np.testing.assert_allclose(np.concatenate(parts), expected)
    some = runs.predictions_at([59, 0]).surrogate
    assert some is not None
    np.testing.assert_allclose(some, expected[[59, 0]])


PROBABILITIES = {"proba_ham": [0.5] * N, "proba_spam": [0.5] * N}


@pytest.mark.parametrize(
    ("columns", "options"),
    [
        (export(confidence=[50.0] * N), {}),
        (export(confidence=[None, *[0.5] * (N - 1)]), {}),
        (export(confidence=["high"] * N), {}),
        (export(pred=[*range(N)]), {}),
        (export(**PROBABILITIES), {}),
        (export(**{"pred@b": ["ham"] * N}), {}),
        (export(), {"judge_columns": ["pred"]}),
        (export(), {"hide": ["confidence"]}),
        (export(), {"roles": {"confidence": "hidden"}}),
    ],
)
def test_a_confidence_that_does_not_fit_is_hidden_and_not_used(
    columns: dict[str, Any], options: dict[str, Any]
) -> None:
    pool = open_pool(pa.table(columns), **options)
    assert pool.predictions().surrogate is None
    assert roles_in(pool)["confidence"] == "hidden"


SAID = {"roles": {"confidence": "confidence"}}
WRONG: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("'m0'.* 87.*percent", {"confidence": [87.0] * N}, SAID),
    ("'confidence'.*probabilities", PROBABILITIES, SAID),
    ("'pred'.*--classes", {"pred": [*range(N)]}, SAID),
    ("'x'.*role.*confidence", {}, {"roles": {"x": "shown"}}),
    ("'shwn'.*shown.*time", {}, {"roles": {"text": "shwn"}}),
    ("'m0'.*conf 87", {"conf": [87.0] * N}, {"roles": {"conf": "confidence"}}),
    ("'text'.*'message 0'.*2024", {}, {"roles": {"text": "time"}}),
    ("'text'.*weight", {}, {"roles": {"text": "weight"}}),
    ("'text'.*cost", {}, {"roles": {"text": ["cost"]}}),
    ("'text'.*id and prediction", {}, {"roles": {"text": "id+prediction"}}),
    ("'text'.*shown and hidden", {}, {"roles": {"text": "shown"}, "hide": ["text"]}),
    ("'text', 'pred'.*id", {}, {"roles": {"pred": "id"}, "id_column": "text"}),
    ("'text', 'id'.*prediction", {}, {"roles": {"id": "prediction"}, "pred_column": "text"}),
    ("of the two", {}, {"roles": {"text": "hidden"}, "show": ["pred"]}),
    ("of the two", {}, {"roles": {"text": "shown"}, "show": ["pred"]}),
    ("'text'.*numbers", {}, {"roles": {"text": "score"}}),
    ("mapping", {}, {"roles": ["text"]}),
]


@pytest.mark.parametrize(("words", "columns", "options"), WRONG, ids=[one for one, *_ in WRONG])
def test_a_role_that_cannot_be_is_refused(
    words: str, columns: dict[str, Any], options: dict[str, Any]
) -> None:
    with pytest.raises(PoolError, match=words):
        open_pool(pa.table(export(**columns)), **options)


SAME: list[tuple[Mapping[str, Any], Mapping[str, Any]]] = [
    ({"a": "id"}, {"id_column": "a"}),
    ({"b": "prediction"}, {"pred_column": "b"}),
    ({"b": "judge", "c": "judge"}, {"judge_columns": ["b", "c"]}),
    ({"b": "hidden"}, {"hide": ["b"]}),
    ({"b": "slice"}, {"slices": ["b"]}),
    ({"n": "feature"}, {"features": ["n"]}),
    ({"n": ("feature",), "b": "slice,hidden"}, {"features": ["n"], "slices": "b", "hide": "b"}),
]


@pytest.mark.parametrize(("roles", "options"), SAME)
def test_a_role_says_the_same_as_its_argument(
    roles: Mapping[str, Any], options: Mapping[str, Any]
) -> None:
    columns = {one: [f"{one}{at}" for at in range(12)] for one in ("id", "a", "b", "c")}
    table = pa.table({**columns, "n": [*range(12)]})
    said, named = open_pool(table, roles=roles), open_pool(table, **options)
    assert said.choices.id_column == named.choices.id_column
    assert (said.models, said.features) == (named.models, named.features)
    assert said.shown_columns == named.shown_columns
    assert said.columns_of("slice") == named.columns_of("slice")
    assert roles_in(said) == roles_in(named)
    again = open_pool(table, **ColumnChoices.from_json(said.choices.to_json()).to_json())
    assert roles_in(again) == roles_in(said)


def test_a_feature_may_be_shown_and_a_role_replaces_what_a_name_says() -> None:
    table = pa.table(export(price=[*range(N)], p_eur=[9.5] * N, p_usd=[9.9] * N, at=[*range(N)]))
    said = {"price": "feature,shown", "p_eur": "shown", "at": "time", "text": "group,shown"}
    pool = open_pool(table, roles=said)
    assert pool.features == ("price",)
    assert set(pool.shown_columns) == {"text", "price", "p_eur", "p_usd", "at"}
    assert (pool.columns_of("time"), pool.group, pool.n_groups) == (("at",), "text", N)


def test_a_role_that_was_said_wins_over_a_guess() -> None:
    table = pa.table(export(sure=[0.25] * N))
    pool = open_pool(table, roles={"sure": "confidence"})
    surrogate = pool.predictions().surrogate
    assert surrogate is not None
    np.testing.assert_allclose(surrogate.min(axis=1), 0.25)
    assert (roles_in(pool)["sure"], roles_in(pool)["confidence"]) == ("confidence", "hidden")


@pytest.mark.parametrize(
    "choices",
    [{"roles": {"pred": "shown", "confidence": "shown"}}, {"show": ["text", "pred", "confidence"]}],
)
def test_what_is_shown_keeps_the_role_of_its_name(choices: dict[str, Any]) -> None:
    pool = open_pool(pa.table(export()), **choices)
    assert pool.pred_counts() == {"ham": 40, "spam": 20}
    assert pool.predictions().surrogate is not None
    assert {*pool.shown_columns} == {"text", "pred", "confidence"}
    assert roles_in(pool)["pred"] == "prediction, shown"


def test_what_is_hidden_anyway_has_its_role_by_name() -> None:
    pool = open_pool(pa.table(export()), hide=["pred", "id", "text"])
    why = {one["name"]: one["why"] for one in pool.recognised.columns}
    assert (why["pred"], why["id"], why["text"]) == ("by name", "by name", "said")


@pytest.mark.parametrize(
    "times",
    [["2024-03-01", "2024-03-01T07:30:00Z"], [1.7e9, 1], ["1700000000", None], [date(2024, 3, 1)]],
)
def test_times_are_dates_or_numbers(times: list[Any]) -> None:
    table = pa.table({"id": [*range(len(times))], "pred": ["a"] * len(times), "at": times})
    assert open_pool(table, roles={"at": "time"}).columns_of("time") == ("at",)


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_an_example_is_the_first_value_that_is_there(ending: str, tmp_path: Path) -> None:
    more = {"late": [*[None] * 30, "x", *["y"] * (N - 31)], "never": [None] * N}
    pool = open_pool(write(tmp_path / f"p{ending}", export(**more)))
    example = {one["name"]: one["example"] for one in pool.recognised.columns}
    assert (example["late"], example["never"], example["id"]) == ("x", "", "m0")


def test_what_gives_the_prediction_away_is_hidden_with_the_reason() -> None:
    pred = export()["pred"]
    more = {
        "Category": [*pred[:-2], "other", "other"],
        "gold": pred,
        "pred_prob": [0.5] * N,
        "rationale": ["so"] * N,
        "kind": ["ham", "spam"] * (N // 2),
    }
    pool = open_pool(pa.table(export(**more)))
    assert pool.shown_columns == ("text", "kind")
    why = {one["name"]: one["why"] for one in pool.recognised.columns}
    assert "content" in why["Category"]
    assert "labels" in why["gold"]
    assert open_pool(pa.table(export(**more)), roles={"gold": "shown"}).columns_of("shown") == (
        *("text", "gold", "kind"),
    )


def fields_named(value: object) -> dict[str, Any]:
    return dict.fromkeys(NAMES, value)


def plain(path: Path, value: object) -> Path:
    judged = {"pred@judge": ["pass", "fail"] * 10, "output": [f"o{at}" for at in range(20)]}
    columns = {name: [value] * 20 for name in NAMES}
    return write(path, {"id": [*range(20)], **judged, **columns})


def promptfoo(path: Path, value: object) -> Path:
    document = json.loads((FILES / "promptfoo.json").read_text())
    for one in document["results"]["results"]:
        one["vars"] = {**one.get("vars", {}), **fields_named(value)}
        one["metadata"] = fields_named(value)
    path.write_text(json.dumps(document))
    return path


def inspect(path: Path, value: object) -> Path:
    document = json.loads((FILES / "inspect.json").read_text())
    for one in document["samples"]:
        one["metadata"] = {**(one.get("metadata") or {}), **fields_named(value)}
    path.write_text(json.dumps(document))
    return path


def label_studio(path: Path, value: object) -> Path:
    document = json.loads((FILES / "label_studio.json").read_text())
    for one in document:
        one["data"] |= fields_named(value)
    path.write_text(json.dumps(document))
    return path


def mlflow(path: Path, value: object) -> Path:
    rows = [{"inputs": f"{at}?", "same/v1/score": at % 2} for at in range(12)]
    table = [{**one, **fields_named(value)} for one in rows]
    path.write_text(
        json.dumps({"columns": [*table[0]], "data": [[*one.values()] for one in table]})
    )
    return path


@pytest.mark.parametrize("value", ["high", -1.5, 0.5])
@pytest.mark.parametrize(
    ("make", "name"),
    [
        (plain, "log.csv"),
        (plain, "log.jsonl"),
        (promptfoo, "log.json"),
        (inspect, "log.json"),
        (label_studio, "log.json"),
        (mlflow, "log.json"),
    ],
)
def test_names_of_columns_in_a_judges_log_do_nothing_unless_said(
    make: Any,  # noqa: ANN401
    name: str,
    value: object,
    tmp_path: Path,
) -> None:
    pool = open_pool(make(tmp_path / name, value), features=None)
    for model in pool.models:
        found = pool.predictions(model)
        assert (found.score, found.surrogate, found.features, found.loss_hat) == (None,) * 4
    telling = ("score", "label", "confidence")
    ends = {one.removeprefix("field.").rpartition(".")[2] for one in pool.shown_columns}
    assert ends.isdisjoint(telling)
    used = {name: role for name, role in roles_in(pool).items() if name in NAMES}
    assert {*used.values()} <= {"shown", "hidden", "group"}
    assert used.get("group") != "group" or pool.group == "group"


def test_a_campaign_draws_by_confidence_and_its_log_keeps_what_was_said(tmp_path: Path) -> None:
    path = write(tmp_path / "export.csv", export(notes=["n"] * N, score=[1.0] * N))
    storage = f"sqlite:///{tmp_path}/c.db"
    roles = {"notes": "hidden", "text": ("slice", "shown"), "score": "hidden"}
    shutil.copy(path, tmp_path / "same.csv")
    said = lv.create_campaign("said", path, storage=storage, seed=1, roles={"score": "score"})
    assert said.settings.columns.roles == {"score": ("score",)}
    campaign = lv.create_campaign("guessed", path, storage=storage, seed=1, roles=roles)
    assert (campaign.settings.kind, campaign.settings.slices) == ("adaptive", ("text",))
    again = lv.load_campaign("guessed", storage=storage, pool=tmp_path / "same.csv")
    assert again.pool().shown_columns == ("text",)
    assert again.pool().predictions().surrogate is not None
    again.tell_all([{"draw": one.draw, "label": "ham"} for one in again.ask(30)])
    assert not again.audit()


def test_a_log_without_roles_keeps_the_meaning_of_names(tmp_path: Path) -> None:
    table = pa.table(export(score=[*range(N)]))
    old = open_pool(table, roles=None)
    score = old.predictions().score
    assert score is not None
    assert score.tolist() == [*range(N)]
    assert old.predictions().surrogate is None
    assert old.shown_columns == ("text", "confidence")
    assert open_pool(table).predictions().score is None
    assert ColumnChoices.from_json({}).roles is None
    assert "roles" not in ColumnChoices().to_json()


def test_help_names_every_role() -> None:
    assert all(role in OPTIONS["roles"].help for role in ROLES)


def telling(pred: list[str]) -> dict[str, list[Any]]:
    """Columns that tell the predictions, which are pass and fail."""
    rng = np.random.default_rng(1)
    is_pass = [one == "pass" for one in pred]
    chance = [rng.uniform(0.5, 1) if one else rng.uniform(0, 0.5) for one in is_pass]
    return {
        "code": [int(one) for one in is_pass],
        "negcode": [2 * one - 1 for one in is_pass],
        "explain_it": [f"because it is {'fine' if one else 'bad'}" for one in is_pass],
        "flag": [None if one else "x" for one in is_pass],
        "p": chance,
        "logit": [math.log(one / (1 - one)) for one in chance],
        "rating": [math.ceil(10 * one) for one in chance],
        "wrapped": [f"I say {one}, item {at}" for at, one in enumerate(pred)],
        "json": [f'{{"verdict": "{one}", "at": {at}}}' for at, one in enumerate(pred)],
        "output": [f"Item {at}: {one.upper()}!" for at, one in enumerate(pred)],
        "noisy": [*chance[:-2], 1 - chance[-2], 1 - chance[-1]],
    }


def telling_nothing(pred: list[str]) -> dict[str, list[Any]]:
    """Columns that may well go with such predictions, but do not tell them."""
    rng = np.random.default_rng(2)
    n = len(pred)
    mostly = [one if rng.random() < 0.8 else "fail" for one in pred]
    return {
        "text": [f"a {one} mark" for one in pred],
        "constant": ["pass"] * n,
        "one": [1] * n,
        "empty": [None] * n,
        "country": rng.choice(["de", "fr", "es"], n).tolist(),
        "mostly": [f"Team {one}" for one in mostly],
        "both": [f"{at}: pass or fail? 0 or 1, a or b" for at in range(n)],
        "remark": [f"a remark {at}" for at in range(n)],
        "length": rng.integers(5, 500, n).tolist(),
        "price": rng.uniform(0, 9, n).tolist(),
    }


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".jsonl"])
@pytest.mark.parametrize("share", [0.5, 0.1])
def test_whatever_tells_the_prediction_in_nearly_all_rows_is_hidden(
    ending: str, share: float, tmp_path: Path
) -> None:
    n = 400
    # In the order of the predictions, so that the number of a row tells them too.
    pred = ["pass"] * round(share * n) + ["fail"] * round(n - share * n)
    tells, tells_not = telling(pred), telling_nothing(pred)
    columns = {"id": [f"i{at}" for at in range(n)], "pred": pred, **tells, **tells_not}
    pool = open_pool(write(tmp_path / f"pool{ending}", columns))
    assert pool.shown_columns == (*tells_not,)
    why = {one["name"]: one["why"] for one in pool.recognised.columns}
    assert all("tells the prediction" in why[name] for name in tells)
    said = open_pool(tmp_path / f"pool{ending}", roles={"code": "shown"})
    assert said.shown_columns == ("code", *tells_not)


@pytest.mark.parametrize(
    ("classes", "value"),
    [
        (("neg", "neutral", "pos"), lambda at: at % 3 - 1 + at / 10_000),
        (("spam", "not spam"), lambda at: f"{at} is {('spam', 'not spam')[at % 2]}"),
        (("0", "1"), lambda at: ("low", "high")[at % 2]),
        (("yes", "no"), lambda at: f"{('Yes', 'No')[at % 2]}, item {at}"),
        ((0.5, 2.25), lambda at: -10 * (at % 2)),
    ],
)
def test_predictions_of_any_classes_are_told_alike(classes: tuple[Any, ...], value: Any) -> None:  # noqa: ANN401
    pred = [classes[at % len(classes)] for at in range(N)]
    table = {"id": [*range(N)], "pred": pred, "extra": [value(at) for at in range(N)]}
    assert open_pool(pa.table(table)).shown_columns == ()


def test_a_number_that_rises_with_predicted_numbers_tells_them_and_another_does_not() -> None:
    rng = np.random.default_rng(3)
    pred = rng.uniform(0, 10, N)
    columns = {"rank": -np.exp(pred), "other": pred + rng.normal(0, 3, N), "text": ["3"] * N}
    pool = open_pool(pa.table({"id": [*range(N)], "pred": pred, **columns}))
    assert pool.shown_columns == ("other", "text")


def test_one_prediction_for_all_is_told_by_the_same_word_alone() -> None:
    more = {"same": ["Pass "] * 20, "report": ["It must pass a test"] * 20, "one": [1] * 20}
    pool = open_pool(pa.table({"id": [*range(20)], "pred": ["pass"] * 20, **more}))
    assert pool.shown_columns == ("report", "one")
