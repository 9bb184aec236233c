"""Paired comparisons of the models of a campaign."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import levelled as lv
from campaigns.simulated import begun, label, numbers, spam
from levelled.campaigns.figures.settled import settled_draws
from levelled.draws import Draws
from levelled.errors import CampaignError

POOL, TRUTH = spam(60)
IDS = POOL["id"].to_pylist()
FIRST = {
    key: "spam" if chance > 0.5 else "ham"
    for key, chance in zip(IDS, POOL["proba_spam"].to_pylist(), strict=True)
}
SECOND = {key: ("ham", "spam")[n % 2] if n < 20 else TRUTH[key] for n, key in enumerate(IDS)}


def compared(path: Path, n: int, metric: Any = "error", **more: Any) -> lv.Campaign:  # noqa: ANN401
    """A campaign with n labels and a second model."""
    campaign = begun(path / "c.db", POOL, metric, **more)
    pq.write_table(pa.table({"id": IDS, "pred": [SECOND[key] for key in IDS]}), path / "v2.parquet")
    campaign.attach(path / "v2.parquet", "v2")
    if n:
        label(campaign, n, TRUTH)
    return campaign


def differences(campaign: lv.Campaign, n: int) -> np.ndarray:
    """The error of the second model minus that of the first, draw by draw."""
    ids = [str(item.id) for item in campaign.state.draws[:n]]
    second = np.array([SECOND[key] != TRUTH[key] for key in ids], dtype=float)
    return second - np.array([FIRST[key] != TRUTH[key] for key in ids])


def by_hand(metric: str, pred: dict[str, str], ids: list[str]) -> float:
    """A metric of the class spam, or the accuracy or error, over these items."""
    y, p = (np.array([where[key] == "spam" for key in ids]) for where in (TRUTH, pred))
    both, wrong = float(np.sum(y & p)), float(np.mean(y != p))
    values = {
        "error": wrong,
        "accuracy": 1 - wrong,
        "precision:spam": both / max(np.sum(p), 1),
        "recall:spam": both / max(np.sum(y), 1),
        "f1:spam": 2 * both / max(np.sum(y) + np.sum(p), 1),
    }
    return float(values[metric])


METRICS = ["error", "accuracy", "precision:spam", "recall:spam", "f1:spam"]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("looks", [0, 5])
def test_all_labels_give_the_exact_difference(tmp_path: Path, metric: str, looks: int) -> None:
    campaign = compared(tmp_path, 60, metric, budget=60, looks=looks)
    (found,) = campaign.compare("v2")
    exact = by_hand(metric, SECOND, IDS) - by_hand(metric, FIRST, IDS)
    est = found.difference
    assert est.interval == "point"
    assert (est.value, est.low, est.high) == pytest.approx((exact, exact, exact), abs=1e-12)
    better = "v2" if (exact < 0) == (metric == "error") else "first"
    assert found.better == better
    assert f"{better} is better by {100 * abs(exact):.1f} points" in found.verdict
    assert "exactly" in found.verdict


def test_it_is_the_difference_of_the_figures(tmp_path: Path) -> None:
    campaign = compared(tmp_path, 30, ["accuracy", "f1:spam"], budget=30, slices=["country"])
    figures = campaign.estimate()
    values = {(one.metric, one.model, one.slice): one.estimate.value for one in figures}
    for figure in (one for one in figures if one.model == ""):
        found = figure.difference("v2")
        expected = (values[figure.metric, "v2", figure.slice] or 0) - (figure.estimate.value or 0)
        assert found.difference.value == pytest.approx(expected)
        assert (found.metric, found.slice) == (figure.metric, figure.slice)
        assert found.difference.low <= expected <= found.difference.high
        if figure.slice is None:
            assert found == campaign.compare("v2", metric=figure.metric)[0]
    turned = next(one for one in figures if one.model == "v2").difference("first")
    assert turned.difference.value == pytest.approx(
        -(figures[0].difference("v2").difference.value or 0)
    )


def test_a_figure_of_the_history_says_where_to_compare(tmp_path: Path) -> None:
    campaign = compared(tmp_path, 5)
    with pytest.raises(CampaignError, match=r"use campaign\.estimate\(\)"):
        campaign.history()[-1].difference("v2")
    with pytest.raises(CampaignError, match=r"'v3'.*first, v2"):
        campaign.estimate()[0].difference("v3")
    with pytest.raises(CampaignError, match="both are 'v2'"):
        campaign.estimate()[1].difference("v2")


@pytest.mark.parametrize("metric", ["error", "precision:spam", "recall:spam", "f1:spam"])
def test_between_looks_the_value_moves_and_the_interval_stays(tmp_path: Path, metric: str) -> None:
    campaign = compared(tmp_path, 30, metric, budget=50)
    look = campaign.settings.last_look(37)
    assert look is not None
    assert look.n == 30
    (then,) = campaign.compare("v2")
    label(campaign, 7, TRUTH)
    (now,) = campaign.compare("v2")
    assert (now.difference.interval, now.difference.level) == ("looks", 0.95)
    assert now.difference.value != then.difference.value
    assert then.difference.low <= now.difference.low < now.difference.high <= then.difference.high


def test_before_a_look_a_ratio_is_bet_on_apart(tmp_path: Path) -> None:
    campaign = compared(tmp_path, 40, "f1:spam", looks=0)
    (found,) = campaign.compare("v2")
    assert found.difference.interval == "betting"
    figures = campaign.estimate()
    low = figures[1].estimate.low - figures[0].estimate.high
    high = figures[1].estimate.high - figures[0].estimate.low
    assert found.difference.low <= low < high <= found.difference.high  # at half the error rate
    campaign.keep()
    again = lv.load_campaign("spam", storage=tmp_path / "c.db", pool=POOL).compare("v2")
    assert again == [found]


@pytest.mark.parametrize(("more", "level"), [({"looks": 0}, 0.95), ({"budget": 60}, 0.999)])
def test_before_a_look_it_is_by_betting(tmp_path: Path, more: dict[str, int], level: float) -> None:
    campaign = compared(tmp_path, 11, **more)
    (found,) = campaign.compare("v2")
    draws = settled_draws(campaign.state).draws
    assert draws.design is not None
    plain = Draws(  # the design's predictor is of errors, not of differences
        draws.index, draws.probability, 60, design={"max_weight": draws.design["max_weight"]}
    )
    D = differences(campaign, 11)
    by = lv.estimate(D, plain, level=level, interval="betting", bounds=(-1, 1))
    assert found.difference.interval == "betting"
    assert (found.difference.low, found.difference.high) == pytest.approx((by.low, by.high))
    label(campaign, 1, TRUTH)
    campaign.keep()
    again = lv.load_campaign("spam", storage=tmp_path / "c.db", pool=POOL).compare("v2")
    assert campaign.compare("v2") == again


def test_it_turns_round_with_the_models(tmp_path: Path) -> None:
    campaign = compared(tmp_path, 30, budget=30)
    (one,), (other,) = campaign.compare("v2"), campaign.compare("first", against="v2")
    est, turned = one.difference, other.difference
    assert (est.value, est.low, est.high) == pytest.approx(
        (-(turned.value or 0), -turned.high, -turned.low)
    )


def test_before_the_first_label_nothing_can_be_told(tmp_path: Path) -> None:
    (found,) = compared(tmp_path, 0).compare("v2")
    assert (found.difference.low, found.difference.high) == (-1, 1)
    assert found.verdict.startswith("cannot tell")
    assert "v2 may be better" in found.verdict


def test_losses_without_bounds_are_compared_at_the_looks(tmp_path: Path) -> None:
    pool, truth = numbers(80)
    campaign = begun(tmp_path / "c.db", pool, "mse", budget=60)
    pred = [one + 1.0 for one in pool["pred"].to_pylist()]
    campaign.attach(pa.table({"id": pool["id"].to_pylist(), "pred": pred}), "v2")
    label(campaign, 11, truth)
    (early,) = campaign.compare("v2")
    assert any("fixed beforehand" in note for note in early.difference.warnings)
    label(campaign, 49, truth)
    (found,) = campaign.compare("v2")
    assert found.better == "first"
    assert found.difference.interval == "looks"
    assert "points" not in found.verdict


def test_where_more_is_better_the_model_with_more_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own_scores.py").write_text(
        "def right(label, pred):\n    return [float(a == b) for a, b in zip(label, pred)]\n\n\n"
        "right.bounds, right.higher_is_better = (0, 1), True\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    campaign = compared(tmp_path, 30, ["own_scores:right", "accuracy"], looks=0)
    own, accuracy = campaign.compare("v2")
    assert own.difference.value == pytest.approx(accuracy.difference.value)
    assert (own.difference.value or 0) > 0
    assert own.verdict == accuracy.verdict


@pytest.mark.parametrize("metric", ["error", "f1:spam"])
def test_items_that_cannot_be_labelled_are_left_out(tmp_path: Path, metric: str) -> None:
    campaign = compared(tmp_path, 29, metric, budget=30)
    (ask,) = campaign.ask(1)
    campaign.mark_unlabelable(ask.draw, reason="empty")
    (found,) = campaign.compare("v2")
    first, second = (one.estimate.value or 0 for one in campaign.estimate())
    assert found.difference.value == pytest.approx(second - first)
    assert found.difference.n_labels == 29


def test_a_raised_budget_has_a_further_look(tmp_path: Path) -> None:
    campaign = compared(tmp_path, 30, budget=30)
    campaign.change(budget=35)
    label(campaign, 5, TRUTH)
    (later,) = campaign.compare("v2")
    assert later.difference.interval == "looks"
    assert later.difference.n_labels == 35


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"model": "v3"}, r"'v3'.*v1, v2"),
        ({"model": "v2", "against": "old"}, "no model 'old'"),
        ({"model": "v1"}, "both are 'v1'"),
        ({"model": "v2", "against": "v2"}, "both are 'v2'"),
        ({"model": "v2", "metric": "share:spam"}, "labels alone"),
        ({"model": "v2", "metric": "brier"}, r"'brier'.*error.*f1:spam"),
    ],
)
def test_a_comparison_that_cannot_be_made_is_refused(
    tmp_path: Path, words: dict[str, str], message: str
) -> None:
    campaign = compared(tmp_path, 5, ["error", "f1:spam", "share:spam"], model="v1")
    with pytest.raises(CampaignError, match=message) as refused:
        campaign.compare(**words)
    assert "\n" not in str(refused.value)
    assert [one.metric for one in campaign.compare("v2")] == ["error", "f1:spam"]


def test_a_campaign_about_labels_compares_nothing_and_still_has_a_report(tmp_path: Path) -> None:
    campaign = compared(tmp_path, 5, "share:spam")
    with pytest.raises(CampaignError, match="labels alone"):
        campaign.compare("v2")
    campaign.report(tmp_path / "report.html")
    assert "Comparisons" not in (tmp_path / "report.html").read_text()


def test_the_first_model_can_have_a_name(tmp_path: Path) -> None:
    campaign = compared(tmp_path, 30, model="v1")
    assert {one.model for one in campaign.estimate()} == {"v1", "v2"}
    assert campaign.compare("v2") == campaign.compare("v2", against="v1")
    assert campaign.compare("v2") == campaign.compare("v2", against="first")
    with pytest.raises(CampaignError, match="already"):
        campaign.attach(pa.table({"id": IDS, "pred": ["ham"] * 60}), "v1")
    campaign.report(tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert ">Comparisons</h2>" in text
    assert campaign.compare("v2")[0].verdict in text


def test_a_model_that_the_pool_names_keeps_its_name(tmp_path: Path) -> None:
    pool = POOL.append_column("pred@v2", [[SECOND[key] for key in IDS]])
    with pytest.raises(CampaignError, match=r"pool names.*v2"):
        begun(tmp_path / "c.db", pool, model="v2")
    campaign = begun(tmp_path / "c.db", pool, model="v1")
    label(campaign, 60, TRUTH)
    assert campaign.compare("v2")[0].better == "v2"
