"""Rows of partial disentanglement: dependence of coordinates on joints without an intervention."""

from collections.abc import Mapping
from dataclasses import dataclass

from ropes.evaluation.rows.schema import Explained, MeasuredRow, Share


@dataclass(frozen=True, kw_only=True)
class FreedRow(MeasuredRow):
    """One setup × method × coordinate × training seed, on test poses in distribution.

    Attributes:
        joint: the coordinate's own joint, by its name in the URDF.
        correlations: each joint that varies → absolute correlation of its angle with the coordinate.
        own: share of the coordinate's variance that its own joint's angle explains.
        every: share that the angles of all joints explain.

    Raises:
        ValueError: as `MeasuredRow`, or the own joint has no correlation.
    """

    keys = ("joint",)

    joint: str
    correlations: Mapping[str, Share]
    own: Explained
    every: Explained

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.joint not in self.correlations:
            raise ValueError(f"correlations are of {', '.join(self.correlations)}, and the joint is {self.joint}")
