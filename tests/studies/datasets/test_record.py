from typing import Any

import numpy as np
import pytest

from levelled.errors import PoolError
from levelled_studies.datasets import DataSet
from levelled_studies.datasets.cache import checksum, pack, unpack

X, y = np.arange(6.0).reshape(3, 2), np.array([0, 1, 1])


def data_set(**changed: Any) -> DataSet:  # noqa: ANN401
    return DataSet(**{"name": "tiny", "X": X, "y": y, "classes": ("no", "yes"), **changed})


def test_arrays_are_read_only_and_those_given_are_left_alone() -> None:
    data = data_set(X_test=X.copy(), y_test=y.copy())
    for array in (data.X, data.y, data.X_test, data.y_test):
        assert array is not None
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    assert X.flags.writeable


def test_a_data_set_tells_its_sizes_not_its_numbers() -> None:
    assert repr(data_set()) == "DataSet('tiny', X=float64[3, 2], y=int64[3], 2 classes)"
    assert repr(data_set(classes=())) == "DataSet('tiny', X=float64[3, 2], y=int64[3])"


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"y": y[:2]}, r"shapes.*\(3, 2\).*\(2,\)"),
        ({"y": y[:, None]}, "row by row"),
        ({"X": np.array(1.0)}, "row by row"),
        ({"features": ("a",)}, "1 features"),
        ({"classes": ("no",)}, r"\b1 classes"),
        ({"y": y - 1}, "number the 2 classes"),
        ({"y": y / 2}, "number the 2 classes"),
        ({"X_test": X}, "lacks"),
        ({"X_test": X, "y_test": y[:1]}, "X_test and y_test"),
        ({"X_test": X[:, :1], "y_test": y}, r"shape \(1,\);.*\(2,\)"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(changed: dict[str, Any], told: str) -> None:
    with pytest.raises(PoolError, match=told):
        data_set(**changed)


def test_a_data_set_survives_packing() -> None:
    texts = np.array(["", "naïve 🎬", "b\0"], dtype=object)
    for data in (data_set(features=("a", "β")), data_set(X=texts, X_test=texts, y_test=y)):
        packed = pack(data)
        assert all(array.dtype != object for array in packed.values())
        again = unpack("tiny", data.classes, packed)
        assert again.features == data.features
        for part in ("X", "y", "X_test", "y_test"):
            np.testing.assert_array_equal(getattr(again, part), getattr(data, part))


@pytest.mark.parametrize(
    "changed",
    [
        {"X": np.where(X == 5, 6.0, X)},
        {"X": X.astype(np.float32)},
        {"X": X.reshape(3, 2, 1)},
        {"y": 1 - y},
        {"features": ("a", "b")},
        {"X_test": X, "y_test": y},
    ],
)
def test_the_checksum_sees_values_types_shapes_and_names(changed: dict[str, Any]) -> None:
    assert checksum(pack(data_set(**changed))) != checksum(pack(data_set()))


def test_the_checksum_does_not_depend_on_how_arrays_lie_in_memory() -> None:
    assert checksum(pack(data_set(X=np.asfortranarray(X)))) == checksum(pack(data_set()))


def test_a_file_without_answers_is_refused() -> None:
    with pytest.raises(PoolError, match="lacks"):
        unpack("tiny", (), {"X": X})
