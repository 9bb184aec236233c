"""Every error Levelled raises on purpose.

    LevelledError
    ├── InputError (also a ValueError)      an argument that cannot be used
    │   ├── DrawsError                      draws that cannot have happened
    │   ├── ProposalError                   a proposal that cannot be corrected for
    │   │   └── WeightError                 one weight that a race cannot take
    │   ├── LossError                       losses that break what was declared about them
    │   ├── PoolError                       a pool that cannot be read or does not fit
    │   ├── NotApprovedError                code of one's own that this user has not approved
    │   ├── InputTypeError                  (also a TypeError) an argument of the wrong type
    │   └── NotTrainedError                 (also an AttributeError) an attribute that training sets
    ├── CampaignError                       a step the campaign cannot take
    ├── StorageError                        a database that cannot be used
    │   └── ConflictError                   another process wrote first
    └── MissingExtraError (also an ImportError)

A message says what happened, why it matters and what to do, on one line.
"""

__all__ = [
    "CampaignError",
    "ConflictError",
    "DrawsError",
    "InputError",
    "InputTypeError",
    "LevelledError",
    "LossError",
    "MissingExtraError",
    "NotApprovedError",
    "NotTrainedError",
    "PoolError",
    "ProposalError",
    "StorageError",
    "WeightError",
]


class LevelledError(Exception):
    """The base of all errors that Levelled raises on purpose."""


class InputError(LevelledError, ValueError):
    """An argument that cannot be used."""


class InputTypeError(InputError, TypeError):
    """An argument of a type that cannot be used, such as text instead of numbers."""


class DrawsError(InputError):
    """Draws that cannot have happened: a probability of 0, an item drawn twice."""


class ProposalError(InputError):
    """A proposal that no weighting can correct for, or that is no distribution."""


class WeightError(ProposalError):
    """A weight that a race cannot take: that of `row` in the weights it was given."""

    def __init__(self, message: str, row: int, value: float) -> None:
        super().__init__(message, row, value)  # all three, so that it can be pickled
        self.row, self.value = row, value

    def __str__(self) -> str:
        return str(self.args[0])


class LossError(InputError):
    """Losses that break what was declared about them, such as a bound."""


class PoolError(InputError):
    """A pool that cannot be read or does not fit."""


class NotApprovedError(InputError):
    """Code that a database names and this user has not approved, or that is not there."""


class NotTrainedError(InputError, AttributeError):
    """An attribute that training sets, read before training."""


class CampaignError(LevelledError):
    """A step that a campaign refuses: a draw that was never asked, a campaign that is closed."""


class StorageError(LevelledError):
    """A database that cannot be opened, read or written, or is of another version."""


class ConflictError(StorageError):
    """Another process wrote to the campaign first: load it again and try again."""


class MissingExtraError(LevelledError, ImportError):
    """An optional dependency that is not installed."""
