"""Files that are replaced at once, never left half written, and those of this user alone."""

import os
import secrets
from collections.abc import Callable
from pathlib import Path


def replace_file(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` make a file beside `path`, then rename it to `path`.

    A reader sees the old file or the complete new one. If two processes write at once, the last
    one wins. If `write` raises an error, `path` stays as it was.
    """
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        write(unfinished)
        unfinished.replace(path)
    except OSError as wrong:
        wrong.filename = str(path)  # the name that the user knows
        raise
    finally:
        unfinished.unlink(missing_ok=True)


def cache_folder() -> Path:
    """$LEVELLED_CACHE, else the folder of Levelled among the caches of this user."""
    if named := os.environ.get("LEVELLED_CACHE"):
        return Path(named).expanduser()
    caches = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return (Path(caches) if caches else Path.home() / ".cache") / "levelled"


def is_private(status: os.stat_result) -> bool:
    """True for what belongs to this user and nobody else may use; not so for a link."""
    if not hasattr(os, "geteuid"):  # Windows, where the folder of the user is the user's
        return True
    return status.st_uid == os.geteuid() and not status.st_mode & 0o077
