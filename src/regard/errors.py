"""What a user can mend. Every such error says what is wrong, where, and how to fix it.

Anything else that goes wrong is our own fault and stays a plain exception with a traceback.
"""


class UserError(Exception):
    """Something the user can fix. The command line prints it after `error:` and exits 2."""


class DataError(UserError):
    """A corpus that cannot be read as it is."""


class SettingsError(UserError):
    """A setting that is unknown, of the wrong type, or contradicts another."""


class FolderError(UserError):
    """A model folder that is missing, damaged, or of another format."""


class DiskError(UserError):
    """A disk without room for what must be written."""


class RunError(UserError):
    """A training run that cannot start or go on as asked."""


class LookError(UserError):
    """A text, word or address that cannot be looked at."""
