"""Rows of results.json that say how far intervals and flags could be trusted."""

import math
from dataclasses import dataclass

INTERVALS = ("anchors", "labels")


@dataclass(frozen=True, kw_only=True)
class TrustRow:
    """One setup × method × split × occlusion × joint × kind of interval × training seed.

    Attributes:
        setup, method, split, occlusion, joint, seed: as in `ropes.results.Row`.
        intervals: "anchors" (their width rests on held-out anchors, no label) or "labels" (on labelled poses).
        level: share of the truths that they are meant to hold.
        calibration_labels: labelled poses that the line to radians, and with "labels" the width, was fitted on;
            all in distribution and without squares.
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
        for name in ("setup", "method", "joint"):
            if not (isinstance(getattr(self, name), str) and getattr(self, name)):
                raise ValueError(f"{name} must be a name, got {getattr(self, name)!r}")
        if self.split not in ("id", "ood"):
            raise ValueError(f"split must be id or ood, got {self.split!r}")
        if self.intervals not in INTERVALS:
            raise ValueError(f"intervals must be {' or '.join(INTERVALS)}, got {self.intervals!r}")
        for name in ("occlusion", "seed", "calibration_labels"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 0:
                raise ValueError(f"{name} must be a whole number of at least 0, got {value!r}")
        for name, top in (("level", 1.0), ("coverage", 1.0), ("width", math.inf), ("auroc", 1.0), ("flagged", 1.0)):
            value = getattr(self, name)
            if value is None and name == "auroc":
                continue
            if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
                raise ValueError(f"{name} must be a finite number, got {value!r}")
            if not 0 <= value <= top:
                raise ValueError(f"{name} must lie in 0 to {top:g}, got {value!r}")

    @property
    def conditions(self) -> tuple[str, str, str, int, str, str]:
        """Everything but the training seed that the figures depend on."""
        return (self.setup, self.method, self.split, self.occlusion, self.joint, f"intervals from {self.intervals}")
