import logging
from collections.abc import Callable, Iterator

import pytest

from contracts.backends import ClusterContract
from levelled.backends import Backend, dask
from levelled.errors import InputError

distributed = pytest.importorskip("distributed")


class TestDask(ClusterContract):
    @pytest.fixture
    def backend(self) -> Callable[[int], Backend]:
        return lambda workers: dask(workers=workers)


@pytest.fixture
def cluster() -> Iterator[Callable[[int], str]]:
    """Gives a cluster this number of workers, and returns its address."""
    with distributed.LocalCluster(
        n_workers=0,  # as a team would start it
        threads_per_worker=4,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        silence_logs=logging.CRITICAL,
    ) as started:

        def scale(workers: int) -> str:
            started.scale(workers)
            return str(started.scheduler_address)

        yield scale


def test_a_cluster_is_used_by_its_address(cluster: Callable[[int], str]) -> None:
    run = dask(cluster(1))
    assert list(run(abs, range(-200, 0))) == list(range(200, 0, -1))
    assert list(run(abs, [-1])) == [1]  # it goes on after the work


def test_a_cluster_without_workers_is_refused(cluster: Callable[[int], str]) -> None:
    with pytest.raises(InputError, match=r"worker.*'dask worker"):
        list(dask(cluster(0))(abs, [-1]))
