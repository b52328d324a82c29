from pathlib import Path

import numpy as np
import pytest

from ropes.simulation.kinematics import link_poses, outline, visible_points
from ropes.simulation.scene import Scene
from ropes.simulation.settings import Robot, setting_named
from ropes.simulation.urdf import read_urdf


def _pybullets_positions(scene: Scene) -> dict[str, np.ndarray]:
    bullet, client, body = scene._bullet, scene._client, scene._body
    positions = {}
    for k in range(bullet.getNumJoints(body, physicsClientId=client)):
        link = bullet.getJointInfo(body, k, physicsClientId=client)[12].decode()
        state = bullet.getLinkState(body, k, computeForwardKinematics=True, physicsClientId=client)
        turn = np.reshape(bullet.getMatrixFromQuaternion(state[5]), (3, 3))
        positions[link] = np.column_stack([turn, state[4]])
    return positions


@pytest.mark.pybullet
@pytest.mark.parametrize("arm", ["panda", "small"])
def test_link_poses_are_pybullets(arm: str, small_robot: Robot) -> None:
    robot = setting_named("panda-2c-independent").robot if arm == "panda" else small_robot
    rng = np.random.default_rng(0)
    angles = rng.uniform(-0.5, 0.05, (4, len(robot.joints)))
    angles[:, -1] = np.abs(angles[:, -1]) / 10
    loose = Robot(urdf=robot.urdf, joints=robot.joints, check_limits=False)
    with Scene(loose, [], mesh="full") as scene:
        poses = link_poses(scene.urdf, robot.joints, angles, {})
        for row, pose in enumerate(angles):
            scene.render(pose)
            for link, expected in _pybullets_positions(scene).items():
                np.testing.assert_allclose(poses[link][row, :3], expected, atol=1e-5, err_msg=link)


def test_visible_points_of_a_known_pose(small_urdf: Path) -> None:
    arm = read_urdf(small_urdf)
    points = visible_points(arm, outline(arm), ("shoulder",), np.array([[0.0], [np.pi / 2]]), {})
    upright, lying = points
    assert upright[:, 2].min() == pytest.approx(-0.05)
    # Turned by a quarter about +y, the upper arm lies along +x at the shoulder's height.
    upper = outline(arm)["upper"]
    place = [k for k in range(points.shape[1]) if np.allclose(upright[k], upper[0] + [0, 0, 0.05])]
    turned = [upper[0][2], upper[0][1], 0.05 - upper[0][0]]
    np.testing.assert_allclose(lying[place[0]], turned, atol=1e-9)
