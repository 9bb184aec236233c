"""Ask a model or a user's function; what goes wrong in it is told in one line that names it."""

from collections.abc import Callable
from typing import Any, TypeVar

from levelled.errors import InputError, LevelledError
from levelled.models import Model

__all__ = ["asked", "called"]

T = TypeVar("T")


def asked(model: Model, what: str, answer: Callable[[], T]) -> T:
    """What `answer` returns; complaints of the model in it become an `InputError`."""
    try:
        return answer()
    except LevelledError:
        raise
    except Exception as wrong:
        raise _told(type(model).__name__, what, wrong) from wrong


def called(function: Callable[..., T], what: str, *given: Any) -> T:  # noqa: ANN401
    """What a user's function returns; whatever it raises becomes an `InputError`.

    >>> called(lambda scores: scores / 0, "propose", 3)
    Traceback (most recent call last):
    levelled.errors.InputError: <lambda> could not propose: division by zero
    """
    try:
        return function(*given)
    except Exception as wrong:
        name = getattr(function, "__name__", type(function).__name__)
        raise _told(name, what, wrong) from wrong


def _told(name: str, what: str, wrong: Exception) -> InputError:
    kind, line = type(wrong).__name__, str(wrong).strip().partition("\n")[0]
    if isinstance(wrong, KeyError):  # which says the key alone
        line = f"{kind}: {line}"
    return InputError(f"{name} could not {what}: {line or kind}")
