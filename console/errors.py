"""The error that a command shows without a traceback."""


class UserError(Exception):
    """An error that the user can fix. Commands show its message without a traceback."""
