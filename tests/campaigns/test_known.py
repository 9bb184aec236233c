"""Campaigns that begin with labels somebody has already, or get such labels on the way."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from campaigns.simulated import begun, label, numbers, spam
from levelled.campaigns import Campaign, create_campaign, load_campaign
from levelled.errors import CampaignError, LevelledError

POOL, TRUTH = spam(150)
METRICS = ["error", "accuracy", "brier", "log_loss:10", "precision:spam", "recall:spam", "f1:spam"]
KINDS = ["adaptive", "static", "uniform"]


def hardest(n: int) -> list[str]:
    """The ids of the items with the smallest margins."""
    margin = np.abs(POOL["proba_spam"].to_numpy() - 0.5)
    return [f"r{at}" for at in np.argsort(margin)[:n].tolist()]


def labels_of(folder: Path, ids: list[str], name: str = "known.csv") -> Path:
    path = folder / name
    path.write_text("id,label\n" + "".join(f"{one},{TRUTH[one]}\n" for one in ids))
    return path


def exact(metric: str, ids: list[str], threshold: float = 0.5) -> float:
    """The metric over these items of the pool, from all true labels."""
    chance = dict(zip(POOL["id"].to_pylist(), POOL["proba_spam"].to_pylist(), strict=True))
    y = np.array([TRUTH[one] == "spam" for one in ids])
    p = np.array([np.float32(chance[one]) for one in ids], dtype=float)
    pred = p > threshold
    values = {
        "error": np.mean(pred != y),
        "accuracy": np.mean(pred == y),
        "brier": np.mean(2 * (p - y) ** 2),
        "log_loss:10": np.mean(np.minimum(-np.log(np.where(y, p, 1 - p)), 10)),
        "precision:spam": np.mean(y[pred]),
        "recall:spam": np.mean(pred[y]),
        "f1:spam": 2 * np.sum(y & pred) / (np.sum(y) + np.sum(pred)),
    }
    return float(values[metric])


def in_slice(country: str | None) -> list[str]:
    at = POOL if country is None else POOL.filter(pc.equal(POOL["country"], country))
    return list(at["id"].to_pylist())


def finish(campaign: Campaign) -> None:
    """Label everything that is left to draw."""
    while asks := campaign.ask(50):
        campaign.tell_all([{"draw": one.draw, "label": TRUTH[str(one.id)]} for one in asks])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("later", [False, True])
def test_with_all_other_items_labelled_every_figure_is_exact(
    tmp_path: Path, kind: str, later: bool
) -> None:
    known, more = hardest(40), {"kind": kind, "slices": ["country"]}
    at_first, then = (known[:15], known[15:]) if later else (known, [])
    campaign = begun(tmp_path / "c.db", POOL, METRICS, known=labels_of(tmp_path, at_first), **more)
    if then:
        label(campaign, 30, TRUTH)
        campaign.attach_labels(labels_of(tmp_path, then, "later.csv"))
    finish(campaign)
    asked = {item.id for item in campaign.state.draws}
    assert len(asked & {*then}) + len(asked) == len(campaign.state.draws) + len(asked & {*known})
    assert not asked & {*at_first}
    for figure in campaign.estimate():
        ids = in_slice(None if figure.slice is None else figure.slice.split("=")[1])
        expected = exact(figure.metric, ids)
        assert figure.estimate.value == pytest.approx(expected, abs=1e-6), figure.name
        assert figure.estimate.low == pytest.approx(expected, abs=1e-6), figure.name
        assert figure.estimate.high == pytest.approx(expected, abs=1e-6), figure.name
    assert campaign.audit() == []
    assert load_campaign("spam", storage=tmp_path / "c.db", pool=POOL).audit() == []


@pytest.mark.parametrize("kind", KINDS)
def test_known_items_are_never_drawn_and_figures_stay_between_their_limits(
    tmp_path: Path, kind: str
) -> None:
    known, more = hardest(40), {"kind": kind, "slices": ["country"], "budget": 60}
    campaign = begun(tmp_path / "c.db", POOL, METRICS, known=labels_of(tmp_path, known), **more)
    for _ in range(6):
        label(campaign, 10, TRUTH)
        for figure in campaign.estimate():
            est = figure.estimate
            assert est.value is None or est.low <= est.value <= est.high
    assert not {item.id for item in campaign.state.draws} & {*known}
    assert campaign.settings.n_known == 40
    n_wrong = len(known) * exact("error", known)
    assert campaign.estimate()[0].estimate.low >= n_wrong / 150
    assert campaign.audit() == []


def test_known_labels_narrow_the_interval_of_the_same_number_of_draws(tmp_path: Path) -> None:
    widths = []
    pairs: list[tuple[str, dict[str, Any]]] = [
        ("a", {}),
        ("b", {"known": labels_of(tmp_path, hardest(60))}),
    ]
    for name, more in pairs:
        campaign = begun(tmp_path / f"{name}.db", POOL, kind="adaptive", budget=40, **more)
        label(campaign, 40, TRUTH)
        est = campaign.estimate()[0].estimate
        widths.append(est.high - est.low)
    assert widths[1] < widths[0]


def test_models_that_are_attached_are_compared_on_known_labels_too(tmp_path: Path) -> None:
    second = pa.table(
        {
            "id": POOL["id"],
            "proba_spam": pc.subtract(1.0, POOL["proba_spam"]),
            "proba_ham": POOL["proba_spam"],
        }
    )
    path = tmp_path / "v2.parquet"
    import pyarrow.parquet as pq

    pq.write_table(second, path)
    known = hardest(40)
    campaign = begun(
        tmp_path / "c.db", POOL, ["error", "f1:spam"], known=labels_of(tmp_path, known[:20])
    )
    label(campaign, 20, TRUTH)
    campaign.attach(path, "v2")
    campaign.attach_labels(labels_of(tmp_path, known[20:], "later.csv"))
    for comparison in campaign.compare("v2"):
        assert comparison.difference.low <= (comparison.difference.value or 0)
    finish(campaign)
    ids = in_slice(None)
    (of_error, of_f1) = campaign.compare("v2")
    assert of_error.difference.value == pytest.approx(1 - 2 * exact("error", ids))
    assert of_f1.difference.interval == "looks" or of_f1.difference.value is not None
    assert campaign.audit() == []


def test_numbers_without_bounds_join_too(tmp_path: Path) -> None:
    table, truth = numbers(80, part=["a", "b"] * 40)
    known = sorted(truth, key=lambda one: -abs(truth[one]))[:20]
    path = tmp_path / "known.csv"
    path.write_text("id,label\n" + "".join(f"{one},{truth[one]!r}\n" for one in known))
    campaign = begun(tmp_path / "c.db", table, ["mse", "mae"], known=path, slices=["part"])
    label(campaign, 60, truth)
    pred = dict(zip(table["id"].to_pylist(), table["pred"].to_pylist(), strict=True))
    squares = {one: (truth[one] - pred[one]) ** 2 for one in truth}
    assert campaign.estimate()[0].estimate.value == pytest.approx(np.mean([*squares.values()]))
    of_a = [squares[f"r{at}"] for at in range(0, 80, 2)]
    assert campaign.estimate()[1].estimate.value == pytest.approx(np.mean(of_a))
    assert campaign.audit() == []


def test_labels_in_a_column_of_the_pool_are_known(tmp_path: Path) -> None:
    known = {*hardest(30)}
    column = [TRUTH[one] if one in known else None for one in POOL["id"].to_pylist()]
    campaign = begun(
        tmp_path / "c.db", POOL.append_column("gold", pa.array(column)), known_column="gold"
    )
    assert {item.id for item in campaign.state.known_items} == known
    assert "gold" not in campaign.state.draws[0].data


def test_an_item_that_cannot_be_labelled_leaves_the_known_ones_in(tmp_path: Path) -> None:
    campaign = begun(tmp_path / "c.db", POOL, known=labels_of(tmp_path, hardest(40)))
    label(campaign, 30, TRUTH)
    campaign.mark_unlabelable(campaign.ask(1)[0].draw, reason="empty")
    finish(campaign)
    bad = next(iter(campaign.state.unlabelable))
    ids = [one for one in in_slice(None) if one != campaign.state.draws[bad - 1].id]
    figure = campaign.estimate()[0]
    assert figure.estimate.value == pytest.approx(exact("error", ids))
    assert figure.unlabelable == pytest.approx(1 / 150)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("id,label\nr1,ham\nr1,spam\n", "r1"),
        ("id,label\nnobody,ham\n", "no item"),
        ("id,label\nr1,Ham!\n", "Ham!"),
        ("label\nham\n", "id"),
    ],
)
def test_labels_that_cannot_be_known_are_refused(tmp_path: Path, text: str, word: str) -> None:
    path = tmp_path / "known.csv"
    path.write_text(text)
    with pytest.raises(LevelledError, match=word):
        begun(tmp_path / "c.db", POOL, known=path)
    assert not (tmp_path / "c.db").exists()


def test_ids_outside_of_the_pool_are_passed_over_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "known.csv"
    path.write_text("id,label\nr1,ham\nnobody,spam\nr2,\n")
    campaign = begun(tmp_path / "c.db", POOL, known=path)
    assert campaign.settings.n_known == 1
    assert campaign.note is not None
    assert "1 labels" in campaign.note


def test_a_pool_of_which_all_is_known_has_nothing_to_draw(tmp_path: Path) -> None:
    with pytest.raises(CampaignError, match="nothing to estimate"):
        begun(tmp_path / "c.db", POOL, known=labels_of(tmp_path, in_slice(None)))


def test_labels_of_items_that_were_drawn_are_told_not_attached(tmp_path: Path) -> None:
    campaign = begun(tmp_path / "c.db", POOL)
    asked = [str(one.id) for one in campaign.ask(5)]
    with pytest.raises(CampaignError, match="tell"):
        campaign.attach_labels(labels_of(tmp_path, asked))
    others = [one for one in in_slice(None) if one not in asked][:3]
    assert campaign.attach_labels(labels_of(tmp_path, [*asked, *others])) == 3


def chosen(by: str) -> list[str]:
    chance = POOL["proba_spam"].to_numpy()
    orders: dict[str, Any] = {
        "margin": np.argsort(np.abs(chance - 0.5)),
        "confidence": np.argsort(-np.abs(chance - 0.5)),
        "class": np.argsort(-chance),
        "row": np.arange(150),
    }
    return [f"r{at}" for at in orders[by][:40].tolist()]


@pytest.mark.parametrize("by", ["margin", "confidence", "class", "row"])
@pytest.mark.parametrize("name", ["labelled", "random_sample"])
def test_chosen_items_are_refused_as_a_random_sample(tmp_path: Path, by: str, name: str) -> None:
    more: dict[str, Any] = {name: labels_of(tmp_path, chosen(by))}
    with pytest.raises(CampaignError, match="--known"):
        begun(tmp_path / "c.db", POOL, **more)


def test_a_random_sample_is_taken(tmp_path: Path, seed: int) -> None:
    ids = [f"r{at}" for at in np.random.default_rng(seed).choice(150, 40, replace=False)]
    campaign = begun(tmp_path / "c.db", POOL, random_sample=labels_of(tmp_path, ids))
    assert campaign.settings.n_sampled == 40


def test_a_sample_goes_with_known_labels_of_other_items(tmp_path: Path) -> None:
    known = hardest(30)
    rest = [one for one in in_slice(None) if one not in known]
    ids = np.random.default_rng(1).choice(rest, 30, replace=False).tolist()
    given: dict[str, Any] = {
        "known": labels_of(tmp_path, known),
        "random_sample": labels_of(tmp_path, ids, "s.csv"),
    }
    campaign = begun(tmp_path / "c.db", POOL, kind="adaptive", **given)
    assert (campaign.settings.n_known, campaign.settings.n_sampled) == (30, 30)
    assert [item.probability for item in campaign.state.draws[:2]] == [1 / 120, 1 / 119]
    finish(campaign)
    assert campaign.estimate()[0].estimate.value == pytest.approx(exact("error", in_slice(None)))
    assert campaign.audit() == []


def test_exported_weights_give_the_estimate_of_the_whole_pool(tmp_path: Path) -> None:
    known = hardest(40)
    campaign = begun(tmp_path / "c.db", POOL, known=labels_of(tmp_path, known[:25]))
    label(campaign, 20, TRUTH)
    campaign.attach_labels(labels_of(tmp_path, known[25:], "later.csv"))
    label(campaign, 20, TRUTH)
    table = campaign.to_table()
    n_known = len(campaign.state.known_items)  # without those that were drawn by then
    assert 25 < n_known <= 40
    assert table.num_rows == 40 + n_known
    assert table["draw"].null_count == table["probability"].null_count == n_known
    wrong = pc.not_equal(table["label"], table["pred"]).to_numpy()
    weighted = float(table["sample_weight"].to_numpy() @ wrong) / 40
    shown = campaign.estimate()[0].estimate  # which has a control, and the weights have none
    assert shown.low <= weighted <= shown.high


def test_random_labels_are_compared_beside_the_same_known_ones(tmp_path: Path) -> None:
    known = hardest(100)
    campaign = begun(tmp_path / "c.db", POOL, known=labels_of(tmp_path, known), kind="uniform")
    label(campaign, 20, TRUTH)
    figure = campaign.estimate()[0]
    low, high = figure.random_limits
    assert low is not None
    assert high is not None
    n_wrong = len(known) * exact("error", known)
    assert n_wrong / 150 <= low < high <= (n_wrong + 50) / 150


def test_the_range_of_pending_labels_counts_known_ones(tmp_path: Path) -> None:
    campaign = begun(tmp_path / "c.db", POOL, known=labels_of(tmp_path, hardest(60)))
    label(campaign, 20, TRUTH)
    asks = campaign.ask(3)
    figure = campaign.estimate()[0]
    low, high = figure.pending_value_min or 0.0, figure.pending_value_max or 0.0
    campaign.tell_all([{"draw": one.draw, "label": TRUTH[str(one.id)]} for one in asks])
    assert low - 1e-9 <= (campaign.estimate()[0].latest or 0.0) <= high + 1e-9


def test_a_sample_is_compared_with_the_items_that_it_could_come_from(tmp_path: Path) -> None:
    known = hardest(75)
    rest = [one for one in in_slice(None) if one not in known]
    ids = np.random.default_rng(2).choice(rest, 40, replace=False).tolist()
    given: dict[str, Any] = {"known": labels_of(tmp_path, known)}
    campaign = begun(
        tmp_path / "c.db", POOL, random_sample=labels_of(tmp_path, ids, "s.csv"), **given
    )
    assert campaign.settings.n_sampled == 40


def test_before_the_first_draw_known_labels_bound_every_figure(tmp_path: Path) -> None:
    more: dict[str, Any] = {"known": labels_of(tmp_path, hardest(100)), "slices": ["country"]}
    campaign = begun(tmp_path / "c.db", POOL, ["error", "recall:spam"], **more)
    later = [one for one in in_slice(None) if one not in hardest(100)][:25]
    campaign.attach_labels(labels_of(tmp_path, later, "later.csv"))
    for figure in campaign.estimate():
        truth = exact(figure.metric, in_slice(figure.slice.split("=")[1] if figure.slice else None))
        assert figure.estimate.low - 1e-9 <= truth <= figure.estimate.high + 1e-9
        if figure.metric == "error":
            assert figure.estimate.high - figure.estimate.low < 0.35
    whole = campaign.estimate()[0].estimate
    assert whole.high - whole.low == pytest.approx(25 / 150)


def test_labels_that_are_passed_over_are_counted(tmp_path: Path) -> None:
    campaign = begun(tmp_path / "c.db", POOL)
    asked = [str(one.id) for one in campaign.ask(2)]
    others = [one for one in in_slice(None) if one not in asked][:3]
    campaign.attach_labels(labels_of(tmp_path, [*asked, *others]))
    assert campaign.note is not None
    assert re.search(r"passed over: 2 .*drawn.*tell", campaign.note)


def test_a_pool_that_is_known_altogether_has_an_exact_figure(tmp_path: Path) -> None:
    campaign = begun(tmp_path / "c.db", POOL)
    campaign.attach_labels(labels_of(tmp_path, in_slice(None)))
    est = campaign.estimate()[0].estimate
    assert est.interval == "point"
    assert est.low == est.value == est.high
    assert campaign.gate("error", at_most=0.99).word == "shown"


def test_known_labels_may_be_named_by_the_id_column_of_the_pool(tmp_path: Path) -> None:
    renamed = POOL.rename_columns(["trace" if one == "id" else one for one in POOL.column_names])
    first = in_slice(None)[:5]
    for header in ("trace", "id"):
        text = labels_of(tmp_path, first).read_text().replace("id,", f"{header},", 1)
        (tmp_path / "known.csv").write_text(text)
        campaign = create_campaign(
            header,
            renamed,
            storage=tmp_path / "c.db",
            seed=1,
            id_column="trace",
            known=tmp_path / "known.csv",
        )
        assert [item.id for item in campaign.state.known_items] == first
