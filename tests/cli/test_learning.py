"""`levelled learn`, as a user types them."""

import csv
import inspect
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from cli.terminal import Levelled
from levelled import Draws, create_campaign, lure_weights
from levelled.cli.simulating import learn
from levelled.learning import ActiveLearner
from levelled.learning.files import DrawnLabels, read_drawn_labels
from levelled.learning.settings import FLOOR, START

pytest.importorskip("sklearn")

N = 150
LEARN = ["learn", "--pool", "pool.parquet", "--labels", "labels.csv", "--budget", "30"]
QUICK = ["--budget", "9", "--start", "5", "--batch", "4"]
"""Fewer labels than advice needs, which trains a model many times."""


@pytest.fixture(autouse=True)
def path_of_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders that a command finds modules in are forgotten after the test."""
    monkeypatch.setattr(sys, "path", [*sys.path])


@pytest.fixture(scope="module")
def table() -> dict[str, Any]:
    """Items with two features; `kind` depends on both, `price` is a number."""
    rng = np.random.default_rng(3)
    age, dose = rng.standard_normal((2, N))
    return {
        "id": [f"p{n}" for n in range(N)],
        "age": age,
        "dose": dose,
        "note": ["text"] * N,
        "kind": np.where(age + dose + rng.logistic(scale=0.3, size=N) > 0.5, "ill", "well"),
        "price": 3 * age - dose + rng.standard_normal(N),
    }


@pytest.fixture
def there(tmp_path: Path, table: dict[str, Any]) -> Path:
    """A folder with a pool, its labels, and a test set."""
    features = {name: table[name] for name in ("id", "age", "dose", "note")}
    pq.write_table(pa.table(features), tmp_path / "pool.parquet")
    for name, column in (("labels", "kind"), ("prices", "price")):
        labels = pa.table({"id": table["id"], "label": table[column]})
        pacsv.write_csv(labels, tmp_path / f"{name}.csv")
    test = pa.table({"dose": table["dose"], "age": table["age"], "label": table["kind"]})
    pq.write_table(test.slice(0, 40), tmp_path / "test.parquet")
    return tmp_path


def rows(text: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(text)
    return found


@pytest.mark.usefixtures("there")
class TestLearn:
    def test_a_loop_ends_with_a_risk_and_a_verdict(self, levelled: Levelled) -> None:
        result = levelled(*LEARN)
        assert result.code == 0, result.err
        (found,) = rows(result.out)
        assert (found["labels"], found["pool_size"], found["n_risk"]) == (30, N, N - 30)
        assert found["loss"] == "brier"
        assert 0 < found["risk"] < 0.5
        assert found["verdict"]["n_labels"] == 30
        assert "age, dose" in result.err
        assert "20% of the pool" in result.err

    def test_people_read_sentences(self, levelled: Levelled) -> None:
        result = levelled(*LEARN, "--format", "table", "--weights", "lure")
        assert "30 of 150 items" in result.out
        assert "weights of LURE" in result.out
        assert "Brier score on items" in result.out

    def test_the_same_seed_gives_the_same_numbers(self, levelled: Levelled) -> None:
        first, again, other = (
            levelled(*LEARN, "--seed", seed, "--weights", "none").out for seed in (1, 1, 2)
        )
        assert first == again != other

    def test_what_was_learned_is_kept(
        self, levelled: Levelled, there: Path, table: dict[str, Any]
    ) -> None:
        assert levelled(*LEARN, "--out", "kept").code == 0
        draws = Draws.from_parquet(there / "kept" / "labelled.parquet")
        assert (len(draws), draws.pool_size) == (30, N)
        kept = pq.read_table(there / "kept" / "labelled.parquet").to_pydict()
        assert list(kept) == [
            "draw", "row", "id", "probability", "label", "sample_weight", "age", "dose",
        ]  # fmt: skip
        np.testing.assert_allclose(kept["sample_weight"], lure_weights(draws))
        assert kept["id"] == [table["id"][row] for row in kept["row"]]
        assert kept["label"] == [table["kind"][row] for row in kept["row"]]
        np.testing.assert_array_equal(kept["dose"], table["dose"][kept["row"]])
        X = np.stack([table["age"], table["dose"]], axis=1)
        learner = ActiveLearner.load(there / "kept" / "learner", X)
        assert learner.draws.index.tolist() == draws.index.tolist()

    @pytest.mark.parametrize("model", ["logistic", "forest", "boosting"])
    def test_classes_are_told_apart(self, levelled: Levelled, model: str) -> None:
        result = levelled(*LEARN, *QUICK, "--model", model, "--loss", "zero_one")
        assert result.code == 0, result.err
        (found,) = rows(result.out)
        assert found["loss"] == "zero_one"
        assert found["risk"] < 0.5
        assert "2 classes" in result.err

    @pytest.mark.parametrize("model", ["ridge", "forest", "boosting"])
    def test_numbers_are_predicted(self, levelled: Levelled, model: str) -> None:
        result = levelled(*LEARN, *QUICK, "--labels", "prices.csv", "--model", model)
        assert result.code == 0, result.err
        (found,) = rows(result.out)
        assert found["loss"] == "squared"
        assert found["risk"] < 15
        assert "numbers" in result.err

    def test_a_test_set_takes_the_place_of_what_was_not_drawn(self, levelled: Levelled) -> None:
        (found,) = rows(levelled(*LEARN, "--test", "test.parquet").out)
        assert (found["risk_of"], found["n_risk"]) == ("test items", 40)

    def test_a_part_of_the_pool_can_be_held_out(self, levelled: Levelled) -> None:
        (found,) = rows(levelled(*LEARN, "--hold-out", 0.3).out)
        assert (found["pool_size"], found["n_risk"]) == (105, 45)

    def test_a_model_of_ones_own_is_found_in_the_folder(
        self, levelled: Levelled, there: Path
    ) -> None:
        (there / "my_models.py").write_text(
            "from sklearn.naive_bayes import GaussianNB\n"
            "def make():\n    return GaussianNB()\n"
            "ready = make()\n"
        )
        made, ready = (levelled(*LEARN, "--model", f"my_models:{one}") for one in ("make", "ready"))
        assert made.code == 0, made.err
        assert rows(made.out)[0]["risk"] < 0.5
        assert ready.out == made.out

    def test_seeds_may_be_large_and_a_start_of_all_labels_is_noted(
        self, levelled: Levelled
    ) -> None:
        words = [*LEARN, "--model", "forest", "--budget", "12", "--start", "12"]
        result = levelled(*words, "--seed", 5_000_000_000)
        assert result.code == 0, result.err
        assert "--start 12 makes all 12" in result.err

    def test_an_embedding_is_kept_as_a_list(
        self, levelled: Levelled, there: Path, table: dict[str, Any]
    ) -> None:
        embedding = np.stack([table["age"], table["dose"]], axis=1).tolist()
        pq.write_table(pa.table({"id": table["id"], "embedding": embedding}), there / "e.parquet")
        result = levelled(*LEARN, "--pool", "e.parquet", "--out", "kept")
        assert result.code == 0, result.err
        kept = pq.read_table(there / "kept" / "labelled.parquet").to_pydict()
        assert kept["embedding"] == [embedding[row] for row in kept["row"]]
        assert levelled("learn", "--advise", "--labels", "kept/labelled.parquet").code == 0

    def test_scores_of_several_opinions_need_an_ensemble(self, levelled: Levelled) -> None:
        words = [*LEARN, "--score", "bald", "--batch", "20"]
        assert "--ensemble 10 for ten" in levelled(*words).err
        assert levelled(*words, "--ensemble", 3).code == 0

    def test_warnings_of_a_model_are_notes(self, levelled: Levelled, there: Path) -> None:
        (there / "loud_models.py").write_text(
            "import warnings\n"
            "from sklearn.naive_bayes import GaussianNB\n"
            "def make():\n"
            "    warnings.warn('this is only a test')\n"
            "    return GaussianNB()\n"
        )
        result = levelled(*LEARN, "--model", "loud_models:make")
        assert result.code == 0
        assert result.err.count("note: UserWarning: this is only a test.") == 1


@pytest.mark.usefixtures("there")
class TestCompare:
    def test_all_ways_of_training_share_the_draws(self, levelled: Levelled) -> None:
        result = levelled(*LEARN, "--compare", "--batch", 5)
        assert result.code == 0, result.err
        found = rows(result.out)
        assert [row["labels"] for row in found] == [10, 15, 20, 25, 30]
        first = found[0]  # uniform draws have LURE weights of one
        assert first["difference"] == 0
        assert found[-1]["naive"] != found[-1]["lure"]
        assert found[-1]["naive_stderr"] is None
        assert "--trajectories" in result.err
        assert "--out FOLDER writes a figure" in result.err

    def test_trajectories_have_standard_errors(self, levelled: Levelled, there: Path) -> None:
        pytest.importorskip("matplotlib")
        words = [*LEARN, "--compare", "--trajectories", 3, "--batch", 20, "--out", "both"]
        result = levelled(*words, "--format", "table")
        assert result.code == 0, result.err
        assert "Brier score on items" in result.out
        assert "±" in result.out
        assert "e-17" not in result.out
        assert (there / "both" / "compare.png").stat().st_size > 10_000
        with (there / "both" / "compare.csv").open() as file:
            last = [*csv.DictReader(file)][-1]
        assert last["labels"] == "30"
        assert float(last["naive"]) - float(last["lure"]) == pytest.approx(
            float(last["difference"])
        )
        assert float(last["difference_stderr"]) > 0
        assert float(last["naive"]) - float(last["share"]) == pytest.approx(
            float(last["share_difference"])
        )

    def test_other_seeds_give_other_trajectories(self, levelled: Levelled) -> None:
        words = [*LEARN, *QUICK, "--compare", "--trajectories", 2, "--batch", 100]
        found = [rows(levelled(*words, "--seed", seed).out)[-1]["naive"] for seed in (0, 1, 0)]
        assert found[0] == found[2] != found[1]

    def test_nothing_is_trained_while_all_labels_are_of_one_class(
        self, levelled: Levelled, there: Path, table: dict[str, Any]
    ) -> None:
        rare = ["rare" if n >= N - 3 else "common" for n in range(N)]
        labels = pa.table({"id": table["id"], "label": rare})
        pacsv.write_csv(labels, there / "rare.csv")
        words = [*LEARN, "--labels", "rare.csv", "--compare", "--start", 2, "--batch", 7]
        found = rows(levelled(*words, "--seed", 1).out)
        assert found[0]["naive"] is None
        assert "–" in levelled(*words, "--seed", 1, "--format", "table").out  # noqa: RUF001


@pytest.fixture
def labelled(levelled: Levelled, there: Path) -> Path:
    """What `levelled learn` leaves of forty labels."""
    assert levelled(*LEARN, "--budget", 40, "--out", "kept").code == 0
    return there / "kept" / "labelled.parquet"


def write(path: Path, table: pa.Table) -> str:
    """The same table in another format, which keeps no metadata."""
    if path.suffix == ".csv":
        pacsv.write_csv(table, path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    else:
        pq.write_table(table.replace_schema_metadata(None), path)
    return path.name


class TestAdvise:
    def test_labels_of_learn_say_all_that_is_needed(
        self, levelled: Levelled, labelled: Path
    ) -> None:
        result = levelled("learn", "--advise", "--labels", labelled)
        assert result.code == 0, result.err
        (found,) = rows(result.out)
        assert found["n_labels"] == 40
        assert set(found["risks"]) == {"naive", "corrected"}
        assert 0 <= found["share"] <= 1

    def test_a_file_of_labels_is_weighted_by_lure(
        self, levelled: Levelled, labelled: Path, table: dict[str, Any]
    ) -> None:
        (found,) = rows(levelled("learn", "--advise", "--labels", labelled).out)
        weights = lure_weights(Draws.from_parquet(labelled))
        assert found["n_effective"] == pytest.approx(weights.sum() ** 2 / np.sum(weights**2))

    def test_people_read_the_sentence_first(self, levelled: Levelled, labelled: Path) -> None:
        result = levelled("learn", "--advise", "--labels", labelled, "--format", "table")
        said = rows(levelled("learn", "--advise", "--labels", labelled).out)[0]
        first = result.out.partition("\n")[0]
        assert first.endswith(f"orrected: {said['because']}")
        for words in ("active learning bias", "overfitting bias", "by chance alone", "rule"):
            assert words in result.out

    @pytest.mark.parametrize("name", ["x.csv", "x.jsonl", "x.parquet"])
    def test_the_format_and_the_order_of_rows_are_no_matter(
        self, levelled: Levelled, labelled: Path, there: Path, name: str
    ) -> None:
        table = pq.read_table(labelled)
        shuffled = table.take(np.random.default_rng(0).permutation(len(table)))
        other = write(there / name, shuffled)
        expected = rows(levelled("learn", "--advise", "--labels", labelled).out)[0]
        result = levelled("learn", "--advise", "--labels", other, "--pool-size", N)
        assert result.code == 0, result.err
        found = rows(result.out)[0]
        assert found["advice"] == expected["advice"]
        assert found["gain_on_labels"] == pytest.approx(expected["gain_on_labels"])

    def test_features_and_pool_size_may_come_from_the_pool(
        self, levelled: Levelled, labelled: Path, there: Path
    ) -> None:
        bare = pq.read_table(labelled).select(["draw", "id", "probability", "label"])
        name = write(there / "bare.parquet", bare)
        expected = levelled("learn", "--advise", "--labels", labelled).out
        result = levelled("learn", "--advise", "--labels", name, "--pool", "pool.parquet")
        assert result.code == 0, result.err
        assert result.out == expected

    def test_rows_without_numbers_of_draws_are_in_order(
        self, levelled: Levelled, labelled: Path, there: Path
    ) -> None:
        bare = pq.read_table(labelled).select(["probability", "label", "age", "dose"])
        name = write(there / "bare.csv", bare)
        expected = rows(levelled("learn", "--advise", "--labels", labelled).out)[0]
        found = rows(levelled("learn", "--advise", "--labels", name, "--pool-size", N).out)[0]
        assert found["gain_on_labels"] == pytest.approx(expected["gain_on_labels"])

    def test_a_sample_of_where_it_is_used_adds_a_rule(
        self, levelled: Levelled, labelled: Path, there: Path, table: dict[str, Any]
    ) -> None:
        features = pa.table({"dose": table["dose"] + 5, "age": table["age"]})
        pq.write_table(features, there / "elsewhere.parquet")
        for test in ("elsewhere.parquet", "test.parquet"):
            result = levelled("learn", "--advise", "--labels", labelled, "--test", test)
            assert result.code == 0, result.err
            assert "shift" in [rule["name"] for rule in rows(result.out)[0]["rules"]]

    def test_few_labels_are_too_few(self, levelled: Levelled, labelled: Path, there: Path) -> None:
        name = write(there / "few.csv", pq.read_table(labelled).slice(0, 5))
        result = levelled(
            "learn", "--advise", "--labels", name, "--pool-size", N, "--format", "table"
        )
        assert result.out.startswith("Not corrected: 30 labels")


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_the_export_of_a_campaign_can_be_advised_on(
    levelled: Levelled,
    pool: Path,
    items: dict[str, list[Any]],
    truth: dict[str, str],
    tmp_path: Path,
    ending: str,
) -> None:
    campaign = create_campaign("spam", pool, storage=tmp_path / "levelled.db", seed=1)
    asks = campaign.ask(40)
    for ask in asks[:36]:
        if ask.draw == 5:
            campaign.mark_unlabelable(5, reason="unreadable")
        elif ask.draw != 34:
            campaign.tell(ask.draw, truth[str(ask.id)])
    assert levelled("export", "spam", "--out", f"spam.{ending}").code == 0
    features = {"id": items["id"], "f_spam": items["proba_spam"], "f_noise": range(400)}
    pq.write_table(pa.table({k: [*v] for k, v in features.items()}), tmp_path / "X.parquet")
    result = levelled("learn", "--advise", "--labels", f"spam.{ending}", "--pool", "X.parquet")
    assert result.code == 0, result.err
    assert rows(result.out)[0]["n_labels"] == 32
    assert "7 of 40 draws are left" in result.err
    assert "draw 34" in result.err
    assert "1 draw could not" in result.err


def changed(name: str, values: Sequence[Any]) -> dict[str, Any]:
    """The table of six draws with another column."""
    drawn: dict[str, Any] = {
        "draw": [1, 2, 3, 4, 5, 6],
        "id": ["p0", "p1", "p2", "p3", "p4", "p5"],
        "probability": [0.01] * 6,
        "label": ["a", "b", "a", "b", "a", "b"],
        "x": [0.0, 1.0, 2.0, 3.0, 4.0, 5.0],
    }
    return {key: value for key, value in (drawn | {name: values}).items() if len(value)}


def drawn_in(folder: Path, table: dict[str, Any]) -> DrawnLabels:
    """What is read of a table of draws, to which Levelled's metadata say the pool size."""
    path = folder / "drawn.parquet"
    Draws(np.arange(6), np.full(6, 0.01), pool_size=100).to_parquet(path)
    about = pq.read_schema(path).metadata
    pq.write_table(pa.table(table).replace_schema_metadata(about), path)
    return read_drawn_labels(str(path))


def test_a_file_of_draws_needs_no_numbers_if_it_is_in_order(tmp_path: Path) -> None:
    numbered, bare = (
        drawn_in(tmp_path, changed("draw", numbers)) for numbers in ([1, 2, 3, 4, 5, 6], [])
    )
    assert (len(bare.draws), bare.draws.pool_size) == (6, 100)
    np.testing.assert_array_equal(bare.X, numbered.X)
    assert bare.y.tolist() == numbered.y.tolist()
    assert bare.columns == ("x",)


def test_a_label_that_is_missing_is_a_gap(tmp_path: Path) -> None:
    table = changed("label", ["a", "b", "a", "b", None, "b"]) | {"sample_weight": [1.0] * 6}
    found = drawn_in(tmp_path, table)
    assert found.y.tolist() == ["a", "b", "a", "b"]
    (note,) = found.notes
    assert note.startswith("2 of 6 draws are left")
    assert "draw 5" in note


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ("unreadable", "1 draw could not"),
        (True, "1 draw could not"),
        ("false", "1 of 6 draws"),
        (False, "1 of 6 draws"),
        (0, "1 of 6 draws"),
        (0.0, "1 of 6 draws"),
        (float("nan"), "1 of 6 draws"),
        ("0", "1 of 6 draws"),
        ("", "1 of 6 draws"),
        ("No ", "1 of 6 draws"),
    ],
)
def test_a_column_says_which_draws_cannot_be_labelled(
    tmp_path: Path, reason: object, told: str
) -> None:
    table = changed("label", [*"babab", None]) | {"unlabelable": [*[None] * 5, reason]}
    found = drawn_in(tmp_path, table)
    assert len(found.y) == 5
    assert [note.startswith(told) for note in found.notes] == [True]
    assert found.columns == ("x",)


MODULES = """
def broken():
    raise RuntimeError("out of order")

def nothing():
    return 3

number = 3

class Plain:
    def fit(self, X, y):
        return self

    def predict(self, X):
        return ["ill"] * len(X)

class Fails(Plain):
    def fit(self, X, y, sample_weight=None):
        raise KeyError("inside the model")
"""

LEARNING = [
    ("--model svm", "'svm'"),
    ("--model nowhere:make", "nowhere:make"),
    ("--model bad_models:missing", "missing"),
    ("--model bad_models:", "bad_models:"),
    ("--model :make", ":make"),
    ("--model bad_models:broken", "could not make a model: out of order."),
    ("--model bad_models:nothing", "gives 3"),
    ("--model bad_models:number", "no model"),
    ("--model raises_models:make", "cannot be imported: division by zero."),
    ("--model bad_models:Fails --score uniform", "KeyError: 'inside the model'"),
    ("--model bad_models:Plain --weights lure", "Choose another --model, or --weights none."),
    ("--model bad_models:Plain --compare", "Choose another --model, or leave --compare out."),
    ("--compare --weights lure", "does not go with --compare"),
    ("--model ridge", "ridge predicts numbers"),
    ("--labels prices.csv", "logistic tells classes apart"),
    ("--labels prices.csv --model ridge --score entropy", "--score geometric"),
    ("--labels prices.csv --model ridge --loss brier", "take --loss squared."),
    ("--loss squared", "take --loss brier."),
    ("--loss hinge", "hinge"),
    ("--score surprise", "surprise"),
    ("--score bald", "--ensemble 10"),
    ("--score variance", "--score variance does not fit"),
    ("--proposal greedy", "greedy"),
    ("--proposal boltzmann:hot", "boltzmann:hot"),
    ("--floor 2", "floor"),
    ("--floor 0 --proposal epsilon_greedy", "raise --floor, as in --floor 0.1."),
    ("--weights heavy", "heavy"),
    ("--budget 151", "151"),
    ("--budget 150", "--hold-out"),
    ("--budget 1", "--budget"),
    ("--batch 0", "--batch"),
    ("--ensemble 1", "--ensemble"),
    ("--trajectories 5", "--compare"),
    ("--hold-out 0.3 --test test.parquet", "--hold-out"),
    ("--hold-out 1.5", "--hold-out"),
    ("--hold-out 0.001", "0.001"),
    ("--features f_*", "f_*"),
    ("--features note", "'note'"),
    ("--features id", "'id'"),
    ("--id-column name", "'name'"),
    ("--pool nowhere.parquet", "nowhere.parquet"),
    ("--pool text.csv", "no column of numbers"),
    ("--pool twice.csv", "'p1'"),
    ("--pool gaps.csv", "NaN. In gaps.csv numbers are missing or infinite in 'x': in 75 of 150"),
    ("--pool gaps.csv", "row 0 (counted from 0). Fill them in, name the --features without them"),
    ("--pool endless.csv --model ridge --labels prices.csv", "infinite in 'x': in 1 of 150 rows"),
    ("--test holed_test.csv", "In holed_test.csv numbers are missing or infinite in 'dose'"),
    ("--pool typed.csv", "The column 'f_b' of typed.csv holds string"),
    ("--labels nowhere.csv", "nowhere.csv"),
    ("--labels unlabelled.csv", "'label'"),
    ("--labels some.csv", "no label for 110 of the 150 items of the pool, such as 'p40'"),
    ("--labels some.csv --hold-out 0.2", "no label for 110 of the 150"),
    ("--labels twice_labelled.csv", "'p1'"),
    ("--labels strangers.csv", "'q1'"),
    ("--labels header.csv", "header.csv has not a single label"),
    ("--labels mixed.jsonl", "numbers (3) or text ('ill')"),
    ("--labels draws_only.csv", "no id"),
    ("--labels same.csv", "All 150 labels of the pool are well"),
    ("--labels same.csv --compare", "All 150 labels of the pool are well"),
    ("--labels counts.csv", "numbers of 150 values, such as 0. Use ridge, forest or boosting"),
    ("--test nowhere.parquet", "nowhere.parquet"),
    ("--test other_test.csv", "'age'"),
    ("--test gaps_test.csv", "row 2"),
    ("--test number_test.csv", "the same way"),
    ("--out a_file", "a_file is a file"),
    ("--out a_file/deeper --compare", "a_file is a file"),
]

FILES = {
    "bad_models.py": MODULES,
    "raises_models.py": "1 / 0\n",
    "a_file": "",
    "text.csv": "id,text\np0,hello\np1,you\n",
    "twice.csv": "id,x\np1,1\np1,2\n",
    "gaps.csv": "id,x\n" + "".join(f"p{n},{n if n % 2 else ''}\n" for n in range(N)),
    "endless.csv": "id,x\n" + "".join(f"p{n},{n or 'inf'}\n" for n in range(N)),
    "typed.csv": "id,f_a,f_b\n" + "".join(f"p{n},{n},{n or 'n/a'}\n" for n in range(N)),
    "header.csv": "id,label\n",
    "unlabelled.csv": "id,verdict\np0,ill\n",
    "some.csv": "id,label\n" + "".join(f"p{n},{'a' if n % 2 else 'b'}\n" for n in range(40)),
    "twice_labelled.csv": "id,label\np1,ill\np1,well\n",
    "strangers.csv": "id,label\nq1,ill\n",
    "mixed.jsonl": "".join(
        json.dumps({"id": f"p{n}", "label": "ill" if n else 3}) + "\n" for n in range(N)
    ),
    "draws_only.csv": "draw,label\n1,ill\n",
    "same.csv": "id,label\n" + "".join(f"p{n},well\n" for n in range(N)),
    "counts.csv": "id,label\n" + "".join(f"p{n},{n}\n" for n in range(N)),
    "other_test.csv": "id,label,dose\nt,ill,1\n",
    "gaps_test.csv": "id,label,age,dose\nt,ill,1,1\nu,,1,1\n",
    "holed_test.csv": "id,label,age,dose\nt,ill,1,1\nu,well,1,\n",
    "number_test.csv": "id,label,age,dose\nt,1,1,1\nu,2,1,1\n",
}

HOLED = {
    "label": [*"ab"] * 16,
    "probability": [1 / (100 - n) for n in range(32)],
    "x": [*range(31), None],
}

ADVISING: list[tuple[str, str, dict[str, Any]]] = [
    ("", "--pool-size", changed("x", range(6))),
    ("--pool-size 5", "6 draws, which cannot come from a pool of 5", changed("x", range(6))),
    ("--pool-size 100", "d.parquet numbers are missing or infinite in 'x'", HOLED),
    ("--pool-size 0", "--pool-size", changed("x", range(6))),
    ("--pool-size 100 --pool pool.parquet", "150 by --pool", changed("x", range(6))),
    ("--pool-size 100", "probability above 0", changed("probability", [0.0] * 6)),
    ("--pool-size 100", "probability above 0", changed("probability", [0.1, 1.5, *[0.1] * 4])),
    ("--pool-size 100", "nan", changed("probability", [0.1, None, *[0.1] * 4])),
    ("--pool-size 100", "'probability'", changed("probability", [])),
    ("--pool-size 100", "'probability'", changed("probability", ["often"] * 6)),
    ("--pool-size 100", "'label'", changed("label", [])),
    ("--pool-size 100", "Label that draw", changed("label", [None, *"babab"])),
    (
        "--pool-size 100",
        "draw 3 has none yet",
        changed("label", [None] * 6) | {"unlabelable": ["torn", "torn", *[None] * 4]},
    ),
    (
        "--pool-size 100",
        "all 6 draws are unlabelable",
        changed("label", [None] * 6) | {"unlabelable": ["torn"] * 6},
    ),
    ("--pool-size 100", "--pool", changed("x", [])),
    ("--pool-size 100", "draw 4", changed("draw", [1, 2, 3, 5, 6, 7])),
    ("--pool-size 100", "draw 6", changed("draw", [1, 2, 3, 4, 5, 5])),
    ("--pool-size 100", "'p0'", changed("id", ["p0", "p0", "p2", "p3", "p4", "p5"])),
    ("--pool pool.parquet", "'stranger'", changed("id", ["stranger", *"bcdef"])),
    ("--pool pool.parquet", "without an id", changed("id", [])),
    ("--pool nowhere.parquet", "nowhere.parquet", changed("x", range(6))),
    ("--pool-size 100 --labels nowhere.csv", "nowhere.csv", changed("x", range(6))),
    ("--pool-size 100 --model svm", "'svm'", changed("x", range(6))),
    ("--pool-size 100 --model bad_models:broken", "out of order", changed("x", range(6))),
    ("--pool-size 100 --model ridge", "ridge", changed("x", range(6))),
    ("--pool-size 100 --loss hinge", "hinge", changed("x", range(6))),
    ("--pool-size 100 --folds 1", "--folds", changed("x", range(6))),
    ("--pool-size 100 --features y", "'y'", changed("x", range(6))),
    ("--pool-size 100 --features label", "'label'", changed("x", range(6))),
    ("--pool-size 100 --test other_test.csv", "'x'", changed("x", range(6))),
]


def refused(levelled: Levelled, words: Sequence[str], told: str) -> None:
    result = levelled(*words)
    assert result.code in (1, 2), result.err
    assert told in result.err
    assert "Traceback" not in result.err
    assert result.out == ""
    lines = [line.partition(":")[0] for line in result.err.splitlines()]
    assert result.code == 2 or (lines.count("levelled") == 1 and lines[-1] == "levelled")
    # What was read is told before the work begins, in which something may still be refused.
    assert result.code == 2 or len(lines) == 1 or lines[0].startswith("150 items")


@pytest.mark.parametrize(("words", "told"), LEARNING)
def test_bad_input_to_learn_is_told_in_one_line(
    levelled: Levelled, there: Path, words: str, told: str
) -> None:
    for name, text in FILES.items():
        (there / name).write_text(text)
    refused(levelled, [*LEARN, *words.split(" ")], told)


@pytest.mark.parametrize(("words", "told", "drawn"), ADVISING)
def test_bad_input_to_advise_is_told_in_one_line(
    levelled: Levelled, there: Path, words: str, told: str, drawn: dict[str, Any]
) -> None:
    for name, text in FILES.items():
        (there / name).write_text(text)
    pq.write_table(pa.table({key: [*value] for key, value in drawn.items()}), there / "d.parquet")
    refused(levelled, ["learn", "--advise", "--labels", "d.parquet", *words.split()], told)


def test_a_file_that_is_no_parquet_is_named(levelled: Levelled, there: Path) -> None:
    (there / "bad.parquet").write_bytes(b"PAR1 nonsense")
    refused(levelled, ["learn", "--advise", "--labels", "bad.parquet"], "bad.parquet")


def test_the_command_has_the_defaults_of_the_learner() -> None:
    defaults = inspect.signature(learn).parameters
    assert (defaults["floor"].default, defaults["start"].default) == (FLOOR, START)
