from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from levelled.errors import InputError
from levelled.samplers import draws_from_result, race_batches, select_statement


def result_of(weights: list[float], k: int, ids: int | None = None) -> dict[str, list[Any]]:
    """The result for this many ids, by default one a row."""
    pool = pa.table({"id": np.arange(len(weights)) % (ids or len(weights)), "score": weights})
    with duckdb.connect() as connection:
        connection.register("pool", pool)
        select = select_statement("duckdb", "pool", k, seed=5, weight="score")
        columns: dict[str, list[Any]] = connection.sql(select).to_arrow_table().to_pydict()
        return columns


@pytest.fixture
def result() -> dict[str, list[Any]]:
    return result_of([*np.random.default_rng(0).lognormal(size=50)], 6)


def test_the_order_of_rows_the_case_of_names_and_texts_for_numbers_do_not_matter(
    result: dict[str, list[Any]],
) -> None:
    draws = draws_from_result(result)
    backwards = {name.upper(): values[::-1] for name, values in result.items()}
    texts = {
        name: [None if one is None else one if name == "id" else str(one) for one in values]
        for name, values in result.items()
    }
    for other in (backwards, texts):
        back = draws_from_result(other)
        assert back.ids == draws.ids
        assert back.probability.tolist() == draws.probability.tolist()


def test_a_result_without_a_column_is_refused(result: dict[str, list[Any]]) -> None:
    for name in result:
        with pytest.raises(InputError, match=f"The result has no column '{name}'"):
            draws_from_result({one: values for one, values in result.items() if one != name})


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("id", 999, "race_key of id 999 is"),
        ("weight", 0.123456, "race_key of id"),
        ("race_key", 1e-5, "race_key of id"),
        ("probability", 0.5, "probability of id"),
        ("draw", 2, "must have the draws 1 to 7"),
        ("seed", "8", "'seed' of the result has 2 values"),
        ("total_1", 12, "'total_1' of the result has 2 values"),
        ("weight", "heavy", "'weight' of the result is not as the SELECT gives it"),
        ("weight", None, "Item [0-9]+ has no number"),
        ("id", None, "has no id"),
    ],
)
def test_a_result_in_which_one_value_was_changed_is_refused(
    result: dict[str, list[Any]], name: str, value: object, words: str
) -> None:
    changed = [*result[name]]
    changed[0] = value
    if isinstance(value, str):
        changed[1:] = map(str, changed[1:])
    with pytest.raises(InputError, match=words) as refusal:
        draws_from_result({**result, name: changed})
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("seed", "8", "race_key of id"),
        ("total_1", 10**9, "probability of id"),
        ("pool_size", 3, "6 draws .* only 3 of 3"),
        ("draws_wanted", 5, "must have the draws 1 to 6"),
    ],
)
def test_a_result_in_which_one_column_was_changed_is_refused(
    result: dict[str, list[Any]], name: str, value: object, words: str
) -> None:
    with pytest.raises(InputError, match=words):
        draws_from_result({**result, name: [value] * len(result[name])})


def test_a_result_that_was_cut_or_repeats_a_row_is_refused(result: dict[str, list[Any]]) -> None:
    cut = {name: values[:-1] for name, values in result.items()}
    longer = {name: [*values, values[-1]] for name, values in result.items()}
    for other in (cut, longer):
        with pytest.raises(InputError, match="must have the draws 1 to 7, each in one row"):
            draws_from_result(other)
    with pytest.raises(InputError, match="has 0 values"):
        draws_from_result({name: values[:0] for name, values in result.items()})


def test_ids_that_come_often_are_named_as_a_cause() -> None:
    with pytest.raises(InputError, match=r"it has 1 rows\..* ids come twice in the table"):
        draws_from_result(result_of([1.0] * 100_000, 5, ids=1))


def test_weights_too_small_beside_the_largest_are_refused_where_it_matters() -> None:
    weights = [1.0] + [1e-30] * 1_000
    with pytest.raises(InputError, match="differ too much for sums in SQL"):
        draws_from_result(result_of(weights, 2))
    assert draws_from_result(result_of(weights, 1)).ids == (0,)


def test_what_is_left_after_heavy_rows_is_exact() -> None:
    weights = [1e15, 3e14, *np.random.default_rng(1).lognormal(size=200)]
    draws = draws_from_result(result_of(weights, 20))
    pool = pa.table({"id": np.arange(202), "weight": weights})
    expected = race_batches(pool, 20, seed=5, key="id")
    assert draws.ids == expected.ids
    np.testing.assert_allclose(draws.probability, expected.probability, rtol=1e-12)
