"""The rule of the verdict, clause by clause."""

from dataclasses import replace

import pytest

from levelled.advice.evidence import Evidence, WeightsEffect
from levelled.advice.rule import decide
from levelled.advice.verdict import Measured

CHANGE = WeightsEffect(
    held_out=Measured(0.1, 0.1),
    degrees_of_freedom=20.0,
    on_labels=0.09,
    cost=0.02,
    same_predictions=False,
)
HELPS = Evidence(
    n_labels=40,
    n_effective=30.0,
    n_uncommon=None,
    active_learning_bias=Measured(-0.24, 0.05),
    overfitting_bias=Measured(0.04, 0.02),
    training_risk=0.16,
    risks={"naive": Measured(0.3, 0.05), "lure": Measured(0.2, 0.04)},
    comparison=CHANGE,
)
HURTS = replace(
    HELPS,
    active_learning_bias=Measured(-0.02, 0.05),
    overfitting_bias=Measured(0.3, 0.05),
    risks={"naive": Measured(0.31, 0.05), "lure": Measured(0.32, 0.05)},
    comparison=replace(CHANGE, held_out=Measured(-0.01, 0.02), on_labels=0.01, cost=0.1),
)


def with_change(found: Evidence, **changed: object) -> Evidence:
    assert found.comparison is not None
    return replace(found, comparison=replace(found.comparison, **changed))  # type: ignore[arg-type]


def decided(found: Evidence) -> tuple[str, str]:
    assert found.comparison is not None
    return decide(found, found.comparison)


def test_a_gain_seen_both_ways_under_a_large_active_learning_bias_is_to_be_had() -> None:
    advice, because = decided(HELPS)
    assert advice == "correct"
    assert because == (
        "active learning bias is 6 times the overfitting bias; on the labels themselves weights "
        "gain 0.09, more than twice the 0.02 they cost in variance; weighted training lowers "
        "held-out risk from 0.3 to 0.2, by 0.1 (+-0.1)."
    )


def test_a_loss_seen_both_ways_is_to_be_avoided() -> None:
    advice, because = decided(HURTS)
    assert advice == "do not correct"
    assert because == (
        "overfitting bias is 15 times the active learning bias; on the labels themselves weights "
        "gain 0.01, less than the 0.1 they cost in variance; weighted training raises held-out "
        "risk from 0.31 to 0.32, by 0.01 (+-0.02)."
    )


def test_biases_that_speak_for_weights_are_no_reason_against_them() -> None:
    advice, because = decided(replace(HURTS, active_learning_bias=Measured(-0.57, 0.1)))
    assert advice == "do not correct"
    assert because == (
        "on the labels themselves weights gain 0.01, less than the 0.1 they cost in variance; "
        "weighted training raises held-out risk from 0.31 to 0.32, by 0.01 (+-0.02)."
    )


def test_weights_that_fit_the_labels_worse_are_said_to_lose() -> None:
    advice, because = decided(with_change(HURTS, on_labels=-0.03))
    assert advice == "do not correct"
    assert "on the labels themselves weights lose 0.03 and cost 0.1 in variance" in because


@pytest.mark.parametrize(
    ("undecided", "because"),
    [
        (
            with_change(HELPS, held_out=Measured(0.04, 0.1)),
            "lowers held-out risk from 0.3 to 0.2, by 0.04 (+-0.1), but that is within half a "
            "standard error.",
        ),
        (
            with_change(HELPS, held_out=Measured(-0.5, 0.1)),
            "raises held-out risk from 0.3 to 0.2, by 0.5 (+-0.1), but on the labels themselves "
            "weights gain 0.09, more than twice the 0.02 they cost in variance; active learning "
            "bias is 6 times the overfitting bias, which speaks for weights.",
        ),
        (
            with_change(HELPS, on_labels=0.03),
            ", by 0.1 (+-0.1), but on the labels themselves weights gain 0.03, between once and "
            "twice the 0.02 they cost in variance.",
        ),
        (
            replace(HELPS, active_learning_bias=Measured(-0.03, 0.01)),
            ", by 0.1 (+-0.1), but overfitting bias is 1.3 times the active learning bias, which "
            "speaks against weights.",
        ),
        (
            with_change(HURTS, held_out=Measured(0.02, 0.02)),
            ", by 0.02 (+-0.02), but on the labels themselves weights gain 0.01, less than the 0.1 "
            "they cost in variance; overfitting bias is 15 times the active learning bias, which "
            "speaks against weights.",
        ),
        (
            with_change(HURTS, on_labels=0.3),
            ", by 0.01 (+-0.02), but on the labels themselves weights gain 0.3, more than twice "
            "the 0.1 they cost in variance.",
        ),
        (
            replace(HURTS, active_learning_bias=Measured(-0.6, 0.1)),
            ", by 0.01 (+-0.02), but active learning bias is 2 times the overfitting bias, which "
            "speaks for weights.",
        ),
    ],
    ids=[
        "within half a standard error",
        "of the other sign held out",
        "no clear gain on the labels",
        "active learning bias below overfitting bias",
        "a loss only on the labels",
        "a gain on the labels but not held out",
        "active learning bias far above overfitting bias",
    ],
)
def test_views_that_disagree_decide_nothing_and_are_named(
    undecided: Evidence, because: str
) -> None:
    advice, told = decided(undecided)
    assert advice == "not enough labels"
    assert told.startswith("weighted training ")
    assert told.endswith(because)


def test_a_significant_gain_needs_no_second_view() -> None:
    advice, because = decided(with_change(HURTS, held_out=Measured(0.1, 0.02)))
    assert advice == "correct"
    assert "more than chance explains at 99%" in because


def test_a_difference_that_is_surely_small_is_none() -> None:
    advice, because = decided(with_change(HURTS, held_out=Measured(-0.001, 0.004)))
    assert advice == "no difference"
    assert because == (
        "held-out risk is 0.31 without weights and 0.32 with them: the difference, with one "
        "standard error added, is within 2% of the risk."
    )


def test_models_that_answer_alike_do_not_differ_whatever_rounding_says() -> None:
    advice, because = decided(with_change(HELPS, same_predictions=True))
    assert advice == "no difference"
    assert because == (
        "held-out items have the same predictions with and without weights, but for rounding."
    )


def test_labels_worth_few_decide_nothing_whatever_they_say() -> None:
    advice, because = decided(replace(HELPS, n_effective=4.2))
    assert advice == "not enough labels"
    assert "the 40 labels are so uneven that their effective sample size is 4.2" in because


def test_few_labels_of_uncommon_classes_decide_nothing() -> None:
    advice, because = decided(replace(HELPS, n_uncommon=7))
    assert advice == "not enough labels"
    assert "only 7 of 40 labels" in because
    assert decided(replace(HELPS, n_uncommon=10))[0] == "correct"


def test_an_exact_fit_is_named_and_nothing_is_divided_by_it() -> None:
    _, because = decided(replace(HURTS, training_risk=0.0))
    assert because.startswith("the model fits its own labels exactly")


def test_biases_of_zero_are_told_without_a_ratio() -> None:
    _, none = decided(replace(HELPS, overfitting_bias=Measured(-0.001, 0.02)))
    assert none.startswith("active learning bias is -0.24 and there is no overfitting bias; ")
    _, free = decided(with_change(HELPS, cost=0.0))
    assert "weights gain 0.09 and cost nothing in variance" in free
    _, all_of_it = decided(replace(HURTS, active_learning_bias=Measured(0.0, 0.0)))
    assert all_of_it.startswith("overfitting bias is more than 100 times")


def test_models_without_any_held_out_loss_do_not_differ() -> None:
    perfect = {"naive": Measured(0.0, 0.0), "lure": Measured(0.0, 0.0)}
    found = with_change(replace(HELPS, risks=perfect), held_out=Measured(0.0, 0.0))
    assert decided(found)[0] == "no difference"
