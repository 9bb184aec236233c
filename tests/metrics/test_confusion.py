import json

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix

import levelled as lv
from levelled import metrics
from levelled.errors import InputError
from metrics.samples import FOUR, NAMES, WEIGHTED, enough, everything, mail, trajectory


@pytest.mark.parametrize("known", [True, False])
def test_the_whole_pool_gives_the_matrix_of_scikit_learn(known: bool) -> None:
    rng = np.random.default_rng(0)
    pool, draws = mail(300, rng), everything(300, rng)
    found = metrics.confusion(
        pool.label[draws.index],
        pool.pred[draws.index],
        draws,
        pool_pred=pool.pred if known else None,
    )
    expected = confusion_matrix(pool.label, pool.pred, labels=NAMES, normalize="all")
    np.testing.assert_allclose(np.array(found.values, dtype=float), expected, atol=1e-12)
    cell = found["spam", "ham"]
    assert cell.low == pytest.approx(cell.high)


def test_a_cell_is_the_weighted_share_of_its_items() -> None:
    labels, pred = ["b", "a", "b", "a"], ["b", "b", "a", "a"]
    found = metrics.confusion(labels, pred, WEIGHTED)
    weights = lv.lure_weights(WEIGHTED)
    assert found["a", "b"].value == pytest.approx(weights[1] / 4)


def test_known_predictions_make_every_column_add_up() -> None:
    rng = np.random.default_rng(1)
    pool = mail(1000, rng)
    draws = trajectory(pool.trajectories(100, 1, rng), 0, 1000)
    label, pred = pool.label[draws.index], pool.pred[draws.index]
    found = metrics.confusion(label, pred, draws, classes=NAMES.tolist(), pool_pred=pool.pred)
    columns = np.array(found.values, dtype=float).sum(axis=0)
    assert columns == pytest.approx([np.mean(pool.pred == name) for name in NAMES])
    for name in NAMES.tolist():
        assert found[name, name].high <= np.mean(pool.pred == name)


def test_a_prediction_that_never_occurs_has_no_items_and_one_not_drawn_yet_some() -> None:
    pool_pred = np.full(20, "ham").astype("<U4")
    pool_pred[15] = "news"
    label = ["ham", "spam", "ham", "ham"]
    found = metrics.confusion(label, ["ham"] * 4, FOUR, classes=NAMES.tolist(), pool_pred=pool_pred)
    never = found["ham", "spam"]
    assert (never.value, never.low, never.high, never.interval) == (0, 0, 0, "point")
    later = found["ham", "news"]
    assert later.value is None
    assert (later.low, later.high) == (0, 1 / 20)
    assert "?" in str(found)


@pytest.mark.parametrize("known", [True, False])
def test_the_cells_are_covered_all_at_once(seed: int, known: bool) -> None:
    rng = np.random.default_rng([seed, 6])
    pool = mail(5000, rng)
    truth = confusion_matrix(pool.label, pool.pred, labels=NAMES, normalize="all")
    rows = pool.trajectories(300, 60, rng)
    covered = []
    for row in range(60):
        draws = trajectory(rows, row, 5000)
        found = metrics.confusion(
            pool.label[draws.index],
            pool.pred[draws.index],
            draws,
            classes=NAMES.tolist(),
            pool_pred=pool.pred if known else None,
            simultaneous=True,
        )
        low, high = (
            np.array([[getattr(cell, side) for cell in line] for line in found.cells])
            for side in ("low", "high")
        )
        covered.append(bool(((low <= truth) & (truth <= high)).all()))
    assert enough(np.array(covered), 0.95)


def test_a_matrix_prints_and_goes_into_json() -> None:
    found = metrics.confusion(["b", "a", "b", "a"], ["b", "b", "a", "a"], FOUR)
    assert str(found).splitlines()[0].split() == ["label", "pred", "a", "pred", "b"]
    rows = json.loads(json.dumps(found.as_dicts()))
    assert len(rows) == 4
    assert rows[1]["label"] == "a"
    assert rows[1]["pred"] == "b"


@pytest.mark.parametrize("known", [True, False])
def test_the_names_of_intervals_do_not_depend_on_what_is_known(known: bool) -> None:
    pool_pred = np.array(["a", "b"] * 10)
    labels, pred = ["b", "a", "b", "a"], pool_pred[FOUR.index]

    def cells(interval: str) -> list[list[lv.Estimate]]:
        found = metrics.confusion(
            labels, pred, FOUR, pool_pred=pool_pred if known else None, interval=interval
        )
        return [list(row) for row in found.cells]

    assert cells("wilson") == cells("cp_safe") == cells("auto")
    for interval in ("betting", "none"):
        assert {cell.interval for row in cells(interval) for cell in row} == {interval}
    with pytest.raises(InputError, match="interval must be one of"):
        cells("t")


def test_a_printed_matrix_tells_what_is_known_of_a_cell() -> None:
    pool_pred = np.array(["ham"] * 15 + ["spam"] * 5)
    found = metrics.confusion(["ham"] * 4, ["ham"] * 4, FOUR, pool_pred=pool_pred)
    assert "note (label ham, pred spam, label spam, pred spam): no prediction" in str(found)


def test_bad_input_is_refused_in_words() -> None:
    labels = ["b", "a", "b", "a"]
    with pytest.raises(InputError, match="labels has 'b', which is none of the classes 'a'"):
        metrics.confusion(labels, ["a"] * 4, FOUR, classes=["a"])
    with pytest.raises(InputError, match="'c' is none of the classes"):
        _ = metrics.confusion(labels, labels, FOUR)["a", "c"]
    with pytest.raises(InputError, match="at least one label"):
        metrics.confusion([], [], FOUR[:0])
