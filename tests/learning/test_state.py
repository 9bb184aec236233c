import numpy as np
import pytest

from levelled.draws import Draws
from levelled.errors import InputError
from levelled.learning.drawing import LearnerState, add_draws, add_labels, empty_state


def asked(*rows: int, pool_size: int = 10) -> LearnerState:
    q = 1 / (pool_size - np.arange(float(len(rows))))
    return LearnerState(Draws(np.array(rows), q, pool_size))


def one(row: int, probability: float, **design: float) -> Draws:
    columns = {name: np.array([value]) for name, value in design.items()}
    return Draws(np.array([row]), np.array([probability]), 3, design=columns or None)


def test_labels_may_come_in_any_order_and_only_a_prefix_is_settled() -> None:
    state = add_labels(asked(4, 7, 1, 2), [1, 4], ["b", "a"])
    assert state.n_labels == 2
    assert state.n_settled == 1
    assert state.pending.tolist() == [7, 2]
    assert state.settled().labels.tolist() == ["a"]
    assert state.settled(4).rows.tolist() == [4, 1]
    state = add_labels(state, 7, "b")
    assert state.n_settled == 3
    assert state.settled().labels.tolist() == ["a", "b", "b"]


def test_telling_the_same_twice_is_harmless() -> None:
    state = add_labels(asked(4, 7), [4, 7], [1, 0])
    assert add_labels(state, [7, 4], [0.0, 1.0]).labels == state.labels


def test_another_label_for_the_same_row_is_refused_unless_amended() -> None:
    state = add_labels(asked(4, 7), [4, 7], ["a", "b"])
    with pytest.raises(InputError, match=r"Row 7.*'b'.*'c'.*amend"):
        add_labels(state, 7, "c")
    assert add_labels(state, 7, "c", amend=True).labels[7] == "c"
    assert state.labels[7] == "b"


def test_a_row_that_was_never_asked_for_has_no_probability() -> None:
    with pytest.raises(InputError, match=r"Row 3.*never asked"):
        add_labels(asked(4), [4, 3], [0, 1])


@pytest.mark.parametrize(
    ("rows", "labels", "says"),
    [
        ([4, 7], [1], r"2 rows.*2 labels.*1"),
        ([4.5], [1], "of the pool"),
        (["4"], [1], "of the pool"),
        ([[4]], [1], "of the pool"),
        ([4], [np.nan], r"finite.*tell None"),
        ([4], np.array([np.inf]), "must be finite"),
        ([4, 7], ["a", np.nan], "tell None"),
        ([4, 7], [1, np.float32("nan")], "tell None"),
        ([4, 7], ["a", 1], r"text.*numbers"),
        ([4, 7], [True, 0], r"\(True\).*numbers \(0\)"),
        ([4, 7], [1, np.bool_(False)], r"numbers.*truth"),
        ([4], [[1, 0]], "one axis"),
        ([4], [{"a": 1}], "text or numbers"),
    ],
)
def test_labels_that_cannot_be_used_are_refused_in_words(
    rows: list[int], labels: list[int], says: str
) -> None:
    with pytest.raises(InputError, match=says):
        add_labels(asked(4, 7), rows, labels)


@pytest.mark.parametrize(("labels", "kind"), [(["a", None], "string"), ([1, None], "Int64")])
def test_a_missing_value_of_pandas_is_no_label(labels: list[object], kind: str) -> None:
    series = pytest.importorskip("pandas").Series(labels, dtype=kind)
    with pytest.raises(InputError, match="tell None"):
        add_labels(asked(4, 7), [4, 7], series)


def test_text_and_numbers_do_not_mix_over_time_either() -> None:
    with pytest.raises(InputError, match="not both"):
        add_labels(add_labels(asked(4, 7), 4, "a"), 7, 3)
    with pytest.raises(InputError, match="not both"):
        add_labels(add_labels(asked(4, 7), 4, True), 7, 1)


def test_an_item_that_cannot_be_labelled_settles_its_draw() -> None:
    state = add_labels(asked(4, 7, 1), [4, 7, 1], ["a", None, "b"])
    assert state.n_labels == 2
    assert state.n_settled == 3
    examples = state.settled()
    assert examples.rows.tolist() == [4, 1]
    assert examples.places.tolist() == [0, 2]
    assert len(examples.draws) == 3


def test_draws_of_labelled_items_alone_are_the_draws_where_all_are_labelled() -> None:
    whole = add_labels(asked(4, 7, 1), [4, 7, 1], ["a", "b", "b"]).settled()
    assert whole.labelled_draws() is whole.draws
    gap = add_labels(asked(4, 9, 1), [4, 9, 1], ["a", None, "b"]).settled().labelled_draws()
    assert len(gap) == 2
    assert gap.pool_size == 9


def test_draws_are_appended_and_keep_the_columns_that_all_of_them_have() -> None:
    state = add_draws(
        add_draws(empty_state(3), one(1, 1 / 3, max_weight=2.0)), one(0, 0.5, max_weight=1.0)
    )
    assert state.draws.index.tolist() == [1, 0]
    assert state.draws.design is not None
    assert state.draws.design["max_weight"].tolist() == [2.0, 1.0]
    assert state.n_left == 1
    assert state.rows_left(np.array([0])).tolist() == [2]
    assert add_draws(state, one(2, 1.0)).draws.design is None


def test_labels_whose_own_index_has_the_rows_in_another_order_are_refused() -> None:
    pd = pytest.importorskip("pandas")
    rows = [7, 3, 5]
    state = asked(*rows)
    labels = pd.Series(["a", "b", "c"], index=rows)
    assert add_labels(state, rows, labels).labels == {7: "a", 3: "b", 5: "c"}
    with pytest.raises(InputError, match=r"order.*draws"):
        add_labels(state, rows, labels.sort_index())
