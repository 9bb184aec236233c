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
        "fashion logistic entropy",
        "fashion-uneven logistic entropy",
    )
)
TREES = LearningSettings(
    cases=(
        "adult-coded tree entropy",
        "adult-coded forest entropy",
        "fashion tree entropy",
        "fashion forest entropy",
        "fashion-uneven tree entropy",
    )
)
BOOSTING = LearningSettings(
    cases=(
        "adult-coded stumps entropy",
        "adult-coded boosting entropy",
        "fraud stumps entropy",
        "fraud boosting entropy",
        "hours-few boosted geometric",
        "amount boosted geometric",
    )
)
OTHERS = LearningSettings(
    cases=(
        "adult-few bayes entropy",
        "fashion bayes entropy",
        "fraud bayes entropy",
        "adult-few network entropy",
        "fashion network entropy",
    )
)


def _study(name: str, models: str, cpu: LearningSettings, *smoke: str) -> Study:
    """Smoke tests take data that come with scikit-learn."""
    small = replace(
        cpu,
        cases=smoke,
        trajectories=2,
        checkpoints=(20, 30),
        at_once=1,
    )
    return Study(
        name=name,
        title=f"Does correcting help {models} on real data?",
        presets={"smoke": small, "cpu": cpu, "paper": replace(cpu, trajectories=200)},
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
