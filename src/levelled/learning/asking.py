"""Ask a model; what goes wrong in it is told in one line that names it."""

from collections.abc import Callable
from typing import TypeVar

from levelled.advice.models import Model
from levelled.errors import InputError, LevelledError

__all__ = ["asked"]

T = TypeVar("T")
_WRONG = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)


def asked(model: Model, what: str, answer: Callable[[], T]) -> T:
    """What `answer` returns; complaints of the model in it become an `InputError`."""
    try:
        return answer()
    except LevelledError:
        raise
    except _WRONG as wrong:
        told = str(wrong).strip().partition("\n")[0]
        raise InputError(f"{type(model).__name__} could not {what}: {told}") from wrong
