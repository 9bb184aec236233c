"""Numbers as text."""

import numpy as np

__all__ = ["with_error"]


def with_error(value: float, stderr: float) -> str:
    """A value with its standard error, rounded to the second digit of the error.

    >>> with_error(0.2004321, 0.00054), with_error(7.812e-6, 1.46e-7)
    ('0.20043 ± 0.00054', '(7.81 ± 0.15)e-06')
    """
    largest = max(abs(value), stderr)
    exponent = int(np.floor(np.log10(largest))) if largest > 0 else 0
    if stderr > 0 and exponent < -3:
        unit = 10.0**exponent
        return f"({with_error(value / unit, stderr / unit)})e{exponent:03d}"
    digits = max(0, 1 - int(np.floor(np.log10(stderr)))) if stderr > 0 else 6
    return f"{value:.{digits}f} ± {stderr:.{digits}f}"
