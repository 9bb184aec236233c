import numpy as np
import pytest

from levelled import Draws
from levelled._check import BoolArray, FloatArray
from levelled.errors import InputError, ProposalError
from levelled.samplers import ClassChance, race, with_design
from levelled.samplers import frozen as design_module


def step_by_step(
    draws: Draws, weights: FloatArray, g: FloatArray, bound: float, predicted: BoolArray
) -> dict[str, list[float]]:
    """The columns by their definition, one draw after the other."""
    left = [item for item in range(draws.pool_size) if weights[item] > 0]
    N, columns = draws.pool_size, []
    for m, item in enumerate(draws.index.tolist(), start=1):
        q = weights[left] / weights[left].sum()
        w = 1 / (N * q)
        h, yes = g[left] / 2, predicted[left]
        spread = h * (1 - h) / q / N**2
        columns.append(
            {
                "max_weight": w.max(),
                "dispersion": (1 / ((N - m + 1) ** 2 * q)).sum(),
                "control": g[item],
                "control_left": g[left].sum(),
                "max_weighted_control": (w * g[left]).max(),
                "max_weighted_headroom": (w * (bound - g[left])).max(),
                "predicted_variance": (q * w**2 * g[left] ** 2).sum(),
                "predicted_skew": (q * w**3 * g[left] ** 3).sum(),
                "positive_chance": g[item] / 2,
                "true_positives_left": h[yes].sum(),
                "false_negatives_left": h[~yes].sum(),
                "true_positive_variance": spread[yes].sum(),
                "false_negative_variance": spread[~yes].sum(),
            }
        )
        left.remove(item)
    return {name: [row[name] for row in columns] for name in columns[0]}


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("k", [1, 7, 20, 30])
def test_columns_agree_with_their_definition(
    k: int, log: bool, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(design_module, "_CHUNK", 8)
    rng = np.random.default_rng(seed)
    weights, g = rng.lognormal(sigma=2, size=33), rng.random(33)
    weights[[3, 17, 30]] = 0
    with np.errstate(divide="ignore"):
        given = np.log(weights) + 2000 if log else weights
    draws = race(given, k, seed=seed, log=log, allow_zero=True)
    predicted = rng.random(33) < 0.4
    positive = ClassChance(g / 2, predicted)
    found = with_design(
        draws,
        given,
        log=log,
        control=g,
        bound=1.5,
        spread=g,
        third_moment=g**3,
        positive=positive,
    ).design
    assert found is not None
    expected = step_by_step(draws, weights, g, bound=1.5, predicted=predicted)
    assert found.keys() == expected.keys()
    for name, column in expected.items():
        np.testing.assert_allclose(found[name], column, rtol=1e-9, err_msg=name)


def test_equal_weights_have_dispersion_one() -> None:
    draws = race(np.full(100, 0.3), 100, seed=1, design=True)
    assert draws.design is not None
    np.testing.assert_allclose(draws.design["dispersion"], 1, rtol=1e-12)
    np.testing.assert_allclose(draws.design["max_weight"], np.arange(100, 0, -1) / 100, rtol=1e-12)


def test_the_scale_of_the_weights_does_not_matter() -> None:
    weights = np.array([1.0, 2.0, 4.0, 8.0])
    draws = race(weights, 3, seed=1, design=True)
    huge = race(weights * 1e300, 3, seed=1, design=True)
    assert draws.design is not None
    assert huge.design is not None
    for name, column in draws.design.items():
        np.testing.assert_allclose(huge.design[name], column, rtol=1e-12)


def test_no_draws_have_empty_columns() -> None:
    draws = race([1.0, 2.0], 0, seed=1, design=True)
    assert draws.design is not None
    assert {name: len(column) for name, column in draws.design.items()} == {
        "max_weight": 0,
        "dispersion": 0,
    }


def test_draws_made_with_other_weights_are_refused() -> None:
    draws = race([1.0, 2.0, 3.0], 2, seed=1)
    with pytest.raises(ProposalError, match=r"Draw 1.*probability"):
        with_design(draws, [3.0, 2.0, 1.5])
    with pytest.raises(ProposalError, match="was recorded"):
        with_design(Draws(np.array([0]), np.array([0.5]), 2), [0.0, 1.0])


@pytest.mark.parametrize(("weights", "log"), [([0.0, -1000.0], True), ([1e300, 1e-300], False)])
def test_weights_too_far_apart_for_any_estimate_are_refused(
    weights: list[float], log: bool
) -> None:
    with pytest.raises(ProposalError, match=r"float.*mixture"):
        race(weights, 1, seed=1, log=log, design=True)


def test_what_does_not_fit_the_pool_is_refused() -> None:
    draws = race([1.0, 2.0, 3.0], 2, seed=1)
    with pytest.raises(InputError, match=r"weights.*item.*\(3\).*2"):
        with_design(draws, [1.0, 2.0])
    with pytest.raises(InputError, match=r"control.*item"):
        with_design(draws, [1.0, 2.0, 3.0], control=[0.1])
    with pytest.raises(InputError, match=r"control.*finite"):
        with_design(draws, [1.0, 2.0, 3.0], control=[0.1, np.nan, 0.1])
    with pytest.raises(InputError, match="only with a control"):
        with_design(draws, [1.0, 2.0, 3.0], bound=1.0)
    with pytest.raises(InputError, match=r"above.*bound.* 1"):
        with_design(draws, [1.0, 2.0, 3.0], control=[0.1, 2.0, 0.1], bound=1.0)
    with pytest.raises(ProposalError, match=r"weights\[0\] is -1"):
        with_design(draws, [-1.0, 2.0, 3.0])
