import pyarrow as pa
import pytest

from levelled.sources.choices import ColumnChoices
from levelled.sources.columns import Roles, roles_of, shown_columns

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
