from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import levelled as lv
from campaigns.simulated import (
    START,
    amend_one,
    beginning,
    begun,
    by_hand,
    label,
    numbers,
    spam,
    tell_one,
    weights_by_hand,
)
from levelled import estimate
from levelled.campaigns import Figure, load_campaign
from levelled.campaigns.figures.figures import estimate_figures, estimate_history
from levelled.campaigns.figures.settled import FigureCache, settled_draws
from levelled.campaigns.log import decide
from levelled.campaigns.log.events import Resolved, apply_events
from levelled.campaigns.log.state import CampaignState

POOL, TRUTH = spam(60)


def labelled(
    n: int,
    pool: pa.Table = POOL,
    truth: Mapping[str, object] = TRUTH,
    late: Sequence[int] = (),
    **more: object,
) -> CampaignState:
    """A campaign with n draws asked and answered, except those of `late`."""
    state = apply_events(beginning(pool, len(pool), **{"in_flight": 1000, **more}))
    state = apply_events(decide.ask(state, n, None, START).events, state)
    for item in state.draws[:n]:
        if item.draw not in late:
            state = apply_events(tell_one(state, item, truth[str(item.id)], None, START), state)
    return state


def unlabelable(state: CampaignState, *draws: int) -> CampaignState:
    for draw in draws:
        events = [decide.make_event(Resolved, state, None, START, draw=draw, reason="blank")]
        state = apply_events(events, state)
    return state


def figures_of(state: CampaignState) -> dict[tuple[str, str, str | None], Figure]:
    return {
        (one.metric, one.model, one.slice): one for one in estimate_figures(state, FigureCache())
    }


def errors(state: CampaignState, n: int, model: str = "") -> list[float]:
    return [float(TRUTH[str(item.id)] != item.pred[model]) for item in state.draws[:n]]


def test_before_anything_is_settled_only_what_is_possible_is_said() -> None:
    metrics = ("error", "accuracy", "log_loss", "brier", "f1:spam", "share:spam")
    for state in (labelled(0, metrics=metrics), labelled(4, metrics=metrics, late=[1])):
        for figure in figures_of(state).values():
            assert figure.estimate.value is None
            assert figure.estimate.interval == "undefined"
            assert figure.n_settled == 0
            high = {"log_loss": np.inf, "brier": 2.0}.get(figure.metric, 1.0)
            assert (figure.estimate.low, figure.estimate.high) == (0.0, high)
    assert figure.n_labels == 3
    assert figure.n_pending == 1


def test_a_mean_without_bounds_may_be_anything_before_the_first_label() -> None:
    state = labelled(0, *numbers(20), metrics=("mean",), numeric=True)
    (figure,) = figures_of(state).values()
    assert (figure.estimate.low, figure.estimate.high) == (-np.inf, np.inf)
    assert figure.as_dict()["low"] is figure.as_dict()["high"] is None


def test_several_metrics_come_from_the_same_labels() -> None:
    state = labelled(25, metrics=("error", "accuracy", "brier", "log_loss:5", "f1:spam"))
    got = {one.metric: one.estimate for one in figures_of(state).values()}
    losses, M = errors(state, 25), 25
    by = estimate(losses, settled_draws(state).draws, bounds=(0, 1))
    assert got["error"].value == pytest.approx(by.value, abs=1e-12)
    assert got["error"].value == pytest.approx(by_hand(state, losses), abs=1e-12)
    assert got["accuracy"].value == pytest.approx(1 - by.value, abs=1e-12)  # type: ignore[operator]
    assert (got["accuracy"].low, got["accuracy"].high) == pytest.approx(
        (1 - got["error"].high, 1 - got["error"].low), abs=1e-12
    )
    p = [item.proba[""][["ham", "spam"].index(TRUTH[str(item.id)])] for item in state.draws[:M]]
    brier = [2 * (1 - one) ** 2 for one in p]
    assert got["brier"].value == pytest.approx(by_hand(state, brier), rel=1e-6)
    log = [min(-np.log(one), 5.0) for one in p]
    assert got["log_loss:5"].value == pytest.approx(by_hand(state, log), rel=1e-6)
    v = np.array(weights_by_hand(state, M))
    y = np.array([TRUTH[str(item.id)] == "spam" for item in state.draws[:M]])
    a = np.array([item.pred[""] == "spam" for item in state.draws[:M]])
    f1 = float((2 * v * (y & a)).sum() / (v * (1.0 * y + a)).sum())
    assert got["f1:spam"].value == pytest.approx(f1, abs=1e-12)


def test_intervals_by_betting_are_those_of_one_call() -> None:
    state = labelled(25)
    base = settled_draws(state)
    (figure,) = figures_of(state).values()
    by = estimate(
        errors(state, 25), base.draws, bounds=(0, 1), interval="betting", control="design"
    )
    assert figure.estimate.interval == "betting"
    assert (figure.estimate.low, figure.estimate.high) == pytest.approx((by.low, by.high))


def test_a_predictor_of_one_metric_is_not_taken_for_that_of_another() -> None:
    """Its bound would be wrong: 2 for the one, 6 for the other."""
    both = figures_of(labelled(25, metrics=("log_loss:2", "log_loss:6")))
    alone = labelled(25, metrics=("log_loss:2",))
    second = both["log_loss:6", "", None].estimate
    losses = [
        min(-np.log(item.proba[""][["ham", "spam"].index(TRUTH[str(item.id)])]), 6.0)
        for item in alone.draws[:25]
    ]
    draws = settled_draws(alone).draws
    assert draws.design is not None
    plain = type(draws)(
        draws.index, draws.probability, 60, design={"max_weight": draws.design["max_weight"]}
    )
    by = estimate(losses, plain, bounds=(0, 6), interval="betting")
    assert (second.low, second.high) == pytest.approx((by.low, by.high))


def test_slices_are_ratios_over_their_own_items() -> None:
    state = labelled(30, slices=("country",), metrics=("error", "recall:spam"))
    got = figures_of(state)
    v, losses = np.array(weights_by_hand(state, 30)), np.array(errors(state, 30))
    for country in ("de", "fr", "uk"):
        inside = np.array([item.slices["country"] == country for item in state.draws[:30]])
        figure = got["error", "", f"country={country}"]
        expected = (v * losses * inside).sum() / (v * inside).sum()
        assert figure.estimate.value == pytest.approx(expected, abs=1e-12)
        assert figure.estimate.pool_size == 20
        assert got["recall:spam", "", f"country={country}"].estimate.pool_size == 20
        assert 0 <= figure.estimate.low <= expected <= figure.estimate.high <= 1


def test_a_slice_that_is_fully_labelled_is_known_exactly() -> None:
    state = labelled(60, slices=("country",))
    for (_, _, name), figure in figures_of(state).items():
        inside = [
            one
            for one, item in zip(errors(state, 60), state.draws, strict=True)
            if name in (None, f"country={item.slices['country']}")
        ]
        est = figure.estimate
        assert (est.low, est.value, est.high) == pytest.approx((np.mean(inside),) * 3)
        assert est.interval == "point"


def test_two_models_share_the_labels() -> None:
    other = ["spam" if i % 2 else "ham" for i in range(60)]
    pool = POOL.append_column("pred@v2", [other])
    state = labelled(25, pool, metrics=("error", "share:spam"))
    got = figures_of(state)
    assert set(got) == {("error", "", None), ("error", "v2", None), ("share:spam", "", None)}
    for model in ("", "v2"):
        value = got["error", model, None].estimate.value
        assert value == pytest.approx(by_hand(state, errors(state, 25, model)), abs=1e-12)


def test_labels_that_are_numbers() -> None:
    pool, truth = numbers(80)
    state = labelled(40, pool, truth, metrics=("mse", "mae", "mean"), numeric=True)
    got = {one.metric: one.estimate for one in figures_of(state).values()}
    items = state.draws[:40]
    gap = [truth[str(item.id)] - float(item.pred[""]) for item in items]
    assert got["mse"].value == pytest.approx(by_hand(state, [one**2 for one in gap]))
    assert got["mae"].value == pytest.approx(by_hand(state, [abs(one) for one in gap]))
    assert got["mean"].value == pytest.approx(by_hand(state, [truth[str(i.id)] for i in items]))
    for one in (got["mse"], got["mae"]):
        assert one.interval == "anytime"
        assert one.value is not None
        assert one.low < one.value < one.high


def test_a_mean_of_numbers_of_either_sign_has_an_interval_that_says_what_it_is() -> None:
    pool, truth = numbers(80)
    signed = {name: value - 2 for name, value in truth.items()}
    state = labelled(40, pool, signed, metrics=("mean",), numeric=True)
    (figure,) = figures_of(state).values()
    est = figure.estimate
    assert est.interval == "t"
    assert est.value is not None
    assert est.low < est.value < est.high
    assert any("fixed beforehand" in text for text in est.warnings)


def test_a_design_too_thin_for_an_interval_still_has_a_value() -> None:
    score = [1e-4] * 79 + [1.0]
    pool, truth = numbers(80, score=score)
    state = labelled(30, pool, truth, metrics=("mse",), numeric=True, floor=0.0)
    (figure,) = figures_of(state).values()
    assert figure.estimate.value is not None


@pytest.mark.parametrize("column", ["pred", "loss_hat"])
def test_a_good_prediction_of_the_label_narrows_the_mean(column: str) -> None:
    rng = np.random.default_rng(2)
    score = rng.random(400)
    ids = [f"r{i}" for i in range(400)]
    truth = dict(zip(ids, np.clip(score + rng.normal(0, 0.02, 400), 0, 1).tolist(), strict=True))
    wide, narrow = (
        figures_of(labelled(100, pool, truth, metrics=("mean:0:1",), numeric=True))[
            "mean:0:1", "", None
        ].estimate
        for pool in (pa.table({"id": ids}), pa.table({"id": ids, column: score}))
    )
    assert narrow.high - narrow.low < 0.8 * (wide.high - wide.low)
    assert narrow.low < np.mean([*truth.values()]) < narrow.high


def test_what_cannot_be_labelled_turns_the_figure_into_a_ratio() -> None:
    state = unlabelable(labelled(25, late=[4, 9]), 4, 9)
    (figure,) = figures_of(state).values()
    v = np.array(weights_by_hand(state, 25))
    counted = np.ones(25)
    counted[[3, 8]] = 0
    value = (v * counted * errors(state, 25)).sum() / (v * counted).sum()
    assert figure.estimate.value == pytest.approx(value, abs=1e-12)
    assert figure.unlabelable == pytest.approx(float(np.mean(v * (1 - counted))), abs=1e-12)
    assert figure.n_settled == 25
    assert figure.n_labels == 23


def test_where_nothing_can_be_labelled_nothing_is_said() -> None:
    metrics = ("error", "brier", "log_loss", "f1:spam")
    state = unlabelable(labelled(3, late=[1, 2, 3], metrics=metrics), 1, 2, 3)
    for figure in figures_of(state).values():
        assert figure.estimate.value is None
        assert figure.unlabelable > 0


def test_with_the_whole_pool_settled_the_rest_is_known_exactly() -> None:
    state = unlabelable(labelled(60, late=[4, 9]), 4, 9)
    (figure,) = figures_of(state).values()
    losses = [one for m, one in enumerate(errors(state, 60), start=1) if m not in (4, 9)]
    est = figure.estimate
    assert (est.low, est.value, est.high) == pytest.approx((np.mean(losses),) * 3)
    assert figure.unlabelable == pytest.approx(2 / 60)


@pytest.mark.parametrize("metric", ["error", "accuracy", "brier", "share:spam"])
@pytest.mark.parametrize("lost", [(), (2,)])
def test_the_pending_bracket_holds_what_the_estimate_becomes(
    metric: str, lost: tuple[int, ...]
) -> None:
    out = [5, 11, 12, 20]
    state = unlabelable(labelled(20, late=[*out, *lost], metrics=(metric,)), *lost)
    (before,) = figures_of(state).values()
    assert before.n_pending == 4
    assert before.pending_value_min is not None
    assert before.pending_value_max is not None
    for answer in ("ham", "spam"):
        later = state
        for draw in out:
            item = state.draws[draw - 1]
            later = apply_events(tell_one(later, item, answer, None, START), later)
        (after,) = figures_of(later).values()
        assert after.pending_value_min is after.pending_value_max is None
        assert after.estimate.value is not None
        assert (
            before.pending_value_min - 1e-12
            <= after.estimate.value
            <= before.pending_value_max + 1e-12
        )


def test_the_pending_bracket_is_reached_at_its_ends() -> None:
    state = labelled(20, late=[5, 11])
    (before,) = figures_of(state).values()
    for draw in (5, 11):
        item = state.draws[draw - 1]
        wrong = "ham" if item.pred[""] == "spam" else "spam"
        state = apply_events(tell_one(state, item, wrong, None, START), state)
    (after,) = figures_of(state).values()
    assert after.estimate.value == pytest.approx(before.pending_value_max, abs=1e-12)


def test_the_history_is_the_first_figure_after_each_draw() -> None:
    """Also from the draw on that cannot be labelled, where the average becomes a ratio."""
    state = unlabelable(labelled(14, late=[6, 13], metrics=("accuracy", "f1:spam")), 6)
    history = estimate_history(state, FigureCache())
    assert [one.n_settled for one in history] == list(range(1, 13))
    for one in history:
        then = estimate_figures(replace(state, n_settled=one.n_settled), FigureCache())[0]
        assert one == then
    assert [one.n_settled for one in estimate_history(state, FigureCache(), most=4)] == [
        3,
        6,
        9,
        12,
    ]
    assert estimate_history(labelled(3, late=[1]), FigureCache()) == []


def test_an_amended_answer_replays_what_depends_on_it() -> None:
    state = labelled(20, metrics=("error", "f1:spam"), slices=("country",))
    cache = FigureCache()
    estimate_figures(state, cache)
    item = state.draws[2]
    other = "ham" if state.answers[3].label == "spam" else "spam"
    state = apply_events(amend_one(state, item, other, None, START), state)
    kept = estimate_figures(state, cache)
    scratch = estimate_figures(state, FigureCache())
    for one, again in zip(kept, scratch, strict=True):
        assert one.as_dict() == again.as_dict()


@pytest.mark.parametrize("metric", ["error", "accuracy"])
def test_whole_numbers_that_are_mostly_wrong_may_be_quantities(tmp_path: Path, metric: str) -> None:
    ids, pred = [f"r{i}" for i in range(60)], list(range(100, 160))
    table, more = pa.table({"id": ids, "pred": pred}), {"budget": 40, "open_classes": True}
    campaign = begun(tmp_path / "c.db", table, metric, **more)
    label(campaign, 40, {name: value + 1 for name, value in zip(ids, pred, strict=True)})
    (figure,) = campaign.estimate()
    assert any("use mse or mae" in warning for warning in figure.estimate.warnings)
    campaign = begun(tmp_path / "d.db", table, metric, **more)
    label(campaign, 40, dict(zip(ids, pred, strict=True)))
    (figure,) = campaign.estimate()
    assert not any("use mse or mae" in warning for warning in figure.estimate.warnings)


def test_games_go_on_after_a_restart(tmp_path: Path) -> None:
    campaign = begun(tmp_path / "c.db", POOL, ["error", "recall:spam"], slices=["country"])
    label(campaign, 12, TRUTH)
    campaign.estimate()
    campaign.keep()
    label(campaign, 9, TRUTH)
    later = load_campaign("spam", storage=tmp_path / "c.db", pool=POOL)
    scratch = estimate_figures(later.state, FigureCache(pool_at=lambda *_: later.pool()))
    for one, again in zip(later.estimate(), scratch, strict=True):
        ours, theirs = one.estimate, again.estimate
        assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


def test_an_own_loss_sees_numbers_as_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.py").write_text("def cubic(y, p):\n    return abs(y - p) ** 3\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    pool, truth = numbers(40)
    campaign = begun(tmp_path / "c.db", pool, "mine:cubic")
    label(campaign, 40, truth)
    gap = [abs(truth[f"r{i}"] - pool["pred"][i].as_py()) ** 3 for i in range(40)]
    assert campaign.estimate()[0].estimate.value == pytest.approx(np.mean(gap))


def test_an_own_loss_sees_classes_as_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ours.py").write_text(
        "def differs(y, p):\n    return (y != p) * 1.0\ndiffers.bounds = (0, 1)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    campaign = begun(tmp_path / "c.db", POOL, "ours:differs")
    label(campaign, 60, TRUTH)
    truth = np.mean(errors(campaign.state, 60))
    assert campaign.estimate()[0].estimate.value == pytest.approx(truth)


def test_a_figure_as_a_file_has_it() -> None:
    (figure,) = figures_of(labelled(5, late=[5])).values()
    assert list(figure.as_dict()) == [
        "metric",
        "model",
        "slice",
        "value",
        "low",
        "high",
        "level",
        "interval",
        "n_labels",
        "n_settled",
        "n_pending",
        "pool_size",
        "ess",
        "max_weight",
        "worth",
        "random_low",
        "random_high",
        "look",
        "latest",
        "n_look",
        "value_at_look",
        "next_look",
        "pending_value_min",
        "pending_value_max",
        "unlabelable",
        "warnings",
    ]
    assert (figure.n_labels, figure.n_settled, figure.n_pending) == (4, 4, 1)


def test_a_planned_look_reads_its_own_draws_until_the_next_one(tmp_path: Path) -> None:
    campaign = begun(tmp_path / "c.db", POOL, budget=40, looks=4)
    assert [look.n for look in campaign.settings.looks] == [10, 20, 30, 40]
    label(campaign, 9, TRUTH)
    before = campaign.estimate()[0]
    assert (before.look, before.estimate.interval) == (None, "betting")
    label(campaign, 1, TRUTH)
    at = campaign.estimate()[0]
    label(campaign, 5, TRUTH)
    after = campaign.estimate()[0]
    assert at.look == after.look == 10
    assert at.estimate.value == at.latest == at.value_at_look == after.value_at_look
    assert after.estimate.value == after.latest != at.latest
    assert at.estimate.low <= after.estimate.low < after.estimate.high <= at.estimate.high
    assert after.next_look == 5


@pytest.mark.parametrize(("size", "budget"), [(6, 5), (200, 199)])
def test_a_budget_of_nearly_the_whole_pool_can_be_watched(
    tmp_path: Path, size: int, budget: int
) -> None:
    pool = pa.table({"id": [*range(size)], "proba_a": [0.8] * size, "proba_b": [0.2] * size})
    storage = tmp_path / "c.db"
    campaign = lv.create_campaign("c", pool, storage=storage, seed=1, budget=budget)
    assert campaign.settings.looks[0].alpha < 1e-6  # next to nothing
    campaign.tell_all([{"draw": one.draw, "label": "a"} for one in campaign.ask(budget // 2)])
    (figure,) = campaign.estimate()
    assert figure.look is not None
    assert 0 <= figure.estimate.low < figure.estimate.high < 1


def test_a_changed_budget_keeps_the_looks_taken(tmp_path: Path) -> None:
    campaign = begun(tmp_path / "c.db", POOL, budget=40, looks=4)
    first = campaign.settings.looks
    label(campaign, 12, TRUTH)
    campaign.change(budget=50)
    looks = campaign.settings.looks
    assert looks[0] == first[0]
    assert [look.n for look in looks] == [10, 25, 38, 50]
    assert lv.load_campaign("spam", storage=tmp_path / "c.db").settings.looks == looks
    assert campaign.audit() == []


def test_without_looks_every_reading_is_by_betting(tmp_path: Path) -> None:
    campaign = begun(tmp_path / "c.db", POOL, budget=40, looks=0)
    label(campaign, 40, TRUTH)
    figure = campaign.estimate()[0]
    assert (figure.look, figure.estimate.interval) == (None, "betting")
