"""Stores keep the events of campaigns. One string names a storage, everywhere."""

from levelled.campaigns.stores.opening import (
    DEFAULT_STORAGE,
    Upgrade,
    backup,
    copy,
    find_store,
    open_store,
    place_of,
    upgrade,
)
from levelled.campaigns.stores.store import Read, Snapshot, SQLStore, Store

__all__ = [
    "DEFAULT_STORAGE",
    "Read",
    "SQLStore",
    "Snapshot",
    "Store",
    "Upgrade",
    "backup",
    "copy",
    "find_store",
    "open_store",
    "place_of",
    "upgrade",
]
