"""The kept files of other tools, and ZIP files made by hand, sound or not."""

import json
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

FILES = Path(__file__).parent / "files"
STORED, DEFLATED, ZSTD = 0, 8, 93


def pack(data: bytes, method: int) -> bytes:
    if method == ZSTD:
        packed: bytes = pa.Codec("zstd").compress(data, asbytes=True)
        return packed
    if method == DEFLATED:
        squeeze = zlib.compressobj(wbits=-zlib.MAX_WBITS)
        return squeeze.compress(data) + squeeze.flush()
    return data


def zip_file(members: Mapping[str, bytes], method: int = ZSTD, **claims: int) -> bytes:
    """A ZIP file; `claims` may be wrong on each member: said (its method), size, crc, offset."""
    body, directory = b"", b""
    for name, data in members.items():
        packed, text = pack(data, method), name.encode()
        said = claims.get("said", method)
        sizes = (claims.get("crc", zlib.crc32(data)), len(packed), claims.get("size", len(data)))
        common = struct.pack("<5H3L2H", 20, 0, said, 0, 33, *sizes, len(text), 0)
        offset = claims.get("offset", len(body))
        entry = struct.pack("<4s1H", b"PK\1\2", 20) + common
        directory += entry + struct.pack("<3H2L", 0, 0, 0, 0, offset) + text
        body += b"PK\3\4" + common + text + packed
    n = len(members)
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, n, n, len(directory), len(body), 0)
    return body + directory + end


def inspect_log(samples: list[Any], **header: Any) -> dict[str, bytes]:  # noqa: ANN401
    """The members of a log with these samples."""
    start = {"version": 2, "status": "success", "eval": {"task": "t", "model": "m"}, **header}
    members = {"header.json": json.dumps(start).encode()}
    for at, sample in enumerate(samples):
        members[f"samples/{at}_epoch_1.json"] = json.dumps(sample).encode()
    return members


def sample(name: object, value: object, **others: Any) -> dict[str, Any]:  # noqa: ANN401
    """A sample with the score of one judge."""
    return {
        "id": name,
        "epoch": 1,
        "input": f"Question {name}",
        "target": "yes",
        "output": {"completion": "Yes."},
        "scores": {"judge": {"value": value}},
        **others,
    }
