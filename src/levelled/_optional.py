"""Optional dependencies, imported at first use."""

import importlib
from types import ModuleType

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
