"""Every error Levelled raises on purpose.

    LevelledError
    ├── InputError (also a ValueError)      an argument that cannot be used
    │   ├── DrawsError                      draws that cannot have happened
    │   ├── ProposalError                   a proposal that cannot be corrected for
    │   ├── LossError                       losses that break what was declared about them
    │   ├── PoolError                       a pool that cannot be read or does not fit
    │   └── NotTrainedError                 (also an AttributeError) what only training brings
    ├── CampaignError                       a step the campaign cannot take
    ├── StorageError                        a database that cannot be used
    │   └── ConflictError                   somebody else wrote first
    └── MissingExtraError (also an ImportError)

A message says what happened, why it matters and what to do, on one line.
"""

__all__ = [
    "CampaignError",
    "ConflictError",
    "DrawsError",
    "InputError",
    "LevelledError",
    "LossError",
    "MissingExtraError",
    "NotTrainedError",
    "PoolError",
    "ProposalError",
    "StorageError",
]


class LevelledError(Exception):
    """The root of the tree: catch it to catch everything Levelled refuses."""


class InputError(LevelledError, ValueError):
    """An argument that cannot be used."""


class DrawsError(InputError):
    """Draws that cannot have happened: a probability of 0, an item drawn twice."""


class ProposalError(InputError):
    """A proposal that no weighting can correct for, or that is no distribution."""


class LossError(InputError):
    """Losses that break what was declared about them, such as a bound."""


class PoolError(InputError):
    """A pool that cannot be read or does not fit."""


class NotTrainedError(InputError, AttributeError):
    """What comes with training is not there yet; `hasattr` says so."""


class CampaignError(LevelledError):
    """A step a campaign cannot take: a draw that was never asked, a campaign that is closed."""


class StorageError(LevelledError):
    """A database that cannot be opened, read or written, or is of another version."""


class ConflictError(StorageError):
    """Somebody else wrote to the campaign first: load it again and try again."""


class MissingExtraError(LevelledError, ImportError):
    """An optional dependency that is not installed."""
