"""Regrets of ways of training: what they are relative to, and the claims made of them."""

import re

import numpy as np
import pytest

from levelled_studies.regret import WAYS, Bars, Cell, relative, share_claims, spread

EVEN = np.linspace(0.99, 1.01, 20)


def cell(title: str = "cell", **levels: float) -> Cell:
    """Risks that vary alike in all ways, about 1 or the level of that way."""
    return Cell(title, {way: levels.get(way, 1.0) * EVEN for way in WAYS})


def verdicts(*cells: Cell, bars: Bars | None = None) -> dict[str, str]:
    return {one.name: one.verdict for one in share_claims(cells, bars or Bars(), "here")}


def test_regret_is_relative_to_the_better_of_plain_and_lure() -> None:
    own = cell(LURE=0.8, share=0.88)
    assert own.better == "LURE"
    assert own.regret("share") == pytest.approx(0.1)
    assert own.regret("naive") == pytest.approx(0.25)
    assert cell(LURE=1.2, share=0.9).regret("share") == pytest.approx(-0.1)


def test_a_difference_common_to_all_trajectories_has_no_standard_error() -> None:
    found = relative(0.9 * EVEN, EVEN)
    assert found.mean == pytest.approx(-0.1)
    assert found.n == 20
    assert found.stderr == pytest.approx(0, abs=1e-15)


def test_regrets_of_many_cells_are_counted() -> None:
    found = spread([cell("a", share=0.95), cell("b", share=1.03), cell("c", share=1.01)], "share")
    assert found.mean == pytest.approx(-0.01 / 3)
    assert found.worst == pytest.approx(0.03)
    assert found.where == "b"
    assert (found.above, found.n, found.n_better) == (1, 3, 1)
    assert found.worse == {"b": pytest.approx(0.03), "c": pytest.approx(0.01)}


def test_a_noisy_difference_is_not_worse_than_plain() -> None:
    noise = np.random.default_rng(0).normal(size=20)
    own = Cell("noisy", dict.fromkeys(WAYS, EVEN) | {"share": EVEN + 0.001 + noise})
    assert not spread([own], "share").worse


@pytest.mark.parametrize(
    ("share", "mean", "worst", "naive"),
    [
        (0.95, "holds", "holds", "holds"),
        (1.005, "does not hold", "holds", "does not hold"),
        (1.1, "does not hold", "does not hold", "does not hold"),
    ],
)
def test_claims_follow_the_regret(share: float, mean: str, worst: str, naive: str) -> None:
    found = verdicts(cell(share=share))
    assert found["share-mean"] == mean
    assert found["share-worst"] == worst
    assert found["share-naive"] == naive


def test_one_small_harm_in_twenty_cells_is_allowed() -> None:
    others = [cell(str(k), share=0.99) for k in range(19)]
    assert verdicts(*others, cell(share=1.005))["share-naive"] == "holds"
    assert verdicts(*others, cell(share=1.015))["share-naive"] == "does not hold"
    two = [cell("one", share=1.005), cell("other", share=1.005)]
    assert verdicts(*others[1:], *two)["share-naive"] == "does not hold"


def test_linear_models_have_a_tighter_limit() -> None:
    assert verdicts(cell(share=1.015))["share-worst"] == "holds"
    assert verdicts(cell(share=1.015), bars=Bars(worst=0.01))["share-worst"] == "does not hold"
    assert str(Bars(worst=0.01)) == "nowhere above 1%"
    assert re.search(r"2%.* 3%.* 7%", str(Bars()))


@pytest.mark.parametrize(
    ("other", "verdict"), [(1.1, "holds"), (0.9, "does not hold"), (1.0, "cannot tell")]
)
def test_the_share_is_compared_with_its_control_and_with_the_verdict(
    other: float, verdict: str
) -> None:
    assert verdicts(cell(shuffled=other))["share-control"] == verdict
    assert verdicts(cell(verdict=other))["share-verdict"] == verdict
