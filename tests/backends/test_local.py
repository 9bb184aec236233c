import math

import pytest

from levelled.backends import local
from levelled.errors import InputError


@pytest.mark.parametrize("workers", [1, 2])
def test_results_come_in_the_order_of_the_arguments(workers: int) -> None:
    assert list(local(workers)(math.sqrt, [9.0, 4.0, 1.0])) == [3, 2, 1]


def test_no_workers_is_refused() -> None:
    with pytest.raises(InputError, match="at least 1"):
        local(0)
