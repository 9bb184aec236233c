"""Settings that the linear studies share."""

from dataclasses import dataclass

import numpy as np

from levelled._check import whole
from levelled_studies.study import StudySettings

__all__ = ["BUDGETS", "LinearSettings", "presets"]

BUDGETS = np.arange(10, 101)
"""The budgets of the paper's figures, 10 <= M <= 100."""


@dataclass(frozen=True, slots=True)
class LinearSettings(StudySettings):
    """The number of trajectories. The paper's 1,000 take seconds, so `cpu` is `paper`."""

    trajectories: int = 1000

    def __post_init__(self) -> None:
        whole("trajectories", self.trajectories, least=10)


def presets(paper: LinearSettings, smoke: LinearSettings) -> dict[str, LinearSettings]:
    """The paper's size, which takes seconds, and a size for tests."""
    return {"smoke": smoke, "cpu": paper, "paper": paper}
