from pathlib import Path

import numpy as np
import pytest

from ropes.simulation.availability import locate
from ropes.simulation.bullet import import_pybullet, quiet
from ropes.simulation.kinematics import link_poses, outline, visible_points
from ropes.simulation.settings import Robot, setting_named
from ropes.simulation.urdf import read_urdf


def _pybullets_positions(urdf: Path, poses: list[dict[str, float]]) -> list[dict[str, np.ndarray]]:
    """Rotation and position (3, 4) of each link in each pose."""
    bullet, positions = import_pybullet(), []
    with quiet():
        client = bullet.connect(bullet.DIRECT)
        body = bullet.loadURDF(str(urdf), useFixedBase=True, physicsClientId=client)
    count = bullet.getNumJoints(body, physicsClientId=client)
    infos = [bullet.getJointInfo(body, k, physicsClientId=client) for k in range(count)]
    joints, links = ([info[column].decode() for info in infos] for column in (1, 12))
    for pose in poses:
        for joint, angle in pose.items():
            bullet.resetJointState(body, joints.index(joint), angle, physicsClientId=client)
        places = {}
        for k, link in enumerate(links):
            state = bullet.getLinkState(body, k, computeForwardKinematics=True, physicsClientId=client)
            turn = np.reshape(bullet.getMatrixFromQuaternion(state[5]), (3, 3))
            places[link] = np.column_stack([turn, state[4]])
        positions.append(places)
    bullet.disconnect(physicsClientId=client)
    return positions


@pytest.mark.pybullet
@pytest.mark.parametrize("arm", ["panda", "small"])
def test_link_poses_match_pybullet(arm: str, small_robot: Robot) -> None:
    robot = setting_named("panda-2c-independent").robot if arm == "panda" else small_robot
    rng = np.random.default_rng(0)
    angles = rng.uniform(-0.5, 0.05, (4, len(robot.joints)))
    angles[:, -2:] = np.abs(angles[:, -1:]) / 10  # one of the Panda's fingers mimics the other
    urdf = locate(robot.urdf)
    poses = link_poses(read_urdf(urdf), robot.joints, angles, {})
    by_name = [dict(zip(robot.joints, pose, strict=True)) for pose in angles.tolist()]
    for row, places in enumerate(_pybullets_positions(urdf, by_name)):
        assert places.keys() <= poses.keys()
        for link, expected in places.items():
            np.testing.assert_allclose(poses[link][row, :3], expected, atol=1e-5, err_msg=link)


def test_visible_points_match_a_known_pose(small_urdf: Path) -> None:
    arm = read_urdf(small_urdf)
    points = visible_points(arm, outline(arm), ("shoulder",), np.array([[0.0], [np.pi / 2]]), {})
    upright, lying = points
    assert upright[:, 2].min() == pytest.approx(-0.05)
    # Turned by a quarter about +y, the upper arm lies along +x at the shoulder's height.
    upper = outline(arm)["upper"]
    place = [k for k in range(points.shape[1]) if np.allclose(upright[k], upper[0] + [0, 0, 0.05])]
    turned = [upper[0][2], upper[0][1], 0.05 - upper[0][0]]
    np.testing.assert_allclose(lying[place[0]], turned, atol=1e-9)
