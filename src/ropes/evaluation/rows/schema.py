"""The schema of result rows: each field is declared once, and its type is its check.

A `str` is a name, an `int` a count, a `float` any finite number; `Share` and `Amount` carry a range. `| None` allows
null, and a `Mapping` is a table of figures by name.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, asdict, dataclass, fields
from functools import cache
from types import NoneType
from typing import Annotated, Any, ClassVar, TypeVar, get_args, get_origin

SPLITS = ("id", "ood")
#: A share or a coefficient, in [0, 1].
Share = Annotated[float, (0.0, 1.0)]
#: A number of at least 0.
Amount = Annotated[float, (0.0, math.inf)]
#: Coefficient of determination, negative where a constant would explain more.
Explained = Annotated[float, (-math.inf, 1.0)]
#: A test split: in or out of distribution.
Split = Annotated[str, SPLITS]
_Check = Callable[[str, Any], None]
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class MeasuredRow:
    """The fields of every kind of row.

    Attributes:
        setup: name of the setting, as "panda-2c-independent".
        method: name of the method, as "anchored", or METHOD@VARIANT.
        seed: training seed.

    Raises:
        ValueError: the value of a field contradicts its type.
    """

    #: Fields that the figures depend on, besides `setup`, `method` and `seed`.
    keys: ClassVar[tuple[str, ...]] = ()
    #: Fields that earlier versions lack; JSON leaves them out where they are None.
    added: ClassVar[tuple[str, ...]] = ()

    setup: str
    method: str
    seed: int

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def conditions(self) -> tuple[object, ...]:
        """The values of all fields that the figures depend on, except the training seed."""
        return (self.setup, self.method, *(getattr(self, key) for key in self.keys))

    def to_dict(self) -> dict[str, Any]:
        """The row for JSON; `from_json` is the inverse."""
        return {name: value for name, value in asdict(self).items() if value is not None or name not in self.added}


def check_fields(record: Any) -> None:
    """Check every field of a dataclass against its declared type. Tuples are not checked.

    Raises:
        ValueError: a value contradicts its type.
    """
    for name, check in _checks(record.__class__):
        check(name, getattr(record, name))


def from_json(kind: type[T], content: Any) -> T:
    """Build a row of this kind from JSON.

    Raises:
        ValueError: a field is missing, unknown, or contradicts its type.
    """
    check_names(kind, set(content) if isinstance(content, dict) else set())
    return kind(**content)


def check_names(kind: type[Any], given: set[str]) -> None:
    """Check that these are the names of a dataclass's fields; fields with a default may be missing.

    Raises:
        ValueError: a field is missing or unknown.
    """
    declared = {field.name for field in fields(kind)}
    required = {field.name for field in fields(kind) if field.default is field.default_factory is MISSING}
    for word, names in (("missing", required - given), ("unknown", given - declared)):
        if names:
            raise ValueError(f"{word} {', '.join(sorted(names))}")


@cache
def _checks(kind: type[Any]) -> tuple[tuple[str, _Check], ...]:
    """Field name → check."""
    return tuple((field.name, _check_of(field.type)) for field in fields(kind) if get_origin(field.type) is not tuple)


def _check_of(kind: Any, *, null: bool = False) -> _Check:
    """The check for a declared type; `null` allows None."""
    arguments = get_args(kind)
    if NoneType in arguments:
        return _check_of(arguments[0], null=True)
    if get_origin(kind) is Mapping:
        return _table_check(_check_of(arguments[1]))
    base, limits = arguments if get_origin(kind) is Annotated else (kind, None)
    if base is float:
        words, accepts = "a finite number", _is_finite_number
    elif base is int:
        words, accepts = "a whole number of at least 0", _is_count
    elif limits:
        words, accepts, limits = f"one of {', '.join(limits)}", limits.__contains__, None
    else:
        words, accepts = "a name", _is_name
    low, high = limits or (-math.inf, math.inf)

    def check(name: str, value: Any) -> None:
        if value is None and null:
            return
        if not accepts(value):
            raise ValueError(f"{name} must be {words}{' or null' if null else ''}, got {value!r}")
        if limits and not low <= value <= high:
            bounds = f"lie in {low:g} to {high:g}" if math.isfinite(low) else f"be at most {high:g}"
            raise ValueError(f"{name} must {bounds}, got {value!r}")

    return check


def _table_check(check: _Check) -> _Check:
    """The check of a table whose values each pass `check`."""

    def check_table(name: str, table: Any) -> None:
        if not isinstance(table, Mapping):
            raise ValueError(f"{name} must be named figures, got {table!r}")
        for key, value in table.items():
            check(f"{name} of {key}", value)

    return check_table


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_finite_number(value: Any) -> bool:
    """Whether a value is a finite number that a float can hold."""
    try:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:  # an integer beyond the range of float
        return False
