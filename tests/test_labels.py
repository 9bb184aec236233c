from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from levelled.labels import as_classes, check_class, class_text
from metrics.specimens import HAM_SPAM, refused_in_one_line


@given(st.lists(st.one_of(st.integers(), st.booleans(), st.floats(-1e9, 1e9), st.text())))
def test_classes_of_many_items_are_those_of_each(values: list[Any]) -> None:
    expected = np.array([class_text(value) for value in values], dtype=np.str_)
    assert as_classes("labels", values).tolist() == expected.tolist()
    assert [class_text(text) for text in expected.tolist()] == expected.tolist()


def test_a_class_that_is_there_passes_and_another_is_refused() -> None:
    check_class("spam", HAM_SPAM)
    refused_in_one_line("the classes are 'ham', 'spam'", lambda: check_class("x", HAM_SPAM))
