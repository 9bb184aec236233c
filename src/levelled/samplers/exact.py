"""Sums of floats without rounding, so that they do not depend on the order or on the split.

What is left of a total after some of its terms were taken away is exact too, however little it is.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from levelled._check import FloatArray

_ROWS = 1 << 14  # terms added at once: they stay in the cache, and sums of halves fit a float
_HALF = 26  # bits of the lower half of a mantissa of 53


def exact_sum(values: FloatArray) -> Fraction:
    """The sum of finite floats as a fraction.

    Terms of the same exponent are integers in the same unit. Their upper and lower halves are
    added as floats that stay whole numbers below 2**53.

    >>> exact_sum(np.array([1e300, 0.5, -1e300]))
    Fraction(1, 2)
    """
    sums: dict[int, int] = {}
    for start in range(0, len(values), _ROWS):
        mantissa, exponent = np.frexp(values[start : start + _ROWS])
        whole = (mantissa * 2.0**53).astype(np.int64)
        lowest = int(exponent.min())
        upper = np.bincount(exponent - lowest, whole >> _HALF)
        lower = np.bincount(exponent - lowest, whole & (1 << _HALF) - 1)
        for at in np.flatnonzero((upper != 0) | (lower != 0)).tolist():
            total = (int(upper[at]) << _HALF) + int(lower[at])
            sums[lowest + at] = sums.get(lowest + at, 0) + total
    if not sums:
        return Fraction(0)
    unit = min(sums)
    total = sum(part << (exponent - unit) for exponent, part in sums.items())
    return Fraction(total) * Fraction(2) ** (unit - 53)
