"""From one storage to another, event by event, with the same hashes."""

from pathlib import Path

from levelled.campaigns.hashing import verify
from levelled.campaigns.stores.opening import open_store
from levelled.errors import ConflictError, StorageError

__all__ = ["copy"]


def copy(from_url: str | Path, to_url: str | Path) -> list[str]:
    """Copy all campaigns, and return the names of those that were not there yet.

    A campaign whose log does not verify is not copied, because its copy would verify; one that
    differs in both places is not either. Then nothing at all is.
    """
    with open_store(from_url, create=False) as source, open_store(to_url) as target:
        missing = []
        for name in source.names():
            there = target.last(name)
            if there is None:
                missing.append(name)
            elif there != source.last(name):
                raise ConflictError(
                    f"{name!r} is in both storages with different events, so nothing was copied. "
                    f"Copy to a new storage."
                )
        for name in missing:
            broken = verify(source.events(name))
            if broken:
                raise StorageError(
                    f"{name!r} cannot be trusted from event {broken.seq} on: {broken.because}. "
                    f"Nothing was copied; levelled audit says more."
                )
        for name in missing:
            target.append(name, [stored.event for stored in source.events(name)], expected=0)
    return missing
