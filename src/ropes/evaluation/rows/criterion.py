"""Rows of method ropes' label-free criteria, one per joint."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from ropes.evaluation.rows.schema import Amount, MeasuredRow


@dataclass(frozen=True, kw_only=True)
class CriterionRow(MeasuredRow):
    """One setup × method × joint × training seed, measured on held-out anchors.

    Attributes:
        joint: name in the URDF.
        contrast: cross-entropy of discriminating the joint's two policies by its coordinate alone, nats.
        floor: Bayes floor of `contrast`, nats; None if the data set describes no policy distributions.
        own: E|J_gᵀ Δs_i| at the joint's own coordinate, ideally 1 (Eq. 3); None without an AE2.
        beside: largest of these at another coordinate, ideally 0 (Eq. 3); None without an AE2, or with one joint.
        tangent: share of Δs_i tangent to the decoder's manifold, see `ropes.methods.ropes.objectives.tangent_share`;
            None without an AE2, and for fits of earlier versions.
    """

    keys = ("joint",)

    joint: str
    contrast: Amount
    floor: Amount | None
    own: Amount | None
    beside: Amount | None
    tangent: Annotated[float, (0.0, 1.0 + 1e-6)] | None


def criterion_rows(training: Mapping[str, Any], called: str) -> tuple[CriterionRow, ...]:
    """The rows of a fit of method ropes.

    Args:
        training: the run's training summary, training.json.
        called: name of the method in the rows.
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
