import numpy as np
import pytest

from levelled import Draws
from levelled.estimators import diagnose
from levelled.estimators.moments import design_size, thin_warning, uniform_probability


def test_uniform_draws_are_worth_themselves() -> None:
    draws = Draws(np.arange(5), uniform_probability(9, 5), 9, design={"dispersion": np.ones(5)})
    diagnosis = diagnose(np.arange(5.0), draws)
    assert diagnosis.effective_size == pytest.approx(5)
    assert diagnosis.design_size == pytest.approx(5)
    assert diagnosis.max_weight == pytest.approx(1)
    assert diagnosis.variance_share.sum() == pytest.approx(1)


def test_the_heaviest_item_is_named_by_its_place_in_the_pool() -> None:
    q = np.array([0.5, 0.01, 0.3])
    diagnosis = diagnose([1.0, 1.0, 0.0], Draws(np.array([4, 7, 0]), q, 9))
    assert diagnosis.heaviest == 7
    assert diagnosis.design_size is None
    assert diagnosis.variance_share.argmax() == 1


def test_equal_terms_have_no_variance_to_share() -> None:
    diagnosis = diagnose(np.zeros(3), Draws(np.arange(3), np.full(3, 0.2), 9))
    assert diagnosis.variance_share.tolist() == [0, 0, 0]


def test_a_thin_design_is_told_in_words_with_the_items_that_make_it_so() -> None:
    q = np.full(20, 0.2)
    q[:2] = 1e-4
    draws = Draws(np.arange(20), q, 100)
    text = thin_warning(draws, design_size(draws))
    assert text.startswith("20 labels behave like 1")
    assert "raise the floor" in text


def test_a_thin_design_whose_heavy_items_never_came_up_is_told_as_such() -> None:
    draws = Draws(np.arange(20), np.full(20, 0.01), 100, design={"dispersion": np.full(20, 50.0)})
    assert "hardly any chance" in thin_warning(draws, design_size(draws))
