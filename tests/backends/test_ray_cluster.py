import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from contracts.backends import ClusterContract
from levelled.backends import Backend, ray

if importlib.util.find_spec("ray") is None:
    pytest.skip("Ray is not installed", allow_module_level=True)


class TestRay(ClusterContract):
    """With a cluster that this process has started before, as each start takes seconds."""

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def cluster(cls) -> Iterator[None]:
        ray()  # sets what Ray reads when it is imported
        import ray as package

        package.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
        yield
        package.shutdown()

    @pytest.fixture
    def backend(self) -> Callable[[int], Backend]:
        return lambda workers: ray(workers=workers)

    def test_a_cluster_is_used_by_its_address(self) -> None:
        import ray as package

        address = package.get_runtime_context().gcs_address
        work = f"from levelled.backends import ray; print(*ray({address!r})(abs, [-2, 1]))"
        other = subprocess.run([sys.executable, "-c", work], capture_output=True, text=True)
        assert other.stdout.split() == ["2", "1"], other.stderr


def test_a_cluster_of_its_own_ends_with_the_work() -> None:
    def process(item: int) -> int:
        return os.getpid()

    import ray as package

    workers = {*ray(workers=2)(process, range(40))}
    assert len(workers) == 2
    assert not package.is_initialized()
