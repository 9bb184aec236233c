"""Files that are replaced at once, never left half written."""

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
