"""The sets of appendix C.2: what is noised, thinned out and held back, in this order."""

import numpy as np
import pytest

from levelled_studies.images.data import RATIOS, add_noise, image_set, shrink, subset


def test_a_tenth_of_the_labels_is_replaced_by_classes_picked_at_random() -> None:
    labels = np.repeat(np.arange(10), 1000)
    noisy = add_noise(labels, rng=np.random.default_rng(0))
    changed = np.count_nonzero(noisy != labels)
    assert changed <= 1000  # a class picked at random may be the right one
    assert changed > 800
    np.testing.assert_array_equal(labels, np.repeat(np.arange(10), 1000))


def test_a_subset_has_the_ratios_and_is_as_large_as_can_be() -> None:
    labels = np.repeat(np.arange(10), 500)
    chosen = subset(labels, RATIOS, rng=np.random.default_rng(0))
    assert np.bincount(labels[chosen]).tolist() == [500, 250, 250, 100, 100, 100, 50, 50, 5, 5]
    assert len(np.unique(chosen)) == len(chosen)


def test_a_subset_of_a_given_size_is_no_larger() -> None:
    labels = np.repeat(np.arange(10), 500)
    chosen = subset(labels, np.ones(10), size=100, rng=np.random.default_rng(0))
    assert np.bincount(labels[chosen]).tolist() == [10] * 10


def test_shrinking_keeps_the_mean_brightness() -> None:
    images = np.random.default_rng(0).integers(0, 256, size=(3, 28, 28), dtype=np.uint8)
    small = shrink(images, 16)
    assert small.shape == (3, 16, 16)
    np.testing.assert_allclose(small.sum(axis=(1, 2)) * 4, images.sum(axis=(1, 2)) / 255, rtol=1e-5)


@pytest.mark.usefixtures("registry")
def test_the_sets_of_mnist_are_those_of_the_paper_and_follow_from_the_seed() -> None:
    images = image_set("mnist", size=16, rng=np.random.default_rng(3))
    assert images.validation.shape == (1000, 16, 16)
    assert 3100 < len(images) < 3300
    share = np.bincount(images.pool_labels) / len(images)
    np.testing.assert_allclose(share, RATIOS / RATIOS.sum(), atol=0.03)
    tested = np.bincount(images.test_labels)
    assert tested.tolist() == [980, 490, 490, 196, 196, 196, 98, 98, 9, 9]
    again = image_set("mnist", size=16, rng=np.random.default_rng(3))
    np.testing.assert_array_equal(images.pool, again.pool)
    np.testing.assert_array_equal(images.pool_labels, again.pool_labels)


@pytest.mark.usefixtures("registry")
def test_the_balanced_set_is_as_large_and_has_all_classes_alike() -> None:
    images = image_set("mnist-balanced", size=16, rng=np.random.default_rng(3))
    assert 3100 < len(images) < 3300
    assert np.bincount(images.pool_labels).min() > 250
