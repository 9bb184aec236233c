"""Where the events of campaigns are kept: one string names a storage, everywhere."""

from levelled.campaigns.stores.copying import copy
from levelled.campaigns.stores.opening import DEFAULT_STORAGE, open_store
from levelled.campaigns.stores.sql import SQLStore
from levelled.campaigns.stores.store import Snapshot, Store
from levelled.campaigns.stores.upgrading import upgrade

__all__ = ["DEFAULT_STORAGE", "SQLStore", "Snapshot", "Store", "copy", "open_store", "upgrade"]
