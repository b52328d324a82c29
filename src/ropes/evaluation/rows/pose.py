"""Rows of the end effector's pose errors."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

from ropes.evaluation.rows.checks import require_counts, require_names, require_number

_FIGURES = ("position_mm", "orientation_deg", "add_mm", "add_auc")
_NAMES = ("setup", "method", "split", "link", "frame")
_COUNTS = ("occlusion", "labels", "calibration_labels", "seed")
_HIGHEST = {"orientation_deg_mean": 180.0, "add_auc_mean": 1.0}


@dataclass(frozen=True, kw_only=True)
class PoseRow:
    """One setup × method × split × occlusion × training seed; means and deviations are over the repeats.

    Attributes:
        setup: name of the setting.
        method: as "anchored".
        split: "id" or "ood".
        occlusion: side of the white squares in pixels, 0 for none.
        seed: of training.
        labels: labelled images that training read.
        calibration_labels: labelled poses that the lines to radians were fitted on; 0 without lines.
        link: the end effector.
        frame: the link in whose frame poses are compared.
        position_mm_mean, position_mm_std: of the mean distance of the link's origin from where it is, mm.
        orientation_deg_mean, orientation_deg_std: of the mean angle between its orientations, degrees.
        add_mm_mean, add_mm_std: of the mean distance of the arm's keypoints, mm.
        add_auc_mean, add_auc_std: of the area under its accuracy-threshold curve up to 100 mm, in [0, 1].

    Raises:
        ValueError: a figure is not finite or out of its range, or a name is empty.
    """

    setup: str
    method: str
    split: str
    occlusion: int
    seed: int
    labels: int
    calibration_labels: int
    link: str
    frame: str
    position_mm_mean: float
    position_mm_std: float
    orientation_deg_mean: float
    orientation_deg_std: float
    add_mm_mean: float
    add_mm_std: float
    add_auc_mean: float
    add_auc_std: float

    def __post_init__(self) -> None:
        require_names(self, _NAMES)
        require_counts(self, _COUNTS)
        for name in (f"{figure}_{end}" for figure in _FIGURES for end in ("mean", "std")):
            require_number(self, name, _HIGHEST.get(name, math.inf))

    @property
    def conditions(self) -> tuple[str, str, str, int, int, int, str, str]:
        """Everything but the training seed that the figures depend on."""
        counts = self.occlusion, self.labels, self.calibration_labels
        return (self.setup, self.method, self.split, *counts, self.link, self.frame)

    @classmethod
    def measured(cls, *, means: Iterable[float], deviations: Iterable[float], **conditions: Any) -> Self:
        """A row from four means and four deviations: position, orientation, ADD, its AUC."""
        figures: dict[str, Any] = dict(conditions)
        for end, values in (("mean", means), ("std", deviations)):
            figures |= {f"{name}_{end}": float(value) for name, value in zip(_FIGURES, values, strict=True)}
        return cls(**figures)

    def figures(self) -> list[tuple[float, float]]:
        """(mean, deviation) of position, orientation, ADD and its AUC."""
        return [(getattr(self, f"{name}_mean"), getattr(self, f"{name}_std")) for name in _FIGURES]
