"""Fitted classifiers in one file: tensors, and settings as JSON. Nothing in it can run code."""

import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from levelled.errors import InputError

__all__ = ["read_model", "write_model"]

_FORMAT = 1


def write_model(path: str | Path, settings: dict[str, Any], tensors: dict[str, Tensor]) -> None:
    """Write settings and tensors to `path`."""
    told = json.dumps({"format": _FORMAT, **settings})
    try:
        torch.save({"settings": told, **tensors}, Path(path))
    except (OSError, RuntimeError) as wrong:
        raise InputError(f"{str(path)!r} cannot be written: {wrong}") from wrong


def read_model(path: str | Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Settings and tensors that `write_model` wrote; anything else is refused, not run."""
    try:
        tensors = torch.load(Path(path), map_location="cpu", weights_only=True)
        settings = json.loads(tensors.pop("settings"))
    except FileNotFoundError:
        raise InputError(f"There is no file {str(path)!r}.") from None
    except Exception as wrong:  # torch raises whatever its reader stumbles over
        raise InputError(f"{str(path)!r} is no saved classifier of Levelled.") from wrong
    if settings.get("format") != _FORMAT:
        raise InputError(
            f"{str(path)!r} has format {settings.get('format')}; this version of Levelled reads "
            f"format {_FORMAT}. Use the version that wrote it."
        )
    return settings, tensors
