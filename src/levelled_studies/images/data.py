"""The image sets of appendix C.2: noisy labels, unbalanced classes, a validation set outside N."""

from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from levelled._check import FloatArray, IntArray
from levelled_studies.datasets import load_data
from levelled_studies.study import StudyError

__all__ = ["RATIOS", "Data", "ImageSet", "add_noise", "image_set", "shrink", "subset"]

Data = Literal["mnist", "fashion-mnist", "mnist-balanced"]
Images = NDArray[np.float32]

RATIOS = np.array([1, 0.5, 0.5, 0.2, 0.2, 0.2, 0.1, 0.1, 0.01, 0.01])
"""The size of each class relative to the first: 100 zeros for a nine."""
NOISE = 0.1
SHARE = 0.25
N_VALIDATION = 1000


@dataclass(frozen=True, slots=True, eq=False)
class ImageSet:
    """Images [N, H, W], normalised, and class numbers: a pool, and what is outside it."""

    pool: Images
    pool_labels: IntArray
    validation: Images
    validation_labels: IntArray
    test: Images
    test_labels: IntArray

    def __len__(self) -> int:
        return len(self.pool)


def image_set(data: str, *, size: int, rng: Generator, most: int | None = None) -> ImageSet:
    """One draw of the data of appendix C.2, in the order of the paper: noise comes first.

    A tenth of the training labels is replaced at random; classes are thinned out by the noised
    label; of a quarter of that, 1,000 images become the validation set and the rest the pool.
    The test set has the same class ratios and its labels are clean. "mnist-balanced" has as many
    images as "mnist", and of each class alike. Of each part at most `most` images are kept.
    """
    name = data.removesuffix("-balanced")
    loaded = _load(name, size)
    even = data.endswith("-balanced")
    labels = add_noise(loaded.labels, rng=rng)
    rows = subset(labels, RATIOS, rng=rng)
    if even:
        rows = subset(labels, np.ones_like(RATIOS), size=len(rows), rng=rng)
    rows = rng.permutation(rows)[: int(SHARE * len(rows))]
    ahead, pool = rows[:N_VALIDATION][:most], rows[N_VALIDATION:][:most]
    tested = subset(loaded.test_labels, np.ones_like(RATIOS) if even else RATIOS, rng=rng)
    tested = rng.permutation(tested)[:most]
    return ImageSet(
        loaded.images[pool],
        labels[pool],
        loaded.images[ahead],
        labels[ahead],
        loaded.test[tested],
        loaded.test_labels[tested],
    )


def add_noise(labels: IntArray, *, rng: Generator, share: float = NOISE) -> IntArray:
    """Replace that share of the labels by classes picked at random, the right one included.

    >>> (add_noise(np.arange(10), rng=np.random.default_rng(0)) != np.arange(10)).sum()
    np.int64(1)
    """
    at = rng.permutation(len(labels))[: int(share * len(labels))]
    noisy = labels.copy()
    noisy[at] = rng.integers(labels.max() + 1, size=len(at))
    return noisy


def subset(
    labels: IntArray, ratios: FloatArray, *, rng: Generator, size: int | None = None
) -> IntArray:
    """Places of a random subset whose class counts are in these ratios, as large as can be.

    >>> labels = np.repeat([0, 1], 100)
    >>> np.bincount(labels[subset(labels, np.array([1, 0.5]), rng=np.random.default_rng(0))])
    array([100,  50])
    """
    counts = np.bincount(labels, minlength=len(ratios))
    most = (counts / ratios).min()
    if size is not None:
        most = min(most, size / ratios.sum())
    wanted = np.floor(most * ratios + 1e-9).astype(np.int64)
    return np.concatenate(
        [
            rng.permutation(np.flatnonzero(labels == label))[:count]
            for label, count in enumerate(wanted)
        ]
    )


def shrink(images: NDArray[np.uint8], size: int) -> Images:
    """Images of 28 x 28 pixels in [0, 1] as they are, or as 16 x 16 averages of 2 x 2 pixels.

    >>> shrink(np.full((1, 28, 28), 255, np.uint8), 16)[0, 8, 8]
    np.float32(1.0)
    """
    whole = images.astype(np.float32) / np.float32(255)
    if size == images.shape[1]:
        return whole
    squares = np.pad(whole, ((0, 0), (2, 2), (2, 2))).reshape(len(images), 16, 2, 16, 2)
    return np.asarray(squares.mean(axis=(2, 4)), np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class _Arrays:
    images: Images
    labels: IntArray
    test: Images
    test_labels: IntArray


@cache
def _load(name: str, size: int) -> _Arrays:
    """All images of a data set, normalised by the mean and spread of the training images."""
    loaded = load_data(name)
    if loaded.X_test is None or loaded.y_test is None:
        raise StudyError(f"{name} has no test set, and these studies need one.")
    images, test = shrink(loaded.X, size), shrink(loaded.X_test, size)
    mean, sd = images.mean(), images.std()
    return _Arrays((images - mean) / sd, loaded.y, (test - mean) / sd, loaded.y_test)
