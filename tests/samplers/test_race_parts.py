import pickle
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from levelled import Draws
from levelled._check import FloatArray
from levelled.errors import InputError, ProposalError
from levelled.samplers import Part, finish, merge, part, race, with_design
from samplers.layout import LONG, TINY, Layout, laid_out


def same(one: Draws, other: Draws) -> bool:
    """Bit for bit."""
    return (
        one.index.tolist() == other.index.tolist()
        and one.probability.tolist() == other.probability.tolist()
        and (one.pool_size, one.excluded) == (other.pool_size, other.excluded)
        and columns(one) == columns(other)
    )


def columns(draws: Draws) -> dict[str, list[float]]:
    return {name: column.tolist() for name, column in (draws.design or {}).items()}


def pieces(
    units: list[FloatArray], k: int, cuts: list[list[int]], *, seed: int, log: bool = False
) -> list[Part]:
    """The parts of a race whose units are cut at those rows."""
    run = partial(part, k=k, seed=seed, log=log, design=True, allow_zero=True)
    return [
        run(weights[start:stop], unit=unit, first_row=start)
        for unit, (weights, at) in enumerate(zip(units, cuts, strict=True))
        for start, stop in zip([0, *at], [*at, len(weights)], strict=True)
    ]


@given(data=st.data(), layout=st.sampled_from([TINY, LONG]), log=st.booleans())
def test_draws_do_not_depend_on_the_pieces_or_on_the_order_of_merging(
    data: st.DataObject, layout: Layout, log: bool
) -> None:
    weight = st.sampled_from([0.0, 1e-9, 0.1, 0.3, 1.0, 7.0, 1e6])
    units = [
        np.array(data.draw(st.lists(weight, max_size=20)), dtype=float)
        for _ in range(data.draw(st.integers(1, 3)))
    ]
    possible = int(sum(np.count_nonzero(one) for one in units))
    if not possible:
        return
    k = data.draw(st.integers(0, possible))
    if log:
        with np.errstate(divide="ignore"):
            units = [np.log(one) for one in units]
    cuts = [
        sorted(data.draw(st.sets(st.sampled_from([*range(4, len(one), 4)]))))
        if len(one) > 4
        else []
        for one in units
    ]
    with laid_out(layout):
        whole = finish(merge(pieces(units, k, [[] for _ in units], seed=9, log=log)))
        parts = data.draw(st.permutations(pieces(units, k, cuts, seed=9, log=log)))
        while len(parts) > 1:
            n = data.draw(st.integers(1, len(parts)))
            parts = [*parts[n:], merge(parts[:n])] if n > 1 else [*parts[1:], parts[0]]
        assert same(finish(parts[0]), whole)
        again = with_design(whole, np.concatenate(units), log=log)
        assert columns(whole).keys() == columns(again).keys()
        for name, column in (whole.design or {}).items():
            np.testing.assert_allclose(column, columns(again)[name], rtol=1e-9)


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("k", [5, 700, 20_000])
def test_threads_and_pieces_change_no_bit_of_a_race(k: int, log: bool, seed: int) -> None:
    weights = np.random.default_rng(seed).lognormal(sigma=3, size=20_000)
    weights_ = np.log(weights) if log else weights
    run = partial(part, k=k, seed=seed, log=log, design=True)
    starts = [0, 4096, 12_288, 16_384]
    with ThreadPoolExecutor(4) as threads:
        parts = threads.map(
            lambda start, stop: run(weights_[start:stop], first_row=start),
            starts,
            [*starts[1:], 20_000],
        )
        assert same(
            finish(merge(reversed([*parts]))), race(weights_, k, seed=seed, log=log, design=True)
        )


def test_the_largest_weight_is_that_of_a_row_that_was_not_drawn() -> None:
    """The smallest weights of a block may be among its leaders, and leaders may be dropped."""
    for seed in range(50):
        weights = np.append(np.ones(40), [0.5, 0.6, 0.6, 0.7])
        units = [
            part(one, 8, seed=seed, unit=u, design=True) for u, one in enumerate([weights] * 4)
        ]
        draws = finish(merge([merge(units[:2]), merge(units[2:])]))
        expected = with_design(draws, np.tile(weights, 4))
        np.testing.assert_allclose(columns(draws)["max_weight"], columns(expected)["max_weight"])


def test_rows_are_counted_on_from_unit_to_unit() -> None:
    parts = [part(np.full(3, 1.0), 7, seed=1, unit=unit) for unit in (1, 0)]
    draws = finish(merge([*parts, part([], 7, seed=1, unit=2), part([5.0], 7, seed=1, unit=3)]))
    assert draws.pool_size == 7
    assert sorted(draws.index) == [*range(7)]
    assert merge(parts).leaders["unit"].tolist() != [0] * 6


def test_another_cut_into_units_gives_other_draws() -> None:
    weights = np.ones(1000)
    units = [part(half, 10, seed=1, unit=unit) for unit, half in enumerate(np.split(weights, 2))]
    assert finish(merge(units)).index.tolist() != race(weights, 10, seed=1).index.tolist()


def test_a_merged_part_keeps_no_more_than_it_needs() -> None:
    parts = [part(np.append(1e9, np.ones(99)), 10, seed=1, unit=unit) for unit in range(30)]
    merged = merge(parts)
    assert len(merged.leaders) == 10
    assert len(merged.opened) <= 10


def test_a_part_can_be_sent_to_another_process() -> None:
    one = part(np.append(1e9, np.ones(99)), 10, seed=1)
    assert same(finish(pickle.loads(pickle.dumps(one))), finish(one))


def test_a_part_may_have_fewer_items_than_the_race_draws() -> None:
    parts = [part([1.0], 3, seed=1), part([1.0, 0.0, 2.0], 3, seed=1, unit=1, allow_zero=True)]
    draws = finish(merge(parts))
    assert sorted(draws.index) == [0, 1, 3]
    assert draws.excluded == 1
    with pytest.raises(InputError, match=r"3 draws .* only 1 of 1"):
        finish(parts[0])


def test_parts_that_do_not_belong_together_are_refused() -> None:
    one = part([1.0], 1, seed=1)
    with pytest.raises(InputError, match=r"k, seed, log.*design"):
        merge([one, part([1.0], 1, seed=2, unit=1)])
    with pytest.raises(InputError, match=r"part.*merge"):
        merge([])
    with pytest.raises(InputError, match=r"Row 0.*unit 0.*two"):
        merge([one, one])


@pytest.mark.parametrize(
    ("places", "missing"),
    [
        ([(1, 0)], "row 0 of unit 1"),
        ([(0, 0), (2, 0)], "row 0 of unit 2"),
        ([(0, 0), (0, 8192)], "row 8192 of unit 0"),
        ([(0, 0), (1, 4096)], "row 4096 of unit 1"),
        ([(0, 0), (0, 4096)], "row 4096 of unit 0"),  # the first piece is shorter than that
    ],
)
def test_a_race_is_not_finished_while_rows_are_missing(
    places: list[tuple[int, int]], missing: str
) -> None:
    parts = [part([1.0], 1, seed=1, unit=unit, first_row=row) for unit, row in places]
    with pytest.raises(InputError, match=f"before {missing} are missing"):
        finish(merge(parts))


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ({"first_row": 100}, "multiple of 4096"),
        ({"first_row": -4096}, "first_row.*at least 0"),
        ({"unit": -1}, "unit.*at least 0"),
        ({"unit": 2**63}, "below 2"),
    ],
)
def test_a_part_starts_where_a_block_starts(place: dict[str, int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        part([1.0], 1, seed=1, **place)  # type: ignore[arg-type]


def test_a_part_refuses_the_weights_that_a_race_refuses() -> None:
    with pytest.raises(ProposalError, match=r"1 of 2.*zero"):
        part([1.0, 0.0], 1, seed=1)
    with pytest.raises(ProposalError, match=r"weights\[0\] is -1"):
        part([-1.0], 1, seed=1)


def test_a_part_says_what_it_holds() -> None:
    assert repr(part([1.0, 2.0], 1, seed=1)) == "Part(2 rows of 1 units, k=1)"


def test_what_is_no_part_is_refused() -> None:
    one = part([1.0, 2.0], 1, seed=1)
    with pytest.raises(InputError, match=r"merge.*parts.*\bstr\b"):
        merge(["x"])
    with pytest.raises(InputError, match=r"merge.*parts.*\bstr\b"):
        merge([one, "x"])
    with pytest.raises(InputError, match=r"finish.*part.*\blist\b"):
        finish([one])
