"""The rule that studies compare the share with, clause by clause."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsClassifier

from advice.samples import bent_line, two_classes
from levelled.advice.evidence import Measured
from levelled_studies.all_or_nothing import Evidence, advise, decide

HELPS = Evidence(
    n_effective=30.0,
    n_uncommon=None,
    plain_risk=0.3,
    held_out=Measured(0.1, 0.1),
    degrees_of_freedom=20.0,
    on_labels=0.09,
    active_learning_bias=-0.24,
    overfitting_bias=0.04,
    cost=0.02,
    same_predictions=False,
)
HURTS = replace(
    HELPS,
    held_out=Measured(-0.01, 0.02),
    on_labels=0.01,
    active_learning_bias=-0.02,
    overfitting_bias=0.3,
    cost=0.1,
)


@pytest.mark.parametrize(
    ("evidence", "advice"),
    [
        (HELPS, "correct"),
        (HURTS, "do not correct"),
        (replace(HURTS, held_out=Measured(0.1, 0.02)), "correct"),
        (replace(HURTS, held_out=Measured(-0.001, 0.004)), "no difference"),
        (replace(HELPS, same_predictions=True), "no difference"),
        (replace(HELPS, n_effective=4.2), "not enough labels"),
        (replace(HELPS, n_uncommon=7), "not enough labels"),
        (replace(HELPS, n_uncommon=10), "correct"),
        (replace(HELPS, held_out=Measured(0.04, 0.1)), "not enough labels"),
        (replace(HELPS, on_labels=0.03), "not enough labels"),
        (replace(HELPS, active_learning_bias=-0.03), "not enough labels"),
        (replace(HURTS, on_labels=0.3), "not enough labels"),
        (replace(HURTS, active_learning_bias=-0.6), "not enough labels"),
    ],
)
def test_the_first_line_that_applies_decides(evidence: Evidence, advice: str) -> None:
    assert decide(evidence) == advice


def test_a_line_through_a_curve_drawn_at_one_end_is_to_be_corrected() -> None:
    decision = advise(LinearRegression(), *bent_line(seed=1))
    assert decision.advice == "correct"
    assert decision.active_learning_bias is not None


def test_where_weights_change_nothing_there_is_no_difference() -> None:
    assert advise(KNeighborsClassifier(1), *two_classes()).advice == "no difference"


def test_labels_that_are_few_or_the_same_decide_nothing() -> None:
    X, y, draws = bent_line(budget=9)
    assert advise(LinearRegression(), X, y, draws).advice == "not enough labels"
    X, y, draws = bent_line()
    assert advise(LinearRegression(), X, np.ones(40), draws).advice == "not enough labels"
