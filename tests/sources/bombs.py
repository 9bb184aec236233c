"""Small files that would fill the memory or never end, each made in a fraction of a second."""

import base64
import gzip
import io
import json
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sources.readers.samples import DEFLATED, ZSTD, inspect_log, sample, zip_file

_MB = 1 << 20
_LONG = "x" * _MB


def _same(value: object, n: int) -> pa.DictionaryArray:
    """A column with one value, which is written once however many rows have it."""
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(n, np.int32)), pa.array([value]))


def _parquet(columns: Mapping[str, Any], n: int = 4000, **options: Any) -> bytes:  # noqa: ANN401
    out = io.BytesIO()
    whole = {"id": range(n), "pred": _same("a", n), **columns}
    table = pa.table({name: pa.array(one) for name, one in whole.items()})
    # A schema of Arrow's own would keep the codes, and statistics take longer than the rest.
    pq.write_table(table, out, store_schema=False, write_statistics=False, **options)
    return out.getvalue()


def _listed(values: pa.Array, ends: list[int]) -> pa.Array:
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), values)


def _many_rows() -> bytes:
    """A hundred million rows in less than a megabyte."""
    rows = pa.table({"id": _same("a", 5_000_000), "pred": _same("b", 5_000_000)})
    out = io.BytesIO()
    with pq.ParquetWriter(out, rows.schema, store_schema=False) as writer:
        for _ in range(20):
            writer.write_table(rows)
    return out.getvalue()


def _varint(number: int, length: int = 0) -> bytes:
    """A number as the footer of Parquet has it, with as many bytes as are wanted."""
    value, out = number << 1, bytearray()
    while value > 127 or len(out) + 1 < length:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def _forged() -> bytes:
    """A page of 256 MB of which the footer says that it has 1,000 bytes."""
    text = ["0" * (1 << 28), "a"]
    data = _parquet({"pred": text}, 2, compression="zstd", use_dictionary=False)
    footer = pq.read_metadata(io.BytesIO(data)).row_group(0)
    sizes = {footer.total_byte_size, footer.column(1).total_uncompressed_size}
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    head, tail = data[:start], data[start:]
    for size in sizes:
        assert _varint(size) in tail
        tail = tail.replace(_varint(size), _varint(1000, len(_varint(size))))
    return head + tail


def _huggingface(columns: Mapping[str, Any], n: int) -> bytes:
    table = pa.table({"pred": _same("a", n), **columns})
    about = {"info": {"features": {"pred": {"dtype": "string", "_type": "Value"}}}}
    out = io.BytesIO()
    with pq.ParquetWriter(out, table.schema, store_schema=False) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({"huggingface": json.dumps(about)})
    return out.getvalue()


def _packed(name: str, *parts: tuple[bytes, int]) -> bytes:
    """A ZIP file with one member: each part so many times."""
    out = io.BytesIO()
    with (
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open(name, "w", force_zip64=True) as member,
    ):
        for part, times in parts:
            for _ in range(times):
                member.write(part)
    return out.getvalue()


def _gzipped(*parts: tuple[bytes, int]) -> bytes:
    packer = zlib.compressobj(1, wbits=31)
    return b"".join(packer.compress(part) for part, n in parts for _ in range(n)) + packer.flush()


_SHEET = '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'


def _workbook(sheet: tuple[bytes, int] | bytes, start: bytes = b"") -> bytes:
    import openpyxl

    plain, out = io.BytesIO(), io.BytesIO()
    openpyxl.Workbook().save(plain)
    part, times = sheet if isinstance(sheet, tuple) else (sheet, 1)
    with (
        zipfile.ZipFile(plain) as old,
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for one in old.infolist():
            if one.filename != "xl/worksheets/sheet1.xml":
                new.writestr(one.filename, old.read(one))
        with new.open("xl/worksheets/sheet1.xml", "w") as member:
            member.write(start + _SHEET.encode())
            for _ in range(times):
                member.write(part)
            member.write(b"</sheetData></worksheet>")
    return out.getvalue()


def _cells(*names: str, row: int = 1) -> bytes:
    cells = "".join(f'<c r="{one}{row}" t="inlineStr"><is><t>{one}</t></is></c>' for one in names)
    return f'<row r="{row}">{cells}</row>'.encode()


_LAUGHS = "".join(
    f'<!ENTITY {name} "{f"&{before};" * 10}">'
    for before, name in zip("abcdefghij", "bcdefghijk", strict=True)
)
_DOCTYPE = f'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "ha">{_LAUGHS}]>'.encode()


def _overlapping() -> bytes:
    """A log of which ten thousand samples are the same bytes."""
    one = {**sample(1, "C"), "input": "x" * _MB}
    body, directory, names = b"", b"", [f"samples/{n}.json" for n in range(10_000)]
    for name, data in inspect_log([]).items():
        whole = zip_file({name: data}, DEFLATED)
        length = whole.rindex(b"PK\1\2")
        directory += whole[length : whole.rindex(b"PK\5\6")].replace(
            struct.pack("<L", 0) + name.encode(), struct.pack("<L", len(body)) + name.encode()
        )
        body += whole[:length]
    whole = zip_file({names[0]: json.dumps(one).encode()}, DEFLATED)
    length = whole.rindex(b"PK\1\2")
    entry = whole[length : whole.rindex(b"PK\5\6")]
    for name in names:
        start = entry[:28] + struct.pack("<H", len(name)) + entry[30:42]
        directory += start + struct.pack("<L", len(body)) + name.encode()
    body += whole[:length]
    n = 10_001
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, n, n, len(directory), len(body), 0)
    return body + directory + end


def _png(width: int, height: int) -> bytes:
    """A picture of one colour."""

    def part(kind: bytes, data: bytes) -> bytes:
        check = zlib.crc32(kind + data)
        return struct.pack(">L", len(data)) + kind + data + struct.pack(">L", check)

    head = struct.pack(">2L5B", width, height, 1, 0, 0, 0, 0)
    packer = zlib.compressobj()
    row = bytes(width // 8 + 1)
    pixels = b"".join(packer.compress(row) for _ in range(height)) + packer.flush()
    return b"\x89PNG\r\n\x1a\n" + part(b"IHDR", head) + part(b"IDAT", pixels) + part(b"IEND", b"")


def picture() -> bytes:
    """A picture of 900 million pixels in 110 kB."""
    return _png(30_000, 30_000)


def _names(n: int) -> str:
    return ",".join(f"c{at}" for at in range(n))


def _deep(sign: str, n: int) -> bytes:
    ends = {"[": "]", '{"a":': "}"}
    return (sign * n + "1" + ends[sign] * n).encode()


def _row(**values: bytes) -> bytes:
    pairs = [b'"%s": %s' % (name.encode(), value) for name, value in values.items()]
    return b'{"id": 1, "pred": "a", ' + b", ".join(pairs) + b"}\n"


_LOG = inspect_log([sample(1, "C")])
_EMPTY = b"[]," * 20_000


def _understated() -> bytes:
    """A log with a sample of 512 MB that says that it has 2,000 bytes."""
    data = zip_file({**_LOG, "samples/9.json": bytes(1 << 29)})
    return data.replace(struct.pack("<L", 1 << 29), struct.pack("<L", 2000))


BOMBS: Mapping[str, Callable[[], bytes]] = {
    # Parquet
    "long-text.parquet": lambda: _parquet({"text": _same(_LONG, 4000)}),
    "long-predictions.parquet": lambda: _parquet({"pred": _same(_LONG, 4000)}),
    "long-ids.parquet": lambda: _parquet({"id": _same(_LONG, 4000)}),
    "long-features.parquet": lambda: _parquet(
        {"embedding": _listed(pa.array(np.zeros(50_000_000)), [0, 50_000_000, 50_000_000])}, 2
    ),
    "lists-of-long-texts.parquet": lambda: _parquet(
        {"messages": _listed(_same(_LONG, 4000), [*range(4001)])}
    ),
    "page-of-zeros.parquet": lambda: _parquet(
        {"pred": ["0" * (5 << 26), "a"]}, 2, compression="zstd", use_dictionary=False
    ),
    "many-rows.parquet": _many_rows,
    "forged-footer.parquet": _forged,
    "hugging-face.parquet": lambda: _huggingface({"text": _same(_LONG, 4000)}, 4000),
    "mlflow.parquet": lambda: _parquet(
        {
            "trace_id": _same("t", 4000),
            "request": _same(_LONG, 4000),
            "assessments": _same("", 4000),
        }
    ),
    # gzip, zip, xlsx
    "zeros.csv.gz": lambda: _gzipped((b"id,pred\n", 1), (bytes(_MB), 700)),
    "rows.csv.gz": lambda: _gzipped((b"id,pred\n", 1), (b"1,a\n" * (_MB >> 2), 700)),
    "lists.json.gz": lambda: _gzipped((b"[", 1), (_EMPTY, 3000), (b"1]", 1)),
    "objects.jsonl.gz": lambda: _gzipped((b'{"id": 1, "x": [%s 1]}\n' % _EMPTY, 3000)),
    "packed-twice": lambda: gzip.compress(_gzipped((bytes(_MB), 700))),
    "rows.zip": lambda: _packed("rows.csv", (b"id,pred\n", 1), (b"1,a\n" * (_MB >> 2), 700)),
    "rows.xlsx": lambda: _workbook((_cells("A", "B") * 1000, 1000)),
    "far-cell.xlsx": lambda: _workbook(
        _cells("A", "XFD") + b"".join(_cells("XFD", row=n) for n in range(2, 6000))
    ),
    "far-row.xlsx": lambda: _workbook(_cells("A", "XFD") + _cells("XFD", row=1_048_576)),
    "laughs.xlsx": lambda: _workbook(
        b'<row r="1"><c r="A1" t="inlineStr"><is><t>&k;</t></is></c></row>', _DOCTYPE
    ),
    # logs of Inspect AI
    "zeros.eval": lambda: zip_file({**_LOG, "samples/9.json": b"[" + _EMPTY * 5000 + b"1]"}, ZSTD),
    "lists.eval": lambda: zip_file(
        {**_LOG, "samples/9.json": b"[" + _EMPTY * 3000 + b"1]"}, DEFLATED
    ),
    "understated.eval": lambda: _understated(),
    "overlapping.eval": _overlapping,
    # CSV and JSON
    "wide.csv": lambda: f"id,pred,{_names(200_000)}\n1,a,{'2,' * 199_999}2\n".encode(),
    "wide-scores.csv": lambda: (
        f"id,{','.join(f'proba_{n}' for n in range(200_000))}\n1{',0.000005' * 200_000}\n".encode()
    ),
    "commas.csv": lambda: b"id,pred" + b"," * 8_000_000 + b"\n1,a\n",
    "wide.jsonl": lambda: _row(**{f"c{n}": b"1" for n in range(200_000)}) * 2,
    "other-names.jsonl": lambda: b"".join(
        _row(**{f"c{n * 100 + at}": b"1" for at in range(100)}) for n in range(5000)
    ),
    "deep.jsonl": lambda: _row(x=_deep("[", 100_000)),
    "deep-enough.jsonl": lambda: _row(x=_deep("[", 900)) * 1000,
    "deep.json": lambda: _deep('{"a":', 1_000_000),
    "digits.jsonl": lambda: _row(x=b"9" * 8_000_000),
    "long-line.jsonl": lambda: _row(x=b'"%s"' % (b"x" * (20 * _MB))),
    # pictures
    "picture.jsonl": lambda: _row(image=b'"%s"' % base64.b64encode(picture())),
    "picture.png": picture,
}
