"""Small things to learn."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from levelled._check import FloatArray

QUICK: dict[str, Any] = {
    "max_steps": 30,
    "learning_rate": 0.01,
    "training_samples": 2,
    "test_samples": 4,
    "acquisition_samples": 6,
}


def points(n: int = 40, seed: int = 0) -> tuple[FloatArray, NDArray[np.str_]]:
    """Rows of two features in three clouds, and the names of their clouds."""
    rng = np.random.default_rng(seed)
    cloud = np.arange(n) % 3
    centre = np.array([[0.0, 0.0], [5.0, 0.0], [0.0, 5.0]])
    return centre[cloud] + rng.normal(size=(n, 2)), np.array(["ash", "elm", "oak"])[cloud]


def pictures(n: int = 24, side: int = 16, seed: int = 0) -> tuple[NDArray[np.uint8], Any]:
    """Grey images whose left or right half is brighter: classes 0 and 1."""
    rng = np.random.default_rng(seed)
    images = rng.integers(0, 100, (n, side, side), dtype=np.uint8)
    label = np.arange(n) % 2
    images[label == 0, :, : side // 2] += 100
    images[label == 1, :, side // 2 :] += 100
    return images, label
