"""`levelled doctor`: what is installed, and whether the storage opens."""

import typer

from levelled.cli.options import DEFAULT_STORAGE, Form, Format, Storage

__all__ = ["doctor"]

_NEEDED = ("numpy", "scipy", "pyarrow", "sqlalchemy", "alembic", "typer", "rich")
_EXTRAS = {"matplotlib": "plots", "scikit-learn": "sklearn", "pandas": "pandas", "torch": "torch"}


def doctor(form: Format = None, storage: Storage = DEFAULT_STORAGE) -> None:
    """Show versions, optional extras and whether the storage opens; exit 1 if it does not."""
    import platform

    from levelled import __version__
    from levelled.cli import show

    opened, told = _storage(storage)
    found = {
        "python": platform.python_version(),
        "levelled": __version__,
        **{name: _version(name) or "missing" for name in _NEEDED},
        **{
            name: _version(name) or f"not installed: pip install 'levelled[{extra}]'"
            for name, extra in _EXTRAS.items()
        },
        "storage": f"{storage}: {told}",
    }
    wanted = show.chosen(form)
    if wanted is Form.table:
        rows = [(name, show.plain(value)) for name, value in found.items()]
        show.show_rows("", ["part", "found"], rows, figures=False)
    else:
        show.records([found], wanted)
    if not opened:
        raise typer.Exit(1)


def _version(name: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _storage(storage: str) -> tuple[bool, str]:
    """Whether it can be used, and in what state it is; a default that is not there yet is fine."""
    from pathlib import Path

    from levelled.campaigns import open_store
    from levelled.errors import StorageError

    if storage == DEFAULT_STORAGE and not Path("levelled.db").exists():
        return True, "not there yet, made by the first levelled create"
    try:
        with open_store(storage, create=False) as store:
            return True, f"opens, {len(store.names())} campaigns"
    except StorageError as refused:
        return False, str(refused)
