"""Rows of partial disentanglement: dependence of coordinates on joints without an intervention."""

from collections.abc import Mapping
from dataclasses import dataclass

from ropes.evaluation.rows.checks import require_counts, require_figures, require_names, require_tables


@dataclass(frozen=True, kw_only=True)
class FreedRow:
    """One setup × method × coordinate × training seed, on test poses in distribution.

    Attributes:
        setup: name of the setting.
        method: as the other rows call it.
        joint: the URDF's name of the coordinate's own joint.
        seed: of training.
        correlations: joint → absolute correlation of its angle with the coordinate, in [0, 1]; every joint that varies.
        own: share of the coordinate's variance that its own joint's angle explains, at most 1; below 0 where a constant
            would explain more.
        every: share that the angles of all joints explain, likewise.

    Raises:
        ValueError: a name is empty, or a figure is not finite or out of its range.
    """

    setup: str
    method: str
    joint: str
    seed: int
    correlations: Mapping[str, float]
    own: float
    every: float

    def __post_init__(self) -> None:
        require_names(self, ("setup", "method", "joint"))
        require_counts(self, ("seed",))
        require_tables(self, ("correlations",))
        require_figures({"own": self.own, "every": self.every, **self.correlations})
        for name, value in self.correlations.items():
            if not 0 <= value <= 1:
                raise ValueError(f"the correlation with {name} must lie in 0 to 1, got {value!r}")
        for name in ("own", "every"):
            if getattr(self, name) > 1:
                raise ValueError(f"{name} must be at most 1, got {getattr(self, name)!r}")
        if self.joint not in self.correlations:
            raise ValueError(f"correlations are of {', '.join(self.correlations)}, and the joint is {self.joint}")

    @property
    def conditions(self) -> tuple[str, str, str]:
        """Everything but the training seed that the figures depend on."""
        return self.setup, self.method, self.joint
