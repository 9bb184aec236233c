import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from levelled._check import FloatArray
from levelled.errors import DrawsError, InputError, LevelledError, LossError
from levelled.estimators.intervals.betting import Betting, betting_interval, running_betting
from levelled_studies.betting_truth import rejected_at
from levelled_studies.pools import POOLS
from levelled_studies.trajectories import frozen

Columns = dict[str, FloatArray]


def one_trajectory(
    name: str, seed: int, *, pool_size: int = 300, budget: int = 150
) -> tuple[FloatArray, FloatArray, Columns, tuple[float, float], float]:
    """Losses, probabilities, columns, bounds and the truth."""
    rng = np.random.default_rng(seed)
    pool = POOLS[name](pool_size, rng)
    weights = 0.5 / pool_size + 0.5 * pool.predictor / pool.predictor.sum()
    drawn = frozen(weights, budget, 1, control=pool.predictor, bound=pool.bounds[1], rng=rng)
    columns = {key: column[0] for key, column in drawn.design.items() if key != "dispersion"}
    if np.isinf(pool.bounds[1]):
        columns.pop("max_weighted_headroom")
    truth = float(pool.losses.mean())
    return pool.losses[drawn.index[0]], drawn.probability[0], columns, pool.bounds, truth


def update_all(watch: Betting, losses: FloatArray, q: FloatArray, columns: Columns) -> Betting:
    for m in range(len(losses)):
        watch.update(losses[m], q[m], **{name: column[m] for name, column in columns.items()})
    return watch


NAMES = ["errors 5%", "Brier", "heavy log loss", "difference of two models"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("with_columns", [False, True])
def test_wealth_falls_below_and_rises_above_along_the_candidates(
    name: str, with_columns: bool, seed: int
) -> None:
    losses, q, columns, bounds, _ = one_trajectory(name, seed, budget=60)
    watch = update_all(Betting(300, bounds), losses, q, columns if with_columns else {})
    wealth = watch._wealth
    below, above = wealth.amounts[: wealth.n_below], wealth.amounts[wealth.n_below :]
    assert wealth.amounts.shape[2] > 50
    assert (np.diff(below, axis=2) <= 1e-9 * below[..., 1:]).all()
    assert (np.diff(above, axis=2) >= -1e-9 * above[..., 1:]).all()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("at", [0, 1, 70])
def test_a_stored_game_goes_on_exactly(name: str, at: int, seed: int) -> None:
    losses, q, columns, bounds, _ = one_trajectory(name, seed)
    head = {key: column[:at] for key, column in columns.items()}
    tail = {key: column[at:] for key, column in columns.items()}
    watch = update_all(Betting(300, bounds, level=0.9), losses[:at], q[:at], head)
    text = json.dumps(watch.to_dict(), allow_nan=False)
    again = Betting.from_dict(json.loads(text))
    assert again.interval() == watch.interval()
    update_all(watch, losses[at:], q[at:], tail)
    update_all(again, losses[at:], q[at:], tail)
    assert again.interval() == watch.interval()
    assert again.to_dict() == watch.to_dict()


@pytest.mark.parametrize("name", NAMES)
def test_the_last_running_interval_is_the_interval_and_none_is_wider_than_the_one_before(
    name: str, seed: int
) -> None:
    losses, q, columns, bounds, _ = one_trajectory(name, seed)
    low, high = running_betting(losses, q, 300, bounds, design=columns)
    assert (low[-1], high[-1]) == betting_interval(losses, q, 300, bounds, design=columns)
    assert (np.diff(low) >= 0).all()
    assert (high[1:] <= high[:-1]).all()
    assert (low <= high).all()


@pytest.mark.parametrize("name", NAMES)
def test_the_whole_pool_gives_the_point(name: str, seed: int) -> None:
    losses, q, columns, bounds, truth = one_trajectory(name, seed, pool_size=50, budget=50)
    low, high = betting_interval(losses, q, 50, bounds, design=columns)
    assert low == high == pytest.approx(truth, rel=1e-12)


def test_before_the_first_label_everything_is_possible() -> None:
    assert Betting(10, (-2.0, 3.0)).interval() == (-2.0, 3.0)
    assert Betting(10, (0.0, np.inf)).interval() == (0.0, np.inf)


def test_columns_narrow_the_interval() -> None:
    losses, q, columns, bounds, _ = one_trajectory("errors 5%", 0, pool_size=2000, budget=300)
    low, high = betting_interval(losses, q, 2000, bounds)
    _, better = betting_interval(losses, q, 2000, bounds, design=columns)
    assert better - low < 0.8 * (high - low)


def test_the_prior_is_uneven_only_where_the_first_draw_shows_an_uneven_design() -> None:
    def prior(max_weight: float | None, excluded: int = 0) -> FloatArray:
        watch = Betting(100, (0.0, 1.0), excluded=excluded)
        watch.update(1.0, 1 / (100 - excluded), max_weight=max_weight)
        watch.update(0.0, 1 / (99 - excluded), max_weight=5.0)
        return watch._wealth.prior[..., 0]

    assert (prior(None) == 1 / 6).all()  # one variant on each side
    below, above, middle = prior(1.0)
    assert (below == 1 / 6).all()
    assert (above == 1 / 12).all()
    np.testing.assert_array_equal(above, middle)
    np.testing.assert_array_equal(prior(0.9, excluded=10), prior(1.0))
    below, above, middle = prior(1.2)
    np.testing.assert_allclose(below, np.array([1, 1, 2, 3, 3, 2]) / 12)
    np.testing.assert_allclose(above, 0.4 * np.array([0.5, 0.5, 1, 1, 3, 6]) / 12)
    np.testing.assert_allclose(middle, 0.6 * np.array([0.5, 0.5, 1, 1, 3, 6]) / 12)
    np.testing.assert_array_equal(prior(1.0, excluded=15), prior(1.2))


def test_differences_are_narrow_when_the_largest_weight_is_known() -> None:
    losses, q, columns, bounds, _ = one_trajectory(
        "difference of two models", 0, pool_size=2000, budget=300
    )
    low, high = betting_interval(losses, q, 2000, bounds)
    design = {"max_weight": columns["max_weight"]}
    better = betting_interval(losses, q, 2000, bounds, design=design)
    assert better[1] - better[0] < 0.6 * (high - low)


def test_losses_and_bounds_that_are_shifted_and_stretched_shift_and_stretch_the_interval(
    seed: int,
) -> None:
    losses, q, *_ = one_trajectory("Brier", seed)
    low, high = betting_interval(losses, q, 300, (0.0, 2.0))
    moved = betting_interval(5 + 3 * losses, q, 300, (5.0, 11.0))
    np.testing.assert_allclose(moved, (5 + 3 * low, 5 + 3 * high))
    flipped = betting_interval(-losses, q, 300, (-2.0, 0.0))
    np.testing.assert_allclose(flipped, (-high, -low))


def test_a_lower_limit_needs_no_upper_bound() -> None:
    losses, q, columns, bounds, truth = one_trajectory(
        "heavy log loss", 0, pool_size=3000, budget=700
    )
    low, high = betting_interval(losses, q, 3000, bounds, design=columns)
    assert high == np.inf
    assert 0.3 * truth < low
    same = losses[None], q[None], 3000, bounds
    design = {name: column[None] for name, column in columns.items()}
    assert rejected_at(low, *same, design=design)[0] > 0
    assert rejected_at(1.06 * low, *same, design=design)[0] == 0


def test_a_lower_limit_waits_for_the_first_loss() -> None:
    watch = Betting(100, (0.0, np.inf))
    for _ in range(9):
        watch.update(0.0, 0.05)
    assert watch.interval() == (0.0, np.inf)
    watch.update(3.0, 0.01)
    low, _ = watch.interval()
    assert low >= 0.03


def test_columns_missing_at_one_label_leave_those_bets_out_and_the_rest_in(seed: int) -> None:
    losses, q, columns, bounds, _ = one_trajectory("errors 5%", seed)
    watch = Betting(300, bounds)
    watch.update(losses[0], q[0], **{name: column[0] for name, column in columns.items()})
    before = watch._wealth
    watch.update(losses[1], q[1])
    after = watch._wealth
    assert watch._wealth.variants == (("bound", "control"), ("bound", "middle", "control"))
    kept = np.isin(before.candidates, after.candidates)
    same = (before.amounts[..., kept] == after.amounts).all(axis=(1, 2))
    assert same.tolist() == [False, True, False, True, True]


def test_columns_that_appear_after_the_first_label_are_not_used(seed: int) -> None:
    losses, q, columns, bounds, _ = one_trajectory("errors 5%", seed)
    watch = Betting(300, bounds)
    watch.update(losses[0], q[0])
    update_all(watch, losses[1:], q[1:], {name: column[1:] for name, column in columns.items()})
    assert watch.interval() == betting_interval(losses, q, 300, bounds)


def test_excluded_items_leave_the_interval_for_the_sum_of_the_others() -> None:
    losses, q = np.array([1.0, 0, 0, 1, 0, 0, 0, 0]), 1 / np.arange(8.0, 0, -1)
    low, high = betting_interval(losses, q, 10, excluded=2)
    assert low == high == pytest.approx(0.2)
    low, high = betting_interval(losses[:5], q[:5], 10, excluded=2)
    drawable = betting_interval(losses[:5], q[:5], 8)
    np.testing.assert_allclose((low, high), 0.8 * np.array(drawable))


@settings(max_examples=60, deadline=None)
@given(data=st.data(), n=st.integers(1, 40), level=st.floats(0.01, 0.999))
def test_any_labels_give_limits_within_what_is_logically_possible(
    data: st.DataObject, n: int, level: float
) -> None:
    losses = data.draw(st.lists(st.sampled_from([0.0, 1e-9, 0.4, 1.0]), min_size=1, max_size=n))
    size = len(losses)
    q = data.draw(st.lists(st.floats(1e-300, 1), min_size=size, max_size=size))
    low, high = betting_interval(losses, q, n, (0.0, 1.0), level)
    total = sum(losses)
    assert total / n - 1e-12 <= low <= high <= (total + n - size) / n + 1e-12


LABEL: dict[str, Any] = {"loss": 1.0, "q": 0.1}


@pytest.mark.parametrize(
    ("label", "error", "word"),
    [
        (LABEL | {"loss": 1.5}, LossError, "bounds"),
        (LABEL | {"loss": -0.1}, LossError, "bounds"),
        (LABEL | {"loss": np.nan}, InputError, "finite"),
        (LABEL | {"loss": "bad"}, InputError, "number"),
        (LABEL | {"q": 0}, DrawsError, "q must"),
        (LABEL | {"q": 1.2}, DrawsError, "q must"),
        (LABEL | {"q": None}, InputError, "number"),
        (LABEL | {"max_weight": np.inf}, InputError, "finite"),
        (LABEL | {"max_weight": 0.5}, DrawsError, "max_weight"),
        (
            LABEL | {"control": 0.5, "control_left": 2, "max_weighted_control": 0.1},
            DrawsError,
            "max_weighted_control",
        ),
        (
            LABEL | {"control": 0.5, "control_left": 2, "max_weighted_headroom": 0.1},
            DrawsError,
            "max_weighted_headroom",
        ),
    ],
)
def test_a_label_that_cannot_be_is_refused_and_changes_nothing(
    label: dict[str, Any], error: type[LevelledError], word: str
) -> None:
    watch = Betting(10)
    watch.update(0.0, 0.1)
    before = watch.to_dict()
    with pytest.raises(error, match=word):
        watch.update(**label)
    assert watch.to_dict() == before


def test_more_labels_than_items_are_refused() -> None:
    watch = Betting(3, excluded=1)
    watch.update(0.0, 0.5)
    watch.update(1.0, 1.0)
    with pytest.raises(DrawsError, match="no label 3"):
        watch.update(0.0, 1.0)
    assert len(watch) == 2


@pytest.mark.parametrize(
    "settings_",
    [
        {"pool_size": 0},
        {"pool_size": 2.5},
        {"bounds": (1.0, 1.0)},
        {"bounds": (2.0, 1.0)},
        {"bounds": (-np.inf, 1.0)},
        {"bounds": (0.0, np.nan)},
        {"bounds": 1.0},
        {"bounds": (0.0,)},
        {"level": 1.0},
        {"level": "high"},
        {"excluded": 10},
        {"excluded": -1},
    ],
)
def test_a_game_that_cannot_be_played_is_refused(settings_: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        Betting(**({"pool_size": 10} | settings_))


@pytest.mark.parametrize("kept", [{}, {"format": 2}, Betting(10).to_dict() | {"format": 1}])
def test_something_else_is_not_taken_for_a_stored_game(kept: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="to_dict"):
        Betting.from_dict(kept)


def test_arrays_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InputError, match="One value a draw"):
        betting_interval([0.0, 1.0], [0.1], 10)
    with pytest.raises(InputError, match="One value a draw"):
        running_betting([0.0, 1.0], [0.1, 0.1], 10, design={"max_weight": [1.0]})
    low, high = running_betting([], [], 10)
    assert len(low) == len(high) == 0
