"""The one exception that users meet: a clear line, exit code 2, no traceback."""


class UserError(Exception):
    """Input that the user can mend: the message says what is wrong, where, and what to do."""


class UnfinishedError(UserError):
    """Some of several jobs failed; the others have ended, and what they left can be used."""
