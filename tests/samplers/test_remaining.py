import math

import numpy as np
import pytest

from levelled.samplers.remaining import probabilities, running_sum


@pytest.mark.parametrize("n", [0, 1, 1023, 1024, 1025, 20_000])
def test_running_sums_are_accurate_however_many_there_are(n: int) -> None:
    terms = np.full(n, 0.1)
    exact = [math.fsum([0.5, *terms[: m + 1]]) for m in range(0, n, 499)]
    np.testing.assert_allclose(running_sum(terms, start=0.5)[::499], exact, rtol=1e-13)


def test_a_probability_is_a_weight_over_what_is_left() -> None:
    q = probabilities(np.array([1.0, 2.0, 3.0]), np.zeros(3), 4.0, 0.0)
    np.testing.assert_allclose(q, [1 / 10, 2 / 9, 3 / 7], rtol=1e-15)


def test_weights_in_different_units_are_added_in_the_largest() -> None:
    shift = np.array([0.0, 256.0, -512.0, -512.0])
    q = probabilities(np.array([1.0, 1.0, 3.0, 1.0]), shift, 0.0, -np.inf)
    expected = [math.exp(-256) / (1 + math.exp(-256)), 1.0, 0.75, 1.0]
    np.testing.assert_allclose(q, expected, rtol=1e-14)
    assert q[-1] == 1.0


def test_no_draw_has_no_probability() -> None:
    assert probabilities(np.empty(0), np.empty(0), 1.0, 0.0).shape == (0,)
