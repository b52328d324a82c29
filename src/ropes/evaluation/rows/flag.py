"""Rows of out-of-distribution detection."""

from dataclasses import dataclass

from ropes.evaluation.rows.checks import require_counts, require_names, require_number


@dataclass(frozen=True, kw_only=True)
class FlagRow:
    """One setup × method × kind of images × training seed.

    Attributes:
        setup, method, seed: as in `ropes.evaluation.rows.joint.Row`.
        images: what they are, as "moved by 1 px".
        count: how many there were.
        auroc: of the distance between these images and in-distribution ones, in [0, 1].
        flagged: share of these images called unusual, in [0, 1].

    Raises:
        ValueError: a figure is not finite or out of its range, or a name is empty.
    """

    setup: str
    method: str
    seed: int
    images: str
    count: int
    auroc: float
    flagged: float

    def __post_init__(self) -> None:
        require_names(self, ("setup", "method", "images"))
        require_counts(self, ("seed", "count"))
        for name in ("auroc", "flagged"):
            require_number(self, name, 1.0)

    @property
    def conditions(self) -> tuple[str, str, str]:
        """Everything but the training seed that the figures depend on."""
        return (self.setup, self.method, self.images)
