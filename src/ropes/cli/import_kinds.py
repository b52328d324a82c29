"""Which options of `ropes import` go with which kind of source."""

from dataclasses import fields
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


def require_use(command: Any, kind: str) -> None:
    """Check that no option is given that only other kinds of sources use.

    Raises:
        UserError: there is one.
    """
    shared = {"cameras", "crop", "grey", "image_size", "policies", "policy_column"}
    alone = set[str]().union(*_USED_BY.values()) - shared
    used = {ARMS: {each.name for each in fields(command)} - alone, **_USED_BY}
    for each in fields(command):
        if each.name not in {"source", "out", "config"} | used[kind] and getattr(command, each.name) != each.default:
            option = f"{'no-' if each.default is True else ''}{each.name.replace('_', '-')}"
            *others, last = (other for other, names in used.items() if each.name in names)
            kinds = f"{', '.join(others)} and {last}" if others else last
            raise UserError(f"--{option} goes with {kinds}; leave it out")
