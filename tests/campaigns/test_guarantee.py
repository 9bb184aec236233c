"""Campaigns with a finite-sample guarantee: their design, their interval, and what they refuse."""

from pathlib import Path

import pytest

from campaigns.simulated import begun, label, spam
from levelled.campaigns import Campaign, load_campaign
from levelled.campaigns.log.log import forget_snapshot
from levelled.errors import LevelledError
from levelled.reports.numbers import figure_notes

FINITE = {"kind": "auto", "guarantee": "finite"}


def finite(path: Path, budget: int = 60) -> tuple[Campaign, dict[str, str]]:
    table, truth = spam(300)
    return begun(path, table, ["error", "accuracy", "f1:spam"], budget=budget, **FINITE), truth


def test_the_errors_have_a_hedged_interval_and_other_metrics_bet(tmp_path: Path) -> None:
    campaign, truth = finite(tmp_path / "a.db")
    for _ in range(6):
        label(campaign, 10, truth)
    error, accuracy, f1 = campaign.estimate()
    assert [one.estimate.interval for one in (error, accuracy, f1)] == [
        "hedged",
        "hedged",
        "betting",
    ]
    assert accuracy.estimate.low == pytest.approx(1 - error.estimate.high)
    assert error.look is None
    assert error.n_looks == 0
    assert error.as_dict()["interval"] == "hedged"
    assert any("finite-sample guarantee" in note for note in figure_notes(error))
    assert campaign.settings.guarantee == "finite"
    assert {one.floor for one in campaign.state.rounds} == {0.75}
    assert campaign.audit() == []


def test_looks_in_between_change_nothing(tmp_path: Path) -> None:
    campaign, truth = finite(tmp_path / "a.db")
    for _ in range(3):
        label(campaign, 10, truth)
        campaign.estimate()
        campaign.keep()
    table = campaign.pool().table
    again = load_campaign("spam", storage=tmp_path / "a.db", pool=table)
    label(campaign, 10, truth)
    kept = [one.as_dict() for one in again.estimate()]
    assert kept == [one.as_dict() for one in campaign.estimate()]
    forget_snapshot(again._log.store.address, "spam")
    scratch = load_campaign("spam", storage=tmp_path / "a.db", pool=table)
    assert kept == [one.as_dict() for one in scratch.estimate()]


def test_a_new_budget_counts_for_the_draws_after_it(tmp_path: Path) -> None:
    campaign, truth = finite(tmp_path / "a.db", budget=20)
    label(campaign, 20, truth)
    before = campaign.estimate()[0].estimate
    campaign.change(budget=50)
    assert campaign.state.budgets_of(22) == [20] * 20 + [50] * 2
    assert campaign.estimate()[0].estimate == before
    label(campaign, 30, truth)
    after = campaign.estimate()[0].estimate
    assert before.low <= after.low < after.high <= before.high
    with pytest.raises(LevelledError, match="at its budget"):
        campaign.change(budget=None)


@pytest.mark.parametrize(
    ("metric", "settings", "why"),
    [
        ("error", {}, "choose one"),
        ("brier", {"budget": 20}, "is for errors"),
        ("error", {"budget": 20, "kind": "static"}, "adaptive"),
        (["error", "log_loss"], {"budget": 20}, "log_loss has none"),
        ("error", {"budget": 20, "guarantee": "absolute"}, "guarantee"),
    ],
)
def test_what_has_no_guarantee_is_refused(
    tmp_path: Path, metric: str, settings: dict[str, object], why: str
) -> None:
    table, _ = spam(50)
    with pytest.raises(LevelledError, match=why):
        begun(tmp_path / "a.db", table, metric, **{**FINITE, **settings})


def test_the_draws_cannot_become_static(tmp_path: Path) -> None:
    campaign, truth = finite(tmp_path / "a.db")
    label(campaign, 10, truth)
    with pytest.raises(LevelledError, match="needs adaptive draws"):
        campaign.change(kind="static")


def test_an_unlabelable_item_may_be_right_or_wrong(tmp_path: Path) -> None:
    """The interval is hedged still, and holds the one of either answer to that item."""
    campaigns = []
    for name in "abc":
        campaign, truth = finite(tmp_path / f"{name}.db", budget=60)
        label(campaign, 59, truth)
        campaigns.append(campaign)
    items = [campaign.ask(1)[0] for campaign in campaigns]
    assert len({item.id for item in items}) == 1
    campaigns[0].mark_unlabelable(items[0].draw, reason="empty")
    for campaign, item, answer in zip(campaigns[1:], items[1:], ("ham", "spam"), strict=True):
        campaign.tell(item.draw, answer)
    unknown, *known = (campaign.estimate()[0].estimate for campaign in campaigns)
    assert unknown.interval == "hedged"
    assert unknown.low == pytest.approx(min(one.low for one in known))
    assert unknown.high == pytest.approx(max(one.high for one in known))
    accuracy = campaigns[0].estimate()[1].estimate
    assert (accuracy.low, accuracy.high) == pytest.approx((1 - unknown.high, 1 - unknown.low))
    assert campaigns[0].audit() == []
