"""`UserError`: an error that the user can mend. The command line prints its one line and exits with code 2."""

from collections.abc import Sequence
from typing import Any


class UserError(Exception):
    """Input that the user can mend: the message says what is wrong, where, and what to do."""


class UnfinishedError(UserError):
    """Some of several jobs failed; the others have ended, and what they left can be used."""


def one_of(known: Sequence[Any], name: Any, what: str) -> Any:
    """The one of the `known` that is called so; `what` says what they are.

    Raises:
        UserError: there is none.
    """
    if name in known:
        return name
    raise UserError(f"unknown {what} {name!r}: choose one of {', '.join(known)}")
