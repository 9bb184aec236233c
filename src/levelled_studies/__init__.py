"""The paper's figures and our own benchmarks on real data, one module each.

A study is frozen settings in, a table out; figures and claims are made from the table.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from levelled_studies.study import Study

__all__ = ["NAMES", "find"]

_HOME = {
    "linear-illustration": "linear.illustration",
    "linear-bias": "linear.bias",
    "linear-training": "linear.training",
    "linear-overfitting": "linear.overfitting",
    "linear-variance": "linear.variance",
    "linear-epsilon-greedy": "linear.epsilon_greedy",
    "linear-proposals": "linear.proposals",
    "linear-consistency": "linear.consistency",
    "linear-decomposition": "linear.decomposition",
    "linear-shift": "linear.shift",
    "intervals": "intervals",
    "ratios": "ratios",
    "looks": "looks",
    "labels-saved": "labels_saved",
    "known-labels": "known_labels",
    "planning": "planning",
    "label-efficiency": "efficiency.study",
    "neighbours": "neighbours.study",
    "adaptive-coverage": "efficiency.coverage",
    "guarantee": "guarantee",
    "gate": "gate",
    "constants": "constants",
    "judges": "judges",
    "demo": "demo",
    "verdicts": "verdicts",
    "learning-linear": "learning.studies",
    "learning-logistic": "learning.studies",
    "learning-trees": "learning.studies",
    "learning-boosting": "learning.studies",
    "learning-others": "learning.studies",
    "learning-floor": "learning.floor",
    "image-bias": "images.bias",
    "image-training": "images.training",
    "image-overfitting": "images.overfitting",
    "image-temperature": "images.temperature",
    "image-lure-throughout": "images.throughout",
    "image-proposals": "images.proposals",
}
"""The module of each study, which holds it in its dict STUDIES."""

NAMES = tuple(_HOME)


def find(name: str) -> "list[Study]":
    """The study of that name, or the whole family: "linear" finds "linear-bias" and the rest."""
    from levelled._check import suggest
    from levelled_studies.study import StudyError

    names = [study for study in NAMES if study == name or study.startswith(f"{name}-")]
    if not names:
        raise StudyError(
            f"There is no study {name!r}{suggest(name, NAMES) or '.'} levelled reproduce --list "
            f"lists all."
        )
    return [_load(study) for study in names]


def _load(name: str) -> "Study":
    module = importlib.import_module(f"levelled_studies.{_HOME[name]}")
    study: Study = module.STUDIES[name]
    return study
