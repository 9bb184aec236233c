"""Small files that stand for gigabytes are opened in little memory, or refused in one line."""

import json
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from levelled.errors import LevelledError, PoolError
from levelled.sources import open_pool, shown_fields, untrusted
from levelled.sources.content import n_pixels
from sources.bombs import BOMBS, _png, picture
from sources.samples import MAIL, Columns, write

pytest.importorskip("openpyxl")

_LEAST = 25
_MEMORY, _SECONDS = 600, 20
"""Megabytes and seconds that no bomb may exceed, in the child that opens it."""
_HARMLESS = ("long-text.parquet", "lists-of-long-texts.parquet")
"""Texts that many rows share, which are never written out for each of them."""

_LOOK = """
import json, resource, sys
from levelled.errors import LevelledError
from levelled.sources import untrusted
try:
    found = {"n_items": untrusted.look([sys.argv[1]], {}, through=True)["n_items"]}
except LevelledError as wrong:
    found = {"error": str(wrong)}
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps({**found, "memory": used.ru_maxrss / 1024, "seconds": untrusted._SECONDS}))
"""


def look(path: Path) -> dict[str, Any]:
    """The answer about a file, and the memory of the only child that gave it."""
    done = subprocess.run([sys.executable, "-c", _LOOK, path], capture_output=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def levelled(*words: object) -> tuple[int, list[str], float]:
    """The exit code of a command, the lines of its errors, and megabytes of it and its child."""
    command = [sys.executable, "-m", "levelled", *map(str, words)]
    code = (
        "import json, resource, subprocess, sys;"
        "done = subprocess.run(sys.argv[1:], capture_output=True, text=True);"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024;"
        "print(json.dumps([done.returncode, done.stderr.splitlines(), used]))"
    )
    done = subprocess.run([sys.executable, "-c", code, *command], capture_output=True, check=True)
    returned, lines, memory = json.loads(done.stdout)
    return returned, lines, memory


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_takes_little_memory_and_one_line(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(BOMBS[name]())
    assert path.stat().st_size < 25 << 20
    found = look(path)
    assert found["memory"] < _MEMORY
    assert found["seconds"] <= _SECONDS
    if name in _HARMLESS:
        assert found["n_items"] == 4000
    elif name not in ("picture.jsonl", "far-row.xlsx"):  # which is small, and has no ids
        assert name in found["error"]
        assert found["error"].isprintable()
        assert len(found["error"]) < 600


def test_there_are_enough_bombs() -> None:
    assert len(BOMBS) >= _LEAST


@pytest.mark.parametrize(
    "name", ["long-ids.parquet", "forged-footer.parquet", "rows.csv.gz", "overlapping.eval"]
)
def test_looking_at_a_bomb_ends_with_one_line_and_code_1(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(BOMBS[name]())
    code, lines, memory = levelled("look", path)
    assert (code, len(lines)) == (1, 1)
    assert name in lines[0]
    assert memory < _MEMORY


@pytest.mark.parametrize("name", ["long-ids.parquet", "hugging-face.parquet", "many-rows.parquet"])
def test_a_file_that_promises_too_much_is_no_pool(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(BOMBS[name]())
    code, lines, memory = levelled(
        "create", "new", "--pool", path, "--storage", f"sqlite:///{tmp_path}/new.db"
    )
    assert (code, len(lines)) == (1, 1)
    assert f"{name} is refused" in lines[0]
    assert memory < _MEMORY
    assert not (tmp_path / "new.db").exists()


def test_a_file_that_keeps_its_child_busy_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "pool.csv", MAIL)
    assert untrusted.look([path], {})["n_items"] == 4
    monkeypatch.setattr(untrusted, "_SECONDS", 0)
    with pytest.raises(PoolError, match=r"pool\.csv is refused.* 0 s"):
        untrusted.look([path], {"slices": ["country"]})


def test_a_file_that_ends_its_child_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "pool.csv", MAIL)
    monkeypatch.setattr(untrusted, "_CODE", "import os; os.abort()")
    with pytest.raises(PoolError, match=r"pool\.csv is refused.*SIGABRT"):
        untrusted.look([path], {})


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
def test_files_of_a_folder_that_is_not_trusted_are_opened_in_a_child(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(untrusted, "_folders", set())
    path = write(tmp_path / f"pool{ending}", MAIL)
    used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    open_pool(path, slices=["country"])
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime == used
    untrusted.distrust(tmp_path)
    assert open_pool(path, slices=["country"]).ids(range(4)) == MAIL["id"]
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime > used


@pytest.mark.parametrize("options", [{"id_column": "no"}, {"reader": "excel"}, {"slices": ["no"]}])
def test_a_child_refuses_as_its_parent_does(options: dict[str, Any], tmp_path: Path) -> None:
    path = write(tmp_path / "pool.csv", MAIL)
    told = []
    for attempt in (lambda: open_pool(path, **options), lambda: untrusted.look([path], options)):
        with pytest.raises(LevelledError) as caught:
            attempt()
        told.append((caught.type, str(caught.value)))
    assert told[0] == told[1]


def test_a_long_text_that_all_rows_share_is_shown_to_labellers(tmp_path: Path) -> None:
    path = tmp_path / "pool.parquet"
    path.write_bytes(BOMBS["long-text.parquet"]())
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert len(open_pool(path).shown([3999])[0]["text"]) > 1_000_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300 << 10


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
def test_a_table_of_20_000_columns_is_opened(ending: str, tmp_path: Path) -> None:
    columns: Columns = {
        "id": [1, 2],
        "pred": ["a", "b"],
        **{f"c{n}": [n, 0.5] for n in range(20_000)},
    }
    pool = open_pool(write(tmp_path / f"wide{ending}", columns))
    assert len(pool.column_names) == 20_002
    assert pool.shown([1])[0]["c19999"] in (0.5, "0.5")


def test_a_table_of_more_columns_is_refused(tmp_path: Path) -> None:
    columns = {"id": [1], **{f"c{n}": [n] for n in range(50_000)}}
    for ending in (".csv", ".jsonl", ".parquet"):
        with pytest.raises(PoolError, match=r"50,001 columns.*50,000"):
            open_pool(write(tmp_path / f"wide{ending}", columns))


def jpeg(width: int, height: int) -> bytes:
    comment = b"\xff\xfe\x00\x06size"
    frame = b"\xff\xc0\x00\x11\x08" + height.to_bytes(2, "big") + width.to_bytes(2, "big")
    return b"\xff\xd8" + comment + frame + bytes(12)


def webp(kind: bytes, rest: bytes) -> bytes:
    return b"RIFF" + bytes(4) + b"WEBP" + kind + bytes(4) + rest


@pytest.mark.parametrize(
    "data",
    [
        _png(300, 200),
        jpeg(300, 200),
        b"GIF89a" + (300).to_bytes(2, "little") + (200).to_bytes(2, "little"),
        webp(b"VP8X", bytes(4) + (299).to_bytes(3, "little") + (199).to_bytes(3, "little")),
        webp(b"VP8L", b"\x2f" + (299 | 199 << 14).to_bytes(4, "little")),
        webp(b"VP8 ", bytes(6) + (300).to_bytes(2, "little") + (200).to_bytes(2, "little")),
    ],
    ids=["png", "jpeg", "gif", "webp", "webp lossless", "webp lossy"],
)
def test_the_pixels_of_an_image_are_read_from_its_first_bytes(data: bytes) -> None:
    assert n_pixels(data) == 60_000
    assert n_pixels(data[:9]) == 0


def test_a_picture_of_too_many_pixels_is_not_shown(tmp_path: Path) -> None:
    path = tmp_path / "pool.jsonl"
    path.write_bytes(BOMBS["picture.jsonl"]())
    (field,) = shown_fields(open_pool(path).shown([0])[0])
    assert field.kind == "text"
    assert "900,000,000 pixels" in field.value
    assert n_pixels(picture()) == 900_000_000


def test_lists_and_texts_of_a_parquet_file_are_shown_as_they_are(tmp_path: Path) -> None:
    chat = [[{"role": "user", "content": "Hi"}], None, []]
    columns = {
        "id": [1, 2, 3],
        "a.b": ["x", None, "x"],
        "tags": [["q", "q"], [], None],
        "chat": chat,
    }
    pq.write_table(pa.table(columns), tmp_path / "pool.parquet")
    rows = open_pool(tmp_path / "pool.parquet").shown([0, 1, 2])
    assert [row["a.b"] for row in rows] == ["x", None, "x"]
    assert [row["tags"] for row in rows] == [["q", "q"], [], None]
    assert [row["chat"] for row in rows] == chat
