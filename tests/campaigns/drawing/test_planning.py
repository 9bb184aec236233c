from pathlib import Path

import pytest

from campaigns.simulated import numbers, spam
from levelled.campaigns import Campaign, create_campaign, plan_campaign
from levelled.errors import CampaignError, InputError


def label(campaign: Campaign, labels: dict[str, str] | dict[str, float], n: int) -> None:
    asks = campaign.ask(n)
    campaign.tell_all([{"draw": ask.draw, "label": labels[str(ask.id)]} for ask in asks])


def test_labels_make_the_range_of_a_plan_narrower(tmp_path: Path) -> None:
    table, labels = spam(1000)
    campaign = create_campaign("spam", table, storage=tmp_path / "a.db", seed=7, budget=200)
    alone = campaign.plan(0.1)
    assert alone == plan_campaign(table, 0.1)
    label(campaign, labels, 150)
    plan = campaign.plan(0.1)
    assert plan.n_labels == 150
    assert plan.high / plan.low < alone.high / alone.low
    assert plan.expected_low < campaign.estimate()[0].latest < plan.expected_high  # type: ignore[operator]
    assert campaign.plan(0.1, "f1:spam").metric == "f1:spam"


def test_items_that_cannot_be_labelled_are_left_out(tmp_path: Path) -> None:
    table, labels = spam(500)
    campaign = create_campaign("spam", table, storage=tmp_path / "a.db", seed=7)
    first = campaign.ask(1)[0]
    campaign.mark_unlabelable(first.draw, reason="blank")
    label(campaign, labels, 20)
    assert campaign.plan(0.2).n_labels == 20


def test_numbers_are_planned_from_their_spread(tmp_path: Path) -> None:
    table, labels = numbers(2000)
    campaign = create_campaign("n", table, "mse", storage=tmp_path / "a.db", seed=7)
    with pytest.raises(CampaignError, match="10 or more"):
        campaign.plan(0.05)
    label(campaign, labels, 200)
    plan = campaign.plan(0.05)
    # The squares of normal errors with variance 1/4 have a standard deviation of sqrt(2)/4.
    exact = 1 / (1 / 2000 + (0.05 / (2 * 2.085 * 2**0.5 / 4)) ** 2)
    assert 0.5 < plan.likely / exact < 2
    assert plan.low < plan.likely < plan.high
    with pytest.raises(CampaignError, match="class"):
        campaign.plan(0.05, "error")


def test_a_pool_without_probabilities_is_planned_with_more_doubt(tmp_path: Path) -> None:
    table, labels = spam(1000)
    pred = ["spam" if p > 0.5 else "ham" for p in table["proba_spam"].to_pylist()]
    bare = table.select(["id"]).append_column("pred", [pred])
    plan = plan_campaign(bare, 0.1)
    assert plan.high / plan.low > plan_campaign(table, 0.1).high / plan_campaign(table, 0.1).low
    campaign = create_campaign("bare", bare, storage=tmp_path / "a.db", seed=7)
    label(campaign, labels, 100)
    assert campaign.plan(0.1).high / campaign.plan(0.1).low < plan.high / plan.low


def test_a_metric_that_nothing_predicts_is_refused() -> None:
    with pytest.raises(InputError, match="campaign with labels"):
        plan_campaign(numbers(20)[0], 0.1, "mse")


def test_a_plan_says_that_intervals_without_planned_looks_are_wider(tmp_path: Path) -> None:
    table, _ = spam(300)
    campaign = create_campaign("spam", table, storage=tmp_path / "a.db", seed=7, looks=0)
    assert "plans none" in str(campaign.plan(0.2))
    assert "plans none" not in str(plan_campaign(table, 0.2))


def test_a_plan_says_which_kind_of_campaign_it_is_for(tmp_path: Path) -> None:
    table, labels = spam(600)
    alone = plan_campaign(table, 0.1)
    assert (alone.kind, "in a static campaign" in str(alone)) == ("static", True)
    assert "mostly needs fewer" in alone.note
    assert plan_campaign(table, 0.1, floor=0.3).note == ""  # create would make a static one
    kinds = {}
    for kind in ("adaptive", "static", "uniform"):
        campaign = create_campaign(kind, table, storage=tmp_path / "a.db", seed=7, kind=kind)
        label(campaign, labels, 30)
        early = campaign.plan(0.1)
        label(campaign, labels, 30)
        kinds[kind] = [(one.kind, bool(one.note)) for one in (early, campaign.plan(0.1))]
    assert kinds == {
        "adaptive": [("static", True), ("adaptive", False)],
        "static": [("static", False)] * 2,
        "uniform": [("uniform", False)] * 2,
    }


@pytest.mark.parametrize(("metric", "width"), [("error", 1.0), ("error", 2), ("brier", 2.0)])
def test_an_interval_as_wide_as_all_that_is_possible_is_refused(
    tmp_path: Path, metric: str, width: float
) -> None:
    table, _ = spam(50)
    with pytest.raises(InputError, match="choose a width below"):
        plan_campaign(table, width, metric)
    with pytest.raises(InputError, match="choose a width below"):
        create_campaign("a", table, metric, storage=tmp_path / "a.db", seed=7, target_width=width)
    assert plan_campaign(table, 1.5, "brier").likely >= 1
