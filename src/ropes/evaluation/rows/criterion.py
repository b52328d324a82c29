"""Rows of method ropes' label-free criteria, one per joint."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ropes.evaluation.rows.checks import require_counts, require_names, require_number


@dataclass(frozen=True, kw_only=True)
class CriterionRow:
    """One setup × method × joint × training seed; everything is of held-out anchors.

    Attributes:
        setup: name of the setting.
        method: as the other rows call it.
        joint: the URDF's name.
        seed: of training.
        contrast: cross-entropy, nats, of telling the joint's two policies apart by its coordinate alone.
        floor: the least that it can be, nats; None where the data set does not tell its distributions.
        own: E|J_gᵀ Δs_i| at the joint's own coordinate, which Eq. 3 asks to be 1; None without any AE2.
        beside: the greatest at another coordinate, which Eq. 3 asks to be 0; likewise, and None with one joint.
        tangent: share of Δs_i along the codes that the decoder draws, see `ropes.methods.objectives.tangent_share`;
            None without any AE2, and for fits by earlier versions.

    Raises:
        ValueError: a name is empty, or a figure is not finite or out of its range.
    """

    setup: str
    method: str
    joint: str
    seed: int
    contrast: float
    floor: float | None
    own: float | None
    beside: float | None
    tangent: float | None

    def __post_init__(self) -> None:
        require_names(self, ("setup", "method", "joint"))
        require_counts(self, ("seed",))
        require_number(self, "contrast")
        for name in ("floor", "own", "beside"):
            require_number(self, name, or_null=True)
        require_number(self, "tangent", 1.0 + 1e-6, or_null=True)

    @property
    def conditions(self) -> tuple[str, str, str]:
        """Everything but the training seed that the figures depend on."""
        return self.setup, self.method, self.joint


def criterion_rows(training: Mapping[str, Any], called: str) -> tuple[CriterionRow, ...]:
    """The rows of a fit of method ropes, from what it stored of its training.

    Args:
        training: content of the run's training.json.
        called: what the other rows call the method.
    """
    joints, matrix = training["joints"], training.get("sparsity_matrix")
    rows = []
    for k, joint in enumerate(joints):
        others = [] if matrix is None else [*matrix[k][:k], *matrix[k][k + 1 :]]
        rows.append(
            CriterionRow(
                setup=training["setup"],
                method=called,
                joint=joint,
                seed=training["seed"],
                contrast=training["coordinate_contrast"][joint],
                floor=training["stages"]["ldr"][joint]["floor"],
                own=None if matrix is None else matrix[k][k],
                beside=max(others, default=None),
                tangent=training.get("tangent_share", {}).get(joint),
            )
        )
    return tuple(rows)
