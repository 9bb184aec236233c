"""Stores keep the events of campaigns. One string names a storage, everywhere."""

from levelled.campaigns.stores.opening import DEFAULT_STORAGE, copy, find_store, open_store, upgrade
from levelled.campaigns.stores.store import Snapshot, SQLStore, Store

__all__ = [
    "DEFAULT_STORAGE",
    "SQLStore",
    "Snapshot",
    "Store",
    "copy",
    "find_store",
    "open_store",
    "upgrade",
]
