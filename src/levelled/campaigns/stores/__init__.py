"""Stores keep the events of campaigns. One string names a storage, everywhere."""

from levelled.campaigns.options import DEFAULT_STORAGE
from levelled.campaigns.stores.store import (
    ROLES,
    Read,
    Store,
    Token,
    Upgrade,
    backup,
    copy,
    find_store,
    find_token,
    hash_token,
    open_store,
    place_of,
    upgrade,
)

__all__ = [
    "DEFAULT_STORAGE",
    "ROLES",
    "Read",
    "Store",
    "Token",
    "Upgrade",
    "backup",
    "copy",
    "find_store",
    "find_token",
    "hash_token",
    "open_store",
    "place_of",
    "upgrade",
]
