"""Modules that are imported at first use: optional dependencies, and the users' own."""

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from levelled.errors import MissingExtraError


def optional(module: str, *, extra: str) -> ModuleType:
    """Import an optional dependency, or say how to install it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as missing:
        if missing.name != module.partition(".")[0]:
            raise  # the package is there, but something inside it is broken
        raise MissingExtraError(
            f"This needs {module}. Install it with: pip install 'levelled[{extra}]'"
        ) from missing


def import_attribute(module: str, attribute: str) -> Any:  # noqa: ANN401
    """A name in a module, which may be a file in the working folder."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)  # at the end: a file called random.py must not hide Python's own
    return getattr(importlib.import_module(module), attribute)
