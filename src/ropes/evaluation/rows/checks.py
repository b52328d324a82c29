"""Checks that all kinds of rows share."""

import math
from collections.abc import Iterable, Mapping
from typing import Any, Protocol


class MeasuredRow(Protocol):
    """What rows of every kind have."""

    def __init__(self, **figures: Any) -> None: ...

    @property
    def seed(self) -> int:
        """Of the training."""

    @property
    def conditions(self) -> tuple[object, ...]:
        """Everything but the training seed that the figures depend on."""


def require_names(row: Any, names: Iterable[str]) -> None:
    """Check that these fields are words.

    Raises:
        ValueError: one is empty or no string.
    """
    for name in names:
        if not (isinstance(getattr(row, name), str) and getattr(row, name)):
            raise ValueError(f"{name} must be a name, got {getattr(row, name)!r}")


def require_counts(row: Any, names: Iterable[str]) -> None:
    """Check that these fields are whole numbers of at least 0.

    Raises:
        ValueError: one is not.
    """
    for name in names:
        value = getattr(row, name)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise ValueError(f"{name} must be a whole number of at least 0, got {value!r}")


def is_finite_number(value: Any) -> bool:
    """Whether this is a number that a float can hold, and neither NaN nor infinite."""
    try:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:  # a whole number beyond every float
        return False


def require_number(row: Any, name: str, top: float = math.inf, *, or_null: bool = False) -> None:
    """Check that a field is a finite number from 0 to `top`, or, with `or_null`, None.

    Raises:
        ValueError: it is not.
    """
    value = getattr(row, name)
    if value is None and or_null:
        return
    if not is_finite_number(value):
        raise ValueError(f"{name} must be a finite number{' or null' if or_null else ''}, got {value!r}")
    if not 0 <= value <= top:
        raise ValueError(f"{name} must lie in 0 to {top:g}, got {value!r}")


def require_tables(row: Any, names: Iterable[str], *, nested: Iterable[str] = ()) -> None:
    """Check that these fields are tables by name, and those of `nested` tables of such tables.

    Raises:
        ValueError: one is not.
    """
    for name in names:
        if not isinstance(getattr(row, name), Mapping):
            raise ValueError(f"{name} must be named figures, got {getattr(row, name)!r}")
    for name in nested:
        for key, table in getattr(row, name).items():
            if not isinstance(table, Mapping):
                raise ValueError(f"{name} of {key} must be named figures, got {table!r}")


def require_figures(figures: Mapping[str, Any]) -> None:
    """Check that all are finite numbers.

    Raises:
        ValueError: one is not.
    """
    for name, value in figures.items():
        if not is_finite_number(value):
            raise ValueError(f"{name} must be a finite number, got {value!r}")
