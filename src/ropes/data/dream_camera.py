"""The camera's pose in a data set of DREAM.

The labels say where keypoints are in the camera's frame, and forward kinematics where they are in the arm's.  The rigid
motion between both is the pose of the arm's base in the camera's frame.
"""

import numpy as np

from ropes.common.arrays import Floats
from ropes.data.dream import DreamFrames
from ropes.errors import UserError
from ropes.simulation.kinematics import link_poses
from ropes.simulation.rigid import rigid_motions
from ropes.simulation.urdf import Urdf

#: Metres of one unit of length: photographs, renderings.
_UNITS = (1.0, 0.01)
#: Largest mean distance of keypoints from the arm's links, metres.
_FARTHEST = 0.02
#: A camera is fixed where its poses differ by less: metres, radians.
_STILL = (0.005, 0.01)


def camera_poses(frames: DreamFrames, urdf: Urdf) -> tuple[float, Floats, float]:
    """The pose of the arm's base in the camera's frame, from keypoints in both.

    Args:
        frames: of a folder.
        urdf: the arm, with a link for each keypoint.

    Returns:
        Metres of the folder's unit of length; poses (n, 4, 4) in metres; and the mean distance of a keypoint from its
        link, metres.

    Raises:
        UserError: a keypoint is no link, there are fewer than three, or keypoints are not where the arm has its links.
    """
    for name in frames.keypoints:
        urdf.require_link(name)
    if len(frames.keypoints) < 3:
        raise UserError(f"{frames.labels[0]} has {len(frames.keypoints)} keypoints; a camera's pose needs 3 or more")
    links = link_poses(urdf, frames.joints, frames.positions, {})
    points = np.stack([links[name][:, :3, 3] for name in frames.keypoints], axis=1)
    fits = []
    for unit in _UNITS:
        poses, distances = rigid_motions(points, unit * frames.locations)
        fits.append((float(distances.mean()), unit, poses))
    residual, unit, poses = min(fits, key=lambda fit: fit[0])
    if residual > _FARTHEST:
        raise UserError(
            f"{frames.labels[0].parent}: keypoints are {1000 * residual:.0f} mm from the links of {urdf.path.name}; "
            "give the URDF of this arm by --urdf FILE"
        )
    return unit, poses, residual


def is_still(poses: Floats) -> bool:
    """Whether the camera has one pose in all frames."""
    far = np.linalg.norm(poses[:, :3, 3] - poses[0, :3, 3], axis=1).max()
    turned = np.linalg.norm(poses[:, :3, :3] - poses[0, :3, :3], axis=(1, 2)).max() / np.sqrt(2)  # small angles
    return bool(far < _STILL[0] and turned < _STILL[1])
