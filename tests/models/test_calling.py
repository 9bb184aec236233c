"""Errors of models and functions of users, in one line."""

import numpy as np
import pytest

from levelled.errors import InputError, ProposalError
from levelled.models import call_function, call_model, error_line


class Moody:
    """A model that cannot predict."""


def fails(wrong: Exception) -> None:
    raise wrong


@pytest.mark.parametrize(
    ("wrong", "line"),
    [
        (ValueError("\n no rows \nat all"), "no rows"),
        (KeyError("age"), "KeyError: 'age'"),
        (RuntimeError(), "RuntimeError"),
        (ValueError("columns:\n- 'a' 2 times\n"), "columns: - 'a' 2 times"),
    ],
)
def test_a_complaint_is_one_line_that_names_the_model_or_the_function(
    wrong: Exception, line: str
) -> None:
    assert error_line(wrong) == line
    with pytest.raises(InputError, match=rf"^Moody .*predict: {line}$") as told:
        call_model(Moody(), "predict", lambda: fails(wrong))
    assert told.value.__cause__ is wrong
    with pytest.raises(InputError, match=rf"^fails .*judge: {line}$"):
        call_function(fails, "judge", wrong)


def test_what_levelled_says_of_a_model_stays_as_it_is() -> None:
    own = ProposalError("raise the floor")
    with pytest.raises(ProposalError) as told:
        call_model(Moody(), "predict", lambda: fails(own))
    assert told.value is own


def test_what_works_is_passed_on() -> None:
    assert call_model(Moody(), "predict", lambda: 3) == call_function(len, "count", "abc") == 3


def test_a_complaint_of_nan_names_the_column_and_one_of_writing_says_what_to_do() -> None:
    X = np.array([[1.0, 2.0, np.inf], [3.0, 4.0, np.nan]])
    for rows, says in [(X, "Column 2.*2 of 2"), (X[:, :2], "NaN.$")]:
        with pytest.raises(InputError, match=says):
            call_model(Moody(), "predict", lambda: fails(ValueError("X contains NaN.")), rows)
    frame = pytest.importorskip("pandas").DataFrame(X, columns=["a", "b", "age"])
    with pytest.raises(InputError, match=r"Column age is"):
        call_model(Moody(), "predict", lambda: fails(ValueError("X contains infinity")), frame)
    with pytest.raises(InputError, match=r": too cold$"):
        call_model(Moody(), "predict", lambda: fails(ValueError("too cold")), X)
    with pytest.raises(InputError, match=r"copy X\b"):
        call_model(Moody(), "predict", lambda: fails(ValueError("output array is read-only")), X)
    with pytest.raises(InputError, match=r": no finance$"):
        call_model(Moody(), "predict", lambda: fails(ValueError("no finance")), X)
    with pytest.raises(InputError, match=r": NaN$"):
        call_model(Moody(), "predict", lambda: fails(ValueError("NaN")), ["a text"])
