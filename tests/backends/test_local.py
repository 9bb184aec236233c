import math
import os
import signal

import pytest

from levelled.backends import local
from levelled.errors import InputError, LevelledError


@pytest.mark.parametrize("workers", [1, 2])
def test_results_come_in_the_order_of_the_arguments(workers: int) -> None:
    assert list(local(workers)(math.sqrt, [9.0, 4.0, 1.0])) == [3, 2, 1]


def test_no_workers_is_refused() -> None:
    with pytest.raises(InputError, match="at least 1"):
        local(0)


def killed(item: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_process_that_is_ended_is_told_in_a_line() -> None:
    with pytest.raises(LevelledError, match="One of the processes was ended"):
        list(local(2)(killed, [1, 2]))
