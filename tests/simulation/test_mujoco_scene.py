"""MuJoCo shows the arm where PyBullet shows it, in a room that the seed decides."""

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import ndimage

from ropes.errors import UserError
from ropes.simulation import mujoco_scene
from ropes.simulation.mujoco_scene import MujocoScene
from ropes.simulation.scene import Scene
from ropes.simulation.settings import Robot, setting_named

SETTING = setting_named("panda-2c-independent")
JOINTS = SETTING.splits["train"].joints
POSES = SETTING.splits["train"].sample_observational(np.random.default_rng(0), 2)


def egl() -> bool:
    try:
        mujoco_scene.import_mujoco()
        with MujocoScene(SETTING.robot, SETTING.cameras[:1], 16):
            return True
    except UserError:
        return False


needs_egl = pytest.mark.skipif(not egl(), reason="EGL is missing: apt install libegl1 libgl1-mesa-dri")


@pytest.mark.slow
@needs_egl
def test_the_arm_is_where_pybullet_draws_it() -> None:
    with MujocoScene(SETTING.robot, SETTING.cameras, 128, joints=JOINTS) as scene:
        found = list(scene.silhouettes_all(POSES))
    with Scene(SETTING.robot, SETTING.cameras, 128, joints=JOINTS) as scene:
        expected = [scene.silhouettes(pose) for pose in POSES]
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.shape == theirs.shape == (2, 128, 128)
        overlap = (ours & theirs).sum((1, 2)) / (ours | theirs).sum((1, 2))
        assert (overlap > 0.85).all()


@pytest.mark.slow
@needs_egl
def test_the_room_depends_on_the_seed_alone() -> None:
    drawn = []
    for seed in (1, 1, 2):
        with MujocoScene(SETTING.robot, SETTING.cameras, 64, joints=JOINTS, seed=seed) as scene:
            drawn.append(np.stack(list(scene.render_all(POSES))))
    same, again, other = drawn
    assert same.shape == (2, 2, 64, 64, 3)
    assert same.dtype == np.uint8
    assert (same == again).all()
    assert np.abs(same.astype(int) - other).mean() > 5
    assert (np.ptp(same.astype(int), axis=-1) > 8).mean() > 0.2  # colours


@needs_egl
def test_the_arm_casts_a_shadow() -> None:
    with MujocoScene(SETTING.robot, SETTING.cameras, 128, joints=JOINTS) as scene:
        first, second = scene.render_all(POSES)
        arm = np.logical_or.reduce(list(scene.silhouettes_all(POSES)))
    near = ndimage.binary_dilation(arm, np.ones((1, 5, 5)))  # its smoothed edge changes too
    changed = (np.abs(first.astype(int) - second).max(-1) > 20) & ~near
    assert changed.sum() > 200


@needs_egl
@pytest.mark.parametrize("shape", ["box", "sphere", "cylinder", "mesh"])
def test_shapes_and_colours_of_a_urdf_are_drawn(tmp_path: Path, shape: str) -> None:
    (tmp_path / "part.obj").write_text(
        "v 0 0 0\nv .2 0 0\nv 0 .2 0\nv 0 0 .4\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n", encoding="utf-8"
    )
    geometry = {
        "box": '<box size=".2 .2 .4"/>',
        "sphere": '<sphere radius=".2"/>',
        "cylinder": '<cylinder radius=".1" length=".4"/>',
        "mesh": '<mesh filename="part.obj"/>',
    }[shape]
    urdf = tmp_path / "arm.urdf"
    urdf.write_text(
        '<robot name="arm"><material name="red"><color rgba="1 0 0 1"/></material><link name="base"/>'
        f'<link name="tip"><visual><geometry>{geometry}</geometry><material name="red"/></visual></link>'
        '<joint name="j" type="revolute"><parent link="base"/><child link="tip"/><origin xyz="0 0 .5"/>'
        '<axis xyz="0 1 0"/><limit lower="-1" upper="1"/></joint></robot>',
        encoding="utf-8",
    )
    robot = Robot(urdf=str(urdf), joints=("j",))
    with MujocoScene(robot, SETTING.cameras[:1], 64, "full") as scene:
        (image,) = scene.render_all([[0.5]])
        arm = scene.silhouettes()
    assert 20 < arm.sum() < 1500
    red = image[arm].astype(int)
    assert red[:, 0].mean() > 2 * red[:, 1:].mean()


@needs_egl
def test_bad_poses_are_refused() -> None:
    with MujocoScene(SETTING.robot, SETTING.cameras, 16, joints=JOINTS) as scene:
        with pytest.raises(UserError, match="no finite angle"):
            scene.render_all(np.full((1, 6), np.nan))
        scene.close()


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(UserError, match=r"pip install 'ropes\[mujoco\]'"):
        mujoco_scene.import_mujoco()
