from itertools import accumulate

import numpy as np
import pytest

from levelled._check import FloatArray
from levelled.samplers import arrivals, blocks
from levelled.samplers.arrivals import Source, leaders
from levelled.samplers.blocks import cut
from samplers.layout import LAYOUTS, LONG, Layout, laid_out


def words(seed: int, stream: int, place: int, n: int) -> list[float]:
    """Uniform numbers, by reading a whole Philox stream from its beginning."""
    philox = np.random.Philox(key=seed, counter=np.array([0, stream, 3, 0], dtype=np.uint64))
    raw = philox.random_raw(place + n).tolist()[place:]
    return [((word >> 12) + 0.5) / 2**52 for word in raw]


def race_by_definition(weights: FloatArray, seed: int) -> list[int]:
    """Every row in order of arrival, as the module's first lines say it, without any short cut."""
    first: dict[int, float] = {}
    for block in range(-(-len(weights) // blocks.BLOCK)):
        rows = range(block * blocks.BLOCK, min((block + 1) * blocks.BLOCK, len(weights)))
        edges = [*accumulate(weights[rows].tolist())]
        time = 0.0
        for stream, width in enumerate(arrivals.ROUNDS, start=1):
            u = words(seed, stream, block * 2 * width, 2 * width)
            for gap, pick in zip(u[:width], u[width:], strict=True):
                time -= np.log(gap) / edges[-1]
                at = next(i for i, edge in enumerate(edges) if edge > pick * edges[-1])
                first.setdefault(rows[at], time)
        for row, u_row in zip(rows, words(seed, 0, rows[0], len(rows)), strict=True):
            first.setdefault(row, time - np.log(u_row) / weights[row])
    return sorted(first, key=lambda row: first[row])


@LAYOUTS
@pytest.mark.parametrize("sigma", [0.1, 2.0, 8.0])
def test_short_cuts_change_nothing(layout: Layout, sigma: float, seed: int) -> None:
    weights = np.random.default_rng(seed).lognormal(sigma=sigma, size=50)
    with laid_out(layout):
        expected = race_by_definition(weights, seed)
        pool = cut(weights, log=False, allow_zero=False)
        for k in (1, 2, 7, 20, 49, 50, 60):
            row, log_time = leaders(pool, k, Source(seed, 3, 0))
            assert row.tolist() == expected[:k]
            assert (np.diff(log_time) > 0).all()


def test_short_cuts_change_nothing_in_blocks_of_full_size(seed: int) -> None:
    weights = np.random.default_rng(seed).lognormal(size=10_000)
    expected = race_by_definition(weights, seed)
    pool = cut(weights, log=False, allow_zero=False)
    for k in (1, 100, 1000, 10_000):
        assert leaders(pool, k, Source(seed, 3, 0))[0].tolist() == expected[:k]


@pytest.mark.parametrize("wanted", [[0, 1, 2, 3], [39], [1, 38]])
def test_a_block_has_its_numbers_whichever_blocks_are_asked_for(wanted: list[int]) -> None:
    every = Source(7, 3, 0).for_blocks(1, np.arange(40), 6)
    some = Source(7, 3, 0).for_blocks(1, np.array(wanted), 6)
    later = Source(7, 3, 1).for_blocks(1, np.arange(39), 6)
    for all_, few, shifted in zip(every, some, later, strict=True):
        np.testing.assert_array_equal(few, all_[wanted])
        np.testing.assert_array_equal(shifted, all_[1:])


def test_units_blocks_streams_and_seeds_have_numbers_of_their_own() -> None:
    block = np.arange(2)
    numbers = [
        *(Source(seed, unit, 0).for_blocks(1, block, 8) for seed in (0, 1) for unit in (0, 1)),
        Source(0, 0, 0).for_blocks(2, block, 8),
        (Source(0, 0, 0).for_rows(0, 16), Source(0, 0, 0).for_rows(1, 16)),
    ]
    flat = np.concatenate([np.concatenate([part.ravel() for part in pair]) for pair in numbers])
    assert len(np.unique(flat)) == len(flat)


def test_numbers_lie_strictly_between_zero_and_one() -> None:
    extremes = arrivals.uniform(np.array([0, 2**64 - 1], dtype=np.uint64))
    assert extremes.tolist() == [2.0**-53, 1 - 2.0**-53]


def test_the_bound_is_raised_until_enough_rows_have_arrived(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(arrivals, "_guess", lambda *_: -100.0)  # far too early
    weights = np.append(1e12, np.ones(99))
    bounds = []
    between = arrivals._between

    def watched(log_since: float, log_bound: float, *rest: object) -> object:
        bounds.append(log_bound)
        return between(log_since, log_bound, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(arrivals, "_between", watched)
    with laid_out(LONG):
        row, _ = leaders(cut(weights, log=False, allow_zero=False), 5, Source(1, 0, 0))
    assert row[0] == 0
    assert len(bounds) > 2
    assert (np.diff(bounds, 2) > 0).all()
