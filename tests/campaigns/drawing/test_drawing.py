"""What an adaptive campaign learns: labels, from which every figure follows."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from campaigns.simulated import begun, label, numbers, spam
from campaigns.test_audit import tamper
from levelled.campaigns import Campaign, load_campaign
from levelled.campaigns.drawing.drawing import driver_of, drives_of
from levelled.campaigns.drawing.learner import learner_of
from levelled.campaigns.settings import CampaignSettings, Versions
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


def test_ratios_of_every_class_use_the_predictor_and_so_do_errors(tmp_path: Path) -> None:
    table, truth = mail(400)
    metrics = ["f1:spam", "recall:spam", "precision:spam", "error", "f1:ham"]
    campaign = begun(tmp_path / "spam.db", table, metrics, kind="adaptive", budget=60, looks=1)
    label(campaign, 60, truth)
    found = figures(campaign)
    by = {name: found[name, None].estimate.estimator for name in metrics}
    assert by == dict.fromkeys(metrics, "ramped")
    assert not {*COLUMNS, "control"} & campaign.state.draws[0].design.keys()
    assert campaign.audit() == []


def test_a_ratio_that_comes_second_uses_the_predictor(tmp_path: Path) -> None:
    table, truth = spam(300)
    campaign = begun(tmp_path / "spam.db", table, ["error", "f1:spam"], kind="adaptive", budget=50)
    label(campaign, 50, truth)
    assert figures(campaign)["f1:spam", None].estimate.estimator == "ramped"


def test_where_a_class_is_counted_the_ratios_of_all_use_the_predictor(tmp_path: Path) -> None:
    table, truth = spam(300)
    metrics = ["share:spam", "f1:spam", "f1:ham"]
    campaign = begun(tmp_path / "spam.db", table, metrics, kind="adaptive", budget=40, looks=1)
    label(campaign, 40, truth)
    found = figures(campaign)
    by = [found[name, None].estimate.estimator for name in metrics]
    assert by == ["ramped"] * 3
    design = campaign.state.draws[0].design.keys()
    assert {"control", "control_left", "predicted_variance", "predicted_skew"} <= design
    assert not {*COLUMNS} & design
    assert campaign.audit() == []


def test_slices_and_unlabelable_items_keep_the_predictor(tmp_path: Path) -> None:
    table, truth = spam(300)
    campaign = begun(
        tmp_path / "spam.db", table, "f1:spam", kind="adaptive", looks=0, slices=["country"]
    )
    label(campaign, 40, truth)
    found = figures(campaign)
    assert {one.estimate.estimator for one in found.values()} == {"ramped"}
    campaign.mark_unlabelable(campaign.ask(1)[0].draw, reason="empty")
    found = figures(campaign)
    assert {one.estimate.estimator for one in found.values()} == {"ramped"}
    assert found["f1:spam", None].unlabelable > 0


def test_the_control_of_an_error_is_the_chance_of_all_other_labels(tmp_path: Path) -> None:
    table, truth = mail(200)
    campaign = begun(
        tmp_path / "spam.db", table, ["error", "share:spam"], kind="adaptive", budget=30
    )
    label(campaign, 30, truth)
    learner = learner_of(campaign.pool(), campaign.settings)
    ends = [*(one.first for one in campaign.state.rounds[1:]), len(campaign.state.draws) + 1]
    for begun_, end in zip(campaign.state.rounds, ends, strict=True):
        assert begun_.predictor is not None
        items = campaign.state.draws[begun_.first - 1 : end - 1]
        run = learner.at(np.array([item.row for item in items]))
        chance = learner.chances(learner.restore(begun_.predictor), run).chance
        np.testing.assert_allclose(chance.sum(axis=1), 1, atol=1e-6)
        places = [learner.classes.index(str(item.pred[""])) for item in items]
        error = 1 - chance[np.arange(len(items)), places]
        control = [item.design["control"] for item in items]
        np.testing.assert_allclose(control, error, rtol=1e-4, atol=1e-6)


def test_a_rating_is_expected_from_the_chance_of_each(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    proba = rng.dirichlet([0.5, 0.5, 0.5], 200)
    stars = np.array([1.0, 2.0, 5.0])
    names = {f"proba_{star:g}": proba[:, i] for i, star in enumerate(stars)}
    table = pa.table({"id": range(200), **names})
    truth = {i: float(rng.choice(stars, p=row)) for i, row in enumerate(proba)}
    campaign = begun(tmp_path / "spam.db", table, "mean:1:5", kind="adaptive", budget=40, looks=1)
    label(campaign, 40, truth)
    learner, first = learner_of(campaign.pool(), campaign.settings), campaign.state.rounds[0]
    assert first.predictor is not None
    items = campaign.state.draws[:10]
    run = learner.at(np.array([item.row for item in items]))
    chance = learner.chances(learner.restore(first.predictor), run).chance
    control = [item.design["control"] for item in items]
    np.testing.assert_allclose(control, chance @ stars, rtol=1e-5)
    assert all(1 <= item.design["control"] <= 5 for item in campaign.state.draws)
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
        versions=Versions(),
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


class TestDrivingSeveral:
    METRICS = ("error", "recall:spam", "f1:ham", "brier")

    def test_each_round_records_the_slopes_of_each_metric(self, tmp_path: Path) -> None:
        table, truth = mail(400)
        path, settings = tmp_path / "spam.db", {"kind": "auto", "budget": 60, "drive": "balanced"}
        campaign = begun(path, table, self.METRICS, **settings)
        for _ in range(3):
            label(campaign, 20, truth)
        drives = [(one.predictor or {})["drive"] for one in campaign.state.rounds]
        assert [len(one) for one in drives] == [4] * 3
        for error, recall, f1, brier in drives:
            assert error[1] == brier[1] == 0
            assert -1 < recall[1] / recall[0] < 0
            assert -1 < f1[1] / f1[0] < 0
        assert drives[0] != drives[-1]
        assert not any(one.shares for one in campaign.state.rounds)
        assert campaign.audit() == []

    @pytest.mark.parametrize("drive", ["balanced", "recall:spam", "f1:ham,brier"])
    def test_other_items_are_drawn_than_for_the_first(self, tmp_path: Path, drive: str) -> None:
        table, _ = mail(400)
        first, other = (
            begun(tmp_path / f"{at}.db", table, self.METRICS, kind="adaptive", drive=one).ask(10)
            for at, one in enumerate(("first", drive))
        )
        assert [one.id for one in first] != [one.id for one in other]

    def test_metrics_that_are_named_are_served(self, tmp_path: Path) -> None:
        table, truth = mail(200)
        drive = "recall:spam,brier"
        campaign = begun(tmp_path / "a.db", table, self.METRICS, kind="adaptive", drive=drive)
        label(campaign, 12, truth)
        assert [one.of for one in drives_of(campaign.settings)] == ["recall:spam", "brier"]
        assert all(len((one.predictor or {})["drive"]) == 2 for one in campaign.state.rounds)
        assert campaign.audit() == []

    def test_a_tampered_slope_is_found(self, tmp_path: Path) -> None:
        table, truth = mail(200)
        pq.write_table(table, tmp_path / "pool.parquet")
        path = tmp_path / "spam.db"
        pool = str(tmp_path / "pool.parquet")
        campaign = begun(path, pool, self.METRICS, kind="adaptive", drive="balanced")
        label(campaign, 12, truth)

        def shift(event: dict[str, Any]) -> None:
            event["predictor"]["drive"][1][1] *= 1.01

        tamper(path, shift, "round", chain=True)
        assert "predictor.drive.1.1" in load_campaign("spam", storage=path).audit()[0]

    @pytest.mark.parametrize(
        ("metrics", "settings", "why"),
        [
            (["error", "f1:spam"], {"drive": "worst"}, "balanced"),
            (["error", "f1:spam"], {"kind": "static"}, "static"),
            (["error", "f1:spam"], {"kind": "uniform"}, "uniform"),
            (["error", "f1:spam"], {"kind": "auto", "floor": 0.3}, "static"),
            (["error", "f1:spam"], {"kind": "static", "drive": "f1:spam"}, "static"),
            (["error", "f1:spam"], {"drive": "best"}, r"'best'.*error, f1:spam"),
            (["error", "f1:spam"], {"drive": "error,brier"}, r"'brier'.*no metric"),
        ],
    )
    def test_draws_that_cannot_serve_metrics_are_refused(
        self, tmp_path: Path, metrics: list[str], settings: dict[str, object], why: str
    ) -> None:
        table, _ = spam(50)
        given = {"kind": "adaptive", "drive": "balanced", **settings}
        with pytest.raises(LevelledError, match=why) as refused:
            begun(tmp_path / "spam.db", table, metrics, **given)
        assert "\n" not in str(refused.value)

    @pytest.mark.parametrize("metrics", [["error"], ["error", "share:spam"]])
    def test_one_metric_and_shares_can_be_balanced(
        self, tmp_path: Path, metrics: list[str]
    ) -> None:
        table, truth = spam(100)
        campaign = begun(tmp_path / "a.db", table, metrics, kind="adaptive", drive="balanced")
        label(campaign, 20, truth)
        assert {one.estimate.estimator for one in campaign.estimate()} == {"ramped"}
        assert campaign.audit() == []

    def test_numbers_can_be_balanced(self, tmp_path: Path) -> None:
        size = np.random.default_rng(2).random(100).tolist()
        table, truth = numbers(100, f_size=size)
        metrics = ["mse", "mae"]
        campaign = begun(tmp_path / "a.db", table, metrics, kind="adaptive", drive="balanced")
        label(campaign, 20, truth)
        assert [len((one.predictor or {})["drive"]) for one in campaign.state.rounds] == [2]
        assert campaign.audit() == []
