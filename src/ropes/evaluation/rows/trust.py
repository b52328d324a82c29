"""Rows of interval coverage and of the flag's rates."""

import math
from dataclasses import dataclass

from ropes.evaluation.rows.checks import require_counts, require_names, require_number

INTERVALS = ("commanded", "anchors", "labels", "own")


@dataclass(frozen=True, kw_only=True)
class TrustRow:
    """One setup × method × split × occlusion × joint × kind of interval × training seed.

    Attributes:
        setup, method, split, occlusion, joint, seed: as in `ropes.evaluation.rows.joint.Row`.
        intervals: "commanded" (no label at all: their width rests on held-out anchors, the map to radians on commanded
            distributions), "anchors" (only the map's line took labels), "labels" (the width took them as well) or
            "own" (of a method that learnt from labels: from those that it held out).
        level: share of the truths that they are meant to hold.
        calibration_labels: labelled poses that the line to radians, and with "labels" the width, was fitted on, as
            `ropes calibrate` draws them: of anchors that no weight was fitted on, without squares; 0 for "commanded"
            and "own".
        coverage: share of the truths that they held, in [0, 1].
        width: their mean width, radians.
        auroc: of the distance between these images and in-distribution ones without squares, in [0, 1]; None for
            the latter themselves.
        flagged: share of the images called unusual, in [0, 1].

    Raises:
        ValueError: a figure is not finite or out of its range, or a name is empty or unknown.
    """

    setup: str
    method: str
    split: str
    occlusion: int
    joint: str
    seed: int
    intervals: str
    level: float
    calibration_labels: int
    coverage: float
    width: float
    auroc: float | None
    flagged: float

    def __post_init__(self) -> None:
        require_names(self, ("setup", "method", "joint"))
        if self.split not in ("id", "ood"):
            raise ValueError(f"split must be id or ood, got {self.split!r}")
        if self.intervals not in INTERVALS:
            raise ValueError(f"intervals must be one of {', '.join(INTERVALS)}, got {self.intervals!r}")
        require_counts(self, ("occlusion", "seed", "calibration_labels"))
        for name, top in (("level", 1.0), ("coverage", 1.0), ("width", math.inf), ("auroc", 1.0), ("flagged", 1.0)):
            require_number(self, name, top, or_null=name == "auroc")

    @property
    def conditions(self) -> tuple[str, str, str, int, str, str]:
        """Everything but the training seed that the figures depend on."""
        kind = f"intervals from {self.intervals}, {self.calibration_labels} labels"
        return (self.setup, self.method, self.split, self.occlusion, self.joint, kind)
