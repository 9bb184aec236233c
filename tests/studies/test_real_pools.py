from pathlib import Path

import numpy as np
import pytest

from levelled.errors import InputError
from levelled_studies.real_pools import load_real_pool


def test_a_pool_is_made_once_and_then_read_from_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEVELLED_DATA", str(tmp_path))
    made = load_real_pool("digits")
    (file,) = (tmp_path / "pools").iterdir()
    when = file.stat().st_mtime_ns
    again = load_real_pool("digits")
    assert file.stat().st_mtime_ns == when
    np.testing.assert_array_equal(made.pred, again.pred)
    assert made.features.shape == (len(made), 20)
    assert 0.05 < made.errors.mean() < 0.5


def test_an_unknown_pool_is_refused_by_name() -> None:
    with pytest.raises(InputError, match="digit"):
        load_real_pool("digit")
