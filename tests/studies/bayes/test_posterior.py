import pytest

pytest.importorskip("torch")

from torch import Generator

from levelled_studies.bayes.dropout import DropoutPosterior
from levelled_studies.bayes.networks import build_network
from levelled_studies.bayes.posterior import block_size


@pytest.mark.parametrize(("kind", "size"), [("cnn", 64), ("mlp", 256)])
def test_blocks_are_larger_where_no_cache_of_a_core_limits_them(kind: str, size: int) -> None:
    network = build_network(kind, (16, 16, 1), 3)
    theta = network.he(Generator())
    here = DropoutPosterior(network, theta, rate=0.5, consistent=True)
    elsewhere = DropoutPosterior(network, theta.to("meta"), rate=0.5, consistent=True)
    assert block_size(here) == size
    assert block_size(elsewhere) == 4 * size
