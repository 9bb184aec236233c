"""Models by name: those of scikit-learn that suit a few hundred labels, or somebody's own."""

import importlib
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from levelled.errors import InputError, LevelledError
from levelled.models import error_line

if TYPE_CHECKING:
    from levelled.models import Model

__all__ = ["MOST_CLASSES", "gaps_named", "in_words", "model_of"]

MOST_CLASSES = 20
"""Whole numbers of more different values than this are numbers to be predicted, not classes."""
_PARAMETER = re.compile(
    r"\b(score|proposal|weights|ensemble|floor|start|loss)=(['\"]?)([\w:]*(?:\.\d+)?)\2"
)
"""As messages name the parameters of functions, such as score="entropy" or floor=0.1."""


def model_of(name: str, labels: Sequence[Any]) -> "Model":
    """The model that is named, fit for these labels: classes, or numbers to be predicted."""
    if ":" in name:
        return _own(name)
    if name not in _NAMED:
        raise InputError(
            f"--model must be one of {', '.join(_NAMED)}, or package.module:name for a model of "
            f"your own; it is {name!r}."
        )
    return _NAMED[name](labels)


@contextmanager
def in_words(what: str) -> Iterator[None]:
    """Tell in a line what goes wrong in somebody's model; of its warnings, each once."""
    from levelled.cli.show import tell

    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", DeprecationWarning)  # for those who write models
        try:
            yield
        except InputError as refused:
            raise InputError(_by_options(str(refused))) from refused
        except (LevelledError, OSError):
            raise
        except Exception as wrong:
            raise InputError(f"{what} failed: {_one_line(wrong)}") from wrong
    heard = [f"{each.category.__name__}: {_one_line(each.message)}" for each in warned]
    for told in dict.fromkeys(heard):
        tell(f"note: {told}")


@contextmanager
def gaps_named(columns: Sequence[str], *files: str | None) -> Iterator[None]:
    """Where a model wants numbers and finds none, say where these files lack them."""
    from levelled.sources.features import gaps_in

    try:
        yield
    except InputError as refused:
        if not re.search(r"\bNaN|\binfinit", str(refused)):
            raise
        gaps = [gaps_in(path, columns) for path in files if path is not None]
        if not any(gaps):
            raise
        failed, _, _ = str(refused).partition(". ")  # the rest counts columns and labelled rows
        raise InputError(
            f"{failed.rstrip('.')}. {next(filter(None, gaps))} Fill them in, name the --features "
            f"without them, or use --model boosting, which takes gaps."
        ) from refused


def _by_options(told: str) -> str:
    """What is said of parameters, said of the options of the same names.

    >>> _by_options('It has none. Give ensemble=10, or ensemble=[...] for a committee.')
    'It has none. Give --ensemble 10.'
    """
    told = re.sub(r",? or ensemble=\[\.\.\.\][^.,]*", "", told)
    return _PARAMETER.sub(lambda found: f"--{found[1]} {found[3]}".rstrip(), told)


def _own(name: str) -> "Model":
    """Somebody's model, or what their function returns; modules are found in this folder, too."""
    module, _, attribute = name.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)  # at the end: a file called random.py must not hide Python's own
    try:
        found = getattr(importlib.import_module(module), attribute)
    except Exception as wrong:  # somebody else's module may raise anything
        raise InputError(
            f"--model {name} cannot be imported: {_one_line(wrong)} Give package.module:name, of "
            f"an installed package or of a file in this folder."
        ) from wrong
    if _is_model(found):
        ready: Model = found
        return ready
    if not callable(found):
        raise InputError(
            f"--model {name} is a {type(found).__name__}: neither a model, which has fit and "
            f"predict, nor a function that makes one."
        )
    return _made(name, found)


def _made(name: str, make: Callable[[], Any]) -> "Model":
    try:
        model: Model = make()
    except Exception as wrong:
        raise InputError(f"--model {name} could not make a model: {_one_line(wrong)}") from wrong
    if not _is_model(model):
        raise InputError(
            f"--model {name} made {_short(model)}, which is no model: a model has fit and predict."
        )
    return model


def _is_model(found: object) -> bool:
    return not isinstance(found, type) and hasattr(found, "fit") and hasattr(found, "predict")


def _logistic(labels: Sequence[Any]) -> "Model":
    if not _classes(labels):
        raise InputError(
            f"logistic tells classes apart, and the labels are numbers of {len(set(labels))} "
            f"values, such as {(_fractions(labels) or labels)[0]:g}. Use ridge, forest or boosting "
            f"to predict them, or write classes as text."
        )
    return _scaled(_sklearn("linear_model").LogisticRegression(max_iter=1000))


def _ridge(labels: Sequence[Any]) -> "Model":
    text = next((label for label in labels if isinstance(label, str)), None)
    if text is not None:
        raise InputError(
            f"ridge predicts numbers, and there is a label {_short(text)}. To tell classes apart "
            f"use logistic, forest or boosting."
        )
    return _scaled(_sklearn("linear_model").Ridge())


def _forest(labels: Sequence[Any]) -> "Model":
    ensemble = _sklearn("ensemble")
    made: Model = (
        ensemble.RandomForestClassifier() if _classes(labels) else ensemble.RandomForestRegressor()
    )
    return made


def _boosting(labels: Sequence[Any]) -> "Model":
    ensemble = _sklearn("ensemble")
    kind = "Classifier" if _classes(labels) else "Regressor"
    make = getattr(ensemble, f"HistGradientBoosting{kind}")
    # As it comes, with 20 items a leaf, it would not split the first 40 labels even once.
    made: Model = make(max_iter=50, min_samples_leaf=5)
    return made


_NAMED: dict[str, Callable[[Sequence[Any]], "Model"]] = {
    "logistic": _logistic,
    "ridge": _ridge,
    "forest": _forest,
    "boosting": _boosting,
}


def _classes(labels: Sequence[Any]) -> bool:
    """Whether labels are classes: text, or whole numbers of few values."""
    if any(isinstance(label, str) for label in labels):
        return True
    return not _fractions(labels) and len(set(labels)) <= MOST_CLASSES


def _fractions(labels: Sequence[Any]) -> list[float]:
    return [one for one in labels if isinstance(one, float) and not one.is_integer()]


def _scaled(model: "Model") -> "Model":
    """The same on features of mean 0 and variance 1, so that no unit counts more than another."""
    scaler = _sklearn("preprocessing").StandardScaler()
    made: Model = _sklearn("pipeline").make_pipeline(scaler, model)
    return made


def _sklearn(part: str) -> Any:  # noqa: ANN401
    from levelled._optional import optional

    return optional(f"sklearn.{part}", extra="sklearn")


def _one_line(wrong: Exception | str) -> str:
    return f"{error_line(wrong)[:300].rstrip('.:')}."


def _short(value: object) -> str:
    told = repr(value)
    return told if len(told) <= 60 else f"{told[:60]}…"
