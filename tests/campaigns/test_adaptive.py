"""Adaptive campaigns: rounds, what they learn, changes of kind, and predictions that replace."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from campaigns.simulated import label, numbers, spam
from campaigns.test_audit import tamper
from levelled.campaigns import Campaign, create_campaign, load_campaign
from levelled.campaigns.figures.figures import WITHOUT_PREDICTOR
from levelled.errors import CampaignError, PoolError
from levelled.surrogates.label_predictor import LabelPredictor

N = 200
SPAM, LABELS = spam(N, seed=4)
TRUTH: dict[Any, str] = {**LABELS}
POOL = SPAM.append_column("f_length", pa.array(np.random.default_rng(4).normal(size=N)))


@pytest.fixture
def file(tmp_path: Path) -> str:
    pq.write_table(POOL, tmp_path / "pool.parquet")
    return str(tmp_path / "pool.parquet")


def begun(
    tmp_path: Path, file: object, metric: str | list[str] = "error", **more: object
) -> Campaign:
    given: dict[str, Any] = {"storage": tmp_path / "c.db", "seed": 5, **more}
    return create_campaign("spam", file, metric, **given)


def again(tmp_path: Path) -> Campaign:
    """The campaign as another process would load it."""
    return load_campaign("spam", storage=tmp_path / "c.db")


def probabilities(campaign: Campaign) -> list[float]:
    return [item.probability for item in campaign.state.draws]


@pytest.mark.parametrize("end", ["min", "max"])
def test_pending_labels_move_the_value_as_far_as_they_are_said_to(
    tmp_path: Path, file: str, end: str
) -> None:
    campaign = begun(tmp_path, file, looks=0)
    label(campaign, 30, TRUTH)
    asks = campaign.ask(8)
    before = campaign.estimate()[0]
    pred = {item.draw: str(item.pred[""]) for item in campaign.state.draws}
    other = {"spam": "ham", "ham": "spam"}
    for one in asks:
        said = pred[one.draw] if end == "min" else other[pred[one.draw]]
        campaign.tell(one.draw, said)
    expected = before.pending_value_min if end == "min" else before.pending_value_max
    assert campaign.estimate()[0].estimate.value == pytest.approx(expected, abs=1e-12)


def test_a_prediction_may_be_a_feature_as_well(tmp_path: Path, file: str) -> None:
    campaign = begun(tmp_path, file, features=["proba_spam", "f_*"])
    assert campaign.settings.features == ("proba_spam", "f_length")
    label(campaign, 20, TRUTH)
    assert campaign.audit() == []


class TestRounds:
    def test_a_pool_with_probabilities_adapts_by_default(self, tmp_path: Path, file: str) -> None:
        campaign = begun(tmp_path, file)
        assert (campaign.settings.kind, campaign.settings.features) == ("adaptive", ("f_length",))
        assert campaign.state.draws == ()

    def test_each_round_is_an_event_before_its_draws(self, tmp_path: Path, file: str) -> None:
        campaign = begun(tmp_path, file)
        for _ in range(6):
            label(campaign, 5, TRUTH)
        kinds = [one.event["type"] for one in campaign._log.store.events("spam")]
        places = [at for at, kind in enumerate(kinds) if kind == "round"]
        assert [kinds[at + 1] for at in places] == ["drawn"] * len(places)
        rounds = campaign.state.rounds
        assert [one.first for one in rounds] == [1, 11, 16, 21, 26]
        assert rounds[0].floor == 0.75
        assert rounds[0].predictor != rounds[1].predictor
        assert campaign.audit() == again(tmp_path).audit() == []

    def test_sixty_items_are_handed_out_at_once(self, tmp_path: Path, file: str) -> None:
        campaign = begun(tmp_path, file)
        assert len(campaign.ask(60)) == 60
        assert len(campaign.state.rounds) == 1
        label(campaign, 60, TRUTH)
        assert len(campaign.state.rounds) == 2
        assert campaign.audit() == []

    def test_a_round_never_draws_past_the_budget(self, tmp_path: Path, file: str) -> None:
        campaign = begun(tmp_path, file, budget=13)
        label(campaign, 8, TRUTH)
        label(campaign, 50, TRUTH)
        assert len(campaign.state.draws) == campaign.state.n_settled == 13

    def test_the_whole_pool_can_be_labelled(self, tmp_path: Path) -> None:
        table, truth = spam(60)
        campaign = begun(tmp_path, table)
        for _ in range(15):
            label(campaign, 4, truth)
        (figure,) = campaign.estimate()
        assert (figure.n_settled, figure.estimate.interval) == (60, "point")
        assert figure.estimate.worth is None  # nothing random compares with knowing all
        wrong = [truth[str(item.id)] != item.pred[""] for item in campaign.state.draws]
        assert figure.estimate.value == pytest.approx(np.mean(wrong), abs=1e-12)

    def test_items_out_when_a_round_begins_stay_valid(self, tmp_path: Path, file: str) -> None:
        campaign = begun(tmp_path, file)
        out = campaign.ask(10, owner="ann")
        later = campaign.ask(15, owner="bob")
        assert len(campaign.state.rounds) == 2
        before = probabilities(campaign)
        for asks in (later, out):
            campaign.tell_all([{"draw": one.draw, "label": TRUTH[one.id]} for one in asks])
        assert campaign.state.n_settled == 25
        assert probabilities(campaign) == before
        assert campaign.audit() == []

    def test_a_label_that_is_late_still_teaches_the_next_round(
        self, tmp_path: Path, file: str
    ) -> None:
        one, other = (begun(tmp_path, file, storage=tmp_path / name) for name in ("a.db", "b.db"))
        for campaign, n in ((one, 12), (other, 11)):
            asks = campaign.ask(12)[-n:]  # draw 1 is missing in the second
            campaign.tell_all([{"draw": ask.draw, "label": TRUTH[ask.id]} for ask in asks])
            campaign.ask(5)
        assert one.state.draws[:12] == other.state.draws[:12]
        assert one.state.rounds[1].predictor != other.state.rounds[1].predictor

    def test_amended_labels_change_estimates_and_no_probability(
        self, tmp_path: Path, file: str
    ) -> None:
        campaign = begun(tmp_path, file)
        for _ in range(4):
            label(campaign, 10, TRUTH)
        drawn, rounds = campaign.state.draws, campaign.state.rounds
        before = campaign.estimate()[0].latest
        for draw in (1, 2, 3):
            now = campaign.state.answers[draw].label
            campaign.amend(draw, "ham" if now == "spam" else "spam")
        assert campaign.estimate()[0].latest != before
        assert (campaign.state.draws, campaign.state.rounds) == (drawn, rounds)
        assert campaign.audit() == again(tmp_path).audit() == []
        label(campaign, 10, TRUTH)
        assert campaign.audit() == []

    def test_unlabelable_items_teach_nothing_and_count_as_such(
        self, tmp_path: Path, file: str
    ) -> None:
        campaign = begun(tmp_path, file, ["error", "brier", "f1:spam"], slices=["country"])
        label(campaign, 10, TRUTH)
        for one in campaign.ask(4):
            campaign.mark_unlabelable(one.draw, reason="blank")
        label(campaign, 20, TRUTH)
        figures = campaign.estimate()
        assert figures[0].unlabelable > 0
        assert all(one.estimate.low <= one.estimate.high for one in figures)
        assert campaign.audit() == []

    @pytest.mark.parametrize(
        "metric", ["brier", "log_loss:5", "accuracy", "f1:spam", "recall:spam"]
    )
    def test_every_metric_of_classes_can_drive(
        self, tmp_path: Path, file: str, metric: str
    ) -> None:
        campaign = begun(tmp_path, file, metric, kind="adaptive", budget=40)
        for _ in range(4):
            label(campaign, 10, TRUTH)
        est = campaign.estimate()[0].estimate
        assert est.value is not None
        assert est.low <= est.value <= est.high
        assert campaign.audit() == []

    @pytest.mark.parametrize("metric", ["mse", "mae", "mean:-5:20"])
    def test_every_metric_of_numbers_can_drive(self, tmp_path: Path, metric: str) -> None:
        table, truth = numbers(150, f_size=np.random.default_rng(2).random(150).tolist())
        campaign = begun(tmp_path, table, metric, kind="adaptive", budget=60)
        for _ in range(6):
            label(campaign, 10, truth)
        est = campaign.estimate()[0].estimate
        assert est.value is not None
        assert est.low <= est.value <= est.high
        assert campaign.audit() == []
        learnt = campaign.predictor
        assert learnt is not None
        assert all(one.low <= one.observed <= one.high for one in learnt.calibration())
        campaign.report(tmp_path / "report.html")

    def test_two_processes_work_at_once(self, tmp_path: Path, file: str) -> None:
        campaign = begun(tmp_path, file)
        work = (
            "import sys; from levelled.campaigns import load_campaign\n"
            "campaign = load_campaign('spam', storage=sys.argv[1])\n"
            "for _ in range(5):\n"
            "    asks = campaign.ask(6, owner=sys.argv[2])\n"
            "    told = [{'draw': one.draw, 'label': 'ham'} for one in asks]\n"
            "    campaign.tell_all(told, owner=sys.argv[2])\n"
        )
        words = [sys.executable, "-c", work, str(tmp_path / "c.db")]
        workers = [subprocess.Popen([*words, owner]) for owner in ("ann", "bob")]
        assert [worker.wait(timeout=300) for worker in workers] == [0, 0]
        state = campaign.state
        assert state.n_settled == len(state.answers) == 60
        assert {answer.by for answer in state.answers.values()} == {"ann", "bob"}
        assert len({item.row for item in state.draws}) == len(state.draws)
        assert campaign.audit() == []


class TestAudit:
    @pytest.fixture
    def path(self, tmp_path: Path, file: str) -> Path:
        campaign = begun(tmp_path, file)
        for _ in range(3):
            label(campaign, 10, TRUTH)
        return tmp_path / "c.db"

    def test_a_tampered_coefficient_is_found(self, path: Path) -> None:
        def shift(event: dict[str, Any]) -> None:
            event["predictor"]["scores"][0] += 0.01

        tamper(path, shift, "round", chain=True)
        differences = load_campaign("spam", storage=path).audit()
        assert "predictor.scores.0" in differences[0]
        assert "labels before it" in differences[0]
        assert all(one.startswith("draw ") for one in differences[1:])

    @pytest.mark.parametrize("name", ["floor", "background"])
    def test_a_tampered_floor_or_background_is_found(self, path: Path, name: str) -> None:
        def shift(event: dict[str, Any]) -> None:
            place = event if name == "floor" else event["predictor"]
            place[name] *= 1.01

        tamper(path, shift, "round", chain=True)
        assert load_campaign("spam", storage=path).audit()

    @pytest.mark.parametrize("name", ["probability", "control", "predicted_variance"])
    def test_a_tampered_draw_is_found(self, path: Path, name: str) -> None:
        def shift(event: dict[str, Any]) -> None:
            item = event["draws"][0]
            place = item if name == "probability" else item["design"]
            place[name] *= 1 + 1e-4  # rounding is allowed 1e-6

        tamper(path, shift, "drawn", chain=True)
        (difference,) = load_campaign("spam", storage=path).audit()
        assert difference.startswith("draw ")


class TestChangeOfKind:
    @pytest.mark.parametrize("first", ["adaptive", "static", "uniform"])
    def test_a_campaign_may_change_its_kind_again_and_again(
        self, tmp_path: Path, file: str, first: str
    ) -> None:
        campaign = begun(tmp_path, file, ["error", "f1:spam"], kind=first, budget=70)
        label(campaign, 11, TRUTH)
        for kind in ("static", "adaptive", "uniform", "adaptive"):
            campaign.change(kind=kind)
            assert campaign.settings.kind == kind
            label(campaign, 11, TRUTH)
            campaign.estimate()  # from a cache that knows earlier draws
        assert campaign.state.n_settled == 55
        assert len({item.row for item in campaign.state.draws}) == len(campaign.state.draws)
        assert campaign.audit() == again(tmp_path).audit() == []

    def test_draws_that_nobody_was_given_are_discarded(self, tmp_path: Path, file: str) -> None:
        campaign = begun(tmp_path, file, kind="static", budget=100)
        out = campaign.ask(7)
        ahead = campaign.state.draws
        assert len(ahead) == 100
        campaign.change(kind="adaptive")
        assert campaign.state.draws == ahead[:7]
        label(campaign, 3, TRUTH)
        campaign.tell_all([{"draw": one.draw, "label": TRUTH[one.id]} for one in out])
        assert campaign.state.draws[:7] == ahead[:7]
        assert campaign.state.rounds[0].first == 8
        assert campaign.audit() == []

    @pytest.mark.parametrize("first", ["adaptive", "static"])
    def test_every_estimate_keeps_the_predictor(
        self, tmp_path: Path, file: str, first: str
    ) -> None:
        campaign = begun(tmp_path, file, ["error", "f1:spam"], kind=first, slices=["country"])
        label(campaign, 20, TRUTH)
        campaign.change(kind="static" if first == "adaptive" else "adaptive")
        label(campaign, 20, TRUTH)
        found = [one.estimate for one in campaign.estimate()]
        assert {est.estimator for est in found} == {"ramped"}
        assert not any(WITHOUT_PREDICTOR in est.warnings for est in found)

    def test_a_change_before_the_first_item_loses_nothing(self, tmp_path: Path, file: str) -> None:
        campaign = begun(tmp_path, file, kind="static", budget=30)
        campaign.change(kind="adaptive")
        label(campaign, 20, TRUTH)
        error = campaign.estimate()[0].estimate
        assert (error.estimator, WITHOUT_PREDICTOR in error.warnings) == ("ramped", False)

    def test_back_to_static_before_any_draw_begins_a_round_too(
        self, tmp_path: Path, file: str
    ) -> None:
        campaign = begun(tmp_path, file, kind="static", budget=30)
        label(campaign, 5, TRUTH)
        for kind in ("adaptive", "static", "static"):
            campaign.change(kind=kind)
        label(campaign, 5, TRUTH)
        assert [(one.first, one.predictor) for one in campaign.state.rounds] == [(6, None)]
        assert campaign.audit() == []

    def test_items_given_out_later_never_repeat(self, tmp_path: Path, file: str) -> None:
        campaign = begun(tmp_path, file, kind="static", budget=100)
        seen = [one.id for one in campaign.ask(10)]
        campaign.change(kind="uniform")
        seen += [one.id for one in campaign.ask(90)]
        assert len({*seen}) == 100

    def test_a_sample_labelled_before_stays_as_it_was(self, tmp_path: Path, file: str) -> None:
        ids = SPAM["id"].to_pylist()[:: SPAM.num_rows // 20]
        pq.write_table(
            pa.table({"id": ids, "label": [TRUTH[one] for one in ids]}), tmp_path / "done.parquet"
        )
        campaign = begun(
            tmp_path, file, kind="adaptive", labelled=str(tmp_path / "done.parquet"), budget=60
        )
        label(campaign, 10, TRUTH)
        campaign.change(kind="static")
        label(campaign, 10, TRUTH)
        assert campaign.audit() == again(tmp_path).audit() == []

    def test_predictions_attached_before_follow_the_new_draws(
        self, tmp_path: Path, file: str
    ) -> None:
        campaign = begun(tmp_path, file, kind="static", budget=60)
        label(campaign, 10, TRUTH)
        campaign.attach(file, "second")
        campaign.change(kind="adaptive")
        label(campaign, 15, TRUTH)
        assert [one.model for one in campaign.estimate()] == ["", "second"]
        items = campaign.state.draws
        second = campaign.state.attached["second"].pred
        assert all(second[item.draw] == item.pred[""] for item in items)

    def test_what_cannot_be_is_refused(self, tmp_path: Path, file: str) -> None:
        weighted = begun(tmp_path, file, score="entropy")
        assert weighted.settings.kind == "static"
        with pytest.raises(CampaignError, match=r"weights.*static"):
            weighted.change(kind="adaptive")
        with pytest.raises(Exception, match="kind must be"):
            weighted.change(kind="clever")
        bare = pa.table({"id": ["a", "b", "c"], "pred": ["x", "x", "x"]})
        storage = tmp_path / "c.db"
        plain = create_campaign("bare", bare, storage=storage, seed=1, open_classes=True)
        assert plain.settings.kind == "static"
        with pytest.raises(CampaignError, match="something to learn"):
            plain.change(kind="adaptive")


class TestRescore:
    def scores(self, path: Path, seed: int) -> str:
        hat = np.random.default_rng(seed).random(N)
        pq.write_table(pa.table({"id": SPAM["id"], "loss_hat": hat}), path)
        return str(path)

    @pytest.mark.parametrize("kind", ["adaptive", "static"])
    def test_new_predictions_count_from_the_next_draw_on(
        self, tmp_path: Path, file: str, kind: str
    ) -> None:
        campaign = begun(tmp_path, file, kind=kind, budget=80)
        label(campaign, 12, TRUTH)
        drawn = campaign.state.draws[:12]
        for at in (1, 2):
            campaign.rescore(self.scores(tmp_path / f"s{at}.parquet", at), owner="ann")
            label(campaign, 12, TRUTH)
        assert campaign.state.draws[:12] == drawn
        assert [one.first for one in campaign.state.rescored] == [13, 25]
        assert campaign.audit() == again(tmp_path).audit() == []
        label(again(tmp_path), 5, TRUTH)

    def test_a_good_predictor_is_followed(self, tmp_path: Path, file: str) -> None:
        wrong = [
            (p > 0.5) != (TRUTH[one] == "spam")
            for one, p in zip(SPAM["id"].to_pylist(), SPAM["proba_spam"].to_pylist(), strict=True)
        ]
        campaign = begun(tmp_path, file, kind="adaptive")
        label(campaign, 30, TRUTH)
        known = {"id": SPAM["id"], "loss_hat": np.where(wrong, 0.95, 0.01)}
        campaign.rescore(pa.table(known))
        for _ in range(4):
            label(campaign, 10, TRUTH)
        rows = [item.row for item in campaign.state.draws]
        found = [np.mean([wrong[row] for row in part]) for part in (rows[:30], rows[40:])]
        assert found[1] > 1.5 * found[0]

    def test_a_changed_or_missing_file_is_refused(self, tmp_path: Path, file: str) -> None:
        campaign = begun(tmp_path, file)
        campaign.rescore(self.scores(tmp_path / "s.parquet", 1))
        self.scores(tmp_path / "s.parquet", 2)
        with pytest.raises(CampaignError, match="its content differs"):
            again(tmp_path).ask(3)
        campaign.rescore(pa.table({"id": SPAM["id"], "loss_hat": np.ones(N) / 2}))
        assert len(campaign.ask(3)) == 3
        with pytest.raises(CampaignError, match="in memory"):
            again(tmp_path).ask(30)

    def test_a_file_that_moved_can_be_named_anew(self, tmp_path: Path, file: str) -> None:
        campaign, here = begun(tmp_path, file), tmp_path / "s.parquet"
        label(campaign, 10, TRUTH)
        campaign.rescore(self.scores(here, 1))
        label(campaign, 10, TRUTH)
        there = here.rename(tmp_path / "t.parquet")
        differences = again(tmp_path).audit()
        assert differences
        assert all("s.parquet" in one for one in differences)
        storage = tmp_path / "c.db"
        for scores in (there, [str(there)]):
            moved = load_campaign("spam", storage=storage, scores=scores)
            assert moved.audit() == []
        assert len(moved.ask(10)) == 10
        with pytest.raises(CampaignError, match="never a predictor"):
            load_campaign("spam", storage=storage, scores=[there, file])

    @pytest.mark.parametrize("hat", [-0.1, 1.5])
    def test_a_predicted_loss_that_no_loss_can_be_is_refused(
        self, tmp_path: Path, file: str, hat: float
    ) -> None:
        campaign = begun(tmp_path, file)
        column = np.full(N, 0.5)
        column[[3, 7]] = hat
        table = pa.table({"id": SPAM["id"], "loss_hat": column})
        said = rf"'r3'.*row 3\b.* {hat:g},.* 1 more\b.*between 0"
        with pytest.raises(CampaignError, match=said):
            campaign.rescore(table)
        pool = POOL.append_column("loss_hat", table["loss_hat"])
        with pytest.raises(CampaignError, match=said):
            begun(tmp_path, pool, storage=tmp_path / "d.db")
        assert campaign.state.rescored == ()

    def test_a_predicted_loss_without_an_upper_bound_may_be_large(self, tmp_path: Path) -> None:
        table, _ = numbers(30, loss_hat=[1e6] * 30)
        begun(tmp_path, table, "mse")
        wrong, _ = numbers(30, loss_hat=[-1.0] * 30)
        with pytest.raises(CampaignError, match="at least 0"):
            begun(tmp_path, wrong, "mse", storage=tmp_path / "d.db")

    def test_a_regression_may_stray_from_the_range_of_losses(
        self, tmp_path: Path, file: str
    ) -> None:
        linear_model = pytest.importorskip("sklearn.linear_model")
        campaign = begun(tmp_path, file)
        X = campaign.pool().predictions().features
        model = linear_model.LinearRegression().fit(X, 3 * np.asarray(X)[:, 0])
        campaign.rescore(model, save_as=tmp_path / "mine.parquet")
        hat = pq.read_table(tmp_path / "mine.parquet")["loss_hat"].to_numpy()
        assert (hat.min(), hat.max()) == (0, 1)

    def test_predictions_for_other_items_or_without_any_are_refused(
        self, tmp_path: Path, file: str
    ) -> None:
        campaign = begun(tmp_path, file)
        with pytest.raises(PoolError, match="predicted losses"):
            campaign.rescore(pa.table({"id": SPAM["id"]}))
        with pytest.raises(PoolError, match=f"'r0'.* {N - 2} others"):
            campaign.rescore(pa.table({"id": ["r1"], "loss_hat": [0.2]}))
        campaign.close()
        with pytest.raises(CampaignError, match="closed"):
            campaign.rescore(self.scores(tmp_path / "s.parquet", 1))

    @pytest.mark.parametrize("target", ["label", "wrong"])
    def test_a_fitted_model_predicts_from_the_features(
        self, tmp_path: Path, file: str, target: str
    ) -> None:
        linear_model = pytest.importorskip("sklearn.linear_model")
        campaign = begun(tmp_path, file)
        label(campaign, 40, TRUTH)
        rows = [item.row for item in campaign.state.draws]
        X = campaign.pool().predictions().features
        assert X is not None
        y: list[Any] = [TRUTH[item.id] for item in campaign.state.draws]
        if target == "wrong":
            y = [one != item.pred[""] for one, item in zip(y, campaign.state.draws, strict=True)]
        model = linear_model.LogisticRegression().fit(X[rows], y)
        campaign.rescore(model, save_as=tmp_path / "mine.parquet")
        label(campaign, 10, TRUTH)
        columns = pq.read_table(tmp_path / "mine.parquet").column_names
        expected = ["surrogate_ham", "surrogate_spam"] if target == "label" else ["loss_hat"]
        assert columns == ["id", *expected]
        assert again(tmp_path).audit() == []


class TestLearnt:
    def test_a_campaign_without_rounds_has_learnt_nothing(self, tmp_path: Path, file: str) -> None:
        assert begun(tmp_path, file).predictor is None
        static = begun(tmp_path, file, kind="static", storage=tmp_path / "s.db")
        label(static, 20, TRUTH)
        assert static.predictor is None

    def test_the_predictor_is_that_of_the_last_round(self, tmp_path: Path, file: str) -> None:
        campaign = begun(tmp_path, file)
        for _ in range(8):
            label(campaign, 10, TRUTH)
        learnt = campaign.predictor
        assert learnt is not None
        last = campaign.state.rounds[-1]
        assert isinstance(learnt.predictor, LabelPredictor)
        assert {**learnt.predictor.to_json(), "drive": [[1.0, 0.0]]} == last.predictor
        assert learnt.floor == last.floor
        assert len(learnt.losses) == len(learnt.predicted) == 80
        assert "fifth of the pool" in repr(learnt)

    def test_groups_of_the_calibration_hold_every_label_once(
        self, tmp_path: Path, file: str
    ) -> None:
        campaign = begun(tmp_path, file)
        for _ in range(8):
            label(campaign, 10, TRUTH)
        learnt = campaign.predictor
        assert learnt is not None
        points = learnt.calibration()
        assert sum(one.n_labels for one in points) == 80
        assert [one.predicted for one in points] == sorted(one.predicted for one in points)
        assert all(0 <= one.low <= one.observed <= one.high <= 1 for one in points)

    def test_expected_losses_are_of_items_not_drawn_highest_first(
        self, tmp_path: Path, file: str
    ) -> None:
        campaign = begun(tmp_path, file)
        label(campaign, 30, TRUTH)
        learnt = campaign.predictor
        assert learnt is not None
        table = learnt.expected_losses()
        drawn = {item.id for item in campaign.state.draws}
        assert {*table["id"].to_pylist()} == {*SPAM["id"].to_pylist()} - drawn
        losses = table["expected_loss"].to_pylist()
        assert losses == sorted(losses, reverse=True)
        assert learnt.expected_losses(3).num_rows == 3

    def test_every_column_has_an_effect(self, tmp_path: Path, file: str) -> None:
        campaign = begun(tmp_path, file)
        label(campaign, 20, TRUTH)
        label(campaign, 20, TRUTH)
        learnt = campaign.predictor
        assert learnt is not None
        effects = dict(learnt.effects())
        assert effects.keys() == {"the loss that the pool predicts", "f_length"}
        assert effects["the loss that the pool predicts"] > 1

    def test_the_report_tells_what_was_learnt_also_without_the_pool(
        self, tmp_path: Path, file: str
    ) -> None:
        campaign = begun(tmp_path, file)
        for _ in range(4):
            label(campaign, 10, TRUTH)
        campaign.report(tmp_path / "with.html")
        text = (tmp_path / "with.html").read_text()
        learnt = campaign.predictor
        assert learnt is not None
        assert "What did it learn?" in text
        assert str(learnt.expected_losses(1)["id"][0]) in text
        Path(file).unlink()
        again(tmp_path).report(tmp_path / "without.html")
        assert "What did it learn?" in (tmp_path / "without.html").read_text()
