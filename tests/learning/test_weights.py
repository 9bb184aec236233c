import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.linear_model import Ridge

import levelled as lv
from levelled.errors import DrawsError, InputError
from levelled.learning import training_weights, weighted_loss

DRAWS = lv.Draws(np.array([2, 0, 5, 1]), np.array([0.4, 0.05, 0.3, 0.2]), pool_size=9)


def test_both_normalisations_are_the_weights_of_the_estimators() -> None:
    for kind, weights in [
        ("lure", lv.lure_weights(DRAWS)),
        ("pure", lv.pure_weights(DRAWS)),
        ("none", np.ones(4)),
    ]:
        np.testing.assert_array_equal(training_weights(DRAWS, kind), weights)  # type: ignore[arg-type]
        shares = training_weights(DRAWS, kind, normalise="sum")  # type: ignore[arg-type]
        np.testing.assert_allclose(shares, weights / weights.sum())
        assert shares.sum() == pytest.approx(1)


def test_a_mean_of_weighted_losses_is_the_estimate() -> None:
    losses = np.array([3.0, 1.0, 0.5, 2.0])
    estimate = lv.estimate(losses, DRAWS, interval="none").value
    assert np.mean(training_weights(DRAWS) * losses) == pytest.approx(estimate)


@pytest.mark.parametrize("bad", [{"kind": "naive"}, {"kind": None}, {"normalise": "max"}])
def test_unknown_kinds_of_weights_are_refused(bad: dict[str, str]) -> None:
    with pytest.raises(InputError, match="one of"):
        training_weights(DRAWS, **bad)  # type: ignore[arg-type]


def test_a_weight_of_two_trains_as_the_same_example_twice() -> None:
    torch = pytest.importorskip("torch")
    X = torch.tensor([[1.0, 2.0], [0.5, -1.0], [3.0, 0.0]], dtype=torch.float64)
    y = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
    line = torch.nn.Linear(2, 1, bias=False, dtype=torch.float64)

    def gradient(rows: list[int], weights: list[float]) -> NDArray[np.float64]:
        line.zero_grad()
        losses = (line(X[rows])[:, 0] - y[rows]) ** 2
        weighted_loss(losses, weights).backward()  # type: ignore[no-untyped-call]
        return np.array(line.weight.grad.numpy())

    weighted = gradient([0, 1, 2], [2.0, 1.0, 0.0])
    np.testing.assert_allclose(weighted, gradient([0, 0, 1], [1.0] * 3), rtol=1e-12)


def test_the_gradient_of_a_weighted_loss_is_that_of_its_finite_differences() -> None:
    torch = pytest.importorskip("torch")
    weights = training_weights(DRAWS)
    at = torch.tensor([0.3, -0.2, 1.0, 0.8], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda t: weighted_loss(torch.exp(t) * t, weights), (at,))
    value = weighted_loss(at, torch.tensor(weights))
    assert float(value.detach()) == pytest.approx(np.mean(weights * at.detach().numpy()))


def test_mini_batches_average_to_the_whole() -> None:
    torch = pytest.importorskip("torch")
    losses, weights = torch.tensor([1.0, 5.0, 2.0, 0.5]), training_weights(DRAWS)
    parts = [float(weighted_loss(losses[at], weights[at])) for at in ([0, 1], [2, 3])]
    assert np.mean(parts) == pytest.approx(float(weighted_loss(losses, weights)))


def test_losses_that_are_reduced_already_are_refused() -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(InputError, match="reduction='none'"):
        weighted_loss(torch.tensor(1.0), [1.0])
    with pytest.raises(InputError, match=r"2 losses.*2 weights.*3"):
        weighted_loss(torch.tensor([1.0, 2.0]), [1.0, 1.0, 1.0])
    with pytest.raises(InputError, match="torch tensor"):
        weighted_loss(np.ones(2), [1.0, 1.0])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("losses", "weights", "told"),
    [
        ([1, 2, 3], [1.0] * 3, "they are torch.int64"),
        ([True, False], [1.0] * 2, "they are torch.bool"),
        ([], [], "no losses"),
    ],
)
def test_losses_that_nothing_can_be_learned_from_are_refused(
    losses: list[float], weights: list[float], told: str
) -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(InputError, match=told):
        weighted_loss(torch.tensor(losses), weights)


def test_half_precision_neither_stops_nor_overflows_a_weighted_loss() -> None:
    torch = pytest.importorskip("torch")
    losses = torch.tensor([1.0, 3.0], dtype=torch.float16, requires_grad=True)
    mean = weighted_loss(losses, [1e6, 0.0])
    assert float(mean.detach()) == 5e5
    mean.backward()  # type: ignore[no-untyped-call]
    brief = torch.tensor([0.5, 1.5], dtype=torch.bfloat16)
    assert float(weighted_loss(torch.tensor([3.0, 6.0]), brief)) == 5.25


def test_draws_may_be_given_by_what_makes_them() -> None:
    parts = (DRAWS.index.tolist(), DRAWS.probability.tolist(), DRAWS.pool_size)
    np.testing.assert_array_equal(training_weights(parts), training_weights(DRAWS))
    with pytest.raises(DrawsError, match="probability above 0"):
        training_weights(([0, 1], [0.5, 0.0], 4))
    with pytest.raises(DrawsError, match="This is a tuple"):
        training_weights(parts[:2])  # type: ignore[arg-type]


def test_weights_that_average_one_leave_the_penalty_as_strong_as_it_was() -> None:
    X, y = np.array([[1.0], [2.0], [4.0], [3.0]]), np.array([1.0, 3.0, 2.0, 5.0])
    uniform = lv.Draws(np.arange(4), 1 / (9 - np.arange(4.0)), pool_size=9)
    weighted = Ridge(alpha=5).fit(X, y, sample_weight=training_weights(uniform))
    np.testing.assert_allclose(weighted.coef_, Ridge(alpha=5).fit(X, y).coef_)
