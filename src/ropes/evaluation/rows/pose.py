"""Rows of the end effector's pose errors."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any, Self

from ropes.evaluation.rows.schema import Amount, MeasuredRow, Share, Split

_FIGURES = ("position_mm", "orientation_deg", "add_mm", "add_auc")


@dataclass(frozen=True, kw_only=True)
class PoseRow(MeasuredRow):
    """One setup × method × split × occlusion × training seed; means and standard deviations over the repeats.

    Attributes:
        split: "id" or "ood".
        occlusion: side of the occluding squares, pixels; 0 for none.
        labels: labelled images that training reads.
        calibration_labels: labelled poses that the linear calibration is fitted on; 0 without one.
        link: name of the end effector's link.
        frame: link in whose frame poses are compared.
        position_mm_mean, position_mm_std: mean distance between the estimated and true origin of the link, mm.
        orientation_deg_mean, orientation_deg_std: mean angle between its orientations, degrees.
        add_mm_mean, add_mm_std: mean distance of the arm's keypoints (ADD), mm.
        add_auc_mean, add_auc_std: area under the accuracy-threshold curve of ADD up to 100 mm.
    """

    keys = ("split", "occlusion", "labels", "calibration_labels", "link", "frame")

    split: Split
    occlusion: int
    labels: int
    calibration_labels: int
    link: str
    frame: str
    position_mm_mean: Amount
    position_mm_std: Amount
    orientation_deg_mean: Annotated[float, (0.0, 180.0)]
    orientation_deg_std: Amount
    add_mm_mean: Amount
    add_mm_std: Amount
    add_auc_mean: Share
    add_auc_std: Amount

    @classmethod
    def measured(cls, *, means: Iterable[float], deviations: Iterable[float], **conditions: Any) -> Self:
        """A row from four means and four standard deviations: position, orientation, ADD, its AUC."""
        figures = dict(conditions)
        for name, mean, deviation in zip(_FIGURES, means, deviations, strict=True):
            figures |= {f"{name}_mean": float(mean), f"{name}_std": float(deviation)}
        return cls(**figures)

    def figures(self) -> list[tuple[float, float]]:
        """(mean, standard deviation) of position, orientation, ADD and its AUC."""
        return [(getattr(self, f"{name}_mean"), getattr(self, f"{name}_std")) for name in _FIGURES]
