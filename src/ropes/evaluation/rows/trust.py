"""Rows of interval coverage and out-of-distribution rates."""

from dataclasses import dataclass
from typing import Annotated

from ropes.evaluation.rows.schema import Amount, MeasuredRow, Share, Split

INTERVALS = ("commanded", "anchors", "labels", "own")


@dataclass(frozen=True, kw_only=True)
class CoverageRow(MeasuredRow):
    """One setup × method × split × occlusion × joint × kind of interval × training seed.

    Attributes:
        split, occlusion, joint: as in `ropes.evaluation.rows.joint.Row`.
        intervals: what the intervals are computed from. "commanded": width from held-out anchors, map to radians from
            known policy distributions, no labels. "anchors": labels for the map only. "labels": labels for map and
            width. "own": held-out labels of a supervised method.
        level: nominal coverage.
        calibration_labels: labelled poses for the map, and with "labels" for the width, drawn as by `ropes calibrate`
            from anchors outside of training, without occlusion; 0 for "commanded" and "own".
        coverage: share of the true angles inside their intervals.
        width: mean width of the intervals, radians.
        auroc: of the distance, between these images and in-distribution ones without occlusion; None for the latter
            themselves.
        flagged: share of the images that are flagged as out of distribution.
    """

    keys = ("split", "occlusion", "joint", "intervals", "calibration_labels")

    split: Split
    occlusion: int
    joint: str
    intervals: Annotated[str, INTERVALS]
    level: Share
    calibration_labels: int
    coverage: Share
    width: Amount
    auroc: Share | None
    flagged: Share
