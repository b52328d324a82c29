"""Link poses by forward kinematics, in the base frame of the arm."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from scipy.spatial.transform import Rotation

from ropes.common.arrays import Floats
from ropes.data.dataset import Dataset
from ropes.errors import UserError
from ropes.methods.run import Run
from ropes.simulation.availability import find_urdf, locate
from ropes.simulation.kinematics import link_poses
from ropes.simulation.settings import Robot, find_setting
from ropes.simulation.urdf import Urdf, read_urdf

#: Name that stands for all links.
ALL = "all"
#: Links whose origins are the Panda's keypoints in DREAM (manip_configs/panda.yaml) and RoboPEPP.
PANDA_KEYPOINTS = tuple(f"panda_{part}" for part in ("link0", "link2", "link3", "link4", "link6", "link7", "hand"))


@dataclass(frozen=True, kw_only=True, eq=False)
class Arm:
    """An arm of which some joints are estimated; the others stay at their neutral values.

    Attributes:
        urdf: the arm.
        joints: estimated joints, in the order of the columns of angles.
        neutral: joint → value of the other joints, 0 by default; radians (metres for a prismatic joint).
    """

    urdf: Urdf
    joints: tuple[str, ...]
    neutral: Mapping[str, float]

    @property
    def frame(self) -> str:
        """Reference frame of all poses: the arm's base link."""
        return self.urdf.base

    @cached_property
    def end_effector(self) -> str:
        """The last link after the outermost estimated joint before the arm forks or ends; for the Panda, panda_hand."""
        link = next(joint.child for joint in reversed(self.urdf.joints) if joint.name in self.joints)
        while len(children := [joint.child for joint in self.urdf.joints if joint.parent == link]) == 1:
            link = children[0]
        return link

    @cached_property
    def keypoints(self) -> tuple[str, ...]:
        """Links whose origins are keypoints: those of the literature for the Panda, else from base to end effector."""
        if set(PANDA_KEYPOINTS) <= set(self.urdf.links):
            return PANDA_KEYPOINTS
        parents = {joint.child: joint.parent for joint in self.urdf.joints}
        chain = [self.end_effector]
        while chain[-1] in parents:
            chain.append(parents[chain[-1]])
        return tuple(reversed(chain))

    def poses(self, angles: Floats) -> dict[str, Floats]:
        """Link → poses in the base frame, (n, 4, 4), metres, for angles (n, d)."""
        return link_poses(self.urdf, self.joints, angles, self.neutral)

    def links(self, names: Sequence[str]) -> tuple[str, ...]:
        """Links by name; the end effector for no names, all links for "all".

        Raises:
            UserError: no such link; the message suggests the closest name.
        """
        if ALL in names:
            return self.urdf.links
        for name in names:
            self.urdf.require_link(name)
        return tuple(dict.fromkeys(names)) or (self.end_effector,)

    def describe(self, angles: Floats, links: Sequence[str]) -> list[dict[str, Any]]:
        """Link poses in the format of `ropes predict`, one entry for each row of angles (n, d).

        Returns:
            "frame": name of the base link; "poses": link → "position_m", (x, y, z) in metres, and "quaternion_xyzw",
            the unit quaternion of its orientation with w ≥ 0.
        """
        poses = self.poses(angles)
        described: list[dict[str, Any]] = [{"frame": self.frame, "poses": {}} for _ in angles]
        for link in links:
            quaternions = Rotation.from_matrix(poses[link][:, :3, :3]).as_quat(canonical=True)
            for entry, position, quaternion in zip(described, poses[link][:, :3, 3], quaternions, strict=True):
                entry["poses"][link] = {"position_m": _rounded(position), "quaternion_xyzw": _rounded(quaternion)}
        return described


def robot_of(run: Run, provenance: Mapping[str, Any] | None = None) -> Robot | None:
    """The robot recorded in a data set, else that of the run's setting; None where neither has one."""
    if (recorded := _recorded_robot(provenance)) is not None:
        return recorded
    setting = find_setting(run.setting)
    return None if setting is None else setting.robot


def recorded_arm(dataset: Dataset, urdf: str | Path | None = None) -> Arm:
    """The arm of a data set; its joints are those with logged angles.

    Args:
        dataset: with `observation.state`.
        urdf: a path, or a path relative to the data folder of pybullet_data, see `chosen_arm`; if omitted, the URDF of
            the data set.

    Raises:
        UserError: no file is given and the data set has no robot, or no logged angle is one of the arm's.
    """
    robot = _recorded_robot(dataset.provenance)
    if urdf is not None:
        parsed = read_urdf(find_urdf(urdf))
    elif robot is None:
        raise UserError(f"{dataset.path} does not say which arm it shows: give its --urdf FILE")
    else:
        try:
            parsed = read_urdf(locate(robot.urdf))
        except UserError:
            if dataset.urdf is None:
                raise
            parsed = read_urdf(dataset.urdf)
    joints = tuple(name for name in dataset.state_names or () if name in parsed.moving)
    if not joints:
        names = ", ".join(dataset.state_names or ()) or "none"
        raise UserError(
            f"{dataset.path}: none of the logged angles ({names}) is a joint of {parsed.path.name} "
            f"({', '.join(parsed.moving)}); rename the joints of the URDF"
        )
    neutral = {joint.name: joint.rest for joint in parsed.moving.values()}
    return Arm(urdf=parsed, joints=joints, neutral=neutral if urdf is not None or robot is None else robot.neutral)


def arm_of(run: Run, robot: Robot, urdf: Path | None = None, dataset: Dataset | None = None) -> Arm:
    """The arm of a robot; joints that the run does not estimate stay at the robot's neutral values.

    Args:
        run: the run.
        robot: robot of a setting or data set.
        urdf: URDF file to use in place of the robot's own.
        dataset: the data set whose robot it is, for messages; None for that of a setting.

    Raises:
        UserError: no such URDF file, or it lacks a joint of the run.
    """
    parsed = read_urdf(locate(robot.urdf) if urdf is None else urdf)
    missing = [joint for joint in run.joints if joint not in parsed.moving]
    if dataset is not None and missing:
        raise UserError(
            f"{dataset.path} shows another arm than the run has: {parsed.path} has no movable joint {missing[0]!r} (it "
            f"has {', '.join(parsed.moving)}); give images of the run's arm, or, if they are, its --urdf FILE"
        )
    return _arm(run, parsed, robot.neutral)


def chosen_arm(run: Run, urdf: str | Path | None = None, dataset: Dataset | None = None) -> Arm:
    """The arm of a URDF file; without a file that of the data set, or else of the run's setting.

    Args:
        run: the run.
        urdf: a path, or a path relative to the data folder of pybullet_data.  Joints that the run does not estimate
            stay at 0, or at the nearest value within their limits.
        dataset: the data set whose images are read.  Where the URDF file that it names is on another machine, its own
            copy without shapes takes the place.

    Raises:
        UserError: no file is given and neither data set nor setting has a robot, or see `arm_of`.
    """
    if urdf is not None:
        parsed = read_urdf(find_urdf(urdf))
        return _arm(run, parsed, {joint.name: joint.rest for joint in parsed.moving.values()})
    if (robot := robot_of(run, None if dataset is None else dataset.provenance)) is None:
        raise UserError(f"poses need the arm, and no robot is known for setting {run.setting!r}: give its --urdf FILE")
    try:
        return arm_of(run, robot, dataset=dataset)
    except UserError:
        if dataset is None or dataset.urdf is None:
            raise
        return arm_of(run, robot, dataset.urdf, dataset)


def _recorded_robot(provenance: Mapping[str, Any] | None) -> Robot | None:
    content = provenance or {}
    recorded = (content.get("setting") or {}).get("robot") or content.get("robot")
    return Robot(**{**recorded, "joints": tuple(recorded["joints"])}) if recorded else None


def _arm(run: Run, urdf: Urdf, neutral: Mapping[str, float]) -> Arm:
    for joint in run.joints:
        urdf.joint(joint)
    return Arm(urdf=urdf, joints=run.joints, neutral=neutral)


def _rounded(values: Floats) -> list[float]:
    return [round(float(value), 6) + 0.0 for value in values]
