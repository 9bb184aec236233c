from pathlib import Path

import numpy as np
import pytest

from levelled.errors import InputError
from levelled_studies.real_pools import SURROGATES, load_real_pool, load_surrogate


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


def test_a_surrogate_judges_the_items_of_its_pool_in_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEVELLED_DATA", str(tmp_path))
    pool, members = load_real_pool("digits"), load_surrogate("digits")
    assert members.shape == (len(pool), 10, 10)
    np.testing.assert_allclose(members.sum(axis=2), 1, atol=1e-6)
    right = (members.mean(axis=1).argmax(axis=1) == pool.label).mean()
    assert right > 0.8  # a tenth, were the items in another order
    np.testing.assert_array_equal(load_surrogate("digits"), members)


def test_the_pool_of_a_surrogate_is_split_as_the_pool_is() -> None:
    label = SURROGATES["digits"](np.random.default_rng(0))[3]
    np.testing.assert_array_equal(label, load_real_pool("digits").label)
    with pytest.raises(InputError, match="with a surrogate"):
        load_surrogate("imdb")
