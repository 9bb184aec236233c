"""Modules that are imported at first use: parts of packages, optional ones, and the users' own."""

import importlib
import sys
from collections.abc import Callable, Mapping
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


def lazy_names(package: str, homes: Mapping[str, str], parts: str = "") -> Callable[[str], Any]:
    """The `__getattr__` of a package whose names are imported from their modules at first use.

    `homes` has the names of each module, with blanks between them, and `parts` names modules of the
    package itself. Who needs one name of a package then does not wait for all its modules.
    """
    home_of = {name: module for module, names in homes.items() for name in names.split()}

    def find(name: str) -> Any:  # noqa: ANN401
        if name in parts.split():
            return importlib.import_module(f"{package}.{name}")  # which makes it an attribute
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(home_of[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return find
