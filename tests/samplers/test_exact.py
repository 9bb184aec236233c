import math
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from levelled.samplers.exact import exact_sum


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=30))
def test_sums_of_any_floats_are_exact(values: list[float]) -> None:
    assert exact_sum(np.array(values)) == sum(map(Fraction, values))


def test_sums_of_many_terms_are_exact(seed: int) -> None:
    values = np.random.default_rng(seed).lognormal(sigma=9, size=100_000)
    total = exact_sum(values)
    assert float(total) == math.fsum(values)
    assert total == exact_sum(values[::-1]) == exact_sum(values[:777]) + exact_sum(values[777:])


def test_the_largest_mantissas_of_a_whole_run_are_added_without_rounding() -> None:
    largest = math.nextafter(2.0, 0)
    assert exact_sum(np.full(40_000, largest)) == 40_000 * Fraction(largest)
