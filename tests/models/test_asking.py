"""What goes wrong in other people's models and functions, in one line."""

import numpy as np
import pytest

from levelled.errors import InputError, ProposalError
from levelled.models import asked, called, complaint


class Moody:
    """A model that cannot answer."""


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
    assert complaint(wrong) == line
    with pytest.raises(InputError, match=rf"^Moody could not answer: {line}$") as told:
        asked(Moody(), "answer", lambda: fails(wrong))
    assert told.value.__cause__ is wrong
    with pytest.raises(InputError, match=rf"^fails could not judge: {line}$"):
        called(fails, "judge", wrong)


def test_what_levelled_says_of_a_model_stays_as_it_is() -> None:
    own = ProposalError("raise the floor")
    with pytest.raises(ProposalError) as told:
        asked(Moody(), "answer", lambda: fails(own))
    assert told.value is own


def test_what_works_is_passed_on() -> None:
    assert asked(Moody(), "answer", lambda: 3) == called(len, "count", "abc") == 3


def test_a_complaint_of_nan_names_the_column_and_one_of_writing_says_what_to_do() -> None:
    X = np.array([[1.0, 2.0, np.inf], [3.0, 4.0, np.nan]])
    for rows, says in [(X, "contains NaN. Column 2 is .* in 2 of 2 rows"), (X[:, :2], "NaN.$")]:
        with pytest.raises(InputError, match=says):
            asked(Moody(), "answer", lambda: fails(ValueError("X contains NaN.")), rows)
    frame = pytest.importorskip("pandas").DataFrame(X, columns=["a", "b", "age"])
    with pytest.raises(InputError, match=r"Column age is"):
        asked(Moody(), "answer", lambda: fails(ValueError("X contains infinity")), frame)
    with pytest.raises(InputError, match=r": too cold$"):
        asked(Moody(), "answer", lambda: fails(ValueError("too cold")), X)
    with pytest.raises(InputError, match="let it copy X before it changes them"):
        asked(Moody(), "answer", lambda: fails(ValueError("output array is read-only")), X)
    with pytest.raises(InputError, match=r": no finance$"):
        asked(Moody(), "answer", lambda: fails(ValueError("no finance")), X)
    with pytest.raises(InputError, match=r": NaN$"):
        asked(Moody(), "answer", lambda: fails(ValueError("NaN")), ["a text"])
