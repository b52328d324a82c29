"""What every kind of row in results.json is checked for."""

import math
from collections.abc import Iterable, Mapping
from typing import Any


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


def require_number(row: Any, name: str, top: float = math.inf, *, or_null: bool = False) -> None:
    """Check that a field is a finite number from 0 to `top`, or, with `or_null`, None.

    Raises:
        ValueError: it is not.
    """
    value = getattr(row, name)
    if value is None and or_null:
        return
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{name} must be a finite number{' or null' if or_null else ''}, got {value!r}")
    if not 0 <= value <= top:
        raise ValueError(f"{name} must lie in 0 to {top:g}, got {value!r}")


def require_figures(figures: Mapping[str, Any]) -> None:
    """Check that all are finite numbers.

    Raises:
        ValueError: one is not.
    """
    for name, value in figures.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise ValueError(f"{name} must be a finite number, got {value!r}")
