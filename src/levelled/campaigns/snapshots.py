"""Snapshots: the state of a campaign and its betting games, so that the next process need not
fold the whole log.

A snapshot is only a cache. It is used if it carries a code made with this user's key, which lies
outside of the database, and if it is of this version and of an event that is still in the log,
whose hash stands for all before it. Anything else means that the log is read from its beginning.
"""

import hmac
import io
import json
import os
import secrets
import zipfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from levelled.campaigns.drawing.drawn_items import DrawnItems, ItemColumns, columns_of
from levelled.campaigns.figures.betting import SavedGame
from levelled.campaigns.figures.settled import FigureCache, KeptLosses, labels_of
from levelled.campaigns.log.state import CampaignState, state_from_plain, state_to_plain
from levelled.campaigns.settings import CampaignSettings
from levelled.errors import LevelledError
from levelled.metrics.named import OwnLosses

_MAGIC = b"levelled snapshot 2\n"
_CODE = 64
"""The length of the code, in hexadecimal digits."""
_ODD = (LevelledError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError, OSError)
_ODD_FILE = (zipfile.BadZipFile, EOFError, RecursionError, MemoryError, NotImplementedError)


@dataclass(frozen=True, slots=True, eq=False)
class KeptState:
    """The content of a snapshot."""

    hash: str
    """The hash of the last event that the state contains."""
    state: CampaignState
    cache: FigureCache


@cache
def _version() -> str:
    return version("levelled")


def pack(last_hash: str, state: CampaignState, cache: FigureCache) -> bytes | None:
    """A snapshot after the event `last_hash`, with the code of this user; None without a key."""
    key = key_of_user()
    if key is None:
        return None
    header = {
        "version": _version(),
        "hash": last_hash,
        "n_events": state.n_events,
        "level": state.settings.level,
    }
    out = io.BytesIO()
    np.savez(out, allow_pickle=False, **_to_arrays(state, cache))
    body = json.dumps(header).encode() + b"\n" + out.getvalue()
    return _MAGIC + _code(key, body) + body


def is_authentic(data: bytes) -> bool:
    """True if a snapshot was written with the key of this user and has not been changed since."""
    start = len(_MAGIC)
    key = key_of_user() if data.startswith(_MAGIC) else None
    if key is None:
        return False
    code = _code(key, data[start + _CODE :])
    return hmac.compare_digest(code, data[start : start + _CODE])


def is_of_this_version(data: bytes) -> bool:
    """True for a snapshot that this version wrote, as far as its beginning says."""
    line = data[len(_MAGIC) + _CODE :].partition(b"\n")[0]
    with suppress(*_ODD, *_ODD_FILE):
        return data.startswith(_MAGIC) and json.loads(line)["version"] == _version()
    return data.startswith(_MAGIC)


def unpack(data: bytes) -> KeptState | None:
    """The content of a snapshot, whoever wrote it; None if it is damaged or of another version."""
    if not data.startswith(_MAGIC):
        return None
    line, _, body = data[len(_MAGIC) + _CODE :].partition(b"\n")
    try:
        header = json.loads(line)
        if header["version"] != _version():
            return None
        with np.load(io.BytesIO(body), allow_pickle=False) as arrays:
            state, cache = _from_arrays({name: arrays[name] for name in arrays.files})
        described = header["n_events"], header["level"]
        if described != (state.n_events, state.settings.level) or len(state.draws) < state.n_asked:
            return None
        return KeptState(header["hash"], state, cache)
    except (*_ODD, *_ODD_FILE):
        return None


def key_of_user() -> bytes | None:
    """The secret key of this user, made at its first use; None if there is no place for it."""
    with suppress(OSError, RuntimeError):
        path = _cache_folder() / "snapshot.key"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            made = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
            made.touch(mode=0o600)
            made.write_bytes(secrets.token_bytes(32))
            with suppress(FileExistsError):  # another process was faster
                os.link(made, path)
            made.unlink()
        key = path.read_bytes()
        return key if len(key) == 32 else None
    return None


def _cache_folder() -> Path:
    """$LEVELLED_CACHE, else the folder of Levelled among the caches of this user."""
    if named := os.environ.get("LEVELLED_CACHE"):
        return Path(named).expanduser()
    caches = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return (Path(caches) if caches else Path.home() / ".cache") / "levelled"


def _code(key: bytes, body: bytes) -> bytes:
    return blake2b(body, key=key, digest_size=_CODE // 2).hexdigest().encode()


def _to_arrays(state: CampaignState, cache: FigureCache) -> dict[str, NDArray[Any]]:
    draws = state.draws
    parts = draws.columns() if isinstance(draws, DrawnItems) else [*columns_of(draws)]
    arrays: dict[str, NDArray[Any]] = {}
    columns = []
    for at, part in enumerate(parts):
        plain, its_arrays = part.to_arrays()
        columns.append(plain)
        arrays |= {f"draws{at}.{name}": values for name, values in its_arrays.items()}
    losses = [
        (key, kept) for key, kept in cache.losses.items() if _can_be_kept(state, key[0], kept)
    ]
    arrays |= {f"losses{at}": kept.table for at, (_, kept) in enumerate(losses)}
    plain = {
        "settings": state.settings.to_json(),
        "state": state_to_plain(state),
        "draws": columns,
        "games": {name: game.to_json() for name, game in cache.games.items()},
        "losses": [key for key, _ in losses],
    }
    return {**arrays, "plain": np.frombuffer(json.dumps(plain).encode(), dtype=np.uint8)}


def _can_be_kept(state: CampaignState, metric: str, kept: KeptLosses) -> bool:
    """True for losses of the present labels, by code of Levelled: a user's own may change."""
    own = {one.name for one in state.settings.metrics if isinstance(one, OwnLosses)}
    return metric not in own and kept.labels == labels_of(state, len(kept.labels))


def _from_arrays(arrays: Mapping[str, NDArray[Any]]) -> tuple[CampaignState, FigureCache]:
    plain = json.loads(arrays["plain"].tobytes())
    parts = []
    for at, part in enumerate(plain["draws"]):
        prefix = f"draws{at}."
        its_arrays = {
            name.removeprefix(prefix): values
            for name, values in arrays.items()
            if name.startswith(prefix)
        }
        parts.append(ItemColumns.from_arrays(part, its_arrays))
    ids = chain.from_iterable(part.ids for part in parts)
    state = CampaignState(
        CampaignSettings.from_json(plain["settings"]),
        DrawnItems(parts),
        draw_of={str(one): draw for draw, one in enumerate(ids, 1)},
        **state_from_plain(plain["state"]),
    )
    cache = FigureCache(columns=_columns(state, parts))
    cache.games = {name: SavedGame.from_json(game) for name, game in plain["games"].items()}
    for at, (metric, (model, fingerprint)) in enumerate(plain["losses"]):
        table = arrays[f"losses{at}"]
        labels = labels_of(state, table.shape[1])
        cache.losses[metric, (model, fingerprint)] = KeptLosses(labels, table)
    return state, cache


def _columns(state: CampaignState, parts: Sequence[ItemColumns]) -> dict[object, NDArray[Any]]:
    """The columns that estimates read, of the draws that somebody was given."""
    n = state.n_asked
    if not parts or not n:
        return {}
    found: dict[object, list[NDArray[Any]]] = {
        "row": [part.row for part in parts],
        "probability": [part.probability for part in parts],
    }
    for name in set.intersection(*({*part.by_name["design"]} for part in parts)):
        found[name] = [part.by_name["design"][name] for part in parts]
    for column in state.settings.slices:
        found["slice", column] = [np.array(part.by_name["slices"][column]) for part in parts]
    for model in state.settings.models:
        if all(model in part.by_name["pred"] for part in parts):
            found["pred", (model, None)] = [np.array(part.by_name["pred"][model]) for part in parts]
    for model, later in state.attached.items():
        pred = [later.pred[draw] for draw in range(1, n + 1)]
        found["pred", (model, later.fingerprint)] = [np.array(pred)]
    return {key: np.concatenate(values)[:n] for key, values in found.items()}
