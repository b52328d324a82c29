"""Forward kinematics of a batch of poses, in NumPy."""

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.spatial import ConvexHull

from ropes.common.arrays import Floats
from ropes.simulation.joints import rotation
from ropes.simulation.surface import read_surface
from ropes.simulation.urdf import Urdf


def link_poses(urdf: Urdf, joints: Sequence[str], angles: Floats, rest: Mapping[str, float]) -> dict[str, Floats]:
    """Pose of every link in the base frame: T_child = T_parent · origin · motion(angle).

    A joint that mimics another follows it, even if it is among `joints`.

    Args:
        urdf: the arm.
        joints: names of the columns of `angles`.
        angles: (n, len(joints)) radians (metres for a prismatic joint).
        rest: values of the other joints by name; 0 by default.

    Returns:
        Link name → (n, 4, 4).
    """
    n = len(angles)
    values = urdf.positions(joints, angles, rest)
    poses = {urdf.base: np.broadcast_to(np.eye(4), (n, 4, 4))}
    for joint in urdf.joints:
        motion = np.broadcast_to(np.eye(4), (n, 4, 4)).copy()
        if joint.kind == "prismatic":
            motion[:, :3, 3] = values[joint.name][:, None] * joint.axis
        elif joint.moves:
            motion[:, :3, :3] = rotation(joint.axis, values[joint.name])
        poses[joint.child] = poses[joint.parent] @ joint.origin @ motion
    return poses


def outline(urdf: Urdf) -> dict[str, Floats]:
    """Corners of the convex hull of each link's visible shapes: link name → (points, 3), in the link's frame.

    A link lies within its hull in every image.  So a link is in view if these points are.
    """
    points: dict[str, list[Floats]] = {}
    for visual in urdf.visuals:
        shape = visual.corners if visual.mesh is None else hull(read_surface(visual.mesh).points * visual.scale)
        points.setdefault(visual.link, []).append(shape @ visual.origin[:3, :3].T + visual.origin[:3, 3])
    return {link: hull(np.concatenate(shapes)) for link, shapes in points.items()}


def visible_points(
    urdf: Urdf, hulls: Mapping[str, Floats], joints: Sequence[str], angles: Floats, rest: Mapping[str, float]
) -> Floats:
    """The hulls' corners in the base frame for every pose, (n, points, 3); see `link_poses`, `outline`."""
    poses = link_poses(urdf, joints, angles, rest)
    points = [
        corners @ poses[link][:, :3, :3].swapaxes(1, 2) + poses[link][:, None, :3, 3] for link, corners in hulls.items()
    ]
    return np.concatenate(points, axis=1)


def hull(points: Floats) -> Floats:
    """Corners of the convex hull of points (n, 3); all points that differ where they lie in a plane."""
    unique = np.unique(points, axis=0)
    # A flat or thin shape has no hull with a volume; all its points are kept.
    flat = len(unique) < 5 or np.linalg.matrix_rank(unique - unique.mean(axis=0), tol=1e-9) < 3
    return unique if flat else unique[ConvexHull(unique).vertices]
