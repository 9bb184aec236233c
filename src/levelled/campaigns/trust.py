"""Modules with metrics of one's own, and the approval of this user that running them needs.

A database holds the name of such a metric, `package.module:function`, and whoever wrote the
database chose it. Its module is found and hashed without being imported, and imported only if this
user has approved its name with the sha256 of its source. Packages on the way to it run code, too,
and need the same approval. An approval says nothing of other modules that the code imports.

Approvals are lines of sha256 and module in a file that nobody else may write.
"""

import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from hashlib import sha256
from importlib import invalidate_caches
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import module_from_spec
from pathlib import Path
from typing import Any, NamedTuple

from levelled._files import cache_folder, is_private
from levelled._optional import import_attribute
from levelled.errors import NotApprovedError, StorageError
from levelled.metrics.named import own_module

_HERE: set[str] = set()
"""Modules approved until this process ends: those without a file, such as a notebook."""


class ModuleSource(NamedTuple):
    """One file with the code of a module, or of a package on the way to it."""

    module: str
    path: Path
    content: bytes
    spec: ModuleSpec

    @property
    def has_code(self) -> bool:
        """False for a folder that is a package only because modules are in it."""
        return self.path != Path()

    @property
    def sha256(self) -> str:
        """The hash of the file, as the program sha256sum prints it."""
        return sha256(self.content).hexdigest()


def find_sources(module: str) -> list[ModuleSource]:
    """The files that importing a module would run: its packages, then itself. Nothing is run.

    They are looked for where Python looks, and then in the working folder.
    """
    return [one for one in _find_parts(module) if one.has_code]


def _find_parts(module: str) -> list[ModuleSource]:
    parts: list[ModuleSource] = []
    places = None
    invalidate_caches()  # a file may have been written a moment ago
    names = module.split(".")
    for n in range(1, len(names) + 1):
        name = ".".join(names[:n])
        spec = _find_spec(name, places) if module != "__main__" else None
        if spec is None:
            raise NotApprovedError(
                f"There is no file of the module {module!r:.200} here: install its package, or run "
                f"the command in the folder of its file."
            )
        path = Path(spec.origin or "")
        places = spec.submodule_search_locations
        if path.suffix == ".py" and path.is_file():
            parts.append(ModuleSource(name, path, path.read_bytes(), spec))
        elif places is not None and not spec.has_location:
            parts.append(ModuleSource(name, Path(), b"", spec))
        else:
            raise NotApprovedError(
                f"The module {name!r:.200} is no file of Python source, so its code cannot be "
                f"approved: put the function in a file of your own."
            )
    return parts


def _find_spec(name: str, places: Iterable[str] | None) -> ModuleSpec | None:
    """The place of a module in these folders, found without importing its package."""
    if not name.rpartition(".")[2].isidentifier():
        return None
    for finder in sys.meta_path:
        folders = None if places is None else [*places]
        if finder is PathFinder and folders is None:
            folders = [*sys.path, str(Path.cwd())]
        spec = finder.find_spec(name, folders)
        if spec is not None:
            return spec
    return None


def why_not_approved(module: str) -> str | None:
    """The reason why code of a module is not run, and the way out; None if it may be."""
    if module in _HERE:
        return None
    try:
        sources = find_sources(module)
    except NotApprovedError as missing:
        return str(missing)
    return _why_not(module, sources)


def _why_not(module: str, sources: Iterable[ModuleSource]) -> str | None:
    approved = _read_approvals()
    for one in sources:
        if (one.sha256, one.module) not in approved:
            known = any(name == one.module for _, name in approved)
            why = "has changed since you approved it" if known else "is not approved"
            return (
                f"The code of the module {one.module} ({one.path}) {why}, so it is not run. Read "
                f"it, then approve it with: levelled trust {module}"
            )
    return None


def approve(module: str) -> list[ModuleSource]:
    """Approve the present code of a module for this user; returns what was approved."""
    sources = find_sources(module)
    approved = _read_approvals()
    new = [one for one in sources if (one.sha256, one.module) not in approved]
    text = "".join(f"{one.sha256}  {one.module}\n" for one in new)
    try:
        path = approvals_path()
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with os.fdopen(file, "a", encoding="utf-8") as opened:
            private = is_private(path.parent.lstat()) and is_private(os.fstat(file))
            if private:
                opened.write(text)
    except (OSError, RuntimeError) as wrong:  # RuntimeError: a user without a home
        raise StorageError(
            f"The approval of {module} cannot be kept ({wrong}): name a folder that you can write "
            f"to by the variable LEVELLED_CACHE."
        ) from wrong
    if not private:
        raise StorageError(
            f"The approval of {module} is not kept, because others may write {path}: take the "
            f"rights of others away (chmod 700 and 600), or name another folder by LEVELLED_CACHE."
        )
    return sources


def approve_named(metrics: Iterable[str]) -> dict[str, str]:
    """Approve the modules of metrics that this user has named; returns the sha256 of each source.

    Where an approval cannot be kept, or there is no file, it holds until this process ends.
    """
    hashes: dict[str, str] = {}
    for module in filter(None, map(own_module, metrics)):
        try:
            hashes |= {one.module: one.sha256 for one in approve(module)}
        except NotApprovedError:
            _HERE.add(module)
        except StorageError:
            _HERE.add(module)
            hashes |= current_hashes([module])
    return hashes


def current_hashes(modules: Iterable[str]) -> dict[str, str]:
    """The sha256 of the sources of modules as they are now; without those that are not there."""
    hashes: dict[str, str] = {}
    for module in modules:
        with suppress(NotApprovedError):
            hashes |= {one.module: one.sha256 for one in find_sources(module)}
    return hashes


def import_approved(module: str, attribute: str) -> Any:  # noqa: ANN401
    """A name in a module whose code this user has approved.

    Exactly the bytes that were approved are run: neither a file that was changed meanwhile nor
    compiled code that lies beside it.
    """
    if module in _HERE:
        return import_attribute(module, attribute)
    parts = _find_parts(module)
    why = _why_not(module, (one for one in parts if one.has_code))
    if why is not None:
        raise NotApprovedError(why)
    for part in parts:
        if part.module not in sys.modules:
            _run(part)
    return import_attribute(module, attribute)


def _run(part: ModuleSource) -> None:
    """Make a module of a source, as an import does."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)  # for the modules that it imports, as `import_attribute` does
    made = sys.modules[part.module] = module_from_spec(part.spec)
    try:
        exec(compile(part.content, str(part.path), "exec", dont_inherit=True), made.__dict__)
    except BaseException:
        sys.modules.pop(part.module, None)
        raise
    package, _, name = part.module.rpartition(".")
    if package:
        setattr(sys.modules[package], name, made)


def approvals_path() -> Path:
    """The file of this user's approvals."""
    return cache_folder() / "approved" / "modules.txt"


def _read_approvals() -> set[tuple[str, str]]:
    """Hash and name of each approved module; none from a file that others may write."""
    try:
        path = approvals_path()
        if not is_private(path.parent.lstat()):
            return set()
        with path.open(encoding="utf-8") as file:
            if not is_private(os.fstat(file.fileno())):
                return set()
            words = [line.split() for line in file]
    except (OSError, RuntimeError, ValueError):  # none yet, no home, not text
        return set()
    return {(line[0], line[1]) for line in words if len(line) == 2}
