"""Loads the objects that other packages add by entry points."""

from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Any


def load_plugins(group: str, fault: Callable[[str, object], str | None]) -> tuple[dict[str, Any], dict[str, str]]:
    """Load all entry points of a group.

    Args:
        group: name of the group, such as "ropes.methods".
        fault: (name, object) → the fault of an object that cannot be used; None if it can.

    Returns:
        Name → usable object, and name → fault of each other entry point.
    """
    usable, broken = {}, {}
    for point in entry_points(group=group):
        try:
            loaded = point.load()
            reason = fault(point.name, loaded)
        except Exception as error:  # a fault in another package must not break every command
            reason = f"{type(error).__name__}: {error}"
        if reason is None:
            usable[point.name] = loaded
        else:
            broken[point.name] = reason
    return usable, broken
