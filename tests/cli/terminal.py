"""What a command leaves behind."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str


Levelled = Callable[..., Result]
