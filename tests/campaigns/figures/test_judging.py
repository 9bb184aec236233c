"""The judge of a campaign: the figures of estimate, slices, another judge, and the decision."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from levelled.campaigns import Campaign, create_campaign
from levelled.errors import CampaignError
from levelled.simulation.known import known_losses

N = 500
RNG = np.random.default_rng(3)
LABEL = RNG.random(N) < 0.7
NAMES = np.array(["fail", "pass"])
TOPIC = np.array(["billing", "login"])[RNG.integers(0, 2, N)]


def verdicts(agreement: float) -> np.ndarray:
    return NAMES[np.where(RNG.random(N) < agreement, LABEL, ~LABEL).astype(int)]


POOL = pa.table(
    {
        "id": range(N),
        "pred": verdicts(0.85),
        "pred@strict": verdicts(0.95),
        "topic": TOPIC,
        "output": ["a long output of the system " * (1 + n % 5) for n in range(N)],
    }
)


def labelled(folder: Path, metric: str | list[str] = "share:pass", n: int = 100) -> Campaign:
    campaign = create_campaign(
        "support", POOL, metric, storage=folder / "c.db", seed=2, budget=100, slices=["topic"]
    )
    while len(campaign.state.answers) < n:
        asks = campaign.ask(10, owner="ann")
        told = [{"draw": one.draw, "label": NAMES[int(LABEL[int(one.id)])]} for one in asks]
        campaign.tell_all(told, owner="ann")
    return campaign


def test_verdicts_and_lengths_are_learnt_from_and_recorded(tmp_path: Path) -> None:
    campaign = labelled(tmp_path)
    assert campaign.settings.kind == "adaptive"
    assert campaign.settings.features == ("length:output",)
    assert campaign.audit() == []


def test_a_judge_and_an_estimate_say_the_same(tmp_path: Path) -> None:
    campaign = labelled(tmp_path, ["share:pass", "recall:pass", "precision:pass", "accuracy"])
    report = campaign.judge()
    whole = [one for one in campaign.estimate() if one.slice is None and one.model == ""]
    found = {one.metric: one.estimate for one in whole}
    assert report.rate == found["share:pass"]
    assert report.figures["TPR"] == found["recall:pass"]
    assert report.figures["precision"] == found["precision:pass"]
    assert report.figures["agreement"] == found["accuracy"]
    assert report.figures["TPR"].estimator == "ramped"


def test_slices_are_listed_worst_first_and_another_judge_is_compared(tmp_path: Path) -> None:
    report = labelled(tmp_path).judge(against="strict", by="topic")
    assert {part.name for part in report.parts} == {"topic=billing", "topic=login"}
    values = [part.estimate.value or 0.0 for part in report.parts]
    assert values == sorted(values)
    assert [one.metric for one in report.comparisons] == ["TPR", "TNR", "agreement"]
    assert report.raw == pytest.approx(np.mean(POOL["pred"].to_numpy() == "pass"))


def test_the_other_judge_has_figures_of_its_own(tmp_path: Path) -> None:
    campaign = labelled(tmp_path)
    report = campaign.judge("strict", tpr=0.5, tnr=0.5)
    assert report.judge == "strict"
    assert report.decision is not None
    assert report.decision.answer == "yes"
    truth = np.mean(POOL["pred@strict"].to_numpy() == NAMES[LABEL.astype(int)])
    assert report.figures["agreement"].low < truth < report.figures["agreement"].high


def test_a_campaign_on_errors_needs_the_verdict_that_counts(tmp_path: Path) -> None:
    campaign = labelled(tmp_path, "error")
    with pytest.raises(CampaignError, match="verdict counts"):
        campaign.judge()
    assert campaign.judge(positive="pass").positive == "pass"
    with pytest.raises(CampaignError, match=r"first.*'maybe'"):
        campaign.judge(positive="maybe")
    with pytest.raises(CampaignError, match="slice 'country'"):
        campaign.judge(positive="pass", by="country")


def test_nothing_is_said_before_the_first_label(tmp_path: Path) -> None:
    campaign = create_campaign("empty", POOL, "share:pass", storage=tmp_path / "c.db", seed=2)
    with pytest.raises(CampaignError, match="settled label"):
        campaign.judge()


def test_ratings_are_compared_with_those_of_people(tmp_path: Path) -> None:
    people = np.clip(np.round(RNG.normal(3, 1, N)), 1, 5)
    rated = np.clip(people + RNG.choice([0.0, 0.5], N), 1, 5)
    pool = pa.table({"id": range(N), "pred": rated})
    campaign = create_campaign(
        "ratings", pool, "mean:1:5", storage=tmp_path / "c.db", seed=1, budget=60
    )
    assert campaign.settings.kind == "adaptive"
    for ask in campaign.ask(60):
        campaign.tell(ask.draw, people[int(ask.id)])
    report = campaign.judge()
    assert report.raw == pytest.approx(rated.mean())
    assert report.rate.value is not None
    assert report.figures["bias"].value == pytest.approx(report.raw - report.rate.value)
    assert report.figures["correlation"].low > 0.5


def test_the_report_has_a_section_on_the_judge(tmp_path: Path) -> None:
    campaign = labelled(tmp_path)
    campaign.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Verdicts against labels" in page
    assert "kappa" in page


def test_the_judge_that_is_named_first_is_the_first(tmp_path: Path) -> None:
    table = pa.table({"id": range(4), "b": ["pass", "fail"] * 2, "a": ["fail", "pass"] * 2})
    campaign = create_campaign(
        "two", table, "share:pass", storage=tmp_path / "c.db", seed=1, judge_columns=["b", "a"]
    )
    assert campaign.settings.models == ("b", "a")
    assert campaign.audit() == []


@pytest.mark.parametrize(("metric", "first"), [("share:pass", "verdict"), ("mean:1:5", "stars")])
def test_beside_other_judges_the_one_that_fits_the_metric_is_the_first(
    tmp_path: Path, metric: str, first: str
) -> None:
    table = pa.table(
        {"id": range(4), "pred@stars": [1, 5, 3, 4], "pred@verdict": ["pass", "fail"] * 2}
    )
    campaign = create_campaign("mixed", table, metric, storage=tmp_path / "c.db", seed=1)
    assert campaign.settings.models[0] == first
    assert campaign.audit() == []
    assert known_losses(table, "pred@verdict", metric="share:pass").losses.mean() == 0.5


def test_a_pool_without_verdicts_has_no_judge(tmp_path: Path) -> None:
    table = pa.table({"id": range(4), "text": ["a", "b", "c", "d"]})
    storage, classes = tmp_path / "c.db", ["fail", "pass"]
    campaign = create_campaign(
        "none", table, "share:pass", storage=storage, seed=1, classes=classes
    )
    (ask,) = campaign.ask(1, owner="ann")
    campaign.tell(ask.draw, "pass", owner="ann")
    with pytest.raises(CampaignError, match="no verdicts"):
        campaign.judge()


def rated(folder: Path) -> Campaign:
    table = pa.table({"id": range(40), "pred": [1 + n % 5 for n in range(40)], "topic": TOPIC[:40]})
    campaign = create_campaign(
        "rated", table, "mean:1:5", storage=folder / "c.db", seed=1, slices=["topic"]
    )
    for ask in campaign.ask(20, owner="ann"):
        far = 2 * int(TOPIC[int(ask.id)] == "login")
        campaign.tell(ask.draw, min(5, 1 + int(ask.id) % 5 + far), owner="ann")
    return campaign


def test_ratings_are_checked_by_slice_with_the_worst_first(tmp_path: Path) -> None:
    campaign = rated(tmp_path)
    report = campaign.judge(by="topic")
    assert [part.name for part in report.parts] == ["topic=login", "topic=billing"]
    assert {part.figure for part in report.parts} == {"mean absolute difference"}
    with pytest.raises(CampaignError, match="counted"):
        campaign.judge(positive="5")


def test_ratings_with_an_item_that_cannot_be_labelled_have_no_correlation(tmp_path: Path) -> None:
    campaign = rated(tmp_path)
    (ask,) = campaign.ask(1, owner="ann")
    campaign.mark_unlabelable(ask.draw, reason="empty", owner="ann")
    for one in campaign.ask(19, owner="ann"):  # up to the next look
        campaign.tell(one.draw, 1 + int(one.id) % 5, owner="ann")
    report = campaign.judge()
    assert report.figures["bias"].value is not None
    assert report.figures["correlation"].value is None
    assert "every settled draw" in report.figures["correlation"].warnings[0]


def test_a_judge_that_rates_may_be_attached_later(tmp_path: Path) -> None:
    campaign, path = rated(tmp_path), tmp_path / "later.parquet"
    pq.write_table(pa.table({"id": [*range(39, -1, -1)], "pred": [2] * 20 + [4] * 20}), path)
    campaign.attach(str(path), model="later")
    report = campaign.judge("later", against="first")
    assert (report.judge, report.raw) == ("later", 3.0)
    assert report.comparisons[0].metric == "mean absolute difference"
