"""Settings of the learning studies: the cases, and the size of each."""

from dataclasses import dataclass
from typing import NamedTuple

from levelled._check import whole
from levelled_studies.study import StudyError, StudySettings

__all__ = ["Case", "FloorSettings", "LearningSettings", "cases", "tasks"]


_DATA = {
    "diabetes": "diabetes",
    "breast-cancer": "breast cancer",
    "digits": "digits",
    "hours": "Adult: hours by age",
    "hours-few": "Adult: hours by age, schooling",
    "hours-all": "Adult: hours by 107 columns",
    "amount": "card payments: log amount",
    "adult": "Adult: income by 108 columns",
    "adult-age": "Adult: income by age",
    "adult-few": "Adult: income by 3 columns",
    "adult-coded": "Adult: income by 14 columns",
    "fraud": "card payments: 2% frauds",
    "fashion": "FashionMNIST",
    "fashion-uneven": "FashionMNIST, uneven",
}
_MODELS = {
    "ridge": "ridge regression",
    "logistic": "logistic regression",
    "tree": "a tree of depth 3",
    "forest": "a random forest",
    "boosting": "boosted trees",
    "stumps": "boosted stumps",
    "boosted": "boosted regression trees",
    "network": "a network of ten units",
    "bayes": "naive Bayes",
}


class Case(NamedTuple):
    """A model that learns something by a score."""

    data: str
    model: str
    score: str

    def __str__(self) -> str:
        return " ".join(self)

    @property
    def title(self) -> str:
        """The case in a few words, for the title of a panel.

        >>> Case("fraud", "stumps", "entropy").title
        'card payments: 2% frauds, stumps, entropy'
        """
        return f"{_DATA[self.data]}, {self.model}, {self.score}"

    @property
    def phrase(self) -> str:
        """The case as part of a sentence.

        >>> Case("adult", "logistic", "entropy").phrase
        'logistic regression (Adult: income by 108 columns; score: entropy)'
        """
        return f"{_MODELS[self.model]} ({_DATA[self.data]}; score: {self.score})"


@dataclass(frozen=True, slots=True)
class LearningSettings(StudySettings):
    """The cases, and the size of each.

    `cases` are written as data, model and score. At every checkpoint the model is trained
    anew on all labels so far, each way.
    """

    cases: tuple[str, ...] = ()
    trajectories: int = 40
    pool_size: int = 2000
    test_size: int = 4000
    start: int = 10
    """Labels drawn uniformly before the model chooses."""
    floor: float = 0.3
    """The share of uniform draws in the proposal: the default of `ActiveLearner`."""
    batch: int = 10
    """Labels drawn before the model that chooses is trained anew."""
    checkpoints: tuple[int, ...] = (60, 120, 240)
    at_once: int = 5
    """Trajectories in one task."""

    def __post_init__(self) -> None:
        whole("trajectories", self.trajectories, least=2)
        wrong = [each for each in self.checkpoints if each % self.batch]
        if wrong:
            raise StudyError(f"A checkpoint at {wrong[0]} is amid a batch of {self.batch} labels.")


@dataclass(frozen=True, slots=True)
class FloorSettings(LearningSettings):
    """The floors that are compared with the first one, and the size of each case."""

    floors: tuple[float, ...] = (0.1, 0.2, 0.3, 0.5)
    n_fixed: int = 300
    """Items that the model which is evaluated is trained on."""


def cases(settings: LearningSettings) -> list[Case]:
    """The cases of a study.

    >>> cases(LearningSettings(cases=("adult logistic entropy",)))[0].model
    'logistic'
    """
    return [Case(*case.split()) for case in settings.cases]


def tasks(settings: LearningSettings) -> list[str]:
    """Some trajectories of a case each.

    >>> tasks(LearningSettings(cases=("adult logistic entropy",), trajectories=10))
    ['adult logistic entropy 0', 'adult logistic entropy 5']
    """
    return [
        f"{case} {first}"
        for case in settings.cases
        for first in range(0, settings.trajectories, settings.at_once)
    ]
