"""Keywords of earlier versions of public functions."""

import warnings
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def with_old_keywords(**names: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator: the function still takes renamed keywords, with a DeprecationWarning that gives the new name.

    Args:
        names: old keyword → new keyword.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            for old, new in names.items():
                if old in kwargs and new not in kwargs:
                    warnings.warn(f"{old} is now {new}", DeprecationWarning, stacklevel=2)
                    kwargs[new] = kwargs.pop(old)
            return function(*args, **kwargs)

        return call

    return decorate
