"""Fitted classifiers in one file: tensors, and settings as JSON. Nothing in it can run code."""

import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from levelled.errors import InputError

__all__ = ["Saved", "read_model", "write_model"]

_FORMAT = 1


@dataclass(frozen=True, slots=True, eq=False)
class Saved:
    """What a file holds of a fitted classifier."""

    kind: str
    params: dict[str, Any]
    classes: list[Any]
    input_shape: tuple[int, ...]
    validation_losses: list[float]
    theta: Tensor
    mean: Tensor
    std: Tensor
    dtype: str | None = None
    """Of the classes; files written before it was kept have none."""


def write_model(path: str | Path, saved: Saved) -> None:
    """Write beside `path`, then replace what is there: a file is the old one or the new one."""
    held = {field.name: getattr(saved, field.name) for field in fields(Saved)}
    tensors = {name: value for name, value in held.items() if isinstance(value, Tensor)}
    settings = {name: value for name, value in held.items() if name not in tensors}
    told = json.dumps({"format": _FORMAT, **settings}, default=_plain)
    place = Path(path)
    try:
        new = place.with_name(f".{place.name}.new")
        try:
            torch.save({"settings": told, **tensors}, new)
            new.replace(place)
        finally:
            new.unlink(missing_ok=True)
    except (OSError, RuntimeError, ValueError) as wrong:
        raise InputError(f"{str(path)!r} cannot be written: {wrong}") from wrong


def read_model(path: str | Path) -> Saved:
    """What `write_model` wrote; anything else is refused, not run."""
    try:
        tensors = torch.load(Path(path), map_location="cpu", weights_only=True)
        settings = json.loads(tensors.pop("settings"))
        version = settings.pop("format")
        if version == _FORMAT:
            return Saved(**settings, **tensors)
    except FileNotFoundError:
        raise InputError(f"There is no file {str(path)!r}.") from None
    except Exception as wrong:  # torch raises whatever its reader stumbles over
        raise InputError(f"{str(path)!r} is no saved classifier of Levelled.") from wrong
    raise InputError(
        f"{str(path)!r} has format {version}; this version of Levelled reads format {_FORMAT}. "
        f"Use the version that wrote it."
    )


def _plain(value: object) -> object:
    """A device, a range, or a number or array of NumPy or torch, as JSON writes it."""
    return str(value) if isinstance(value, torch.device) else np.asarray(value).tolist()
