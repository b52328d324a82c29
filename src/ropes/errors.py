"""Errors that the user can fix. The command line prints the message as one line and exits with code 2."""

import difflib
from collections.abc import Iterable, Sequence
from typing import Any


class UserError(Exception):
    """An error in the user's input: the message says what is wrong, where, and what to do."""


class UnfinishedError(UserError):
    """Some of several jobs failed; the others finished and their results are usable."""


def in_one_line(error: object) -> str:
    """The message of another library's error on one line, for the message of a `UserError`."""
    return " ".join(str(error).split())


def install_command(extra: str) -> str:
    """The command that installs an extra of ropes, which is installed from a clone of its repository."""
    return f"pip install -e '.[{extra}]' in the clone of ropes"


def one_of(known: Sequence[Any], name: Any, what: str) -> Any:
    """Return `name` if it is one of the `known` names; `what` is their kind.

    Raises:
        UserError: it is not.
    """
    if name in known:
        return name
    raise UserError(f"unknown {what} {name!r}: choose one of {', '.join(known)}")


def require_name(name: str, known: Sequence[str], kind: str) -> None:
    """Check that `name` is one of the `known` names.

    Raises:
        UserError: unknown name; suggests the closest one.
    """
    if name not in known:
        hint = suggestion(name, known, f"choose one of {', '.join(known)}")
        raise UserError(f"unknown {kind} {name!r}: {hint}")


def suggestion(name: str, known: Iterable[str], otherwise: str) -> str:
    """The question whether the most similar known name was meant, or `otherwise` if none is similar."""
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"did you mean {close[0]}?" if close else otherwise
