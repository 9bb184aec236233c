from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from levelled.errors import PoolError
from levelled.sources import open_pool
from levelled.sources.choices import ColumnChoices
from levelled.sources.columns import Roles, roles_of, shown_columns
from levelled.sources.features import feature_columns
from levelled.sources.pool import with_lengths
from sources.samples import Columns, write

NUMBER, TEXT = pa.float64(), pa.string()


def schema(**kinds: pa.DataType) -> pa.Schema:
    return pa.schema([("id", TEXT), *kinds.items()])


def named(*names: str, kind: pa.DataType = NUMBER) -> pa.Schema:
    return schema(**dict.fromkeys(names, kind))


def roles(of: pa.Schema, *slices: str, classes: list[str] | None = None) -> Roles:
    return roles_of(of, classes=classes, slices=slices, choices=ColumnChoices())


@pytest.mark.parametrize("alias", ["pred", "prediction", "y_pred"])
def test_predictions_have_several_names(alias: str) -> None:
    assert roles(named(alias)).pred == {"": alias}


@pytest.mark.parametrize("prefix", ["proba_", "p_", "prediction_proba_"])
def test_probabilities_have_several_names(prefix: str) -> None:
    found = roles(named(f"{prefix}ham", f"{prefix}not_spam"))
    assert found.proba == {"": (f"{prefix}ham", f"{prefix}not_spam")}
    assert found.classes == ("ham", "not_spam")


def test_declared_classes_give_the_order() -> None:
    found = roles(named("proba_a", "proba_b", "surrogate_a", "surrogate_b"), classes=["b", "a"])
    assert found.classes == ("b", "a")
    assert found.proba[""] == ("proba_b", "proba_a")
    assert found.surrogate == ("surrogate_b", "surrogate_a")


def test_columns_that_merely_begin_with_p_are_shown() -> None:
    one = named("p_value")
    assert roles(one).classes is None
    assert shown_columns(one, roles(one)) == ("p_value",)
    words = named("p_title", "p_body", kind=TEXT)
    assert shown_columns(words, roles(words)) == ("p_title", "p_body")
    both = named("p_x", "p_value", "p_y")
    assert roles(both, classes=["x", "y"]).proba[""] == ("p_x", "p_y")
    assert shown_columns(both, roles(both, classes=["x", "y"])) == ("p_value",)


def test_short_names_of_probabilities_are_not_shown_beside_the_long_ones() -> None:
    given = named("proba_x", "proba_y", "p_x", "p_y", "text")
    assert roles(given).proba[""] == ("proba_x", "proba_y")
    assert shown_columns(given, roles(given)) == ("text",)


def test_features_and_predictions_are_not_shown_but_slices_are() -> None:
    given = schema(
        embedding=pa.list_(NUMBER),
        f_age=NUMBER,
        f_name=TEXT,
        pred=TEXT,
        score=NUMBER,
        loss_hat=NUMBER,
        country=TEXT,
        **{"pred@v2": TEXT, "__index_level_0__": NUMBER},
    )
    assert shown_columns(given, roles(given, "country")) == ("f_name", "country")
    assert shown_columns(given, roles(given, "pred")) == ("f_name", "country")


def test_a_slice_may_be_any_column_and_is_read_once() -> None:
    found = roles(named("pred", "score", "by"), "pred", "by", "pred", "score")
    assert found.slices == ("pred", "by", "score")
    assert found.used == ("id", "pred", "by", "score")


@pytest.mark.parametrize(
    ("names", "classes", "models"),
    [
        (["proba@v2_a", "proba@v2_b"], None, {"v2": ("proba@v2_a", "proba@v2_b")}),
        (
            ["pred@my_v2", "proba@my_v2_a", "proba@my_v2_b"],
            None,
            {"my_v2": ("proba@my_v2_a", "proba@my_v2_b")},
        ),
        (
            ["proba@my_v2_not_a", "proba@my_v2_a"],
            ["a", "not_a"],
            {"my_v2": ("proba@my_v2_a", "proba@my_v2_not_a")},
        ),
        (
            ["proba_a", "proba_b", "proba@x_y_b", "proba@x_y_a"],
            None,
            {"": ("proba_a", "proba_b"), "x_y": ("proba@x_y_a", "proba@x_y_b")},
        ),
        (["proba@v2"], ["a", "b"], {"v2": ("proba@v2",)}),
    ],
)
def test_the_name_of_a_model_is_told_from_that_of_a_class(
    names: list[str], classes: list[str] | None, models: dict[str, tuple[str, ...]]
) -> None:
    assert roles(named(*names), classes=classes).proba == models


def test_models_are_listed_by_name() -> None:
    found = roles(named("pred@b", "pred@a", "pred"))
    assert found.models == ("", "a", "b")


PAIRS: Columns = {
    "id": ["a", "b"],
    "pred": ["first", "second"],
    "question": ["Where is the nearest station?", "How many ships are there now?"],
    "first": ["Here.", "x" * 99],
    "second": ["A much longer answer than that.", "y"],
}


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_lengths_of_text_are_features_that_a_labeller_still_sees(
    tmp_path: Path, ending: str
) -> None:
    path = write(tmp_path / f"pairs.{ending}", PAIRS)
    pool = open_pool(path, features=["length:first", "length:second/first"])
    expected = [np.log([6, 100]), np.log([32, 2]) - np.log([6, 100])]
    features = pool.predictions().features
    assert features is not None
    np.testing.assert_allclose(features, np.transpose(expected))
    assert set(pool.shown([0])[0]) == {"question", "first", "second"}


def test_the_messages_of_a_conversation_count_together() -> None:
    chat = [[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}], None]
    pool = open_pool(pa.table({"id": [1, 2], "chat": chat}), features=["length:chat"])
    features = pool.predictions().features
    assert features is not None
    np.testing.assert_allclose(features, np.log([[8], [1]]))


def test_the_longest_texts_are_features_beside_nothing_but_verdicts() -> None:
    pool = with_lengths(open_pool(pa.table(PAIRS)))
    assert pool.features == ("length:question", "length:first")  # 16 characters on average are few
    assert with_lengths(open_pool(pa.table(PAIRS)), without=["first"]).features == pool.features[:1]
    known = pa.table({**PAIRS, "loss_hat": [0.1, 0.2]})
    assert with_lengths(open_pool(known)).features == ()


def test_a_name_with_a_slash_is_no_length_by_itself() -> None:
    pool = open_pool(pa.table({"id": [1, 2], "pred": ["a", "b"], "in/out": ["x" * 30] * 2}))
    assert with_lengths(pool).features == ()


def test_a_column_that_is_not_there_is_named() -> None:
    with pytest.raises(PoolError, match="'third'"):
        open_pool(pa.table(PAIRS), features=["length:third/first"])


def test_lengths_are_those_of_what_labellers_see() -> None:
    long = ["a text of more than twenty characters"] * 2
    table = pa.table({"id": [1, 2], "pred": ["a", "b"], "answer": long, "reason": long})
    assert with_lengths(open_pool(table, hide=["reason"])).features == ("length:answer",)
    assert with_lengths(open_pool(table, show=["reason"])).features == ("length:reason",)


class Counted(str):
    """A name that counts how often it is compared with another."""

    __slots__ = ()
    n_compared = 0

    def __eq__(self, other: object) -> bool:
        Counted.n_compared += 1
        return str.__eq__(self, str(other))

    __hash__ = str.__hash__


class CountedSchema:
    """The names and types of columns, as the functions on columns ask for them."""

    def __init__(self, kinds: Mapping[str, pa.DataType]) -> None:
        self._fields = {
            name: SimpleNamespace(name=Counted(name), type=kind) for name, kind in kinds.items()
        }

    @property
    def names(self) -> list[str]:
        return [field.name for field in self._fields.values()]

    def field(self, name: str) -> SimpleNamespace:
        return self._fields[str(name)]

    def __iter__(self) -> Iterator[SimpleNamespace]:
        return iter(self._fields.values())


@pytest.mark.parametrize("n", [500, 2_000])
def test_names_of_columns_are_compared_a_few_times_each_however_many_there_are(n: int) -> None:
    models = [f"pred@m{number}" for number in range(n)]
    chances = [f"proba@m{number}_{label}" for number in range(n) for label in "xy"]
    wide: Any = CountedSchema(
        {"id": pa.string()}
        | dict.fromkeys(models, pa.string())
        | dict.fromkeys([*chances, "proba_x", "proba_y"], pa.float64())
        | dict.fromkeys([f"f_{number}" for number in range(n)], pa.float64())
        | dict.fromkeys([f"text {number}" for number in range(n)], pa.string())
    )
    shown = tuple(f"text {number}" for number in range(n))
    Counted.n_compared = 0
    found = roles_of(wide, classes=None, slices=(), choices=ColumnChoices(show=shown))
    assert (len(found.models), len(shown_columns(wide, found))) == (n + 1, n)
    features = tuple(f"f_{number}" for number in range(n))
    assert feature_columns(wide, features) == features
    assert Counted.n_compared < 20 * len(wide.names)
