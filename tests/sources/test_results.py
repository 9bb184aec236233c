from pathlib import Path

import pytest

from levelled.errors import PoolError
from levelled.sources import read_result


def test_ids_of_csv_are_numbers_only_if_they_are_written_so(tmp_path: Path) -> None:
    for ids, expected in [
        (["12", "-3", "0"], [12, -3, 0]),
        (["12", "007"], ["12", "007"]),
        (["1.0", "2"], ["1.0", "2"]),
        (["12345678901234567890"], ["12345678901234567890"]),
    ]:
        path = tmp_path / "result.csv"
        path.write_text("id,seed\n" + "".join(f"{one},07\n" for one in ids))
        table = read_result(path)
        assert table["id"].to_pylist() == expected
        assert table["seed"].to_pylist()[0] == "07"


def test_files_that_are_no_result_are_refused(tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("id\n1\n")
    with pytest.raises(PoolError, match="are 2 files"):
        read_result(tmp_path)
    (tmp_path / "text.parquet").write_text("hello")
    with pytest.raises(PoolError, match="cannot be read as parquet"):
        read_result(tmp_path / "text.parquet")
