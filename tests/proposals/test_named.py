"""Proposals by name: what a word stands for, and which words stand for nothing."""

import numpy as np
import pytest

from levelled.errors import InputError
from levelled.proposals import NAMES, boltzmann, parse_proposal, power, proposal_odds, rank

SCORES = np.array([0.5, 2.0, 3.0, 1.0])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("boltzmann", boltzmann(SCORES, 1, normalise="z")),
        ("boltzmann:2", boltzmann(SCORES, 2, normalise="z")),
        ("power:0", np.full(4, 0.25)),
        ("power:0.5", power(SCORES, 0.5)),
        ("rank:3", rank(SCORES, 3)),
        ("proportional", SCORES / SCORES.sum()),
        ("epsilon_greedy", np.array([0.0, 0.0, 1.0, 0.0])),
        ("uniform", np.full(4, 0.25)),
    ],
)
def test_a_name_stands_for_its_proposal(name: str, expected: np.ndarray) -> None:
    np.testing.assert_allclose(parse_proposal(name)(SCORES), expected)


@pytest.mark.parametrize("strength", ["-2", "nan", "inf", "-inf", "1e999"])
@pytest.mark.parametrize("name", ["boltzmann", "power", "rank"])
def test_a_strength_that_no_proposal_has_is_refused_before_there_are_scores(
    name: str, strength: str
) -> None:
    says = f"'{name}:{strength}'.*at least 0"
    with pytest.raises(InputError, match=says):
        parse_proposal(f"{name}:{strength}")


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("argmax", "proposal.*boltzmann"),
        (None, "proposal"),
        ("uniform:2", "uniform.*strength"),
        ("rank:hot", "number.*rank:2"),
        ("boltzmann:", "number.*boltzmann:2"),
        ("epsilon_greedy:", "epsilon_greedy.*strength"),
    ],
)
def test_what_is_no_name_is_refused(spec: object, says: str) -> None:
    with pytest.raises(InputError, match=says):
        parse_proposal(spec)


def test_a_caller_may_allow_some_names_alone() -> None:
    assert set(NAMES) > {"power"}
    with pytest.raises(InputError, match=r"proposal.*power.*'rank'"):
        parse_proposal("rank", ["power"])


@pytest.mark.parametrize("name", ["boltzmann:2", "power:2", "proportional", "uniform"])
def test_odds_are_the_ratios_of_probabilities_to_that_of_the_best(name: str) -> None:
    p, ratios = parse_proposal(name)(SCORES), proposal_odds(name, SCORES, SCORES)
    assert ratios is not None
    np.testing.assert_allclose(ratios, p / p.max())


@pytest.mark.parametrize("name", ["boltzmann", "power", "proportional", "uniform"])
def test_scores_that_are_all_the_same_have_even_odds(name: str) -> None:
    np.testing.assert_array_equal(proposal_odds(name, np.array([5.0, 7.0]), np.zeros(3)), 1)


@pytest.mark.parametrize("name", ["rank:2", "epsilon_greedy"])
def test_proposals_of_the_order_of_scores_have_no_odds(name: str) -> None:
    assert proposal_odds(name, SCORES, SCORES) is None
