"""The software silhouette: squares solved by hand, PyBullet's masks, and arms without shapes."""

from pathlib import Path

import numpy as np
import pytest
from scipy.ndimage import binary_dilation, binary_erosion

from ropes.common.files import write_json
from ropes.errors import UserError
from ropes.simulation import cameras
from ropes.simulation.kinematics import link_poses
from ropes.simulation.pinhole import Pinhole, read_pinholes
from ropes.simulation.scene import Scene
from ropes.simulation.settings import Camera, Robot
from ropes.simulation.silhouette import link_meshes, overview, reach, shaded, silhouette
from ropes.simulation.urdf import Urdf, kinematics_of, read_urdf
from tests import planar
from tests.one_pose import drawn

_SHAPE = '<visual><geometry><box size=".2 .2 .2"/></geometry></visual>'
BOX = f'<robot name="box"><link name="base">{_SHAPE}</link></robot>'


@pytest.fixture
def front() -> Pinhole:
    """100 by 60 pixels, 1 m in front of the box's middle; a metre at 1 m is 100 pixels."""
    pose = np.eye(4)
    pose[2, 3] = 1.0
    intrinsics = np.array([[100.0, 0, 50], [0, 100, 30], [0, 0, 1]])
    return Pinhole(name="front", intrinsics=intrinsics, extrinsics=pose, height=60, width=100)


def poses_of(urdf: Urdf, joints: tuple[str, ...] = (), angles: tuple[float, ...] = ()) -> dict[str, np.ndarray]:
    return {link: poses[0] for link, poses in link_poses(urdf, joints, np.array([angles]), {}).items()}


@pytest.mark.slow
def test_a_box_covers_its_nearest_face(tmp_path: Path, front: Pinhole) -> None:
    path = tmp_path / "box.urdf"
    path.write_text(BOX)
    urdf = read_urdf(path)
    mask = silhouette(link_meshes(urdf), poses_of(urdf), front)
    rows, columns = np.nonzero(mask)
    # The face at a depth of .9 m is 22.2 pixels wide; Pillow also fills all pixels that an edge touches.
    assert mask.sum() == (np.ptp(rows) + 1) * (np.ptp(columns) + 1)
    assert 22.2 <= np.ptp(rows) + 1 <= 24.3
    assert ((columns.mean() + 0.5) - 50, (rows.mean() + 0.5) - 30) == pytest.approx((0, 0), abs=0.3)


def test_objects_behind_the_camera_are_not_drawn(tmp_path: Path, front: Pinhole) -> None:
    path = tmp_path / "box.urdf"
    path.write_text(BOX)
    urdf, behind = read_urdf(path), np.eye(4)
    behind[2, 3] = -2.0
    assert not silhouette(link_meshes(urdf), {"base": behind}, front).any()
    assert (shaded(link_meshes(urdf), {"base": behind}, front) == 255).all()


def test_silhouette_is_the_same_at_a_higher_resolution(small_urdf: Path, side_camera: Camera) -> None:
    urdf = read_urdf(small_urdf)
    camera, poses = Pinhole.of(side_camera, 64), poses_of(urdf, ("shoulder",), (0.4,))
    small, large = (silhouette(link_meshes(urdf), poses, each) for each in (camera, camera.resized(256, 256)))
    shrunk = large.reshape(64, 4, 64, 4).mean(axis=(1, 3))
    assert (small[shrunk > 0.9]).all()
    assert not small[~binary_dilation(shrunk > 0, np.ones((3, 3)))].any()  # Pillow fills what an edge crosses


@pytest.mark.slow
def test_silhouette_matches_pybullet(small_urdf: Path, side_camera: Camera) -> None:
    robot = Robot(urdf=str(small_urdf), joints=("shoulder", "elbow", "slide"))
    urdf, around = read_urdf(small_urdf), np.ones((3, 3))
    with Scene(robot, [side_camera], 384) as scene:
        for angles in ((0.0, 0.0, 0.0), (0.8, -1.0, 0.1), (-0.6, 2.0, 0.05)):
            theirs = drawn(scene, angles)[1][0]
            poses, camera = poses_of(urdf, robot.joints, angles), Pinhole.of(side_camera, 384).resized(768, 768)
            large = silhouette(link_meshes(urdf), poses, camera)
            ours = large.reshape(384, 2, 384, 2).mean(axis=(1, 3)) >= 0.5
            assert (ours & theirs).sum() > 0.92 * (ours | theirs).sum()
            assert ours[binary_erosion(theirs, around)].all()  # a pixel's difference at the border
            assert not ours[~binary_dilation(theirs, around)].any()


def test_arm_without_shapes_is_drawn_as_rods(tmp_path: Path) -> None:
    path = tmp_path / "bare.urdf"
    path.write_text(kinematics_of(planar.write_urdf(tmp_path)))
    urdf = read_urdf(path)
    meshes = link_meshes(urdf)
    assert set(meshes) == {"foot", "upper", "lower"}  # between the joints that are apart
    assert reach(urdf) == pytest.approx(planar.HEIGHT + planar.UPPER + planar.LOWER)
    straight, bent = (
        shaded(meshes, poses_of(urdf, ("elbow", "wrist"), angles), overview(reach(urdf), 96))
        for angles in ((0.0, 0.0), (0.0, 2.0))
    )
    assert (straight < 255).sum() > 100
    assert (straight != bent).any()


def test_cameras_are_read_from_the_provenance_of_a_data_set(tmp_path: Path, side_camera: Camera) -> None:
    write_json(tmp_path / "ropes.json", {"cameras": [Pinhole.of(side_camera, 128).to_record()]})
    (camera,) = read_pinholes(tmp_path / "ropes.json").values()
    points = np.random.default_rng(0).uniform(-0.3, 0.3, (5, 3))
    pose = cameras.extrinsics(side_camera)
    seen = (points @ pose[:3, :3].T + pose[:3, 3]) @ cameras.intrinsics(side_camera, 128).T
    pixels = seen[:, :2] / seen[:, 2:]
    np.testing.assert_allclose(camera.project(points)[0], pixels)
    np.testing.assert_allclose(camera.resized(64, 256).project(points)[0], pixels * [2, 0.5])


@pytest.mark.parametrize(
    "broken",
    [{}, {"cameras": [{"name": "side"}]}, {"cameras": 3}, [], {"cameras": [{"intrinsics": [[1]]}]}],
)
def test_files_without_cameras_are_refused(tmp_path: Path, broken: object) -> None:
    write_json(tmp_path / "c.json", broken)
    with pytest.raises(UserError, match="does not describe cameras"):
        read_pinholes(tmp_path / "c.json")
