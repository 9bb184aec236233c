import numpy as np
import pytest

from levelled.draws import Draws
from levelled.errors import InputError
from levelled.metrics import kappa
from levelled.metrics.kappa import Kappa

LABELS = np.array(["a", "b", "c", "a", "a", "b"])
VERDICTS = np.array(["a", "b", "a", "a", "c", "a"])


def cohen(labels: np.ndarray, verdicts: np.ndarray) -> float:
    classes = np.unique([*labels, *verdicts])
    chance = sum(np.mean(labels == one) * np.mean(verdicts == one) for one in classes)
    return float((np.mean(labels == verdicts) - chance) / (1 - chance))


def uniform(order: list[int]) -> Draws:
    N = len(LABELS)
    return Draws(np.array(order), 1 / (N - np.arange(len(order))), pool_size=N)


def test_with_all_labels_it_is_cohens_kappa() -> None:
    draws = uniform([3, 1, 0, 5, 4, 2])
    found = kappa(LABELS[draws.index], VERDICTS[draws.index], draws, pool_pred=VERDICTS)
    assert found.value == pytest.approx(cohen(LABELS, VERDICTS), abs=1e-12)


def test_both_means_of_the_ratio_are_unbiased() -> None:
    metric = Kappa.of({"a": 4, "b": 1, "c": 1})
    values = metric.values(LABELS, VERDICTS)
    assert values.denominators is not None
    ratio = values.losses.mean() / values.denominators.mean()
    assert 1 - metric.scale * ratio == pytest.approx(cohen(LABELS, VERDICTS), abs=1e-12)
    assert (values.losses <= values.denominators + 1e-12).all()
    assert values.denominators.max() <= metric.d_max


def test_a_judge_that_is_always_wrong_has_a_negative_kappa() -> None:
    labels = np.array(["a", "b"] * 3)
    draws = uniform([0, 1, 2, 3])
    found = kappa(labels[:4], labels[::-1][:4], draws, pool_pred=labels[::-1])
    assert found.value == pytest.approx(-1.0)


def test_one_verdict_for_all_items_is_refused() -> None:
    with pytest.raises(InputError, match="Every verdict is 'a'"):
        Kappa.of({"a": 5, "b": 0})
