"""Ask a model or a user's function; what goes wrong in it is told in one line that names it."""

import re
import textwrap
from collections.abc import Callable
from typing import Any, TypeVar

from levelled.errors import InputError, LevelledError
from levelled.models.rows import Rows, not_finite

__all__ = ["asked", "called", "complaint"]

T = TypeVar("T")
_LONGEST = 300


def asked(model: object, what: str, answer: Callable[[], T], X: Rows = None) -> T:
    """What `answer` returns; complaints of the model in it become an `InputError`.

    One about NaN or infinity also says where that is in X, one about writing what to do.
    """
    try:
        return answer()
    except LevelledError:
        raise
    except Exception as wrong:
        line = complaint(wrong)
        more = not_finite(X) if re.search(r"\bNaN\b|\binfinit", line) else ""
        if "read-only" in line:
            more = "(It is given rows to look at: let it copy X before it changes them.)"
        raise InputError(
            f"{type(model).__name__} could not {what}: {line} {more}".strip()
        ) from wrong


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
        raise InputError(f"{name} could not {what}: {complaint(wrong)}") from wrong


def complaint(wrong: Exception | str) -> str:
    """The first line of an error or a warning, or its kind where it has no words.

    A first line that ends in a colon has the others after it, as far as they are short.

    >>> complaint(ValueError("too cold" + chr(10) + "by far")), complaint(KeyError("beta"))
    ('too cold', "KeyError: 'beta'")
    """
    kind, words = type(wrong).__name__, str(wrong).strip()
    line = words.partition("\n")[0].rstrip()
    if line.endswith(":"):
        line = textwrap.shorten(words, _LONGEST, placeholder=" ...")
    if isinstance(wrong, KeyError):  # which says the key alone
        return f"{kind}: {line}"
    return line or kind
