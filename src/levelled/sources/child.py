"""The child process that opens a pool for `levelled.sources.untrusted`, with limits."""

import json
import os
import sys
from collections.abc import Mapping
from importlib.abc import MetaPathFinder
from typing import Any

from levelled.errors import LevelledError
from levelled.sources import untrusted


def answer(asked: Mapping[str, Any]) -> None:
    """Open the pool that was asked for, print what was found or what is wrong, and end."""
    untrusted.is_child = True
    _limit(asked["memory"])
    sys.meta_path.insert(0, _WithoutPandas())
    try:
        found = _open(asked)
    except LevelledError as wrong:
        found = {"error": str(wrong), "kind": type(wrong).__name__}
    except MemoryError:
        found = {"memory": True}
    sys.stdout.write(json.dumps(found, default=float))
    sys.stdout.flush()
    os._exit(0)  # without waiting for what is still read ahead


def _open(asked: Mapping[str, Any]) -> dict[str, Any]:
    import pyarrow as pa

    from levelled.sources.pool import open_pool, with_lengths

    pa.set_cpu_count(2)  # each thread reserves memory, which the limit counts
    pa.set_io_thread_count(2)
    pool = open_pool(asked["source"], **asked["options"])
    found = pool.recognised.as_dict()
    if asked["through"]:
        with_lengths(pool)  # as a new campaign has it
        pool.read_through()
    return found


class _WithoutPandas(MetaPathFinder):
    """Keeps pyarrow from importing pandas: it takes longer than all else, and nothing needs it."""

    def find_spec(self, fullname: str, *_: object) -> None:
        """Refuse pandas, and leave the rest to others."""
        if fullname == "pandas":
            raise ModuleNotFoundError(fullname, name=fullname)


def _limit(memory: int) -> None:
    try:
        import resource
    except ImportError:  # Windows
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":  # macOS does not keep it
        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
