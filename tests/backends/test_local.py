import os
import signal
from collections.abc import Callable

import pytest

from contracts.backends import BackendContract
from levelled.backends import Backend, local, named
from levelled.errors import InputError, LevelledError


class TestLocal(BackendContract):
    @pytest.fixture
    def backend(self) -> Callable[[int], Backend]:
        return local


def test_no_workers_is_refused() -> None:
    with pytest.raises(InputError, match="at least 1"):
        local(0)


def killed(item: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_process_that_is_ended_is_told_in_a_line() -> None:
    with pytest.raises(LevelledError, match=r"processes.*ended"):
        list(local(2)(killed, [1, 2]))


def test_an_address_without_the_kind_of_its_cluster_is_refused() -> None:
    with pytest.raises(InputError, match=r"kind.*cluster"):
        named("local", address="127.0.0.1:8786")


def test_a_backend_that_does_not_exist_is_refused() -> None:
    with pytest.raises(InputError, match=r"dask, ray.*'spark'"):
        named("spark")
