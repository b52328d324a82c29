"""Link poses by forward kinematics, in the frame of the arm's base."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from ropes.errors import UserError
from ropes.methods.run import Run
from ropes.simulation.availability import find_urdf, locate
from ropes.simulation.kinematics import link_poses
from ropes.simulation.settings import SETTINGS, Robot, panda_setting
from ropes.simulation.urdf import Urdf, read_urdf

#: Asks for every link.
ALL = "all"
#: The links whose origins are the Panda's keypoints in DREAM (manip_configs/panda.yaml) and, after it, in RoboPEPP.
PANDA_KEYPOINTS = tuple(f"panda_{part}" for part in ("link0", "link2", "link3", "link4", "link6", "link7", "hand"))
Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Arm:
    """An arm whose joints are known in part: the others stay at their neutral values.

    Attributes:
        urdf: the arm.
        joints: those that are known, in the order of the columns of angles.
        neutral: value of the others by name, 0 where not named; radians (metres for a prismatic joint).
    """

    urdf: Urdf
    joints: tuple[str, ...]
    neutral: Mapping[str, float]

    @property
    def frame(self) -> str:
        """The link in whose frame all poses are: the arm's base."""
        return self.urdf.base

    @cached_property
    def end_effector(self) -> str:
        """The last link beyond the outermost known joint before the arm forks or ends; the Panda's is panda_hand."""
        link = next(joint.child for joint in reversed(self.urdf.joints) if joint.name in self.joints)
        while len(children := [joint.child for joint in self.urdf.joints if joint.parent == link]) == 1:
            link = children[0]
        return link

    @cached_property
    def keypoints(self) -> tuple[str, ...]:
        """The links whose origins stand for the arm: the literature's for the Panda, else base to end effector."""
        if set(PANDA_KEYPOINTS) <= set(self.urdf.links):
            return PANDA_KEYPOINTS
        parents = {joint.child: joint.parent for joint in self.urdf.joints}
        chain = [self.end_effector]
        while chain[-1] in parents:
            chain.append(parents[chain[-1]])
        return tuple(reversed(chain))

    def poses(self, angles: Array) -> dict[str, Array]:
        """Every link's pose in the base's frame, (n, 4, 4), metres, for angles (n, d)."""
        return link_poses(self.urdf, self.joints, angles, self.neutral)

    def links(self, asked: Sequence[str]) -> tuple[str, ...]:
        """The links that are asked for by name: the end effector where none is, every link with "all".

        Raises:
            UserError: no such link; the message names the nearest.
        """
        if ALL in asked:
            return self.urdf.links
        for name in asked:
            self.urdf.require_link(name)
        return tuple(dict.fromkeys(asked)) or (self.end_effector,)

    def describe(self, angles: Array, links: Sequence[str]) -> list[dict[str, Any]]:
        """Poses as `ropes predict` prints them, one entry a row of angles (n, d).

        Returns:
            "frame": the base link's name; "poses": link → "position_m", x, y and z in metres, and "quaternion_xyzw",
            the unit quaternion of its orientation, w last and not negative.
        """
        poses = self.poses(angles)
        described: list[dict[str, Any]] = [{"frame": self.frame, "poses": {}} for _ in angles]
        for link in links:
            turns = Rotation.from_matrix(poses[link][:, :3, :3]).as_quat(canonical=True)
            for entry, place, turn in zip(described, poses[link][:, :3, 3], turns, strict=True):
                entry["poses"][link] = {"position_m": _rounded(place), "quaternion_xyzw": _rounded(turn)}
        return described


def robot_of(run: Run, provenance: Mapping[str, Any] | None = None) -> Robot | None:
    """The robot that a data set records, or else that of the run's setting; None where neither names one."""
    recorded = ((provenance or {}).get("setting") or {}).get("robot")
    if recorded:
        return Robot(**{**recorded, "joints": tuple(recorded["joints"])})
    return panda_setting(run.setting).robot if run.setting in SETTINGS else None


def arm_of(run: Run, robot: Robot, urdf: Path | None = None) -> Arm:
    """The arm of a robot, for the joints of a run; the others stay at the robot's neutral values.

    Args:
        run: whose joints are known.
        robot: that a setting or a data set names.
        urdf: the robot's file, where it is not the one that the robot names on this machine.

    Raises:
        UserError: the robot's URDF is not found, or lacks a joint of the run.
    """
    return _arm(run, read_urdf(locate(robot.urdf) if urdf is None else urdf), robot.neutral)


def chosen_arm(run: Run, urdf: str | Path | None = None) -> Arm:
    """The arm in a URDF file, or that of the run's setting where none is given.

    Args:
        run: whose joints are known.
        urdf: a path, or one relative to the data folder of pybullet_data; the joints that the run does not estimate
            then stay at 0, or at the nearest value within their limits.

    Raises:
        UserError: no file where the setting names no robot; or as `arm_of`.
    """
    if urdf is not None:
        parsed = read_urdf(find_urdf(urdf))
        return _arm(run, parsed, {joint.name: joint.rest for joint in parsed.moving.values()})
    if (robot := robot_of(run)) is None:
        raise UserError(f"poses need the arm, and no robot is known for setting {run.setting!r}: give its --urdf FILE")
    return arm_of(run, robot)


def _arm(run: Run, urdf: Urdf, neutral: Mapping[str, float]) -> Arm:
    for joint in run.joints:
        urdf.joint(joint)
    return Arm(urdf=urdf, joints=run.joints, neutral=neutral)


def _rounded(values: Array) -> list[float]:
    return [round(float(value), 6) + 0.0 for value in values]
