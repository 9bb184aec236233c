"""The error that studies add to those of `levelled.errors`."""

from levelled.errors import LevelledError

__all__ = ["StudyError"]


class StudyError(LevelledError):
    """A study that does not exist, or results that belong to another one."""
