"""Errors that a user can fix. Each message says what is wrong, where, and how to fix it.

Any other exception is a bug in Regard and reaches the user as a traceback.
"""


class UserError(Exception):
    """An error that the user can fix. The command line prints its message and exits with code 2."""


class DataError(UserError):
    """A corpus that cannot be read."""


class SettingsError(UserError):
    """A setting that is unknown, has the wrong type, or contradicts another setting."""


class FolderError(UserError):
    """A model folder that is missing, damaged, or in an unsupported format."""


class DiskError(UserError):
    """A disk without enough space for a file that must be written."""


class RunError(UserError):
    """A training run that cannot start or continue."""


class LookError(UserError):
    """A text, word or address that cannot be inspected."""
