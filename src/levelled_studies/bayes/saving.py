"""A fitted classifier in one file: tensors, and settings as JSON. It cannot contain code."""

import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from levelled._files import replace_file
from levelled.errors import InputError

_FORMAT = 1


@dataclass(frozen=True, slots=True, eq=False)
class SavedClassifier:
    """The content of the file of a fitted classifier."""

    kind: str
    params: dict[str, Any]
    classes: list[Any]
    input_shape: tuple[int, ...]
    validation_losses: list[float]
    theta: Tensor
    mean: Tensor
    std: Tensor
    dtype: str | None = None
    """Of the classes; None in files of earlier versions."""
    names: list[str] | None = None
    """Of the columns, where they have names."""


def write_classifier(path: str | Path, saved: SavedClassifier) -> None:
    """Write a classifier to a file that replaces an older one at once."""
    values = {field.name: getattr(saved, field.name) for field in fields(SavedClassifier)}
    tensors = {name: value for name, value in values.items() if isinstance(value, Tensor)}
    plain = {name: value for name, value in values.items() if name not in tensors}
    settings = json.dumps({"format": _FORMAT, **plain}, default=_plain)
    content = {"settings": settings, **tensors}
    try:
        replace_file(Path(path), lambda unfinished: torch.save(content, unfinished))
    except (OSError, RuntimeError, ValueError) as wrong:
        raise InputError(f"{str(path)!r} cannot be written: {wrong}") from wrong


def read_classifier(path: str | Path) -> SavedClassifier:
    """Read a file of `write_classifier`; code in any other file is not run."""
    try:
        tensors = torch.load(Path(path), map_location="cpu", weights_only=True)
        settings = json.loads(tensors.pop("settings"))
        version = settings.pop("format")
        if version == _FORMAT:
            return SavedClassifier(**settings, **tensors)
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
