"""A proposal whose columns come in runs draws what one in memory draws."""

from dataclasses import replace

import numpy as np
import pytest

from levelled._check import IntArray
from levelled.samplers import ClassChance, FrozenProposal, PoolSlices, RunProposal

N = 500


def whole(seed: int) -> FrozenProposal:
    rng = np.random.default_rng(seed)
    g = rng.random(N)
    return FrozenProposal(
        np.arange(N),
        N,
        rng.gamma(1.0, size=N) + 0.1,
        g,
        1.0,
        np.sqrt(g * (1 - g)),
        g * (1 - g) * (1 - 2 * g),
        ClassChance(rng.random(N), rng.random(N) < 0.5),
        (PoolSlices(("a", "b", "c"), rng.integers(3, size=N)),),
        ramp=0.05,
    )


def in_runs(proposal: FrozenProposal, ends: list[int], drawn: IntArray) -> RunProposal:
    rows = np.split(proposal.rows, ends)
    runs = [replace(proposal.without(np.setdiff1d(proposal.rows, own)), slices=()) for own in rows]
    left = proposal.without(drawn)
    made = RunProposal(N, np.arange(0), proposal.weights, lambda: runs).without(drawn)
    return replace(made, slices=left.slices)


@pytest.mark.parametrize("ends", [[], [1], [100, 101, 499], [*range(7, 500, 7)]])
@pytest.mark.parametrize("drawn", [[], [3], [499, 0, 100, 250]])
def test_draws_and_design_columns_are_the_same(
    seed: int, ends: list[int], drawn: list[int]
) -> None:
    proposal, taken = whole(seed), np.array(drawn, dtype=np.int64)
    left, runs = proposal.without(taken), in_runs(proposal, ends, taken)
    some = left.rows[::50]
    pairs = [
        (left.draw(60, seed=seed), runs.draw(60, seed=seed)),
        (left.fixed(some), runs.fixed(some)),
    ]
    for one, other in pairs:
        assert one.index.tolist() == other.index.tolist()
        np.testing.assert_array_equal(one.probability, other.probability)
        assert one.design is not None
        assert other.design is not None
        assert [*one.design] == [*other.design]
        for name, column in one.design.items():
            np.testing.assert_allclose(column, other.design[name], rtol=1e-12, err_msg=name)


def test_items_left_come_in_runs_with_their_own_weights(seed: int) -> None:
    proposal, taken = whole(seed), np.array([10, 200])
    runs = [*in_runs(proposal, [100, 300], taken).left()]
    assert [len(run.rows) for run in runs] == [99, 199, 200]
    np.testing.assert_array_equal(
        np.concatenate([run.weights for run in runs]), proposal.without(taken).weights
    )
