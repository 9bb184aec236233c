"""Whatever is wrong with the file of a tool is said in one line."""

import contextlib
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from levelled.errors import PoolError
from levelled.sources import open_pool
from sources.readers.samples import DEFLATED, FILES, STORED, inspect_log, sample, zip_file

LOG = (FILES / "inspect.eval").read_bytes()
GOOD = inspect_log([sample(1, "C"), sample(2, "I")])
DEEP = b'{"id": ' + b"[" * 100_000


def refused(path: Path, **options: Any) -> str:  # noqa: ANN401
    with pytest.raises(PoolError) as caught:
        open_pool(path, **options)
    told = str(caught.value)
    assert "\n" not in told
    assert told.isprintable()
    assert len(told) < 600
    assert told.endswith(".")
    return told


def flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]


def with_member(name: str, data: bytes) -> bytes:
    return zip_file({**GOOD, name: data})


ARCHIVES: list[tuple[str, str, bytes]] = [
    ("an empty file", "no whole ZIP file", b""),
    ("text", "no whole ZIP file", b"just some text\n" * 50),
    ("a picture", "no whole ZIP file", b"\x89PNG\r\n\x1a\n" + bytes(500)),
    ("a compressed file", "no whole ZIP file", b"\x1f\x8b\x08" + bytes(500)),
    ("half a log", "no whole ZIP file", LOG[: len(LOG) // 2]),
    ("a log without its last bytes", "no whole ZIP file", LOG[:-12]),
    ("a damaged sample", "is damaged", flipped(LOG, 1500)),
    ("a damaged deflated member", "is damaged", flipped(zip_file(GOOD, DEFLATED), 60)),
    ("a damaged stored member", "checksum", flipped(zip_file(GOOD, STORED), 60)),
    ("an unknown method", "packed by method 14", zip_file(GOOD, STORED, said=14)),
    ("a wrong checksum", "differs from the checksum", zip_file(GOOD, crc=1)),
    ("a size of four gigabytes", "claims to hold 4,294,967,294", zip_file(GOOD, size=2**32 - 2)),
    ("a size that is too small", "differs from the checksum", zip_file(GOOD, size=3)),
    ("a size that is too large", "is damaged", zip_file(GOOD, size=100_000)),
    ("a bomb", "claims to hold 200,000,000", with_member("samples/9.json", bytes(200_000_000))),
    ("members beyond the end", "is damaged", zip_file(GOOD, offset=10**6)),
    ("a document of another program", "no header.json", zip_file({"word/document.xml": b"<a/>"})),
    ("no members", "no header.json", zip_file({})),
    ("samples without a header", "no header.json", zip_file({"samples/1.json": b"{}"})),
    ("a header that is no JSON", "header.json in .* is not JSON", with_member("header.json", b"{")),
    ("an empty header", "is not JSON: it is empty", with_member("header.json", b"")),
    ("a header that is a list", "no log of Inspect", with_member("header.json", b"[]")),
    ("a header without a version", "lacks a version", with_member("header.json", b'{"eval": {}}')),
    ("a newer version", "version 99", zip_file(inspect_log([sample(1, "C")], version=99))),
    ("no samples", "holds no samples", zip_file(inspect_log([]))),
    ("a sample that is no JSON", "is not JSON", with_member("samples/9.json", b'{"id": 1')),
    ("a sample that is nested too deeply", "is not JSON", with_member("samples/9.json", DEEP)),
    ("a sample in another encoding", "is not JSON", with_member("samples/9.json", b"\xff\xfe\xfa")),
    ("a sample that is a list", "Sample 3 .* no id", with_member("samples/9.json", b"[1]")),
    ("a sample without an id", "Sample 3 .* no id", with_member("samples/9.json", b"{}")),
    ("a sample whose id is null", "Row 0 .* no id", zip_file(inspect_log([sample(None, "C")]))),
    ("a sample twice", "is in row 0 and again", zip_file(inspect_log([sample(1, "C")] * 2))),
]


@pytest.mark.parametrize(
    ("words", "data"), [one[1:] for one in ARCHIVES], ids=[one[0] for one in ARCHIVES]
)
def test_a_damaged_or_foreign_archive_is_refused(words: str, data: bytes, tmp_path: Path) -> None:
    (tmp_path / "run.eval").write_bytes(data)
    assert re.search(words, refused(tmp_path / "run.eval"))


TASK = {"id": 1, "data": {"text": "a"}, "annotations": []}
LINE = json.loads((FILES / "lm_eval.jsonl").read_text().splitlines()[0])
TABLE = {"columns": ["inputs", "same/v1/score"], "data": [["a", 1]]}
DOCUMENTS: list[tuple[str, str, Any]] = [
    ("run.json", r"JSON.*empty", b""),
    ("run.json", "is not JSON", b"not JSON at all"),
    ("run.json", "is not JSON", (FILES / "inspect.json").read_bytes()[:5000]),
    ("run.json", "is not JSON", b"[" * 200_000),
    ("run.json", "is not JSON", '{"version": 2}'.encode("latin-1") + b"\xe9"),
    ("run.json", "no tool", b"5"),
    ("run.json", "no tool", {}),
    ("run.json", "no tool", [1, 2]),
    ("run.json", "no tool", {"type": "FeatureCollection", "features": []}),
    ("run.json", "no tool", [{"id": 1, "pred": "a"}]),
    ("run.json", "empty list", []),
    ("run.json", "holds no samples", {"version": 2, "eval": {}, "samples": []}),
    ("run.json", "holds no samples", {"version": 2, "eval": {}}),
    ("run.json", "version 7", {"version": 7, "eval": {}, "samples": [sample(1, "C")]}),
    ("run.json", "lacks a version", {"version": "2", "eval": {}, "samples": []}),
    ("run.json", "list of results", {"evalId": "a", "results": {}}),
    ("run.json", "not a single item", {"evalId": "a", "results": {"results": []}}),
    ("run.json", "not a single item", {"testRunData": {"testCases": []}}),
    ("run.json", "fewer values", {**TABLE, "data": [["a", 1, 2]]}),
    ("run.json", "not a single item", {**TABLE, "data": []}),
    ("run.json", "JSON-MIN", [{"text": "a", "annotation_id": 1, "annotator": 1, "lead_time": 2}]),
    ("run.json", "tasks without data", [TASK, {"id": 2}]),
    ("run.json", r"Entry 2.*object", [TASK, 5]),
    ("run.json", r"'1'.*row 0.*again", [TASK, TASK]),
    ("run.json", "Row 1 .* no id", [TASK, {**TASK, "id": None}]),
    ("run.json", r"'a'.*row 0.*again", [{"id": "a", "fields": {}, "responses": {}}] * 2),
    ("run.jsonl", r"Line 2.*JSON", f"{json.dumps(LINE)}\n{{".encode()),
    ("run.jsonl", r"Line 2.*object", f"{json.dumps(LINE)}\n[1]\n".encode()),
    ("run.jsonl", r"'0'.*row 0.*again", f"{json.dumps(LINE)}\n".encode() * 2),
    ("run.jsonl", "Row 0 .* no id", json.dumps({**LINE, "doc_id": None}).encode()),
    ("run.jsonl", "again in row 1", b'{"id": 1, "text": "a", "label": []}\n' * 2),
]


@pytest.mark.parametrize(
    ("name", "words", "content"), DOCUMENTS, ids=[f"{at}: {d[1]}" for at, d in enumerate(DOCUMENTS)]
)
def test_a_damaged_or_foreign_document_is_refused(
    name: str,
    words: str,
    content: Any,  # noqa: ANN401
    tmp_path: Path,
) -> None:
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    (tmp_path / name).write_bytes(data)
    assert re.search(words, refused(tmp_path / name))


def test_a_code_without_a_class_is_refused(tmp_path: Path) -> None:
    table = pq.read_table(FILES / "huggingface.parquet")
    at = table.schema.get_field_index("label")
    table = table.set_column(at, table.schema.field(at), pa.chunked_array([[0, 1, 2, 0, 1, 0]]))
    pq.write_table(table, tmp_path / "set.parquet")
    assert "metadata name 2 classes" in refused(tmp_path / "set.parquet")


FOLDERS: list[tuple[str, str, bytes | None]] = [
    ("lacks its file", "data-00000-of-00001.arrow", None),
    ("as Hugging Face", "data-00000-of-00001.arrow", b"no Arrow"),
    ("is not JSON", "state.json", b"{"),
    ("names no files", "state.json", b"{}"),
    ("names no files", "state.json", b'{"_data_files": [{"filename": "../a.arrow"}]}'),
    ("names no files", "state.json", b"[]"),
    ("splits 'test', 'train'", "dataset_dict.json", b'{"splits": ["test", "train"]}'),
    ("holds the splits", "dataset_dict.json", b"5"),
    ("is not JSON", "dataset_info.json", b"{"),
]


@pytest.mark.parametrize(("words", "name", "content"), FOLDERS)
def test_a_damaged_folder_is_refused(
    words: str, name: str, content: bytes | None, tmp_path: Path
) -> None:
    folder = tmp_path / "set"
    shutil.copytree(FILES / "huggingface", folder)
    if content is None:
        (folder / name).unlink()
    else:
        (folder / name).write_bytes(content)
    assert words in refused(folder)


def test_a_reader_that_was_named_must_fit() -> None:
    assert "reader 'excel'" in refused(FILES / "inspect.eval", reader="excel")
    told = refused(FILES / "doccano.jsonl", reader="inspect")
    assert "Inspect AI" in told
    assert "doccano" in told
    assert "files: pack one" in refused(FILES / "inspect.eval", reader="plain")


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:  # noqa: ANN401
    """The way to each part of a JSON value."""
    yield path
    if isinstance(value, dict | list):
        for key, one in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(one, (*path, key))


def replaced(value: Any, path: tuple[Any, ...], new: object) -> Any:  # noqa: ANN401
    if not path:
        return new
    copy: Any = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = replaced(value[path[0]], path[1:], new)
    return copy


def shortened(value: Any) -> Any:  # noqa: ANN401
    """The value with one entry in each list, which is enough to meet every kind of part."""
    if isinstance(value, list):
        return [shortened(one) for one in value[:1]]
    if isinstance(value, dict):
        return {key: shortened(one) for key, one in value.items() if "oken" not in key}
    return value


ODD: list[object] = [None, 7, "odd", [None], [["odd"]], {"odd": 1}]


@pytest.mark.parametrize("name", sorted(one.name for one in FILES.glob("*.json*")))
def test_a_value_of_another_kind_anywhere_is_read_or_refused(name: str, tmp_path: Path) -> None:
    lines = name.endswith("l")
    text = (FILES / name).read_text()
    document = [*map(json.loads, text.splitlines())] if lines else json.loads(text)
    document = shortened(document)
    for path in places(document):
        for new in ODD:
            changed = replaced(document, path, new)
            if lines and isinstance(changed, list):
                data = "\n".join(map(json.dumps, changed))
            else:
                data = json.dumps(changed)
            (tmp_path / name).write_text(data)
            with contextlib.suppress(PoolError):
                open_pool(tmp_path / name).shown([0])
