"""What an adaptive campaign learns: errors, from which ratios and other losses follow."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from campaigns.simulated import begun, label, spam
from campaigns.test_audit import tamper
from levelled.campaigns import Campaign, load_campaign
from levelled.campaigns.drawing.drawing import driver_of
from levelled.campaigns.settings import CampaignSettings
from levelled.errors import LevelledError
from levelled.metrics.comparison import Figure
from levelled.metrics.predicted import COLUMNS
from levelled.sources import open_pool


def mail(n: int, seed: int = 0) -> tuple[pa.Table, dict[int, str]]:
    """A pool with three classes, and its labels."""
    rng = np.random.default_rng(seed)
    names = np.array(["ham", "news", "spam"])
    proba = rng.dirichlet([0.4, 0.3, 0.2], n)
    labels = [rng.choice(names, p=row) for row in proba]
    table = pa.table({"id": range(n), **{f"proba_{c}": proba[:, i] for i, c in enumerate(names)}})
    return table, dict(enumerate(map(str, labels)))


def figures(campaign: Campaign) -> dict[tuple[str, str | None], Figure]:
    return {(one.metric, one.slice): one for one in campaign.estimate()}


def test_ratios_of_the_class_use_the_predictor_and_so_do_errors(tmp_path: Path) -> None:
    table, truth = mail(400)
    metrics = ["f1:spam", "recall:spam", "precision:spam", "error", "f1:ham"]
    campaign = begun(tmp_path / "spam.db", table, metrics, kind="adaptive", budget=60, looks=1)
    label(campaign, 60, truth)
    found = figures(campaign)
    by = {name: found[name, None].estimate.estimator for name in metrics}
    assert by == dict.fromkeys(metrics[:4], "ramped") | {"f1:ham": "lure"}
    assert set(COLUMNS) <= campaign.state.draws[0].design.keys()
    assert campaign.audit() == []


def test_a_ratio_that_comes_second_uses_the_predictor_of_errors(tmp_path: Path) -> None:
    table, truth = spam(300)
    campaign = begun(tmp_path / "spam.db", table, ["error", "f1:spam"], kind="adaptive", budget=50)
    label(campaign, 50, truth)
    assert figures(campaign)["f1:spam", None].estimate.estimator == "ramped"


def test_where_a_class_is_counted_its_ratios_use_its_own_chance(tmp_path: Path) -> None:
    table, truth = spam(300)
    metrics = ["share:spam", "f1:spam", "f1:ham"]
    campaign = begun(tmp_path / "spam.db", table, metrics, kind="adaptive", budget=40, looks=1)
    label(campaign, 40, truth)
    found = figures(campaign)
    by = [found[name, None].estimate.estimator for name in metrics]
    assert by == ["ramped", "ramped", "lure"]
    assert set(COLUMNS) <= campaign.state.draws[0].design.keys()
    assert campaign.audit() == []


def test_slices_and_unlabelable_items_leave_the_plain_ratio(tmp_path: Path) -> None:
    table, truth = spam(300)
    campaign = begun(
        tmp_path / "spam.db", table, "f1:spam", kind="adaptive", looks=0, slices=["country"]
    )
    label(campaign, 40, truth)
    found = figures(campaign)
    assert found["f1:spam", None].estimate.estimator == "ramped"
    assert found["f1:spam", "country=de"].estimate.estimator == "lure"
    campaign.mark_unlabelable(campaign.ask(1)[0].draw, reason="empty")
    assert figures(campaign)["f1:spam", None].estimate.estimator == "lure"


def test_the_chance_of_the_class_follows_from_the_chance_of_an_error(tmp_path: Path) -> None:
    table, truth = mail(200)
    campaign = begun(tmp_path / "spam.db", table, "recall:spam", kind="adaptive", budget=30)
    label(campaign, 30, truth)
    for item in campaign.state.draws:
        error, chance = item.design["control"], item.design["positive_chance"]
        ham, news, of_spam = item.proba[""]
        if item.pred[""] == "spam":
            assert chance == pytest.approx(1 - error)
        else:
            other = news if item.pred[""] == "ham" else ham
            assert chance == pytest.approx(error * of_spam / (of_spam + other), abs=1e-5)


def test_a_rating_follows_from_the_chance_that_the_predicted_one_is_wrong(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    proba = rng.dirichlet([0.5, 0.5, 0.5], 200)
    stars = np.array([1.0, 2.0, 5.0])
    names = {f"proba_{star:g}": proba[:, i] for i, star in enumerate(stars)}
    table = pa.table({"id": range(200), **names})
    truth = {i: float(rng.choice(stars, p=row)) for i, row in enumerate(proba)}
    campaign = begun(tmp_path / "spam.db", table, "mean:1:5", kind="adaptive", budget=40, looks=1)
    label(campaign, 40, truth)
    for item in campaign.state.draws:
        at = int(np.argmax(proba[item.row]))
        others = np.delete(stars, at) @ np.delete(proba[item.row], at) / (1 - proba[item.row, at])
        error = (item.design["control"] - stars[at]) / (others - stars[at])
        assert -1e-4 < error < 1 + 1e-4
    assert figures(campaign)["mean:1:5", None].estimate.estimator == "ramped"
    assert campaign.audit() == []


def test_the_spread_of_a_loss_includes_that_between_the_wrong_classes() -> None:
    proba = np.array([[0.6, 0.2, 0.2], [0.5, 0.25, 0.25], [0.8, 0.1, 0.1]])
    table = pa.table({"id": range(3), **{f"proba_{c}": proba[:, c] for c in range(3)}})
    settings = CampaignSettings(
        name="ratings",
        metric_names=("mean:0:2",),
        source=None,
        fingerprint="",
        pool_size=3,
        seed=0,
        kind="adaptive",
    )
    driver = driver_of(open_pool(table), settings)
    np.testing.assert_allclose(driver.first.base, 0)
    np.testing.assert_allclose(driver.first.effect, 1.5, atol=1e-5)  # the mean of 1 and 2
    np.testing.assert_allclose(driver.first.noise, 0.25, atol=1e-5)
    predictor = driver.first_predictor
    error = predictor.predict(driver.first.covariates)
    spread = driver.proposal(predictor, np.array([], dtype=np.int64), 0.5).whole().spread
    assert spread is not None
    np.testing.assert_allclose(spread**2, 1.5**2 * error * (1 - error) + 0.25 * error, rtol=1e-4)


def test_once_all_is_labelled_every_ratio_is_that_of_the_pool(tmp_path: Path) -> None:
    table, truth = mail(40)
    campaign = begun(tmp_path / "spam.db", table, ["f1:spam", "recall:spam"], kind="adaptive")
    label(campaign, 40, truth)
    proba = np.column_stack([table[f"proba_{c}"] for c in ("ham", "news", "spam")])
    pred, y = proba.argmax(axis=1) == 2, np.array([truth[i] == "spam" for i in range(40)])
    found = figures(campaign)
    f1 = 2 * np.sum(pred & y) / (pred.sum() + y.sum())
    assert found["f1:spam", None].estimate.value == pytest.approx(f1)
    assert found["recall:spam", None].estimate.value == pytest.approx(np.sum(pred & y) / y.sum())
    assert found["f1:spam", None].estimate.interval == "point"


class TestDrivingTheWorst:
    METRICS = ("error", "recall:spam", "f1:ham", "brier")

    def test_each_round_records_the_share_of_each_metric(self, tmp_path: Path) -> None:
        table, truth = mail(400)
        path, settings = tmp_path / "spam.db", {"kind": "auto", "budget": 60, "drive": "worst"}
        campaign = begun(path, table, self.METRICS, **settings)
        for _ in range(3):
            label(campaign, 20, truth)
        rounds = campaign.state.rounds
        assert [len(one.shares) for one in rounds] == [4] * 3
        assert [sum(one.shares) for one in rounds] == pytest.approx([1] * 3)
        assert rounds[0].shares != rounds[-1].shares
        assert campaign.audit() == []

    def test_other_items_are_drawn_than_for_the_first(self, tmp_path: Path) -> None:
        table, _ = mail(400)
        drawn = {
            drive: begun(
                tmp_path / f"{drive}.db", table, self.METRICS, kind="adaptive", drive=drive
            ).ask(10)
            for drive in ("first", "worst")
        }
        assert [one.id for one in drawn["first"]] != [one.id for one in drawn["worst"]]

    def test_a_tampered_share_is_found(self, tmp_path: Path) -> None:
        table, truth = mail(200)
        pq.write_table(table, tmp_path / "pool.parquet")
        path = tmp_path / "spam.db"
        pool = str(tmp_path / "pool.parquet")
        campaign = begun(path, pool, self.METRICS, kind="adaptive", drive="worst")
        label(campaign, 12, truth)

        def shift(event: dict[str, Any]) -> None:
            event["shares"] = event["shares"][::-1]

        tamper(path, shift, "round", chain=True)
        assert load_campaign("spam", storage=path).audit()

    @pytest.mark.parametrize(
        ("metrics", "settings", "why"),
        [
            (["error"], {}, r"error.*only"),
            (["error", "f1:spam"], {"kind": "static"}, "static"),
            (["error", "f1:spam"], {"kind": "uniform"}, "uniform"),
            (["error", "f1:spam"], {"kind": "auto", "floor": 0.3}, "static"),
            (["error", "share:spam"], {}, "share:spam does not"),
            (["error", "f1:spam"], {"drive": "best"}, "drive"),
        ],
    )
    def test_metrics_that_cannot_be_balanced_are_refused(
        self, tmp_path: Path, metrics: list[str], settings: dict[str, object], why: str
    ) -> None:
        table, _ = spam(50)
        given = {"kind": "adaptive", "drive": "worst", **settings}
        with pytest.raises(LevelledError, match=why) as refused:
            begun(tmp_path / "spam.db", table, metrics, **given)
        assert "\n" not in str(refused.value)

    def test_a_pool_of_predicted_numbers_is_refused(self, tmp_path: Path) -> None:
        table = pa.table({"id": range(30), "pred": [0, 1] * 15, "f_1": [*map(float, range(30))]})
        with pytest.raises(LevelledError, match="predicts numbers"):
            begun(tmp_path / "a.db", table, ["error", "f1:1"], kind="adaptive", drive="worst")
