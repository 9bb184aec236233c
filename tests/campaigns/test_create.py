from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from campaigns.simulated import begun, by_hand, label, numbers, spam
from levelled.campaigns import create_campaign, load_campaign
from levelled.campaigns.drawing.drawing import draw_further, draw_sample, frozen_proposal
from levelled.campaigns.settings import CampaignSettings
from levelled.draws import Draws
from levelled.errors import CampaignError, InputError, LevelledError
from levelled.estimators import lure_weights
from levelled.sources import open_pool

POOL, TRUTH = spam(60)


def sample_file(folder: Path, ids: list[str]) -> Path:
    path = folder / "sample.csv"
    path.write_text("id,label\n" + "".join(f"{one},{TRUTH[one]}\n" for one in ids))
    return path


def test_draws_are_stored_with_their_probability_before_anything_is_asked(tmp_path: Path) -> None:
    state = begun(tmp_path / "c.db", POOL).state
    assert state.n_asked == 0
    assert [item.draw for item in state.draws] == list(range(1, 61))
    left = frozen_proposal(open_pool(POOL).runs, state.settings).weights.copy()
    for item in state.draws:
        assert item.probability == pytest.approx(left[item.row] / left.sum(), rel=1e-9)
        left[item.row] = 0


def test_half_of_the_chance_is_uniform_and_half_follows_the_expected_loss(tmp_path: Path) -> None:
    settings = begun(tmp_path / "c.db", POOL).settings
    chance = np.array(POOL["proba_spam"])
    root = np.sqrt(np.minimum(chance, 1 - chance))
    expected = 0.5 / 60 + 0.5 * root / root.sum()
    weights = frozen_proposal(open_pool(POOL).runs, settings).weights
    np.testing.assert_allclose(weights / weights.sum(), expected, rtol=1e-6)


def test_the_same_seed_draws_the_same_and_another_does_not(tmp_path: Path) -> None:
    rows = [
        [item.row for item in begun(tmp_path / f"{i}.db", POOL, seed=seed).state.draws]
        for i, seed in enumerate([7, 7, 8])
    ]
    assert rows[0] == rows[1] != rows[2]


def test_a_longer_race_begins_with_the_shorter_one() -> None:
    table, _ = spam(1500)
    pool = open_pool(table)
    settings = _settings(len(pool), pool.fingerprint, pool.classes)
    first = draw_further(pool, settings, [], 1000)
    more = draw_further(pool, settings, [item.row for item in first], 1400)
    whole = draw_further(pool, settings, [], 1400)
    assert [(i.draw, i.id) for i in [*first, *more]] == [(i.draw, i.id) for i in whole]
    q = [item.probability for item in [*first, *more]]
    np.testing.assert_allclose(q, [item.probability for item in whole], rtol=1e-12)


def test_asking_past_the_draws_made_ahead_keeps_the_earlier_ones(tmp_path: Path) -> None:
    table, _ = spam(1300)
    campaign = begun(tmp_path / "c.db", table, in_flight=5000)
    before = campaign.state.draws
    assert len(before) == 1000
    asks = campaign.ask(1200)
    after = campaign.state.draws
    assert len(asks) == 1200
    assert after[:1000] == before
    assert len({item.row for item in after}) == len(after) == 1300


def test_a_raised_budget_continues_the_same_sequence(tmp_path: Path) -> None:
    small = begun(tmp_path / "small.db", POOL, budget=10)
    large = begun(tmp_path / "large.db", POOL, budget=25)
    label(small, 10, TRUTH)
    assert small.ask(1) == []
    small.change(budget=25)
    label(small, 15, TRUTH)
    label(large, 25, TRUTH)
    assert [item.row for item in small.state.draws] == [item.row for item in large.state.draws]
    ours, theirs = small.estimate()[0], large.estimate()[0]
    assert ours.latest == pytest.approx(theirs.latest, abs=1e-12)
    assert (ours.look, theirs.look) == (25, 25)  # the raise has a look of its own
    assert ours.estimate.high - ours.estimate.low > theirs.estimate.high - theirs.estimate.low


def test_a_labelled_sample_comes_first_as_uniform_draws(tmp_path: Path) -> None:
    ids = [f"r{i}" for i in (3, 50, 20, 7, 31)]
    campaign = begun(tmp_path / "c.db", POOL, labelled=sample_file(tmp_path, ids))
    state = campaign.state
    assert {item.id for item in state.draws[:5]} == set(ids)
    q = [item.probability for item in state.draws[:5]]
    np.testing.assert_allclose(q, [1 / (60 - m) for m in range(5)], rtol=1e-12)
    assert state.n_settled == state.n_asked == 5
    assert {item.id: state.answers[item.draw].label for item in state.draws[:5]} == {
        one: TRUTH[one] for one in ids
    }
    left = frozen_proposal(open_pool(POOL).runs, state.settings).weights.copy()
    left[[item.row for item in state.draws[:5]]] = 0
    for item in state.draws[5:]:
        assert item.probability == pytest.approx(left[item.row] / left.sum(), rel=1e-9)
        left[item.row] = 0


def test_a_campaign_goes_on_from_its_labelled_sample(tmp_path: Path) -> None:
    ids = [f"r{i}" for i in range(0, 60, 7)]
    campaign = begun(tmp_path / "c.db", POOL, labelled=sample_file(tmp_path, ids))
    (first,) = campaign.ask(1)
    assert first.draw == len(ids) + 1
    campaign.tell(first.draw, TRUTH[str(first.id)])
    label(campaign, 11, TRUTH)
    state = campaign.state
    losses = [float(TRUTH[str(item.id)] != item.pred[""]) for item in state.draws[:21]]
    (figure,) = campaign.estimate()
    assert figure.n_settled == 21
    assert figure.estimate.estimator == "ramped"
    assert figure.estimate.low <= by_hand(state, losses) <= figure.estimate.high


def test_a_uniform_sample_and_then_a_race_is_unbiased() -> None:
    """Summed over every sample and every race that can follow it."""
    table, truth = spam(5, seed=1)
    pool = open_pool(table)
    settings = _settings(5, pool.fingerprint, pool.classes, n_sampled=2)
    frozen = frozen_proposal(pool.runs, settings)
    loss = np.array([float(truth[f"r{i}"] != pool.predictions().of([i])[0]) for i in range(5)])  # type: ignore[index]
    loss += np.arange(5)  # so that every item matters
    expected = 0.0
    for path in permutations(range(5), 4):
        sample = draw_sample(pool, settings, np.array(path[:2]))
        q = [item.probability for item in sample]
        left = frozen.weights.copy()
        left[list(path[:2])] = 0
        for row in path[2:]:
            q.append(left[row] / left.sum())
            left[row] = 0
        weights = lure_weights(Draws(np.array(path), np.array(q), 5))
        expected += np.prod(q) * np.mean(weights * loss[list(path)])
    assert expected == pytest.approx(loss.mean(), abs=1e-10)


def test_the_design_after_a_sample_is_that_of_the_whole_pool() -> None:
    pool = open_pool(POOL)
    settings = _settings(60, pool.fingerprint, pool.classes, n_sampled=3)
    sample = [5, 1, 40]
    frozen = frozen_proposal(pool.runs, settings).whole()
    items = draw_further(pool, settings, sample, 20)
    left = frozen.weights.copy()
    left[sample] = 0
    assert frozen.control is not None
    g = frozen.control
    for item in items:
        here = left > 0
        w = left.sum() / (60 * left[here])  # 1 / (N q)
        design = item.design
        assert design["max_weight"] == pytest.approx(w.max())
        assert design["max_weighted_control"] == pytest.approx((w * g[here]).max())
        assert design["max_weighted_headroom"] == pytest.approx((w * (1 - g[here])).max())
        assert design["control_left"] == pytest.approx(g[here].sum())
        left[item.row] = 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,label\nr1,ham\nr1,ham\n", "twice"),
        ("id,label\nr1,ham\nr999,ham\n", "r999"),
        ("id,label\nr1,\n", "id or a label"),
        ("id,label\nr1,eggs\n", r"'eggs'.*classes"),
        ("id,label\n", "has no labels"),
        ("draw,label\n1,ham\n", "lacks an id"),
    ],
)
def test_a_sample_that_is_none_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "sample.csv"
    path.write_text(text)
    with pytest.raises(LevelledError, match=message):
        begun(tmp_path / "c.db", POOL, labelled=path)
    with pytest.raises(LevelledError):
        load_campaign("spam", storage=tmp_path / "c.db")


def test_the_order_of_a_sample_does_not_follow_its_file(tmp_path: Path) -> None:
    ids = sorted(TRUTH, key=lambda one: (TRUTH[one], one))[:30]
    campaign = begun(tmp_path / "c.db", POOL, labelled=sample_file(tmp_path, ids))
    assert [item.id for item in campaign.state.draws[:30]] != ids


def test_a_name_is_taken_once(tmp_path: Path) -> None:
    campaign = begun(tmp_path / "c.db", POOL)
    campaign.ask(3)
    with pytest.raises(CampaignError, match=r"'spam'.*already.*levelled ask spam") as caught:
        begun(tmp_path / "c.db", POOL)
    assert "load_if_exists" not in str(caught.value)
    again = begun(tmp_path / "c.db", POOL, load_if_exists=True)
    assert again.state.n_asked == 3


@pytest.mark.parametrize(
    ("metric", "more", "message"),
    [
        ("mse", {"target_width": 0.1}, "asymptotic"),
        ("mse", {}, "needs numbers"),
        (["error", "mean"], {}, "go together"),
        ("nonsense", {}, "no metric"),
        ("precision:eggs", {}, "eggs"),
        ("error", {"seed": -1}, "seed"),
        ("error", {"budget": 0}, "budget"),
        ("error", {"level": 1.0}, "level"),
        ("error", {"floor": 2}, "floor"),
        ("error", {"in_flight": 0}, "in_flight"),
        ("error", {"score": "best"}, "score"),
        ("error", {"proposal": "boltzmann:hot"}, "after the colon"),
        ("error", {"slices": ["planet"]}, "planet"),
        ("error", {"target_width": 0}, "target_width"),
    ],
)
def test_a_campaign_that_cannot_work_is_refused_and_nothing_is_stored(
    tmp_path: Path, metric: str, more: dict[str, object], message: str
) -> None:
    with pytest.raises(LevelledError, match=message):
        begun(tmp_path / "c.db", POOL, metric, **more)
    assert len(begun(tmp_path / "c.db", POOL).state.draws) == 60


def test_text_as_prediction_cannot_spoil_the_mean_of_a_number(tmp_path: Path) -> None:
    table = pa.table({"id": ["a", "b", "c"], "pred": ["good", "bad", "good"]})
    campaign = begun(tmp_path / "c.db", table, "mean")
    label(campaign, 3, {"a": 1, "b": 2, "c": 3})
    assert campaign.estimate()[0].estimate.value == pytest.approx(2.0)


def test_a_pool_in_memory_works_until_more_must_be_drawn(tmp_path: Path) -> None:
    campaign = begun(tmp_path / "c.db", POOL, budget=4)
    label(campaign, 4, TRUTH)
    campaign.change(budget=9)
    other = load_campaign("spam", storage=tmp_path / "c.db")
    assert other.estimate()[0].n_settled == 4
    with pytest.raises(CampaignError, match="was in memory"):
        other.ask(1)
    assert len(campaign.ask(5)) == 5


def test_a_pool_in_memory_may_be_named_later(tmp_path: Path) -> None:
    label(begun(tmp_path / "c.db", POOL, budget=4), 4, TRUTH)
    other = load_campaign("spam", storage=tmp_path / "c.db", pool=POOL)
    other.change(budget=9)
    assert len(other.ask(5)) == 5


def test_a_changed_pool_is_refused_and_a_moved_one_can_be_named(tmp_path: Path) -> None:
    here, there = tmp_path / "pool.parquet", tmp_path / "moved.parquet"
    pq.write_table(POOL, here)
    begun(tmp_path / "c.db", str(here), budget=4).change(budget=9)
    here.rename(there)
    pq.write_table(POOL.slice(1), here)
    campaign = load_campaign("spam", storage=tmp_path / "c.db")
    with pytest.raises(CampaignError, match="its content differs"):
        campaign.ask(5)
    with pytest.raises(CampaignError, match="its content differs"):
        load_campaign("spam", storage=tmp_path / "c.db", pool=str(here))
    moved = load_campaign("spam", storage=tmp_path / "c.db", pool=str(there))
    assert len(moved.ask(9)) == 9


def test_a_sample_that_is_larger_than_the_budget_is_kept(tmp_path: Path) -> None:
    path = sample_file(tmp_path, [f"r{i}" for i in range(8)])
    campaign = begun(tmp_path / "c.db", POOL, labelled=path, budget=5)
    assert campaign.state.n_settled == 8
    assert campaign.ask(1) == []


@pytest.mark.parametrize("score", ["auto", "entropy", "margin", "least_confidence", "uniform"])
@pytest.mark.parametrize("proposal", ["proportional", "boltzmann:2", "power:0.5", "rank:1"])
def test_every_score_and_proposal_can_be_drawn_from(
    tmp_path: Path, score: str, proposal: str
) -> None:
    campaign = begun(tmp_path / "c.db", POOL, score=score, proposal=proposal, budget=5)
    label(campaign, 5, TRUTH)
    assert campaign.estimate()[0].estimate.value is not None


def test_scores_that_need_probabilities_say_so(tmp_path: Path) -> None:
    table, _ = numbers(10)
    with pytest.raises((CampaignError, InputError), match="proba"):
        begun(tmp_path / "c.db", table, "mse", score="entropy")


def _settings(
    pool_size: int, fingerprint: str, classes: tuple[str, ...] | None, n_sampled: int = 0
) -> CampaignSettings:
    return CampaignSettings(
        name="spam",
        metric_names=("error",),
        source=None,
        fingerprint=fingerprint,
        pool_size=pool_size,
        seed=7,
        classes=classes,
        n_sampled=n_sampled,
    )


@pytest.mark.parametrize("metric", [3, [], ["error", 3], ["error", "error"]])
def test_a_campaign_needs_the_names_of_its_metrics(tmp_path: Path, metric: Any) -> None:  # noqa: ANN401
    with pytest.raises(LevelledError, match="metric"):
        create_campaign("mail", POOL, metric, storage=tmp_path / "c.db", seed=1)


def test_the_log_keeps_every_character_of_a_predicted_class(tmp_path: Path) -> None:
    texts = ["a", "a\0", "b\0\0", "\0"]
    pool = pa.table({"id": list("pqrs"), "pred": texts})
    drawn = begun(tmp_path / "c.db", pool).state.draws
    assert {item.id: item.pred[""] for item in drawn} == dict(zip("pqrs", texts, strict=True))


def test_a_pool_of_numbers_is_no_pool_of_classes(tmp_path: Path) -> None:
    pool = pa.table({"id": ["a", "b", "c"], "pred": [1.5, 2.0, 3.25]})
    with pytest.raises(InputError, match="mse or mae"):
        begun(tmp_path / "c.db", pool)
    begun(tmp_path / "c.db", pool, "mse")
    classes = begun(tmp_path / "d.db", pa.table({"id": ["a", "b", "c"], "pred": [1, 2, 3]}))
    with pytest.raises(InputError, match="mse or mae"):
        classes.attach(pool, "v2")


def test_a_column_of_hundreds_of_values_is_no_slice(tmp_path: Path) -> None:
    names = [f"r{i}" for i in range(150)]
    pool = pa.table({"id": names, "pred": ["a"] * 150, "user": names})
    with pytest.raises(CampaignError, match="at most 100"):
        begun(tmp_path / "c.db", pool, slices=["user"])


@pytest.mark.parametrize("label", ["Cat", "dog "])
def test_a_label_that_is_nearly_a_predicted_class_is_refused(tmp_path: Path, label: str) -> None:
    pool = pa.table({"id": ["a", "b", "c"], "pred": ["cat", "dog", "cat"]})
    campaign = begun(tmp_path / "c.db", pool)
    (ask,) = campaign.ask(1)
    with pytest.raises(InputError, match=rf"mean '{label.strip().lower()}'.*--normalise"):
        campaign.tell(ask.draw, label)
    with pytest.raises(InputError, match=r"'bird'.*--open-classes"):
        campaign.tell(ask.draw, "bird")
    loose = begun(tmp_path / "loose.db", pool, normalise=True)
    loose.tell(loose.ask(1)[0].draw, label)
    assert loose.state.answers[1].label == label.strip().lower()
    taken = begun(tmp_path / "open.db", pool, open_classes=True)
    (ask,) = taken.ask(1)
    with pytest.raises(InputError, match="--normalise"):
        taken.tell(ask.draw, label)
    taken.tell(ask.draw, "bird")  # a class that was never predicted is a label all the same
    assert [*taken.audit()] == [*loose.audit()] == []


def test_a_slice_counts_its_own_labels(tmp_path: Path) -> None:
    campaign = begun(tmp_path / "c.db", POOL, slices=["country"])
    label(campaign, 30, TRUTH)
    whole, *parts = campaign.estimate()
    assert sum(part.estimate.n_labels for part in parts) == whole.estimate.n_labels == 30


@pytest.mark.parametrize("level", [0.01, 0.5, 0.9999])
def test_looks_are_planned_at_any_level(tmp_path: Path, level: float) -> None:
    looks = begun(tmp_path / "c.db", POOL, budget=20, level=level).settings.looks
    assert len(looks) == 5
    assert 0 < looks[-1].alpha <= 1 - level


def test_more_looks_than_can_be_planned_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CampaignError, match="at most 100"):
        begun(tmp_path / "c.db", POOL, budget=20, looks=101)
