"""The public surface that golden files are made through, and what is taken out of them."""

import io
import json
import platform
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from levelled import cli
from levelled.campaigns import Campaign, open_store

TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(\+00:00|Z| UTC)?")
HASH = re.compile(r"\b[0-9a-f]{64}\b")
OF_THE_LOG = ("last_hash", "hash", "prev_hash", "log")
CLOCKED = ("seconds", "at", "until", "since")


def command(*words: object, given: str = "") -> dict[str, Any]:
    """Exit code and standard output of a command, run in this process as a user types it."""
    out, said = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["levelled", *map(str, words)])
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given.encode())))
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", said)
        patch.setenv("COLUMNS", "120")
        with pytest.raises(SystemExit) as ended:
            cli.main()
    code = int(ended.value.code or 0)
    out.seek(0)
    text = out.read()
    if code == 1:
        raise AssertionError(f"levelled {' '.join(map(str, words))}: {said.getvalue()}")
    return {"code": code, "out": text}


def printed(*words: object, given: str = "") -> dict[str, Any]:
    """The same with the output read as JSON."""
    done = command(*words, "--format", "json", given=given)
    return {"code": done["code"], "out": json.loads(done["out"])}


@contextmanager
def streamed() -> Iterator[None]:
    """Read every pool in runs, as pools are read that are too large for memory.

    This is the one place that names how: the bytes above which a pool is streamed.
    """
    from levelled.sources import rows

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LEVELLED_STREAM_ABOVE", "0")
        patch.setattr(rows, "BATCH", 32)
        yield


def events(storage: Path, name: str) -> list[dict[str, Any]]:
    """The events of a campaign; their chain of hashes is checked by the documented rule."""
    with open_store(storage) as store:
        stored = list(store.events(name))
    before = "0" * 64
    for place, one in enumerate(stored):
        text = json.dumps(one.event, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        assert (one.seq, one.prev_hash) == (place, before)
        before = sha256((before + text).encode()).hexdigest()
        assert one.hash == before, f"event {place} of {name!r}"
    return [dict(one.event) for one in stored]


def figures(campaign: Campaign) -> list[dict[str, Any]]:
    return [figure.as_dict() for figure in campaign.estimate()]


def without_times(value: Any, folder: Path) -> Any:  # noqa: ANN401
    """A JSON value without what differs from one run to the next: times, hashes, folders."""
    if isinstance(value, Mapping):
        return {
            key: f"<{key}>"
            if inner is not None and key in (*CLOCKED, *OF_THE_LOG)
            else without_times(inner, folder)
            for key, inner in value.items()
        }
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [without_times(inner, folder) for inner in value]
    if isinstance(value, str):
        text = TIME.sub("<time>", value.replace(str(folder), "<folder>"))
        return text if HASH.fullmatch(text) else HASH.sub("<hash>", text)  # a fingerprint stays
    return value


def written_with() -> dict[str, Any]:
    """What the last bit of a result depends on beside the code."""
    packages = ("numpy", "scipy", "scikit-learn", "pyarrow")
    return {
        **{name: version(name) for name in packages},
        "machine": platform.machine(),
        "instructions": np.show_config(mode="dicts")["SIMD Extensions"]["found"],
    }
