from collections.abc import Callable

import numpy as np
import pytest

from levelled.errors import LossError
from levelled.metrics.labelled import within
from levelled.metrics.named import parse
from metrics.specimens import HAM_SPAM, LABELS, PRED, PROBA, Bad, refused_in_one_line

BAD: Bad = [
    ("between 1 and 5, and 6 does not", lambda: parse("mean:1:5").values([6])),
    ("between 1 and 5, and 6 does not", lambda: parse("mean:1:5").label("6")),
    ("needs the predictions", lambda: parse("error").values(LABELS)),
    ("labels has 4, pred has 3", lambda: parse("error").values(LABELS, PRED[:3])),
    ("needs the probabilities", lambda: parse("brier").values(LABELS, PRED)),
    ("'ham', which is none of", lambda: parse("brier").values(LABELS, None, PROBA, ["a", "b"])),
    ("must be a number; 'x' is none", lambda: parse("mse").values([1, "x"], [1, 2])),
    ("must be a number; 'nan' is none", lambda: parse("mean").values(["nan"])),
    ("must be a number; None is none", lambda: parse("mean").label(None)),
    ("is none of the classes 'ham', 'spam'", lambda: parse("error").label("Spam", HAM_SPAM)),
    ("text or a number; None is neither", lambda: parse("error").label(None)),
    ("text or a number; nan is neither", lambda: parse("error").values([float("nan")], ["a"])),
    ("is neither", lambda: parse("error").values([["a"]], ["a"])),
    ("one axis", lambda: parse("error").values(np.zeros((2, 2)), ["a", "b"])),
]


@pytest.mark.parametrize(("words", "wrong"), BAD, ids=[f"{n}: {w}" for n, (w, _) in enumerate(BAD)])
def test_bad_labels_are_refused_in_one_line(words: str, wrong: Callable[[], object]) -> None:
    refused_in_one_line(words, wrong)


def test_a_broken_bound_is_a_loss_error() -> None:
    with pytest.raises(LossError):
        within("mean:0:1", np.array([0.5, 2.0]), (0.0, 1.0))
