from pathlib import Path

import numpy as np
import pytest

from ropes.simulation.bullet import import_pybullet
from ropes.simulation.cameras import (
    crop,
    extrinsics,
    eye,
    intrinsics,
    projection_matrix,
    view_matrix,
    windows_around,
)
from ropes.simulation.pinhole import Pinhole
from ropes.simulation.scene import Scene
from ropes.simulation.settings import Camera, Robot
from tests.one_pose import drawn


@pytest.mark.pybullet
@pytest.mark.parametrize(("yaw", "pitch", "roll"), [(0, 0, 0), (45, -30, 0), (135, -30, 0), (200, 35, 25)])
def test_camera_matrices_match_pybullet(yaw: float, pitch: float, roll: float) -> None:
    bullet = import_pybullet()
    camera = Camera(name="c", target=(0.1, -0.2, 0.3), distance=1.4, yaw=yaw, pitch=pitch, roll=roll, fov=60)
    expected = bullet.computeViewMatrixFromYawPitchRoll(camera.target, 1.4, yaw, pitch, roll, 2)
    np.testing.assert_allclose(view_matrix(camera).T.ravel(), expected, atol=1e-5)
    expected = bullet.computeProjectionMatrixFOV(60, 1, 0.1, 100)
    np.testing.assert_allclose(projection_matrix(camera).T.ravel(), expected, atol=1e-5)


def test_target_is_centred_at_the_given_distance(side_camera: Camera) -> None:
    pixels, _ = Pinhole.of(side_camera, 128).project(np.array([side_camera.target]))
    np.testing.assert_allclose(pixels, [[64, 64]], atol=1e-9)
    assert np.linalg.norm(eye(side_camera) - side_camera.target) == pytest.approx(2.0)
    at_target = extrinsics(side_camera) @ [*side_camera.target, 1]
    np.testing.assert_allclose(at_target, [0, 0, 2, 1], atol=1e-12)


@pytest.mark.pybullet
def test_rendered_ball_is_where_the_camera_record_projects_it(tmp_path: Path) -> None:
    path = tmp_path / "ball.urdf"
    path.write_text(
        "<robot name='ball'><link name='base'><visual><origin xyz='.2 .1 .5'/>"
        "<geometry><sphere radius='.05'/></geometry></visual></link></robot>"
    )
    camera = Camera(name="c", target=(0, 0, 0.3), distance=1.4, yaw=30, pitch=-20, roll=0, fov=60)
    with Scene(Robot(urdf=str(path), joints=()), [camera], 128) as scene:
        rows, columns = np.nonzero(drawn(scene, {})[1][0])
    kept = Pinhole.of(camera, 128).to_record()
    pose, focal = np.array(kept["extrinsics"]), np.array(kept["intrinsics"])
    x, y, z = focal @ (pose @ [0.2, 0.1, 0.5, 1])[:3]
    assert abs(columns.mean() + 0.5 - x / z) < 0.7
    assert abs(rows.mean() + 0.5 - y / z) < 0.7
    assert (kept["width"], kept["height"]) == (128, 128)


def test_window_covers_the_points_in_whole_steps() -> None:
    places = np.array([[20.5, 41.0, 1.0], [2 * 30.2, 2 * 60.9, 2.0]])
    behind = np.array([[20.0, 40.0, 1.0], [20.0, 40.0, -1.0]])
    # One step of room on each side: columns 20.5 to 30.2, rows 41 to 60.9.
    assert windows_around(np.stack([behind, places]), 128, 2) == [
        (slice(0, 128), slice(0, 128)),
        (slice(38, 64), slice(18, 34)),
    ]
    assert windows_around(places[None], 62, 2) == [(slice(38, 62), slice(18, 34))]
    outside = np.array([[[-9.0, 500.0, 1.0]]])
    assert windows_around(outside, 128, 2) == [(slice(126, 128), slice(0, 2))]


def test_a_window_s_corners_fill_the_cropped_view(side_camera: Camera) -> None:
    rows, columns = slice(10, 50), slice(20, 100)
    inverse = np.linalg.inv(intrinsics(side_camera, 128))
    projection = crop(projection_matrix(side_camera), 128, rows, columns)
    for row, y in ((10, 1), (50, -1)):
        for column, x in ((20, -1), (100, 1)):
            point = inverse @ [column, row, 1.0]
            clip = projection @ [point[0], -point[1], -point[2], 1]
            np.testing.assert_allclose(clip[:2] / clip[3], [x, y], atol=1e-12)
