from collections.abc import Callable

import numpy as np
import pytest

from levelled.metrics.named import parse
from metrics.specimens import LABELS, PRED, PROBA, Bad, control, known, refused_in_one_line

pytestmark = pytest.mark.usefixtures("own")


def test_own_losses_are_given_arrays_and_give_one_number_a_label() -> None:
    assert parse("own_losses:doubled").values(LABELS, PRED).losses.tolist() == [0, 0, 2, 2]
    assert parse("own_losses:gain").values([1, 2], [1, 3]).losses.tolist() == [1, 0]


def test_a_label_of_any_kind_is_left_as_it_is() -> None:
    assert parse("own_losses:gain").label({"any": "thing"}) == {"any": "thing"}


def test_own_losses_take_the_interest_of_an_error_and_expect_nothing() -> None:
    pool = known(proba=PROBA)
    expected = parse("error").score(pool)
    np.testing.assert_array_equal(parse("own_losses:doubled").score(pool), expected)
    assert parse("own_losses:doubled").control(pool) is None


def test_a_predicted_loss_may_have_either_sign() -> None:
    hat = known(loss_hat=np.array([-0.25, -4.0]))
    assert control("own_losses:gain", hat).tolist() == [-0.25, -4]
    assert parse("own_losses:gain").score(hat).tolist() == [0.25, 4]


BAD: Bad = [
    ("one number a label, 4 here", lambda: parse("own_losses:total").values(LABELS, PRED)),
    ("must be an array of numbers", lambda: parse("own_losses:texts").values(LABELS, PRED)),
    ("must be finite", lambda: parse("own_losses:gaps").values(LABELS, PRED)),
    (
        "failed on 4 labels: RuntimeError: no",
        lambda: parse("own_losses:breaks").values(LABELS, PRED),
    ),
    ("between 0 and 1, and 3 does not", lambda: parse("own_losses:too_much").values(LABELS, PRED)),
    ("needs the predictions", lambda: parse("own_losses:gain").values(LABELS)),
]


@pytest.mark.parametrize(("words", "wrong"), BAD, ids=[f"{n}: {w}" for n, (w, _) in enumerate(BAD)])
def test_a_function_that_misbehaves_is_refused_in_one_line(
    words: str, wrong: Callable[[], object]
) -> None:
    refused_in_one_line(words, wrong)
