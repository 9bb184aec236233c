import hashlib
import json
import os
import subprocess
import sys
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from levelled import sources
from levelled.errors import PoolError
from levelled.sources import Categorical, Pool, open_pool
from sources.samples import MAIL, Columns, write

FORMATS = [".parquet", ".pq", ".csv", ".tsv", ".jsonl", ".ndjson"]


@pytest.fixture(params=[*FORMATS, "frame"])
def mail(request: pytest.FixtureRequest, tmp_path: Path) -> Pool:
    if request.param == "frame":
        return open_pool(pa.table(dict(MAIL)), slices=["country"])
    return open_pool(write(tmp_path / f"mail{request.param}", MAIL), slices=["country"])


def test_a_pool_is_the_same_in_every_format(mail: Pool) -> None:
    assert len(mail) == 4
    assert mail.ids([2, 0]) == ["r2", "r0"]
    assert mail.rows_of(["r3", "r0", "r3"]).tolist() == [3, 0, 3]
    assert mail.classes == ("ham", "spam")
    assert mail.models == ("",)
    predictions = mail.predictions()
    assert predictions.of([0, 1, 3]) == ["ham", "spam", "spam"]
    assert predictions.counts() == {"ham": 2, "spam": 2}
    assert predictions.proba is not None
    assert predictions.proba.dtype == np.float32
    np.testing.assert_array_equal(
        predictions.proba[:, 0], np.array(MAIL["proba_ham"], dtype=np.float32)
    )
    assert mail.slice_values("country").of(range(4)) == ["de", "fr", "(missing)", "de"]
    assert mail.slice_values("country").counts() == {"(missing)": 1, "de": 2, "fr": 1}
    assert (predictions.surrogate, predictions.score, predictions.loss_hat) == (None, None, None)


def test_the_labeller_sees_neither_id_nor_prediction_and_text_stays_text(mail: Pool) -> None:
    shown = mail.shown([3, 1, 3])
    assert shown[0] == shown[2] == {"country": "de", "text": MAIL["text"][3]}
    assert shown[1] == {"country": "fr", "text": MAIL["text"][1]}
    json.dumps(shown, allow_nan=False)


def test_only_the_rows_that_are_asked_for_exist(mail: Pool) -> None:
    for method in (mail.ids, mail.shown):
        for row in (4, -1):
            with pytest.raises(PoolError, match=f"Row {row} is outside"):
                method([row])
    with pytest.raises(PoolError, match=r"row.*'r9'"):
        mail.rows_of(["r1", "r9"])
    with pytest.raises(PoolError, match=r"'sex'.*'country'"):
        mail.slice_values("sex")
    with pytest.raises(PoolError, match="model 'v2'"):
        mail.predictions("v2")


def test_a_metric_learns_what_the_pool_knows(mail: Pool) -> None:
    predictions = mail.predictions()
    assert predictions.pool_size == 4
    assert predictions.pred is not None
    assert predictions.class_index is not None
    assert predictions.class_index.tolist() == [0, 1, 0, 1]
    assert predictions.number is None
    assert predictions.proba is mail.predictions().proba


@pytest.mark.parametrize("ending", FORMATS)
def test_the_rows_of_several_files_follow_each_other_in_sorted_order(
    ending: str, tmp_path: Path
) -> None:
    names = [f"i{n}" for n in range(9)]
    for part, start in (("c", 6), ("a", 0), ("b", 3)):
        cut = slice(start, start + 3)
        columns = {"id": names[cut], "pred": ["x", "y", "x"], "text": [n + "!" for n in names[cut]]}
        write(tmp_path / f"part-{part}{ending}", columns)
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / "notes.txt").write_text("not a pool")
    given: list[Any] = [
        tmp_path,
        str(tmp_path / f"part-*{ending}"),
        [tmp_path / f"part-{part}{ending}" for part in "cab"],
    ]
    pools = [open_pool(one) for one in given]
    for pool in pools:
        assert pool.ids(range(9)) == names
        assert pool.shown([8, 0, 4]) == [{"text": "i8!"}, {"text": "i0!"}, {"text": "i4!"}]
    assert len({pool.fingerprint for pool in pools}) == 1
    assert pools[1].source == given[1]


def test_what_is_shown_comes_from_any_row_group(tmp_path: Path) -> None:
    columns = {"id": range(1000), "text": [f"t{n}" for n in range(1000)]}
    pool = open_pool(write(tmp_path / "pool.parquet", columns, row_group_size=7))
    rows = np.random.default_rng(0).integers(0, 1000, 50)
    assert pool.shown(rows) == [{"text": f"t{row}"} for row in rows]


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".jsonl"])
def test_a_pool_larger_than_a_batch_keeps_its_order(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("levelled.sources.files.LONGEST", 100_000)
    n = 70_000
    second = np.linspace(0, 1, n).round(6)
    columns = {
        "id": [f"{row:x}" for row in range(n)],
        "pred": ["b" if p > 0.5 else "a" for p in second],
        "proba_a": (1 - second).tolist(),
        "proba_b": second.tolist(),
        "where": [f"w{row % 7}" for row in range(n)],
        "text": [f"t{row}" for row in range(n)],
    }
    pool = open_pool(write(tmp_path / f"pool{ending}", columns), slices=["where"])
    rows = [0, 16_384, 65_535, 65_536, n - 1]
    assert pool.ids(rows) == [f"{row:x}" for row in rows]
    assert pool.rows_of([f"{row:x}" for row in rows]).tolist() == rows
    assert [row["text"] for row in pool.shown(rows)] == [f"t{row}" for row in rows]
    predictions = pool.predictions()
    assert predictions.proba is not None
    np.testing.assert_allclose(predictions.proba[:, 1], second, atol=1e-7)
    assert predictions.of(rows) == [columns["pred"][row] for row in rows]
    assert np.asarray(pool.slice_values("where")).tolist() == columns["where"]


def test_the_fingerprint_of_a_file_is_its_sha256(tmp_path: Path) -> None:
    path = tmp_path / "pool.csv"
    path.write_text("id\n1\n")
    expected = hashlib.sha256(path.read_bytes()).hexdigest()
    assert open_pool(path).fingerprint == expected
    path.write_text("id\n2\n")
    assert open_pool(path).fingerprint != expected


def test_the_fingerprint_of_a_frame_is_that_of_its_content() -> None:
    table = pa.table(dict(MAIL))
    halves = pa.concat_tables([table.slice(0, 1), table.slice(1)])
    encoded = table.set_column(1, "pred", table["pred"].dictionary_encode())
    noted = table.replace_schema_metadata({"made": "today"})
    middle = pa.concat_tables([table, table, table]).slice(4, 4)
    prints = {open_pool(t).fingerprint for t in (table, halves, encoded, noted, middle)}
    assert len(prints) == 1
    others = [
        table.rename_columns(["id", "pred", "proba_ham", "proba_spam", "country", "texts"]),
        table.take([1, 0, 2, 3]),
        table.drop_columns(["country"]),
        table.set_column(5, "text", pa.array(["Lunch!", *MAIL["text"][1:]])),
    ]
    assert len(prints | {open_pool(t).fingerprint for t in others}) == 5


def test_other_libraries_hand_over_their_frames() -> None:
    class Frame:
        """All that is asked of a library."""

        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return pa.table(dict(MAIL)).__arrow_c_stream__(requested_schema)

    assert open_pool(Frame()).ids([1]) == ["r1"]
    assert open_pool(pa.table(dict(MAIL)).to_reader()).ids([1]) == ["r1"]


def test_a_pandas_frame_is_a_pool() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(dict(MAIL)).set_index("country", drop=False)
    pool = open_pool(frame)
    assert pool.ids([1]) == ["r1"]
    assert set(pool.shown([0])[0]) == {"country", "text"}


def test_a_polars_frame_is_a_pool() -> None:
    polars = pytest.importorskip("polars")
    pool = open_pool(polars.DataFrame(dict(MAIL)), slices=["country"])
    assert pool.ids([1]) == ["r1"]
    assert pool.slice_values("country").of([1]) == ["fr"]


def test_a_duckdb_query_is_a_pool() -> None:
    duckdb = pytest.importorskip("duckdb")
    pool = open_pool(duckdb.sql("select i as id, 'a' as pred, [i, 1] as x from range(9) t(i)"))
    assert pool.ids([8]) == [8]
    assert pool.shown([3]) == [{"x": [3, 1]}]


def test_text_of_every_width_is_text() -> None:
    columns = {name: MAIL[name] for name in ("id", "pred", "text")}
    views = [pa.string_view()] if hasattr(pa, "string_view") else []
    for kind in (pa.string(), pa.large_string(), *views):
        pool = open_pool(pa.table({name: pa.array(v, kind) for name, v in columns.items()}))
        assert pool.ids([1]) == ["r1"]
        assert pool.predictions().of([1]) == ["spam"]
    coded = pa.table({name: pa.array(v).dictionary_encode() for name, v in columns.items()})
    assert open_pool(coded).ids([3]) == ["r3"]


def test_ids_keep_their_zeros_and_their_kind(tmp_path: Path) -> None:
    columns: Columns = {"id": ["007", "7", "NA", "null"], "pred": [1, 0, 1, 1]}
    pool = open_pool(write(tmp_path / "pool.csv", columns))
    assert pool.ids(range(4)) == ["007", "7", "NA", "null"]
    assert pool.rows_of([7]).tolist() == [1]
    numbers = open_pool(pa.table({"id": [10, -3, 2**62]}))
    assert numbers.ids([2, 1]) == [2**62, -3]
    assert numbers.rows_of(["-3", 10]).tolist() == [1, 0]
    for unknown in ("010", 2**70, "x", ""):
        with pytest.raises(PoolError, match="no row"):
            numbers.rows_of([unknown])


def test_another_column_may_hold_the_ids() -> None:
    pool = open_pool(pa.table({"key": ["a", "b"], "id": [1, 1]}), id_column="key")
    assert pool.ids([1]) == ["b"]
    assert pool.shown([0]) == [{"id": 1}]


@pytest.mark.parametrize(
    ("texts", "numbers"),
    [
        (["1", "2", "10"], [1, 2, 10]),
        (["1", "2.5", "-1e3"], [1.0, 2.5, -1000.0]),
        (["1", "2", "x"], None),
        (["01", "2", "3"], None),
        (["1", "2", "9" * 30], None),
        (["1", "2", "1e999"], None),
        (["true", "false", "true"], None),
    ],
)
def test_in_csv_a_prediction_is_a_number_if_all_are(
    texts: list[str], numbers: list[float] | None, tmp_path: Path
) -> None:
    path = write(tmp_path / "pool.csv", {"id": ["a", "b", "c"], "pred": texts})
    predictions = open_pool(path).predictions()
    assert predictions.of(range(3)) == (texts if numbers is None else numbers)
    assert isinstance(predictions.pred, Categorical) == (numbers is None)


def test_numbers_are_classes_where_classes_are_known() -> None:
    table = pa.table({"id": [1, 2, 3], "pred": [0.0, 1.0, 1.0], "proba_0": [0.5] * 3})
    pool = open_pool(table.append_column("proba_1", pa.array([0.5] * 3)))
    assert pool.predictions().of(range(3)) == ["0", "1", "1"]
    flags = open_pool(pa.table({"id": [1, 2], "pred": [True, False]}))
    assert flags.predictions().of([0, 1]) == ["true", "false"]
    plain = open_pool(pa.table({"id": [1, 2], "pred": [3, 4]}))
    assert plain.predictions().of([0, 1]) == [3, 4]
    assert plain.predictions().counts() == {"3": 1, "4": 1}
    assert plain.predictions().number is not None


def test_probabilities_alone_predict_the_most_probable_class() -> None:
    table = pa.table({"id": [1, 2], "p_a": [0.2, 0.6], "p_b": [0.5, 0.1], "p_c": [0.3, 0.3]})
    pool = open_pool(table)
    assert pool.predictions().of([0, 1]) == ["b", "a"]
    assert pool.predictions().counts() == {"a": 1, "b": 1, "c": 0}


def test_a_pool_without_predictions_can_still_be_labelled() -> None:
    pool = open_pool(pa.table({"id": [1, 2], "text": ["x", "y"]}))
    assert pool.models == ()
    assert pool.predictions().pred is None
    assert pool.predictions().of([0]) is None
    assert pool.predictions().counts() == {}
    assert pool.predictions().proba is None


def test_rounded_probabilities_are_scaled_to_sum_to_one() -> None:
    table = pa.table({"id": [1], "proba_a": [0.333], "proba_b": [0.333], "proba_c": [0.333]})
    proba = open_pool(table).predictions().proba
    assert proba is not None
    np.testing.assert_allclose(proba, 1 / 3, rtol=1e-6)


def test_probabilities_may_come_as_one_column() -> None:
    rows = [[0.25, 0.75], [1.0, 0.0]]
    for kind in (pa.list_(pa.float32()), pa.large_list(pa.float64()), pa.list_(pa.float64(), 2)):
        table = pa.table({"id": [1, 2], "proba": pa.array(rows, kind)})
        pool = open_pool(table, classes=["ham", "spam"])
        assert pool.predictions().of([0, 1]) == ["spam", "ham"]
    second = pa.table({"id": [1, 2], "prediction_proba": [0.75, 0.0]})
    proba = open_pool(second, classes=["ham", "spam"]).predictions().proba
    np.testing.assert_array_equal(proba, rows)


def test_a_list_of_probabilities_is_read_from_jsonl_and_parquet(tmp_path: Path) -> None:
    columns: Columns = {"id": ["a", "b"], "proba": [[0.25, 0.75], [1, 0]]}
    for ending in (".jsonl", ".parquet"):
        pool = open_pool(write(tmp_path / f"pool{ending}", columns), classes="ham,spam")
        assert pool.predictions().of([0, 1]) == ["spam", "ham"]


def test_several_models_and_a_surrogate_share_their_classes() -> None:
    table = pa.table(
        {
            "id": [1, 2],
            "pred": ["a", "b"],
            "pred@v2": ["b", "b"],
            "proba@v3_a": [0.1, 0.8],
            "proba@v3_b": [0.9, 0.2],
            "surrogate_b": [0.5, 0.25],
            "surrogate_a": [0.5, 0.75],
            "score": [0, 3],
            "loss_hat": [-0.5, 0.5],
        }
    )
    pool = open_pool(table, classes=("a", "b"), roles={"score": "score"})
    assert pool.models == ("", "v2", "v3")
    assert [pool.predictions(model).of([0, 1]) for model in pool.models] == [
        ["a", "b"],
        ["b", "b"],
        ["b", "a"],
    ]
    first = pool.predictions()
    assert first.surrogate is not None
    np.testing.assert_array_equal(first.surrogate, [[0.5, 0.5], [0.75, 0.25]])
    assert first.score is not None
    assert first.score.tolist() == [0, 3]
    assert first.loss_hat is not None
    assert first.loss_hat.tolist() == [-0.5, 0.5]
    assert pool.shown([0]) == [{}]


def test_categories_that_do_not_occur_are_no_slices() -> None:
    coded = pa.DictionaryArray.from_arrays(pa.array([0, 2, 0]), pa.array(["a", "b", "c"]))
    table = pa.table({"id": [1, 2, 3], "pred": coded, "by": coded, "year": [2020, 2021, None]})
    pool = open_pool(table, slices=["by", "year", "by"])
    assert pool.slice_values("by").values == ("a", "c")
    assert pool.slice_values("year").of(range(3)) == ["2020", "2021", "(missing)"]
    assert pool.predictions().counts() == {"a": 2, "c": 1}


def test_what_json_cannot_hold_is_shown_as_text() -> None:
    table = pa.table(
        {
            "id": [1],
            "day": [date(2024, 2, 29)],
            "price": [Decimal("1.10")],
            "image": [b"\x00\xff"],
            "odd": [float("nan")],
            "deep": [{"a": [1.5, None], "b": date(2024, 1, 1)}],
        }
    )
    shown = open_pool(table).shown([0])
    assert shown == [
        {
            "day": "2024-02-29",
            "price": "1.10",
            "image": "AP8=",
            "odd": None,
            "deep": {"a": [1.5, None], "b": "2024-01-01"},
        }
    ]
    json.dumps(shown, allow_nan=False)


def test_a_jsonl_line_may_leave_things_out_or_mix_them(tmp_path: Path) -> None:
    path = tmp_path / "pool.jsonl"
    lines = [
        {"id": "a", "pred": 1, "by": "x", "text": "t"},
        {"id": "b", "pred": 0.5, "by": 3, "text": ["nested", {"deep": 1}]},
        {"id": "c", "pred": 2},
    ]
    path.write_bytes(
        b"\xef\xbb\xbf" + "\n\n".join(json.dumps(line) for line in lines).encode() + b"\n \n"
    )
    pool = open_pool(path, slices=["by"])
    assert pool.predictions().of(range(3)) == [1, 0.5, 2]
    assert pool.slice_values("by").of(range(3)) == ["x", "3", "(missing)"]
    assert pool.shown([2, 1]) == [
        {"by": None, "text": None},
        {"by": 3, "text": ["nested", {"deep": 1}]},
    ]


def test_a_csv_of_windows_is_read(tmp_path: Path) -> None:
    path = tmp_path / "pool.csv"
    path.write_bytes(b"\xef\xbb\xbfid,pred,text\r\n1,a,\xc3\xa9\r\n2,b,x\r\n")
    assert open_pool(path).shown([0]) == [{"text": "é"}]


def test_a_pool_prints_as_one_line() -> None:
    assert repr(open_pool(pa.table(dict(MAIL)))) == "Pool(4 items, classes ham, spam)"


def test_looking_at_sources_does_not_load_pyarrow() -> None:
    code = "import sys, levelled.sources; print('pyarrow' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"


def test_public_names_are_there() -> None:
    assert all(hasattr(sources, name) for name in sources.__all__)


def test_a_path_may_be_anything_with_a_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "a[1].csv", MAIL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", os.fspath(tmp_path))
    for given in (path, str(path), "a[1].csv", "~/a[1].csv", "*.csv", "**/a*.csv"):
        assert len(open_pool(given)) == 4
