"""Small packages of every kind, made as the registries make them."""

import gzip
import io
import lzma
import struct
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Files = Mapping[str, bytes]


def wheel(path: Path, files: Files) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as package:
        for name, content in files.items():
            package.writestr(name, content)
    return path


def npm(path: Path, files: Files) -> Path:
    path.write_bytes(gzip.compress(tar(files)))
    return path


def deb(path: Path, files: Files, *, packed: str = "xz") -> Path:
    data = tar({f"./{name}": content for name, content in files.items()})
    inside = {
        "debian-binary": b"2.0\n",
        "control.tar.xz": lzma.compress(tar({"./control": b"Package: tiny\n!"})),
        f"data.tar.{packed}": compressed(data, packed),
    }
    path.write_bytes(b"!<arch>\n" + b"".join(map(ar_member, inside, inside.values())))
    return path


def compressed(data: bytes, packed: str) -> bytes:
    if packed == "zst":
        out = pa.BufferOutputStream()
        with pa.CompressedOutputStream(out, "zstd") as stream:
            stream.write(data)
        return bytes(out.getvalue())
    return lzma.compress(data) if packed == "xz" else gzip.compress(data)


def ar_member(name: str, content: bytes) -> bytes:
    header = f"{name:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\n".encode()
    return header + content + b"\n" * (len(content) % 2)


def tar(files: Files, *more: tarfile.TarInfo) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as package:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            package.addfile(member, io.BytesIO(content))
        for member in more:
            package.addfile(member)
    return out.getvalue()


def idx(array: NDArray[Any]) -> bytes:
    lengths = struct.pack(f">{array.ndim}I", *array.shape)
    return bytes([0, 0, 8, array.ndim]) + lengths + array.astype(np.uint8).tobytes()


TRAIN = np.arange(3 * 4, dtype=np.uint8).reshape(3, 2, 2)
TEST = np.arange(100, 108, dtype=np.uint8).reshape(2, 2, 2)
IDX = {
    "train-images-idx3-ubyte": idx(TRAIN),
    "train-labels-idx1-ubyte": idx(np.array([2, 0, 1])),
    "t10k-images-idx3-ubyte": idx(TEST),
    "t10k-labels-idx1-ubyte": idx(np.array([1, 1])),
}
