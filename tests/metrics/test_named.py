from collections.abc import Callable

import pytest

from levelled.metrics.metric import Metric
from levelled.metrics.named import parse
from metrics.specimens import HAM_SPAM, SPECIMENS, Bad, refused_in_one_line

pytestmark = pytest.mark.usefixtures("own")


@pytest.mark.parametrize("name", SPECIMENS)
def test_every_name_that_is_listed_is_understood(name: str) -> None:
    metric = parse(f" {name} ")
    assert isinstance(metric, Metric)
    assert metric.name == name
    assert metric.kind == ("ratio" if metric.d_max else "average")
    assert metric.interval == ("anytime" if metric.bounds is None else "betting")


@pytest.mark.parametrize(
    ("name", "needs", "bounds", "better"),
    [
        ("error", "pred", (0, 1), False),
        ("accuracy", "pred", (0, 1), True),
        ("log_loss", "proba", None, False),
        ("log_loss:7.5", "proba", (0, 7.5), False),
        ("brier", "proba", (0, 2), False),
        ("mse", "number", None, False),
        ("mae", "number", None, False),
        ("mean", "label", None, None),
        ("mean:-1:5", "label", (-1, 5), None),
        ("share:spam", "label", (0, 1), None),
        ("precision:spam", "pred", (0, 1), True),
        ("recall:spam", "pred", (0, 1), True),
        ("f1:a:b", "pred", (0, 1), True),
        ("own_losses:doubled", "pred", (0, 2), False),
        ("own_losses:gain", "pred", None, True),
    ],
)
def test_a_metric_says_what_it_needs_and_what_it_may_be(
    name: str, needs: str, bounds: tuple[float, float] | None, better: bool | None
) -> None:
    metric = parse(name)
    assert (metric.needs, metric.bounds, metric.higher_is_better) == (needs, bounds, better)


@pytest.mark.parametrize("name", [*SPECIMENS, "own_losses:gain"])
def test_a_name_always_means_the_same_metric(name: str) -> None:
    assert parse(name) == parse(name)
    assert hash(parse(name)) == hash(parse(name))
    assert parse(name) != parse("own_losses:doubled")


BAD: Bad = [
    ("no metric 'eror'. Did you mean error. Metrics are error, accuracy", lambda: parse("eror")),
    ("no metric ''", lambda: parse("")),
    ("no metric 'None'", lambda: parse(None)),  # type: ignore[arg-type]
    ("no metric 'eror:spam'. Did you mean error", lambda: parse("eror:spam")),
    ("write precision:CLASS", lambda: parse("precision")),
    ("write share:CLASS", lambda: parse("share:")),
    ("error takes nothing after a colon", lambda: parse("error:spam")),
    ("numbers after the colon", lambda: parse("log_loss:high")),
    ("numbers after the colon", lambda: parse("log_loss:")),
    ("numbers after the colon", lambda: parse("log_loss:nan")),
    ("between 0 and 1000", lambda: parse("log_loss:0")),
    ("numbers after the colon", lambda: parse("mean:1")),
    ("numbers after the colon", lambda: parse("mean:-inf:inf")),
    ("lower of the bounds", lambda: parse("mean:5:1")),
    ("no class 'spma'; the classes are 'ham', 'spam'", lambda: parse("f1:spma", classes=HAM_SPAM)),
    ("no.such:thing cannot be imported .ModuleNotFoundError", lambda: parse("no.such:thing")),
    ("cannot be imported .AttributeError", lambda: parse("own_losses:nothing")),
    ("cannot be imported .RuntimeError: broken", lambda: parse("own_broken:loss")),
    ("is a int, not a function", lambda: parse("own_losses:constant")),
    ("lower of the bounds", lambda: parse("own_losses:backwards")),
]


@pytest.mark.parametrize(("words", "wrong"), BAD, ids=[f"{n}: {w}" for n, (w, _) in enumerate(BAD)])
def test_a_bad_name_is_refused_in_one_line(words: str, wrong: Callable[[], object]) -> None:
    refused_in_one_line(words, wrong)
