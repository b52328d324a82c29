"""Which options, and how many sources, go with which kind of source of `ropes import`."""

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from ropes.errors import UserError

#: Options of images with factors.
_OF_FACTORS = ("image_size", "crop", "grey", "seed", "test_share", "factor_columns", "image_column", "image_folder")
#: Kind of source → its options, beside source and out.
_USED_BY: dict[str, set[str]] = {
    "a folder of DREAM": {"image_size", "cameras", "crop", "grey", "test_share", "urdf"},
    "Causal Triplet's pairs": {"image_size", "manifest", "boxes", "seed"},
    "MPI3D's photographs": {
        *("cameras", "grey", "seed", "anchors", "samples", "test_anchors", "labelled", "fixed", "policies"),
    },
    "a table of factors": {*_OF_FACTORS, "policy_column"},
    "the causal chambers": {*_OF_FACTORS, "experiment"},
}
DREAM, PAIRS, PHOTOGRAPHS, TABLE, CHAMBERS = _USED_BY
ARMS = "recordings of arms"


def require_sources(sources: Sequence[Path]) -> None:
    """Check that there are sources.

    Raises:
        UserError: none is given, or one does not exist.
    """
    if not sources:
        raise UserError("give SOURCE, a recording's file or folder")
    if missing := [source for source in sources if not source.exists()]:
        raise UserError(f"{missing[0]} does not exist; give a recording's file or folder")


def require_use(command: Any, kind: str) -> None:
    """Check that no option is given that only other kinds of sources use, and one source unless they are of arms.

    Raises:
        UserError: there is such an option, or there are several sources.
    """
    if kind != ARMS and len(command.source) > 1:
        raise UserError(f"{command.source[0]} is of the kind {kind}, which is imported alone; leave other sources out")
    shared = {"cameras", "crop", "grey", "image_size", "policies", "policy_column"}
    alone = set[str]().union(*_USED_BY.values()) - shared
    used = {ARMS: {each.name for each in fields(command)} - alone, **_USED_BY}
    for each in fields(command):
        if each.name not in {"source", "out", "config"} | used[kind] and getattr(command, each.name) != each.default:
            option = f"{'no-' if each.default is True else ''}{each.name.replace('_', '-')}"
            *others, last = (other for other, names in used.items() if each.name in names)
            kinds = f"{', '.join(others)} and {last}" if others else last
            raise UserError(f"--{option} goes with {kinds}; leave it out")
