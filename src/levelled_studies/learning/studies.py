"""The learning studies, one for each family of models."""

from dataclasses import replace
from functools import partial

from levelled_studies.learning.loop import run
from levelled_studies.learning.report import claims, figures
from levelled_studies.learning.settings import LearningSettings, tasks
from levelled_studies.study import Study

__all__ = ["STUDIES"]

LINEAR = LearningSettings(
    cases=(
        "hours ridge geometric",
        "hours ridge variance",
        "hours-all ridge geometric",
        "amount ridge geometric",
        "diabetes ridge geometric",
        "diabetes ridge variance",
        "hours-few ridge geometric",
        "hours-few ridge variance",
    )
)
LOGISTIC = LearningSettings(
    cases=(
        "adult-age logistic geometric",
        "adult-few logistic entropy",
        "adult logistic entropy",
        "fraud logistic entropy",
    )
)
TREES = LearningSettings(
    cases=(
        "adult-coded tree entropy",
        "adult-coded forest entropy",
        "fashion tree entropy",
    )
)
BOOSTING = LearningSettings(
    cases=(
        "adult-coded stumps entropy",
        "adult-coded boosting entropy",
        "fraud stumps entropy",
        "fraud boosting entropy",
    )
)
OTHERS = LearningSettings(
    cases=(
        "adult-few bayes entropy",
        "fashion bayes entropy",
        "fraud bayes entropy",
        "adult-few network entropy",
    )
)
LARGER = {
    "learning-logistic": ("fashion logistic entropy", "fashion-uneven logistic entropy"),
    "learning-trees": ("fashion forest entropy", "fashion-uneven tree entropy"),
    "learning-boosting": ("hours-few boosted geometric", "amount boosted geometric"),
    "learning-others": ("fashion network entropy",),
}
"""Cases that take long, and are run at full size only."""


def _study(name: str, models: str, cpu: LearningSettings, *smoke: str) -> Study:
    """Smoke tests take data that come with scikit-learn."""
    small = replace(
        cpu,
        cases=smoke,
        trajectories=2,
        checkpoints=(20, 30),
        at_once=1,
    )
    full = replace(cpu, cases=cpu.cases + LARGER.get(name, ()), trajectories=200)
    return Study(
        name=name,
        title=f"Does correcting help {models} on real data?",
        presets={"smoke": small, "cpu": cpu, "paper": full},
        tasks=tasks,
        run=run,
        figures=figures,
        claims=partial(claims, name),
    )


STUDIES = {
    study.name: study
    for study in (
        _study(
            "learning-linear",
            "linear regressions",
            LINEAR,
            "diabetes ridge geometric",
            "diabetes ridge variance",
        ),
        _study("learning-logistic", "logistic regressions", LOGISTIC, "digits logistic entropy"),
        _study(
            "learning-trees",
            "trees and forests",
            TREES,
            "breast-cancer tree entropy",
            "breast-cancer forest entropy",
        ),
        _study(
            "learning-boosting",
            "boosted trees",
            BOOSTING,
            "breast-cancer stumps entropy",
            "breast-cancer boosting entropy",
        ),
        _study(
            "learning-others",
            "naive Bayes and small networks",
            OTHERS,
            "breast-cancer bayes entropy",
            "breast-cancer network entropy",
        ),
    )
}
