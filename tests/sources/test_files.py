from pathlib import Path

import pytest

from levelled.sources.files import is_one_of


@pytest.mark.parametrize(
    ("path", "source", "expected"),
    [
        ("pool/a.csv", "pool/a.csv", True),
        ("pool/../pool/a.csv", "pool/a.csv", True),
        ("link.csv", "pool/a.csv", True),
        ("hard.csv", "pool", True),
        ("pool/new.csv", "pool", True),
        ("pool/new.csv", "linked", True),
        ("pool/new.csv", "pool/*.csv", True),
        ("pool/new.csv", "linked/*.csv", True),
        ("pool/new.csv", "p*/new.c?v", True),
        ("pool/new.csv", "**/*.csv", True),
        ("pool/b/c/new.csv", "pool/**/*.csv", True),
        ("pool/new.csv", "pool/a.csv", False),
        ("pool/new.pq", "pool/*.csv", False),
        ("pool/b/new.csv", "pool/*.csv", False),
        ("other/new.csv", "pool/**/*.csv", False),
        ("pool2.csv", "pool", False),
    ],
)
def test_a_file_to_be_written_is_told_from_those_of_a_pool(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, source: str, *, expected: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pool").mkdir()
    Path("pool/a.csv").touch()
    Path("link.csv").symlink_to("pool/a.csv")
    Path("hard.csv").hardlink_to("pool/a.csv")
    Path("linked").symlink_to("pool")
    assert is_one_of(Path(path), source) is expected
