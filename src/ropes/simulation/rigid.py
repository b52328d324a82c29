"""The rigid motions that bring points onto other points."""

import numpy as np

from ropes.common.arrays import Floats


def rigid_motions(points: Floats, targets: Floats) -> tuple[Floats, Floats]:
    """Rotation R and translation t of each pair of point sets that minimise Σ_k ‖R p_k + t − q_k‖².

    With the centred points in the columns of P and Q and the singular value decomposition P Qᵀ = U S Vᵀ, R = V D Uᵀ,
    where D = diag(1, 1, det(V Uᵀ)) excludes reflections.  Points on a line leave the turn about it undetermined.

    Source: Kabsch 1976.

    Args:
        points: (n, k, 3).
        targets: (n, k, 3).

    Returns:
        Motions (n, 4, 4), and the distances that remain, (n, k).
    """
    center, target_center = points.mean(axis=1, keepdims=True), targets.mean(axis=1, keepdims=True)
    u, _, vt = np.linalg.svd((points - center).swapaxes(1, 2) @ (targets - target_center))
    v, ut = vt.swapaxes(1, 2), u.swapaxes(1, 2)
    reflected = np.ones((len(points), 3))
    reflected[:, 2] = np.linalg.det(v @ ut)
    motions = np.tile(np.eye(4), (len(points), 1, 1))
    motions[:, :3, :3] = (v * reflected[:, None]) @ ut
    motions[:, :3, 3] = (target_center - center @ motions[:, :3, :3].swapaxes(1, 2))[:, 0]
    moved = points @ motions[:, :3, :3].swapaxes(1, 2) + motions[:, None, :3, 3]
    return motions, np.linalg.norm(moved - targets, axis=2)
